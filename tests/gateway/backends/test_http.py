"""One request, one outcome: a real client against a real server in another process, with every fault it knows."""

import asyncio
import json
import os
import socket
from collections import Counter
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from urllib.parse import unquote

import aiohttp
import pytest
import pytest_asyncio
from aiohttp.abc import AbstractResolver, ResolveResult

from mashq.gateway.backends.http import ANSWER, HttpBackend, Pool
from mashq.gateway.clock import RealClock
from mashq.gateway.limits import Limiter
from mashq.gateway.model import Endpoint, Model
from mashq.gateway.retry import Policy
from mashq.gateway.types import Message, Outcome, Request, Usage
from mashq.gateway.wire.anthropic_messages import AnthropicMessages
from mashq.gateway.wire.base import Options, Wire
from mashq.gateway.wire.gemini import Gemini
from mashq.gateway.wire.openai_chat import OpenAIChat
from mashq.gateway.wire.openai_responses import OpenAIResponses
from mashq.protocol.resources import UNKNOWN, Amount
from mashq.testing import FakeProvider
from mashq.testing.faults import KINDS
from tests.gateway.fakes import CALL, FakeLedger, asked

KEY = "sk-very-secret-0123456789abcdef"
OTHER_SECRET = "another-secret-in-a-header"
NOTHING = Usage(0, 0, 0, 0)
PROMPT = (
    'Summarise as {"summary": "..."}.\n\nThe council voted on Tuesday. The pool was built in 1968. It will close.'
)

# fault: (kind, status, what is known of the usage)
EXPECTED: dict[str, tuple[str, int | None, str]] = {
    "ok": ("ok", 200, "known"),
    "429": ("http", 429, "nothing"),
    "429_date": ("http", 429, "nothing"),
    "429_absurd": ("http", 429, "nothing"),
    "500": ("http", 500, "nothing"),
    "503": ("http", 503, "nothing"),
    "400": ("http", 400, "nothing"),
    "401": ("http", 401, "nothing"),
    "404": ("http", 404, "nothing"),
    "echo_key_500": ("http", 500, "nothing"),
    "insufficient_quota": ("http", 429, "nothing"),
    "no_temperature": ("http", 400, "nothing"),
    "no_stream_options": ("ok", 200, "known"),  # it is a stream that is asked for its usage
    "bad_gzip": ("unparsable", None, "unknown"),
    "bad_utf8": ("unparsable", 200, "unknown"),
    "html": ("unparsable", 200, "unknown"),
    "truncated_json": ("unparsable", 200, "unknown"),
    "not_a_completion": ("unparsable", 200, "unknown"),
    "no_usage": ("ok", 200, "unknown"),
    "bad_usage": ("ok", 200, "unknown"),
    "wrong_json": ("ok", 200, "known"),
    "refusal": ("refused", 200, "known"),
    "content_filter": ("refused", 200, "known"),
    "empty": ("refused", 200, "known"),
    "length": ("ok", 200, "known"),
    "fenced": ("ok", 200, "known"),
    "thinks": ("ok", 200, "known"),
    "think": ("ok", 200, "known"),
    "unsaid": ("refused", 200, "known"),
    "hang": ("timeout", None, "unknown"),
    "slow_drip": ("timeout", None, "unknown"),
    "reset_before": ("dropped", None, "unknown"),
    "drop_headers": ("dropped", None, "unknown"),
    "drop_body": ("dropped", None, "unknown"),
    "half_close": ("dropped", None, "unknown"),
    "endless": ("unparsable", 200, "unknown"),
    "wrong_length": ("unparsable", None, "unknown"),
}
CODECS: dict[str, Wire] = {
    "openai": OpenAIChat(),
    "responses": OpenAIResponses(),
    "anthropic": AnthropicMessages(),
    "gemini": Gemini(),
}


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)


@pytest.fixture(scope="module")
def shared() -> Iterator[FakeProvider]:
    with FakeProvider() as provider:
        yield provider


@pytest.fixture
def provider(shared: FakeProvider) -> Iterator[FakeProvider]:
    shared.configure()
    yield shared
    shared.configure()


@pytest_asyncio.fixture
async def pool() -> AsyncGenerator[Pool]:
    pool = Pool()
    yield pool
    await pool.close()


