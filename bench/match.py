"""What the engine adds to the waiting: matches against a loopback model of fixed latency, beside a bare aiohttp loop.

The bare loop makes the same calls in the same shape (each match's own rounds, the players of a round side by side, a
player's calls one after the other), in the same run. Prints, for one match and for many at once: seconds, calls a
second, the processor's time a call and the ratio to the bare loop; then one match with answers asked ahead. What is
limited by a processor varies with what else the machine does: `--rounds` repeats the many, engine and loop in turn.
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
        """The same for all."""
        return [0.9] * len(pairs)


def configuration(url: str, data: Path, **changes: Any) -> Config:
    """Two players on one loopback server, as many requests at once as they like."""
    model = {"base_url": url, "concurrency": 1000, "temperature": 0.0}
    players = [{"name": name, "model": "my/m"} for name in ("A", "B")]
    return check({"task": {"data": str(data)}, "players": players, "models": {"my/m": model}, **changes})


async def played(config: Config, out: Path, trials: int) -> tuple[float, int]:
    """Seconds and calls of a run."""
    started = time.perf_counter()
    await match.run(config, out, season={"kind": "match", "trials": trials}, executor=LocalExecutor(trials))
    seconds = time.perf_counter() - started
    connection = connect(out / "run.db", readonly=True)
    calls = connection.execute("SELECT count(*) FROM attempts").fetchone()[0]
    connection.close()
    return seconds, calls


def shapes(out: Path) -> tuple[list[Shape], bytes]:
    """For each match, how many calls each player made in each round; and a request like theirs."""
    connection = connect(out / "run.db", readonly=True)
    found: dict[str, dict[int, dict[str, int]]] = defaultdict(lambda: defaultdict(lambda: defaultdict(int)))
    for match_, round_, player in connection.execute("SELECT match, round, player FROM attempts"):
        found[match_][round_][player] += 1
    (prompt,) = connection.execute("SELECT messages FROM prompts LIMIT 1").fetchone()
    connection.close()
    messages = [{"role": role, "content": content} for role, content in json.loads(prompt)]
    body = {"model": "m", "messages": messages, "max_tokens": 512, "temperature": 0.0}
    made = [[list(rounds[number].values()) for number in sorted(rounds)] for rounds in found.values()]
    return made, json.dumps(body).encode()


async def bare(url: str, matches: list[Shape], body: bytes) -> float:
    """The same calls without an engine: no ledger, no prompts, no scores."""
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def one(count: int) -> None:
            for _ in range(count):
                headers = {"content-type": "application/json"}
                async with session.post(url + "/chat/completions", data=body, headers=headers) as reply:
                    json.loads(await reply.read())

        async def whole(rounds: Shape) -> None:
            for players in rounds:
                await asyncio.gather(*(one(count) for count in players))

        started = time.perf_counter()
        await asyncio.gather(*map(whole, matches))
        return time.perf_counter() - started


def many(url: str, data: Path, folder: Path, matches: int, rounds: int) -> None:
    """Many matches at once, and the bare loop after them, in turn."""
    shares: list[float] = []
    for turn in range(rounds):
        began = time.process_time()
        seconds, count = asyncio.run(played(configuration(url, data), folder / f"many-{turn}", matches))
        ours = (time.process_time() - began) / count * 1000
        began = time.process_time()
        limit = asyncio.run(bare(url, *shapes(folder / f"many-{turn}")))
        theirs = (time.process_time() - began) / count * 1000
        shares.append(limit / seconds)
        print(
            f"{matches} matches: {count / seconds:,.0f} calls/s, {ours:.3f} ms of a processor a call; bare loop "
            f"{count / limit:,.0f} calls/s, {theirs:.3f} ms; {limit / seconds:.3f} of its rate",
            flush=True,
        )
    print(f"{matches} matches, median share of the bare loop's rate: {statistics.median(shares):.3f}", flush=True)


def main() -> None:
    """One match, many matches, one match ahead."""
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
