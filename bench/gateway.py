"""CPU per model call: the gateway with its ledger and prices, compared with bare aiohttp and other clients.

Each peer requests the same reply from the same loopback server, `--in-flight` at a time, and is charged the user and
system time of its own process (writer threads included), never the server's. On a noisy machine seconds drift, so the
peers take turns, each round in another order, and what counts is the ratio within a round: the median ratio is
printed, and the ratio of the best rounds. Peers that are not installed are listed.

The gateway is measured on each wire (`mashq` is chat completions, `mashq:responses` and so on the others), against
bare aiohttp in the same format. At the end a streamed reply's first byte through the metering endpoint is timed
against one through a bare proxy.

    python bench/gateway.py [--calls N] [--in-flight N …] [--repeats N] [--peers NAME …]
"""

import argparse
import asyncio
import importlib.metadata
import importlib.util
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from mashq.testing import FakeProvider

MODEL = "gpt-4o-mini"
NAME = f"openai/{MODEL}"
PROMPT = "Summarise the passage below. " + "word " * 300
WIRES = ("responses", "anthropic", "gemini")
OURS = ("aiohttp", "mashq", *(f"{peer}:{wire}" for wire in WIRES for peer in ("aiohttp", "mashq")))
PEERS = (*OURS, "openai", "inspect_ai", "lm_eval")
SLOW = {"openai", "inspect_ai"}  # milliseconds per call: a quarter of the calls is enough
CLAIMS = (
    ("aiohttp", 1.8),
    ("inspect_ai", 0.1),
)  # the gateway's highest allowed cost at 64 in flight, as a multiple of a peer's
AT = 64

WARM = 60  # calls before the clock starts

Rows = list[dict[str, float]]


def cpu() -> float:
    """Return the CPU time of this process so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


async def spread(call: Any, calls: int, in_flight: int) -> tuple[float, float]:
    """Run `calls` calls, some at a time, with every connection already open; return CPU and wall seconds."""
    warm = max(2 * in_flight, WARM)
    numbers = iter(range(warm))

    async def worker() -> None:
        for number in numbers:
            await call(number)

    await asyncio.gather(*(worker() for _ in range(in_flight)))
    numbers = iter(range(warm, warm + calls))
    cpu_start, started = cpu(), time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(in_flight)))
    return cpu() - cpu_start, time.perf_counter() - started


MESSAGES = [{"role": "user", "content": PROMPT}]
BODIES: dict[str, dict[str, Any]] = {
    "openai": {"model": MODEL, "messages": MESSAGES, "max_tokens": 64, "temperature": 0.0},
    "responses": {"model": MODEL, "input": MESSAGES, "max_output_tokens": 64, "temperature": 0.0},
    "anthropic": {"model": MODEL, "messages": MESSAGES, "max_tokens": 64, "temperature": 0.0},
    "gemini": {
        "contents": [{"role": "user", "parts": [{"text": PROMPT}]}],
        "generationConfig": {"maxOutputTokens": 64},
    },
}
PLACES = {
    "openai": "/chat/completions",
    "responses": "/responses",
    "anthropic": "/messages",
    "gemini": f"/models/{MODEL}:generateContent",
}
HEADERS = {"x-api-key": "none", "x-goog-api-key": "none", "anthropic-version": "2023-06-01"}


async def with_aiohttp(url: str, calls: int, in_flight: int, wire: str = "openai") -> tuple[float, float]:
    """Measure the raw limit: the reply is only parsed as JSON."""
    import aiohttp

    body = BODIES[wire]
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), headers=HEADERS) as session:

        async def call(_number: int) -> None:
            async with session.post(url + PLACES[wire], json=body) as reply:
                assert reply.status == 200 and await reply.json()

        return await spread(call, calls, in_flight)


async def with_mashq(url: str, calls: int, in_flight: int, wire: str = "openai") -> tuple[float, float]:
    """Measure the gateway: limiter, ledger on disk, price, outcome."""
    from mashq.arena.endpoints import Endpoints, Facilities
    from mashq.config import check
    from mashq.gateway.clock import RealClock
    from mashq.gateway.model import Model
    from mashq.gateway.types import Call, Completion, Message
    from mashq.runs.writer import Run

    settings = {"base_url": url, "concurrency": in_flight, "price": {"input": 1.0, "output": 2.0}, "max_tokens": 64}
    if wire != "openai":
        settings |= {"wire": wire, "api_key_env": "LOOPBACK"}
    config = check({"players": [{"name": "A", "model": NAME}], "models": {NAME: settings}})
    clock, facilities = RealClock(), Facilities({"LOOPBACK": "none"})
    endpoint = Endpoints(config, clock, 0, facilities)[NAME]
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(Run.create(Path(folder) / "run", clock, {"ended": None}, ())) as run,
    ):
        ledger = run.record("0").ledger()

        async def call(number: int) -> None:
            model = Model(endpoint, ledger, clock, Call("0", number, "A", str(number), "answer"), 0)
            assert isinstance(await model.ask([Message("user", PROMPT)]), Completion)

        try:
            return await spread(call, calls, in_flight)
        finally:
            await facilities.close()


async def with_openai(url: str, calls: int, in_flight: int) -> tuple[float, float]:
    """Measure the provider's own client with its defaults."""
    import openai

    async with openai.AsyncOpenAI(base_url=url, api_key="none") as client:

        async def call(_number: int) -> None:
            messages: Any = [{"role": "user", "content": PROMPT}]
            reply = await client.chat.completions.create(
                model=MODEL, messages=messages, max_tokens=64, temperature=0.0
            )
            assert reply.choices[0].message.content

        return await spread(call, calls, in_flight)


