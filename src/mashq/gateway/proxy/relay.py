"""From an agent's request to its reply: passed on to the model as it is, or answered by a backend of our own.

A reply is passed on whatever it is, errors with their status and Retry-After included, so that the agent's own client
decides what to do next. What the agent never sees is a key: every body is cleared of it. A stream is forwarded event
by event as it comes. When the model leaves before its end the agent is cut off, and the attempt is recorded as
dropped. The model is read at its own pace, whatever the agent's: when the agent leaves, or takes its time, the stream
is read to its end all the same, where its usage stands. Only if that does not come, because the agent has left or
asked for more than a reply may take, is the attempt recorded as left, and its unknown cost charged at its worst case.
"""

import asyncio
import contextlib
import hashlib
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import aiohttp
from aiohttp import web

from mashq import bounds
from mashq.bounds import REPLY
from mashq.gateway import prices
from mashq.gateway.backends.http import NOTHING, Address, HttpBackend
from mashq.gateway.model import Endpoint
from mashq.gateway.prices import context_of
from mashq.gateway.profiles import Experience, Lesson, turned_down
from mashq.gateway.proxy.grants import Grant
from mashq.gateway.types import LEFT, Call, Outcome, Request, Worst
from mashq.gateway.wire.base import (
    DIGESTED,
    PASSED,
    STREAMED,
    Answered,
    Asked,
    BadRequest,
    Options,
    Served,
    StreamReader,
)
from mashq.gateway.wire.sse import Cutter, TooLong, data_of
from mashq.protocol.resources import Unknown

PASSED_ON = ("Content-Type", "Retry-After", "Retry-After-Ms", "X-Should-Retry", "X-Request-Id")
UNREAD = 30.0  # seconds after which an agent that does not take what is sent has left
ROOM = 64  # bytes that a limit may add to a body
EVENTS = {"Content-Type": "text/event-stream", "Cache-Control": "no-cache"}


async def answer(grant: Grant, served: Served, asked: Asked, request: web.BaseRequest) -> web.StreamResponse:
    """One request, one attempt, one reply."""
    backend = grant.endpoint.backend
    address = backend.address(served) if isinstance(backend, HttpBackend) else None
    if isinstance(backend, HttpBackend) and address is not None:
        return await _Passing(grant, backend, address, asked, request).reply()
    return await _answered_here(grant, served, asked)


def problem(served: Served, status: int, message: str, headers: Mapping[str, str] | None = None) -> web.Response:
    """An error in the form that the agent's client reads."""
    body = json.dumps(served.problem(status, message))
    return web.Response(status=status, body=body, content_type="application/json", headers=headers)