def backend(pool: Pool, url: str, codec: Wire = CODECS["openai"], *, timeout: float = 30.0) -> HttpBackend:
    return HttpBackend(
        pool,
        RealClock(),
        codec,
        base_url=url,
        model="m1",
        key=KEY,
        options=Options(json="schema"),
        timeout=timeout,
        headers={"X-Other": OTHER_SECRET},
    )


def request(number: int = 0) -> Request:
    return replace(asked(PROMPT), seed=number)


def secretless(outcome: Outcome) -> None:
    """No secret, nor the beginning of one, is anywhere in the outcome."""
    told = repr(outcome)
    assert KEY[:8] not in told
    assert OTHER_SECRET not in told
    assert "\n" not in outcome.error
    assert len(outcome.error) <= 300


def knowledge(usage: Usage) -> str:
    if usage == NOTHING:
        return "nothing"
    known = usage.tokens_in is not UNKNOWN and usage.tokens_out is not UNKNOWN
    unknown = usage.tokens_in is UNKNOWN and usage.tokens_out is UNKNOWN
    return "known" if known else "unknown" if unknown else "half"


def test_every_fault_has_an_expectation() -> None:
    assert set(EXPECTED) == KINDS


@pytest.mark.parametrize("wire", CODECS)
@pytest.mark.parametrize("fault", sorted(KINDS))
async def test_every_fault_is_one_hit_and_the_right_outcome(
    fault: str, wire: str, provider: FakeProvider, pool: Pool
) -> None:
    expected = EXPECTED[fault]
    if fault in ("content_filter", "unsaid") and wire == "anthropic":
        expected = ("refused", 400, "nothing")
    provider.configure(script=[fault], hang=5.0)
    before = len(provider.hits())
    patience = 0.4 if expected[0] == "timeout" else 30.0
    outcome = await backend(pool, provider.base_url, CODECS[wire], timeout=patience).attempt(request(), CALL)
    if fault == "wrong_length":  # read as half a body or as two replies, as the packets fall
        expected = (expected[0], outcome.status, expected[2])
    assert (outcome.kind, outcome.status, knowledge(outcome.usage)) == expected, outcome
    assert len(provider.hits()) == before + 1
    secretless(outcome)
    assert (outcome.completion is not None) == (outcome.kind in ("ok", "refused"))
    assert (outcome.error == "") == (outcome.kind in ("ok", "refused"))
    assert outcome.completion is None or outcome.completion.refused == (outcome.kind == "refused")
    assert outcome.completion is None or "draft" not in outcome.completion.text, "what it thought is no answer"
    assert outcome.completion is None or (outcome.completion.stop == "length") == (fault in ("length", "thinks"))
    assert not outcome.rated
    assert isinstance(outcome.seconds, float)
    assert 0 < outcome.seconds < 20


