"""When a streamed reply began, measured where it is passed on: from the request to the first event with data."""

import contextlib
import json
from collections.abc import AsyncGenerator, Sequence

import aiohttp
import pytest

from mashq.gateway import prices
from mashq.gateway.types import Outcome
from mashq.testing import FakeProvider
from tests.gateway.proxy.metered import CHAT, Table, table
from tests.gateway.proxy.test_server import until
from tests.gateway.raw import saying, speaking

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n"
COMMENT = b": still working\n\n"
WORD = b'data: {"choices": [{"index": 0, "delta": {"content": "x"}, "finish_reason": null}]}\n\n'
LAST = b'data: {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 2}}\n\ndata: [DONE]\n\n'
PAUSE = 0.25


@contextlib.asynccontextmanager
async def upstream(*parts: bytes | float, length: str = "") -> AsyncGenerator[str]:
    """A provider that sends bytes and pauses between them."""
    async with speaking(saying(HEAD + length.encode() + b"\r\n", *parts)) as url:
        yield f"{url}/v1"


async def streamed(at: Table) -> Outcome:
    """Ask for a stream; what the ledger has of it."""
    before = len(at.ledger.closed)
    with contextlib.suppress(aiohttp.ClientError):  # it may break off
        await at.ask({**CHAT, "stream": True})
    await until(lambda: len(at.ledger.closed) > before)
    return at.ledger.closed[before][0]


@pytest.mark.parametrize(
    "parts",
    [
        (PAUSE, WORD, PAUSE, LAST),
        (COMMENT, PAUSE, COMMENT + WORD, PAUSE, LAST),
        (WORD[:20], PAUSE, WORD[20:], PAUSE, LAST),
    ],
    ids=["a pause", "comments before it", "an event in two pieces"],
)
async def test_it_is_the_first_event_with_data(parts: Sequence[bytes | float]) -> None:
    async with upstream(*parts) as url, table(url, price=prices.fixed(1, 2)) as at:
        outcome = await streamed(at)
        assert outcome.kind == "ok" and isinstance(outcome.seconds, float) and outcome.first_byte is not None
        assert PAUSE <= outcome.first_byte <= outcome.seconds - 0.9 * PAUSE


async def test_a_stream_that_breaks_off_has_begun_all_the_same() -> None:
    async with upstream(PAUSE, WORD, length="Content-Length: 9999\r\n") as url, table(url) as at:
        outcome = await streamed(at)
        assert outcome.kind == "dropped" and outcome.first_byte is not None
        assert isinstance(outcome.seconds, float) and PAUSE <= outcome.first_byte <= outcome.seconds


async def test_a_stream_without_an_end_of_its_event_has_begun() -> None:
    async with upstream(PAUSE, LAST.rstrip()) as url, table(url) as at:
        outcome = await streamed(at)
        assert outcome.first_byte is not None and outcome.first_byte >= PAUSE


async def test_where_nothing_came_it_is_unknown() -> None:
    async with upstream(COMMENT, length="Content-Length: 9999\r\n") as url, table(url) as at:
        outcome = await streamed(at)
        assert (outcome.kind, outcome.first_byte) == ("dropped", None)


async def test_what_is_not_streamed_has_none() -> None:
    with FakeProvider() as provider:
        async with table(provider.base_url) as at:
            await at.ask()
            assert at.ledger.closed[0][0].first_byte is None, "a whole reply"
            provider.configure(script=["500"])
            status, *_ = await at.ask({**CHAT, "stream": True})
            assert status == 500 and at.ledger.closed[1][0].first_byte is None, "an error instead of a stream"
            _, text, _ = await at.ask({**CHAT, "stream": True})
            assert json.loads(text.split("\n\n")[0].removeprefix("data: ")) and at.ledger.closed[2][0].first_byte
