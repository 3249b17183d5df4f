"""CPU a model call: the gateway with its ledger and prices, beside bare aiohttp and what else a user would pick.

Everything asks the same loopback server for the same reply, `--in-flight` at a time, and is charged the processor
time of its own process (writer threads included). Peers that are not installed are left out, and said to be.
"""

import argparse
import asyncio
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

PROMPT = "Summarise the passage below. " + "word " * 300
PEERS = ("aiohttp", "mashq", "openai", "inspect_ai", "lm_eval")


def cpu() -> float:
    """Processor time of this process so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


async def spread(one: Any, calls: int, in_flight: int) -> tuple[float, float]:
    """Run `calls` of `one`, some at a time; CPU and wall seconds."""
    left = iter(range(calls))

    async def worker() -> None:
        for number in left:
            await one(number)

    await asyncio.gather(*(worker() for _ in range(min(in_flight, 8))))  # warm up connections on a few
    left = iter(range(calls))
    began, started = cpu(), time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(in_flight)))
    return cpu() - began, time.perf_counter() - started


async def with_aiohttp(url: str, calls: int, in_flight: int) -> tuple[float, float]:
    """The raw limit."""
    import aiohttp

    body = {"model": "m", "messages": [{"role": "user", "content": PROMPT}], "max_tokens": 64, "temperature": 0.0}
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def one(_number: int) -> None:
            async with session.post(url + "/chat/completions", json=body) as reply:
                (await reply.json())["choices"][0]["message"]["content"]

        return await spread(one, calls, in_flight)


async def with_mashq(url: str, calls: int, in_flight: int) -> tuple[float, float]:
    """The gateway: limiter, ledger on disk, price, outcome."""
    from mashq.arena.endpoints import Endpoints, Facilities
    from mashq.config import check
    from mashq.gateway.clock import RealClock
    from mashq.gateway.door import Model
    from mashq.gateway.types import Call, Completion, Message
    from mashq.store.run import Run

    settings = {"base_url": url, "concurrency": in_flight, "price": {"input": 1.0, "output": 2.0}, "max_tokens": 64}
    config = check({"players": [{"name": "A", "model": "openai/m"}], "models": {"openai/m": settings}})
    clock, facilities = RealClock(), Facilities()
    endpoint = Endpoints(config, clock, 0, facilities)["openai/m"]
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(Run.create(Path(folder) / "run", clock, {"ended": None}, ())) as run,
    ):
        ledger = run.record("0").ledger()

        async def one(number: int) -> None:
            model = Model(endpoint, ledger, clock, Call("0", number, "A", str(number), "answer"), 0)
            assert isinstance(await model.ask([Message("user", PROMPT)]), Completion)

        try:
            return await spread(one, calls, in_flight)
        finally:
            await facilities.close()


async def with_openai(url: str, calls: int, in_flight: int) -> tuple[float, float]:
    """The provider's own client."""
    import httpx
    import openai

    limits = httpx.Limits(max_connections=None)
    client = openai.AsyncOpenAI(base_url=url, api_key="none", http_client=httpx.AsyncClient(limits=limits))

    async def one(_number: int) -> None:
        messages: Any = [{"role": "user", "content": PROMPT}]
        reply = await client.chat.completions.create(model="m", messages=messages, max_tokens=64, temperature=0.0)
        assert reply.choices[0].message.content

    return await spread(one, calls, in_flight)


async def with_inspect_ai(url: str, calls: int, in_flight: int) -> tuple[float, float]:
    """Inspect's model interface."""
    from inspect_ai.model import GenerateConfig, get_model  # pyright: ignore[reportMissingImports]

    config = GenerateConfig(max_connections=in_flight, max_tokens=64, temperature=0.0)
    model = get_model("openai/m", base_url=url, api_key="none", config=config, responses_api=False)

    async def one(_number: int) -> None:
        assert (await model.generate(PROMPT)).completion

    return await spread(one, calls, in_flight)


def with_lm_eval(url: str, calls: int, in_flight: int) -> tuple[float, float]:
    """lm-evaluation-harness's client for chat completions, as its tasks drive it."""
    import os

    from lm_eval.api.instance import Instance  # pyright: ignore[reportMissingImports]
    from lm_eval.models.openai_completions import LocalChatCompletion  # pyright: ignore[reportMissingImports]

    os.environ.setdefault("OPENAI_API_KEY", "none")
    model = LocalChatCompletion(
        model="m",
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

    model.generate_until(requests(8), disable_tqdm=True)
    began, started = cpu(), time.perf_counter()
    model.generate_until(requests(calls), disable_tqdm=True)
    return cpu() - began, time.perf_counter() - started


def measure(peer: str, url: str, calls: int, in_flight: int) -> dict[str, float]:
    """One peer in this process."""
    found = globals()[f"with_{peer}"](url, calls, in_flight)
    used, wall = asyncio.run(found) if asyncio.iscoroutine(found) else found
    return {"cpu": 1e6 * used / calls, "rate": calls / wall}


def main() -> None:
    """Every peer, each in a process of its own, in turns."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--in-flight", type=int, nargs="*", default=[1, 16, 64, 256])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--one", nargs=2)
    options = parser.parse_args()
    if options.one is not None:
        peer, url = options.one
        print(json.dumps(measure(peer, url, options.calls, options.in_flight[0])))
        return
    missing = [peer for peer in PEERS if importlib.util.find_spec(peer) is None]
    with FakeProvider(latency=0.0) as provider:
        print("in flight  peer         CPU us/call   x aiohttp   calls/s")
        for in_flight in options.in_flight:
            found: dict[str, list[dict[str, float]]] = {}
            calls = options.calls if in_flight > 1 else options.calls // 4
            for _ in range(options.repeats):
                for peer in (name for name in PEERS if name not in missing):
                    command = [sys.executable, __file__, "--one", peer, provider.base_url]
                    command += ["--calls", str(calls), "--in-flight", str(in_flight)]
                    told = subprocess.run(command, capture_output=True, text=True, check=True)
                    found.setdefault(peer, []).append(json.loads(told.stdout.splitlines()[-1]))
            raw = statistics.median(row["cpu"] for row in found["aiohttp"])
            for peer, runs in found.items():
                used, rate = (statistics.median(row[key] for row in runs) for key in ("cpu", "rate"))
                print(f"{in_flight:9}  {peer:11}  {used:11.0f}  {used / raw:10.2f}  {rate:8,.0f}", flush=True)
    if missing:
        print(f"Not installed, so left out: {', '.join(missing)}.")


if __name__ == "__main__":
    main()