async def with_inspect_ai(url: str, calls: int, in_flight: int) -> tuple[float, float]:
    """Measure Inspect's model interface."""
    from inspect_ai.model import GenerateConfig, get_model  # pyright: ignore[reportMissingImports]

    config = GenerateConfig(max_connections=in_flight, max_tokens=64, temperature=0.0)
    model = get_model(NAME, base_url=url, api_key="none", config=config, responses_api=False)

    async def call(_number: int) -> None:
        assert (await model.generate(PROMPT)).completion

    try:
        return await spread(call, calls, in_flight)
    finally:
        await model.api.aclose()


def with_lm_eval(url: str, calls: int, in_flight: int) -> tuple[float, float]:
    """Measure lm-evaluation-harness's client for chat completions, as its tasks use it."""
    import os

    from lm_eval.api.instance import Instance  # pyright: ignore[reportMissingImports]
    from lm_eval.models.openai_completions import LocalChatCompletion  # pyright: ignore[reportMissingImports]

    os.environ.setdefault("OPENAI_API_KEY", "none")
    model = LocalChatCompletion(
        model=MODEL,
        base_url=url + "/chat/completions",
        num_concurrent=in_flight,
        max_gen_toks=64,
        tokenizer_backend=None,
        tokenized_requests=False,
        verify_certificate=False,
    )
    messages = json.dumps([{"role": "user", "content": PROMPT}])

    def requests(count: int) -> list[Any]:
        from lm_eval.models.api_models import JsonChatStr  # pyright: ignore[reportMissingImports]

        return [
            Instance("generate_until", {}, (JsonChatStr(messages), {"max_gen_toks": 64, "until": []}), n)
            for n in range(count)
        ]

    model.generate_until(requests(WARM), disable_tqdm=True)
    cpu_start, started = cpu(), time.perf_counter()
    model.generate_until(requests(calls), disable_tqdm=True)
    return cpu() - cpu_start, time.perf_counter() - started