@pytest.mark.parametrize("wire", CODECS)
async def test_what_a_good_reply_used_is_what_the_server_says(wire: str, provider: FakeProvider, pool: Pool) -> None:
    """The fake provider counts the prompt's words; cached tokens are within it in both formats."""
    words = len(PROMPT.split())
    for number in range(12):
        outcome = await backend(pool, provider.base_url, CODECS[wire]).attempt(request(number), CALL)
        assert outcome.usage.tokens_in == -(-words * 13 // 10)
        assert json.loads(outcome.usage.raw)


@pytest.mark.parametrize("wire", CODECS)
async def test_bad_usage_in_each_of_its_variants(wire: str, provider: FakeProvider, pool: Pool) -> None:
    provider.configure(script=["bad_usage"] * 3)
    model = backend(pool, provider.base_url, CODECS[wire])
    known = [knowledge((await model.attempt(request(), CALL)).usage) for _ in range(3)]
    assert known == ["unknown", "unknown", "known"]


async def test_the_key_and_the_other_headers_are_sent(provider: FakeProvider, pool: Pool) -> None:
    from mashq.testing.journal import fingerprint

    for codec in CODECS.values():
        await backend(pool, provider.base_url + "/", codec).attempt(request(), CALL)
    last = provider.hits()[-4:]
    asked = ["/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1/models/m1:generateContent"]
    assert [hit["path"] for hit in last] == asked
    assert [hit["authorization"] for hit in last] == [fingerprint(KEY)] * 4
    assert [hit["model"] for hit in last] == ["m1", "m1", "m1", None], "Gemini's is in the path"


@pytest.mark.parametrize(
    ("fault", "least", "most"), [("429", 7.0, 7.0), ("429_date", 5.0, 8.0), ("429_absurd", 99999999.0, 99999999.0)]
)
async def test_retry_after_is_read(fault: str, least: float, most: float, provider: FakeProvider, pool: Pool) -> None:
    provider.configure(script=[fault], retry_after=7)
    outcome = await backend(pool, provider.base_url).attempt(request(), CALL)
    assert outcome.retry_after is not None
    assert least <= outcome.retry_after <= most


@pytest.mark.parametrize("fault", ["400", "echo_key_500"])
async def test_an_echoed_key_is_named_and_not_shown(fault: str, provider: FakeProvider, pool: Pool) -> None:
    provider.configure(script=[fault])
    outcome = await backend(pool, provider.base_url).attempt(request(), CALL)
    assert "[key]" in outcome.error
    secretless(outcome)


async def test_a_slow_reply_within_the_time_is_a_reply(provider: FakeProvider, pool: Pool) -> None:
    provider.configure(script=["slow_drip"], drip=0.0001)
    outcome = await backend(pool, provider.base_url).attempt(request(), CALL)
    assert (outcome.kind, knowledge(outcome.usage)) == ("ok", "known")


async def test_after_64_concurrent_asks_through_mixed_faults_hits_are_attempts(
    provider: FakeProvider, pool: Pool
) -> None:
    faults = ["429", "500", "400", "drop_body", "reset_before", "half_close", "bad_gzip", "no_usage", "refusal"]
    provider.configure(rates=dict.fromkeys(faults, 0.08))
    before = len(provider.hits())
    clock, ledger = RealClock(), FakeLedger()
    endpoint = Endpoint(
        "p/m1", backend(pool, provider.base_url), Limiter(clock, 64), retries=Policy(3, base=0.001, cap=0.002)
    )
    models = [Model(endpoint, ledger, clock, replace(CALL, item=f"i{n}"), seed=1) for n in range(64)]
    await asyncio.gather(*(model.ask([Message("user", PROMPT)]) for model in models))
    hits = provider.hits()[before:]
    assert len(hits) == len(ledger.opened) == len(ledger.closed) > 64
    assert sum(model.spend.calls for model in models) == len(hits)
    served = Counter(EXPECTED[hit["fault"]][0] for hit in hits)
    assert Counter(outcome.kind for outcome, _ in ledger.closed.values()) == served
    assert sum(model.spend.unknown for model in models) == sum(EXPECTED[hit["fault"]][2] == "unknown" for hit in hits)
    assert len(served) >= 5
    for outcome, _ in ledger.closed.values():
        secretless(outcome)


async def test_a_server_that_is_not_there_was_sent_nothing(pool: Pool) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        outcome = await backend(pool, f"http://127.0.0.1:{free.getsockname()[1]}/v1").attempt(request(), CALL)
    assert (outcome.kind, outcome.usage, outcome.status) == ("unreachable", NOTHING, None)
    assert "Cannot connect to host 127.0.0.1" in outcome.error


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("password", ["hunter2%21and%2Fmore", "pw"])
@pytest.mark.parametrize(
    "proxy",
    [
        "http://name:{}@127.0.0.1:{port}",
        "http://name:{}@127.0.0.1:1",
        "http://name:{}@127.0.0.1:none",
        "socks5://name:{}@127.0.0.1:{port}",
        "name:{}@127.0.0.1:{port}",
    ],
)
async def test_the_password_of_a_proxy_is_never_shown(
    pool: Pool, monkeypatch: pytest.MonkeyPatch, proxy: str, password: str, scheme: str
) -> None:
    meant = unquote(password)

    async def turn_away(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        body = f"not {meant}".encode() if len(meant) > 7 else b"no"
        writer.write(b"HTTP/1.1 407 no\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        writer.close()

    async with await asyncio.start_server(turn_away, "127.0.0.1", 0) as listening:
        port = listening.sockets[0].getsockname()[1]
        monkeypatch.setenv(f"{scheme}_proxy", proxy.format(password, port=port))
        outcome = await backend(pool, f"{scheme}://example.invalid/v1").attempt(request(), CALL)
    assert outcome.completion is None and outcome.error
    shown = [part for part in (f":{password}", f":{meant}", f" {meant}") if part in outcome.error]
    assert shown == [], outcome.error


async def test_an_impossible_address_was_sent_nothing(pool: Pool) -> None:
    outcome = await backend(pool, "http://127.0.0.1:99999/v1").attempt(request(), CALL)
    assert (outcome.kind, outcome.usage) == ("unreachable", NOTHING)


class Nowhere(AbstractResolver):
    """A name server that never answers."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        await asyncio.sleep(60)
        return []

    async def close(self) -> None:
        pass


class Impatient(Pool):
    """Gives up on connections that take longer than a moment."""

    def __init__(self) -> None:
        super().__init__()
        self._mine = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(resolver=Nowhere()), timeout=aiohttp.ClientTimeout(connect=0.05)
        )

    def session(self) -> aiohttp.ClientSession:
        return self._mine

    async def close(self) -> None:
        await self._mine.close()


async def test_a_connection_that_is_not_made_in_time_was_sent_nothing() -> None:
    pool = Impatient()
    outcome = await backend(pool, "http://somewhere.invalid/v1").attempt(request(), CALL)
    await pool.close()
    assert (outcome.kind, outcome.usage) == ("unreachable", NOTHING)
    assert "timeout" in outcome.error


@dataclass
class Served:
    """A server that answers every request with the same bytes."""

    url: str
    heads: list[bytes] = field(default_factory=list[bytes])


@asynccontextmanager
async def serving(reply: bytes) -> AsyncGenerator[Served]:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        served.heads.append(head)
        length = [int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
        await reader.readexactly(sum(length))
        writer.write(reply)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    served = Served(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    try:
        yield served
    finally:
        server.close()
        await server.wait_closed()


def http(status: str, body: bytes, *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "307 Temporary", "308 Permanent"])
async def test_no_redirect_is_followed(status: str, pool: Pool) -> None:
    async with serving(b"") as target, serving(http(status, b"", f"Location: {target.url}/v1")) as served:
        outcome = await backend(pool, served.url).attempt(request(), CALL)
    assert (outcome.kind, outcome.status, outcome.usage) == ("http", int(status[:3]), NOTHING)
    assert len(served.heads) == 1
    assert target.heads == []


@pytest.mark.parametrize("pad", range(300 - len(KEY) - 20, 301, 7))
@pytest.mark.parametrize("in_json", [True, False])
async def test_a_key_is_taken_out_before_a_long_error_is_cut(pad: int, in_json: bool, pool: Pool) -> None:
    words = "w" * pad + KEY + "w" * 500
    body = json.dumps({"error": {"message": words}}) if in_json else words
    async with serving(http("500 Oh", body.encode())) as served:
        outcome = await backend(pool, served.url).attempt(request(), CALL)
    assert outcome.error.startswith("HTTP 500: www")
    secretless(outcome)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b'{"error": {"message": "No such  model\\n at all"}}', "HTTP 404: No such model at all"),
        (b'{"error": "plain words"}', "HTTP 404: plain words"),
        (b'{"error": {"code": 7}}', 'HTTP 404: {"error": {"code": 7}}'),
        (b'{"error": {"message": ["a"]}}', 'HTTP 404: {"error": {"message": ["a"]}}'),
        (b'{"detail": "not here"}', 'HTTP 404: {"detail": "not here"}'),
        (b"[1]", "HTTP 404: [1]"),
        (b"<h1>not \xff here</h1>", "HTTP 404: <h1>not \ufffd here</h1>"),
        (b"", "HTTP 404:"),
        pytest.param(b"[" * 100_000, "HTTP 404: " + "[" * 290, id="nested"),
    ],
)
async def test_an_error_is_told_in_the_words_of_the_provider(body: bytes, says: str, pool: Pool) -> None:
    async with serving(http("404 Not Found", body)) as served:
        outcome = await backend(pool, served.url).attempt(request(), CALL)
    assert outcome.error == says
    assert outcome.usage == NOTHING


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"prompt_tokens": 9, "completion_tokens": 0}, (9, 0)),
        ({"prompt_tokens": -9, "completion_tokens": "0"}, (UNKNOWN, UNKNOWN)),
        (None, (0, 0)),
    ],
)
async def test_an_error_that_tells_its_usage_is_billed_for_it(usage: object, tokens: object, pool: Pool) -> None:
    body = json.dumps({"error": {"message": "too long"}, "usage": usage}).encode()
    async with serving(http("400 Bad", body)) as served:
        outcome = await backend(pool, served.url).attempt(request(), CALL)
    assert (outcome.usage.tokens_in, outcome.usage.tokens_out) == tokens


@pytest.mark.parametrize(
    "reply",
    [
        b"garbage\r\n\r\n",
        b"HTTP/1.1 abc\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"a" * 70_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{}   " + b"x" * 70_000,
    ],
    ids=["garbage", "status", "length", "header", "too much"],
)
async def test_what_is_not_http_is_one_short_line_without_the_headers_that_were_sent(
    reply: bytes, pool: Pool
) -> None:
    async with serving(reply) as served:
        outcome = await backend(pool, served.url).attempt(request(), CALL)
    assert (outcome.kind, knowledge(outcome.usage)) == ("unparsable", "unknown")
    secretless(outcome)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"null", "the reply is not JSON"),
        (b"", "the reply is not JSON"),
        (b"[" * 100_000, "the reply is nested more than 100 levels deep"),
        (b'{"choices": 1' + b"0" * 40 + b"}", "the reply has a whole number of more than 40 digits"),
        (b"[" + b"{}," * 1_200_000, "the reply brings what is held in memory to more than 256 MB"),
    ],
    ids=["null", "empty", "nested", "digits", "objects"],
)
async def test_a_reply_that_json_cannot_read_is_unparsable(body: bytes, says: str, pool: Pool) -> None:
    async with serving(http("200 OK", body)) as served:
        outcome = await backend(pool, served.url).attempt(request(), CALL)
    assert (outcome.kind, outcome.error, knowledge(outcome.usage)) == (
        "unparsable",
        says,
        "unknown",
    )


async def test_the_longest_reply_is_read_and_a_longer_one_is_not(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    good = json.dumps({"choices": [{"message": {"content": "x"}}]}).encode()
    monkeypatch.setattr("mashq.gateway.backends.http.ANSWER", len(good))
    for body, kind in ((good, "ok"), (good + b" ", "unparsable")):
        async with serving(http("200 OK", body)) as served:
            assert (await backend(pool, served.url).attempt(request(), CALL)).kind == kind
    assert ANSWER > 4 * 10**6


async def test_a_key_that_is_no_header_is_never_sent(pool: Pool) -> None:
    async with serving(b"") as served:
        model = HttpBackend(
            pool, RealClock(), OpenAIChat(), base_url=served.url, model="m", key="a\nb", options=Options(), timeout=5
        )
        outcome = await model.attempt(request(), CALL)
    assert (outcome.kind, served.heads) == ("dropped", [])


async def test_without_a_key_none_is_sent_and_nothing_is_hidden(pool: Pool) -> None:
    async with serving(http("500 Oh", b"words")) as served:
        model = HttpBackend(
            pool, RealClock(), OpenAIChat(), base_url=served.url, model="m", key=None, options=Options(), timeout=5
        )
        outcome = await model.attempt(request(), CALL)
    assert outcome.error == "HTTP 500: words"
    assert b"authorization" not in served.heads[0].lower()
    await model.close()


async def test_a_proxy_that_opens_no_tunnel_was_sent_nothing(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(http("407 Proxy Authentication Required", b"")) as proxy:
        monkeypatch.setenv("https_proxy", proxy.url)
        outcome = await backend(pool, "https://provider.invalid/v1").attempt(request(), CALL)
    assert (outcome.kind, outcome.usage) == ("unreachable", NOTHING)
    assert proxy.heads[0].startswith(b"CONNECT provider.invalid:443")
    assert KEY.encode() not in proxy.heads[0]
    secretless(outcome)


async def test_a_pool_makes_one_session_closes_it_and_can_make_another() -> None:
    pool = Pool()
    await pool.close()
    first = pool.session()
    assert pool.session() is first
    await pool.close()
    await pool.close()
    assert first.closed
    second = pool.session()
    assert not second.closed
    await pool.close()


async def test_a_cancelled_attempt_ends_at_once_and_stays_open(provider: FakeProvider, pool: Pool) -> None:
    provider.configure(script=["hang"], hang=5.0)
    clock, ledger = RealClock(), FakeLedger()
    model = Model(Endpoint("p/m1", backend(pool, provider.base_url), Limiter(clock, 1)), ledger, clock, CALL, seed=1)
    before = len(provider.hits())
    task = asyncio.create_task(model.ask([Message("user", PROMPT)]))
    while len(provider.hits()) == before:
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (len(ledger.opened), ledger.closed) == (1, {})
    assert model.spend.seconds == Amount()