class _Passing:
    """One request on its way to the model and back."""

    def __init__(
        self, grant: Grant, backend: HttpBackend, address: Address, asked: Asked, request: web.BaseRequest
    ) -> None:
        assert address.wire.served is not None
        self._grant, self._backend, self._served = grant, backend, address.wire.served
        self._asked, self._request = asked, request
        sent = {name: value for name in self._served.passed_headers if (value := request.headers.get(name))}
        self._address = replace(address, headers={**address.headers, **sent})
        self._endpoint = _embedding(grant.endpoint, backend, asked) if asked.kind == "embeddings" else grant.endpoint
        self._asks_usage = not self._experience.left_out("stream_options")
        self._body, self._worst = self._bounded()
        self._response: web.StreamResponse | None = None
        self._listener: _Listener | None = None
        self._whole = True
        self._silent: asyncio.Timeout | None = None
        self._started = 0.0
        self._first_byte: float | None = None

    def _bounded(self) -> tuple[bytes, Worst]:
        """The body and what it could cost; under a budget of tokens or dollars it gets a limit that can be paid."""
        asked, endpoint, options = self._asked, self._endpoint, self._options
        body = self._served.upstream(asked, self._backend.model, None, options)
        longest, worst = asked.tokens_out, partial(endpoint.worst, written=True)
        if not self._grant.bounded:
            tokens_in = max(len(body), context_of(endpoint.name) if asked.draws_on else 0)
            return body, worst(tokens_in, endpoint.largest * asked.choices if longest is None else longest)
        if asked.draws_on:
            raise BadRequest(
                f"{asked.draws_on} has the provider read more than the request holds, which a budget of tokens or "
                "dollars cannot bound: leave it out"
            )
        if longest is not None:
            return body, worst(len(body), longest)
        most = partial(worst, len(body) + ROOM)
        limit = self._grant.affordable(most, endpoint.largest * asked.choices) // asked.choices or 1
        body = self._served.upstream(asked, self._backend.model, limit, options)
        return body, most(limit * asked.choices)

    @property
    def _options(self) -> Options:
        """What is added to the agent's request: its usage is asked for, unless the model does not take that."""
        options = self._backend.options
        return options if self._asks_usage else replace(options, stream_usage=False)

    @property
    def _experience(self) -> Experience:
        return self._grant.endpoint.experience

    async def reply(self) -> web.StreamResponse:
        """Send it, and what the agent gets for it; once more where only what we added was turned down."""
        noted = self._served.noted(self._asked)
        try:
            outcome = await self._grant.attempt(self._endpoint, noted, self._worst, self._send)
            if self._turned_down(outcome):
                self._asks_usage = False
                self._body, self._worst = self._bounded()
                rejected, outcome = outcome, await self._grant.attempt(self._endpoint, noted, self._worst, self._send)
                if outcome.completion is not None:
                    self._learn(rejected)
            if self._response is None:
                return _failed(self._served, outcome)
            taken = self._listener is None or await self._listener.ends()
        finally:
            if self._listener is not None:
                self._listener.close()
        if not (self._whole and taken) and self._request.transport is not None:
            self._request.transport.abort()
        return self._response

    def _turned_down(self, outcome: Outcome) -> bool:
        """Whether an error may be about the usage that we asked for: the agent has sent no such options itself."""
        if not turned_down("stream_options", outcome) or self._asked.document.get("stream_options"):
            return False
        without = replace(self._options, stream_usage=False)
        served, asked, model = self._served, self._asked, self._backend.model
        return served.upstream(asked, model, None, self._options) != served.upstream(asked, model, None, without)

    def _learn(self, rejected: Outcome) -> None:
        """The same request was answered without what we had added: the model does not take that, from anyone."""
        lesson = Lesson("stream_options", None, rejected.error)
        self._experience.lessons[lesson.field] = lesson
        self._grant.model.ledger.learn(self._grant.endpoint.name, lesson.field, lesson.limit, lesson.why)

    async def _send(self, call: Call) -> Outcome:
        path, self._first_byte = self._served.target(self._asked, self._backend.model), None
        outcome = await self._backend.exchange(path, self._body, self._take, self._address, self._first)
        usage = outcome.usage
        if self._first_byte is not None:  # of a stream that broke off too
            outcome = replace(outcome, first_byte=self._first_byte)
        known = not (isinstance(usage.tokens_in, Unknown) or isinstance(usage.tokens_out, Unknown))
        reason = "" if known else self._left(outcome)
        return replace(outcome, kind="left", completion=None, error=reason) if reason else outcome

    def _left(self, outcome: Outcome) -> str:
        """How the agent's side kept a stream from its end, where it did; else nothing."""
        if self._listener is None:
            return ""
        if self._listener.left or self._request.transport is None:
            return LEFT
        silent = self._silent is None or self._silent.expired()
        if outcome.kind == "timeout" and self._first_byte is not None and not silent:
            return f"the stream went on for longer than the {self._endpoint.timeout:g} s that a reply may take"
        return ""

    @property
    def _first(self) -> float | None:
        """How long to wait for the first byte: of a reply that comes whole, as long as for all of it."""
        return self._backend.silence.first if self._asked.stream else None

    async def _take(self, response: aiohttp.ClientResponse, started: float, silent: asyncio.Timeout) -> Outcome:
        self._started = started
        if self._asked.stream and response.status < 300 and response.content_type == "text/event-stream":
            return await self._stream(response, started, silent)
        silent.reschedule(None)
        decode = partial(self._served.decode, self._asked)
        outcome, data = await self._backend.received(response, started, decode, self._address.wire)
        outcome = self._noted(outcome)
        if data is not None:
            headers = _headers(response, self._backend)
            self._response = web.Response(status=response.status, body=self._cleared(data), headers=headers)
        return outcome

    async def _stream(self, response: aiohttp.ClientResponse, started: float, silent: asyncio.Timeout) -> Outcome:
        """Forward a stream; until it has come to its end it is not whole. It is read without waiting for the agent,
        as all of it is billed: what the reply cost stands at its end."""
        out = self._response = web.StreamResponse(headers=EVENTS)
        self._listener, self._silent = _Listener(out, self._request, self._grant), silent
        reader, cutter, self._whole = self._served.reader(self._asked), Cutter(), False
        size, count, kept = 0, 0, list[bytes]()
        try:
            async for data in _arriving(response, silent, self._backend.silence.idle):
                size += len(data)
                events = cutter.feed(data)
                count += len(events)
                if size > REPLY or count > bounds.EVENTS:
                    raise TooLong(f"the stream is longer than {bounds.size(REPLY)} or {bounds.EVENTS:,} events")
                self._forward(self._listener, reader, events, kept)
            if cutter.rest.strip():
                self._forward(self._listener, reader, [cutter.rest], kept)
        except TooLong as error:  # the agent has had its words, where there were any
            return self._backend.lost("unparsable" if self._first_byte is None else "left", str(error), started)
        self._whole = True
        kind, completion, error = reader.ending()
        usage, seconds = reader.usage, self._grant.model.clock.tick() - started
        body, wire, raw = None, f"{self._served.format}{STREAMED}", b"".join(kept)
        as_it_came = completion
        if completion is not None:
            completion, usage = self._backend.without_key(completion, usage)
        with contextlib.suppress(UnicodeDecodeError):
            body = raw.decode()
        if body is None or as_it_came != completion:  # it could not be read again as it was; or a key came in pieces
            body, wire = hashlib.sha256(raw).hexdigest(), f"{self._served.format}{DIGESTED}"
        wrong = self._backend.redacted(error)[:300]
        return Outcome(kind, completion, usage, seconds, status=response.status, error=wrong, body=body, wire=wire)

    def _noted(self, outcome: Outcome) -> Outcome:
        """How the ledger has the reply: as it was passed on, of embeddings a digest."""
        if outcome.body is None:
            return outcome
        if self._asked.kind == "embeddings":
            digest = hashlib.sha256(outcome.body.encode("utf-8", "replace")).hexdigest()
            return replace(outcome, body=digest, wire=f"{outcome.wire}{DIGESTED}")
        return replace(outcome, wire=f"{outcome.wire}{PASSED}")

    def _forward(
        self, listener: "_Listener", reader: StreamReader, events: Sequence[bytes], kept: list[bytes]
    ) -> None:
        """Pass on the events that came together, together; the first with data, comments being none, is timed."""
        if self._first_byte is None and any(map(data_of, events)):
            self._first_byte = self._grant.model.clock.tick() - self._started
        clear = [self._cleared(event) for event in events]
        kept += clear
        passed = b"".join([event for event in clear if reader.take(event)])
        if passed:
            listener.tell(passed)

    def _cleared(self, data: bytes) -> bytes:
        """`data` without the key; Latin-1 gives every byte a character and back."""
        return self._backend.redacted(data.decode("latin-1")).encode("latin-1")