def measure(peer: str, url: str, calls: int, levels: list[int]) -> Rows:
    """Measure one peer in this process: microseconds of CPU per call, and calls per second, at each level."""
    rows: Rows = []
    for in_flight in levels:
        count = max(calls // (4 if in_flight == 1 else 1) // (4 if peer in SLOW else 1), 2 * in_flight)
        name, _, wire = peer.partition(":")
        place = url.replace("/v1", "/v1beta") if wire == "gemini" else url
        result = globals()[f"with_{name}"](place, count, in_flight, *([wire] if wire else []))
        used, wall = asyncio.run(result) if asyncio.iscoroutine(result) else result
        rows.append({"cpu": 1e6 * used / count, "rate": count / wall})
    return rows


def rounds(peers: list[str], calls: int, levels: list[int], repeats: int) -> dict[str, list[Rows]]:
    """Measure every peer in a separate process, each round in another order; return peer -> round -> level."""
    measured: dict[str, list[Rows]] = {peer: [] for peer in peers}
    with FakeProvider(latency=0.0) as provider:
        for turn in range(repeats):
            for offset in range(len(peers)):
                peer = peers[(turn + offset) % len(peers)]
                command = [sys.executable, __file__, "--one", peer, provider.base_url, "--calls", str(calls)]
                command += ["--in-flight", *map(str, levels)]
                result = subprocess.run(command, capture_output=True, text=True, check=False)
                if result.returncode:
                    sys.exit(f"{peer} failed:\n{result.stderr}")
                measured[peer].append(json.loads(result.stdout.splitlines()[-1]))
    return measured


def ratio(measured: dict[str, list[Rows]], peer: str, other: str, level: int) -> tuple[float, float]:
    """Return the CPU ratio of a peer to another: the median over rounds, and that of their best rounds."""
    pair = [[row[level]["cpu"] for row in measured[name]] for name in (peer, other)]
    return statistics.median(a / b for a, b in zip(*pair)), min(pair[0]) / min(pair[1])


def table(measured: dict[str, list[Rows]], levels: list[int]) -> None:
    """Print one line per peer, at each number in flight."""
    print("in flight  peer               CPU ms/call   x aiohttp (best)   calls/s")
    for level, in_flight in enumerate(levels):
        for peer, rows in measured.items():
            used, rate = (statistics.median(row[level][key] for row in rows) for key in ("cpu", "rate"))
            middle, best = ratio(measured, peer, _bare(peer), level)
            print(f"{in_flight:9}  {peer:17}  {used / 1e3:11.3f}  {middle:10.2f} ({best:5.2f})  {rate:8,.0f}")


def _bare(peer: str) -> str:
    """Return the bare aiohttp peer in the same format."""
    return peer.replace("mashq", "aiohttp") if ":" in peer else "aiohttp"


EVENT = b'data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"word "}}]}\n\n'
LAST = b'data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":21}}\n\ndata: [DONE]\n\n'


async def first_byte(repeats: int) -> None:
    """Print how much later a stream's first event arrives through the metering endpoint than through a bare proxy.

    The provider sends events as a model generates them: the first after 20 ms, each later one 1 ms after the
    previous.
    """
    import aiohttp
    from aiohttp import web

    from mashq.arena.endpoints import Endpoints, Facilities
    from mashq.config import check
    from mashq.gateway.clock import RealClock
    from mashq.gateway.model import Model
    from mashq.gateway.proxy.server import MeteringServer
    from mashq.gateway.types import Call
    from mashq.runs.writer import Run

    async def writing(request: web.BaseRequest) -> web.StreamResponse:
        await request.read()
        out = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await asyncio.sleep(0.02)
        await out.prepare(request)
        for _ in range(20):
            await out.write(EVENT)
            await asyncio.sleep(0.001)
        await out.write(LAST)
        return out

    async def served(handler: Any) -> tuple[web.ServerRunner, str]:
        runner = web.ServerRunner(web.Server(handler))
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        return runner, f"http://127.0.0.1:{runner.addresses[0][1]}"

    body = {"model": MODEL, "messages": MESSAGES, "stream": True}
    clock, facilities, server = RealClock(), Facilities(), MeteringServer(RealClock())
    provider, url = await served(writing)
    config = check({"players": [{"name": "A", "model": NAME}], "models": {NAME: {"base_url": url}}})
    endpoint = Endpoints(config, clock, 0, facilities)[NAME]
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(Run.create(Path(folder) / "run", clock, {"ended": None}, ())) as run,
    ):
        await server.start()
        seat = server.admit("A")
        server.issue(seat, Model(endpoint, run.record("0").ledger(), clock, Call("0", 0, "A", None, "x"), 0))
        async with aiohttp.ClientSession() as session:

            async def passing(request: web.BaseRequest) -> web.StreamResponse:
                async with session.post(url + "/chat/completions", data=await request.read()) as up:
                    out = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
                    await out.prepare(request)
                    async for data in up.content.iter_any():
                        await out.write(data)
                    return out

            proxy, bare = await served(passing)
            times: dict[str, list[float]] = {bare: [], seat.base_url + "/chat/completions": []}
            headers = {"Authorization": f"Bearer {seat.token}"}
            for _ in range(repeats):
                for place, durations in times.items():
                    started = time.perf_counter()
                    async with session.post(place, json=body, headers=headers) as reply:
                        await reply.content.readany()
                        durations.append(time.perf_counter() - started)
                        await reply.read()
            await proxy.cleanup()
        await server.close()
    await facilities.close()
    await provider.cleanup()
    plain, metered = (1e3 * statistics.median(durations) for durations in times.values())
    outcome = "kept" if metered - plain <= 1.0 else "MISSED"
    print(
        f"first byte of a stream: {metered:.2f} ms, {plain:.2f} ms through a bare proxy; at most 1 ms more: {outcome}"
    )


def verdicts(measured: dict[str, list[Rows]], levels: list[int]) -> None:
    """Print each limit and whether it was kept."""
    pairs = [("mashq", peer, limit) for peer, limit in CLAIMS]
    pairs += [(f"mashq:{wire}", f"aiohttp:{wire}", CLAIMS[0][1]) for wire in WIRES]
    for ours, peer, limit in pairs if AT in levels else ():
        if peer in measured and ours in measured:
            middle, best = ratio(measured, ours, peer, levels.index(AT))
            outcome = "kept" if middle <= limit else "MISSED"
            print(f"{ours} over {peer} at {AT} in flight: {middle:.3f} (best {best:.3f}), at most {limit}: {outcome}")
        else:
            print(f"{ours} over {peer} at {AT} in flight: not measured, {peer} is not here")


def _installed(peer: str) -> bool:
    return importlib.util.find_spec(peer.partition(":")[0]) is not None


def main() -> None:
    """Measure all installed peers and print the results."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--in-flight", type=int, nargs="*", default=[1, 16, 64, 256])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--peers", nargs="*", default=PEERS, choices=PEERS)
    parser.add_argument("--one", nargs=2)
    options = parser.parse_args()
    if options.one is not None:
        print(json.dumps(measure(*options.one, options.calls, options.in_flight)))
        return
    installed = [peer for peer in PEERS if _installed(peer) and peer in {"aiohttp", *options.peers}]
    print(", ".join(f"{peer} {importlib.metadata.version(peer)}" for peer in installed if ":" not in peer))
    measured = rounds(installed, options.calls, options.in_flight, options.repeats)
    table(measured, options.in_flight)
    verdicts(measured, options.in_flight)
    asyncio.run(first_byte(200))
    if missing := [peer for peer in PEERS if not _installed(peer)]:
        print(f"Not installed, so not measured: {', '.join(missing)} (make peers installs and measures all).")


if __name__ == "__main__":
    main()
