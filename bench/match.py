"""The engine's overhead: matches against a loopback model of fixed latency, compared with a bare aiohttp loop.

The bare loop makes the same calls in the same pattern (each match's own rounds, the players of a round in parallel, a
player's calls one after the other), in the same run. Prints, for one match and for many at once: seconds, calls per
second, CPU time per call and the ratio to the bare loop; then one match with answers requested ahead. What is
CPU-bound varies with the machine's load: `--rounds` repeats the many matches, engine and loop in turn.
"""

import argparse
import asyncio
import json
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import aiohttp

from mashq.arena import match
from mashq.arena.executors.local import LocalExecutor
from mashq.config import Config, check
from mashq.detectors import base
from mashq.detectors.base import Pair
from mashq.runs.file import connect
from mashq.testing import FakeProvider

LATENCY = 0.05
Shape = list[list[int]]


class Constant:
    """A detector that takes no time."""

    name, version = "constant", "1"

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the same score for all."""
        return [0.9] * len(pairs)


def configuration(url: str, data: Path, **changes: Any) -> Config:
    """Return a configuration of two players on one loopback server, with practically unlimited concurrency."""
    model = {"base_url": url, "concurrency": 1000, "temperature": 0.0}
    players = [{"name": name, "model": "my/m"} for name in ("A", "B")]
    return check({"task": {"data": str(data)}, "players": players, "models": {"my/m": model}, **changes})


async def played(config: Config, out: Path, trials: int) -> tuple[float, int]:
    """Play a run; return its seconds and calls."""
    started = time.perf_counter()
    await match.run(config, out, season={"kind": "match", "trials": trials}, executor=LocalExecutor(trials))
    seconds = time.perf_counter() - started
    connection = connect(out / "run.db", readonly=True)
    calls = connection.execute("SELECT count(*) FROM attempts").fetchone()[0]
    connection.close()
    return seconds, calls


def shapes(out: Path) -> tuple[list[Shape], bytes]:
    """Return the calls of each player in each round of each match, and a request like theirs."""
    connection = connect(out / "run.db", readonly=True)
    counts: dict[str, dict[int, dict[str, int]]] = defaultdict(lambda: defaultdict(lambda: defaultdict(int)))
    for match_, round_, player in connection.execute("SELECT match, round, player FROM attempts"):
        counts[match_][round_][player] += 1
    (prompt,) = connection.execute("SELECT messages FROM prompts LIMIT 1").fetchone()
    connection.close()
    messages = [{"role": role, "content": content} for role, content in json.loads(prompt)]
    body = {"model": "m", "messages": messages, "max_tokens": 512, "temperature": 0.0}
    matches = [[list(rounds[number].values()) for number in sorted(rounds)] for rounds in counts.values()]
    return matches, json.dumps(body).encode()


async def bare(url: str, matches: list[Shape], body: bytes) -> float:
    """Make the same calls without an engine (no ledger, no prompts, no scores); return the seconds."""
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def make_calls(count: int) -> None:
            for _ in range(count):
                headers = {"content-type": "application/json"}
                async with session.post(url + "/chat/completions", data=body, headers=headers) as reply:
                    json.loads(await reply.read())

        async def play(rounds: Shape) -> None:
            for players in rounds:
                await asyncio.gather(*(make_calls(count) for count in players))

        started = time.perf_counter()
        await asyncio.gather(*map(play, matches))
        return time.perf_counter() - started


def many(url: str, data: Path, folder: Path, matches: int, rounds: int) -> None:
    """Measure many matches at once and then the bare loop, repeatedly."""
    shares: list[float] = []
    for turn in range(rounds):
        cpu_start = time.process_time()
        seconds, count = asyncio.run(played(configuration(url, data), folder / f"many-{turn}", matches))
        our_ms = (time.process_time() - cpu_start) / count * 1000
        cpu_start = time.process_time()
        limit = asyncio.run(bare(url, *shapes(folder / f"many-{turn}")))
        bare_ms = (time.process_time() - cpu_start) / count * 1000
        shares.append(limit / seconds)
        print(
            f"{matches} matches: {count / seconds:,.0f} calls/s, {our_ms:.3f} ms of a processor a call; bare loop "
            f"{count / limit:,.0f} calls/s, {bare_ms:.3f} ms; {limit / seconds:.3f} of its rate",
            flush=True,
        )
    print(f"{matches} matches, median share of the bare loop's rate: {statistics.median(shares):.3f}", flush=True)


def main() -> None:
    """Measure one match, many matches, and one match with answers requested ahead."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--items", type=int, default=100)
    parser.add_argument("--matches", type=int, default=50)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    base.load = lambda name: Constant()  # pyright: ignore[reportAttributeAccessIssue]
    with tempfile.TemporaryDirectory() as name, FakeProvider(latency=LATENCY) as provider:
        folder = Path(name)
        data = folder / "items.jsonl"
        texts = ({"id": f"i{n}", "text": f"Sentence {n}. " + "word " * 300} for n in range(options.items))
        data.write_text("".join(json.dumps(row) + "\n" for row in texts))
        url = provider.base_url
        ratios: list[float] = []
        for repeat in range(options.repeats):
            seconds, count = asyncio.run(played(configuration(url, data), folder / f"one-{repeat}", 1))
            limit = asyncio.run(bare(url, *shapes(folder / f"one-{repeat}")))
            ratios.append(seconds / limit)
            print(f"1 match: {seconds:.2f} s for {count} calls; bare loop {limit:.2f} s; ratio {seconds / limit:.3f}")
        print(f"1 match, median ratio to the bare loop: {statistics.median(ratios):.3f}")
        many(url, data, folder, options.matches, options.rounds)
        for ahead in (0, 1, 4, 16):
            seconds, _ = asyncio.run(played(configuration(url, data, ahead=ahead), folder / f"ahead-{ahead}", 1))
            print(f"ahead {ahead:2}: {seconds:.2f} s", flush=True)


if __name__ == "__main__":
    main()