class _Listener:
    """The agent at the other end of a stream, which takes what it is told at its own pace.

    It has left when it hangs up, or takes nothing for UNREAD seconds, or has not taken all when its turn is over.
    """

    left: bool

    def __init__(self, out: web.StreamResponse, request: web.BaseRequest, grant: Grant) -> None:
        self.left = False
        self._out, self._request, self._grant = out, request, grant
        self._pieces: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._ended = False
        self._writing = asyncio.create_task(self._write())

    def tell(self, data: bytes) -> None:
        """Have it written as soon as the agent takes it."""
        if not self.left:
            self._pieces.put_nowait(data)

    async def ends(self) -> bool:
        """Nothing more comes: whether the agent has taken everything."""
        self._ended = True
        self._pieces.put_nowait(None)
        await self._writing
        return not self.left

    def close(self) -> None:
        """Write no more."""
        self._writing.cancel()

    async def _write(self) -> None:
        try:
            async with asyncio.timeout(UNREAD):
                await self._out.prepare(self._request)
            while (data := await self._pieces.get()) is not None:
                if self._ended and not self._grant.active:
                    raise TimeoutError
                async with asyncio.timeout(UNREAD):
                    await self._out.write(data)
        except (ConnectionError, TimeoutError):
            self.left, self._pieces = True, asyncio.Queue()


async def _arriving(response: aiohttp.ClientResponse, silent: asyncio.Timeout, idle: float) -> AsyncIterator[bytes]:
    """The bytes of a stream as they come. Only the time that the model is waited for is silence of its."""
    loop = asyncio.get_running_loop()
    async for data in response.content.iter_any():
        silent.reschedule(None)
        yield data
        silent.reschedule(loop.time() + idle)


async def _answered_here(grant: Grant, served: Served, asked: Asked) -> web.StreamResponse:
    """A reply of a backend that takes our own requests: whole, and as a stream all at once."""
    endpoint = grant.endpoint
    if asked.kind == "embeddings":
        raise BadRequest(f"the model {endpoint.name} makes no embeddings")
    wanted = served.as_request(asked, endpoint.max_tokens, endpoint.temperature)
    prompt = wanted.prompt_bytes
    if wanted.max_tokens is None and grant.bounded:
        limit = grant.affordable(partial(endpoint.worst, prompt), endpoint.largest)
        wanted = replace(wanted, max_tokens=limit)
    worst = endpoint.worst(prompt, endpoint.largest if wanted.max_tokens is None else wanted.max_tokens)

    async def send(call: Call) -> Outcome:
        return await _attempted(endpoint, wanted, call)

    outcome = await grant.attempt(endpoint, wanted, worst, send)
    if outcome.completion is None:
        return _failed(served, outcome)
    answered = Answered(outcome.completion, outcome.usage, endpoint.name, f"{id(outcome):x}")
    if not asked.stream:
        reply = served.reply(answered)
        return web.json_response([reply] if asked.listed else reply)
    return web.Response(body=served.events(answered, asked), headers=EVENTS)


async def _attempted(endpoint: Endpoint, wanted: Request, call: Call) -> Outcome:
    """The backend's outcome; what an agent put into its request can trip only its own attempt."""
    try:
        return await endpoint.backend.attempt(wanted, call)
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        return Outcome("missing", usage=NOTHING, seconds=0.0, status=400, error=f"{type(error).__name__}: {error}")


def _embedding(endpoint: Endpoint, backend: HttpBackend, asked: Asked) -> Endpoint:
    """The endpoint under the name and at the price of the embedding model that the agent chose."""
    if asked.model == backend.model:
        return endpoint
    provider = endpoint.name.partition("/")[0]
    name = f"{provider}/{asked.model[:200]}"
    return replace(endpoint, name=name, rates=prices.listed_rates(provider, asked.model) if asked.model else {})


def _failed(served: Served, outcome: Outcome) -> web.Response:
    """What an agent is told when there is no reply to pass on."""
    status = outcome.status if outcome.status is not None and outcome.status >= 400 else None
    retry = {} if outcome.retry_after is None else {"Retry-After": f"{outcome.retry_after:g}"}
    return problem(served, status or (504 if outcome.kind == "timeout" else 502), outcome.error, retry)


def _headers(response: aiohttp.ClientResponse, backend: HttpBackend) -> dict[str, str]:
    """The headers an agent's client acts on; no others are passed on."""
    headers = {name: response.headers[name] for name in PASSED_ON if name in response.headers}
    return {name: backend.redacted(text) for name, text in headers.items() if text.isascii() and text.isprintable()}
