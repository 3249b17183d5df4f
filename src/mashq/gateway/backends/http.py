"""One HTTP request is one attempt: nothing here retries, follows a redirect or guesses.

What came back becomes an Outcome. A complete error reply without usage bills nothing; a lost connection, a
time-out or a body that cannot be read has unknown usage; a connection that was never made sent nothing.
"""

import asyncio
import json
import re
import select
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakSet

import aiohttp
import aiohttp.connector

from mashq import bounds
from mashq.bounds import ANSWER, REPLY, REPLY_MEMORY, Room, TooMuch
from mashq.gateway.preflight import proxy_of, secrets_in
from mashq.gateway.redaction import Redaction
from mashq.gateway.retry import parse_retry_after
from mashq.gateway.types import Call, Clock, Completion, Kind, Outcome, Request, Usage
from mashq.gateway.untrusted import as_list, as_object, child
from mashq.gateway.wire.base import Decoded, Options, Served, Wire
from mashq.gateway.wire.spoken import FILTERED, filtered

LINE = 300
NO_JSON = "the reply is not JSON"
BOM = "\ufeff"
PRIVATE = re.compile("key|auth|token|secret|cookie", re.IGNORECASE)
NOTHING = Usage(0, 0, 0, 0)
NEVER_SENT = (
    aiohttp.ClientConnectorError,
    aiohttp.ConnectionTimeoutError,
    aiohttp.ClientHttpProxyError,
    aiohttp.InvalidURL,
)

Take = Callable[[aiohttp.ClientResponse, float, asyncio.Timeout], Awaitable[Outcome]]
Decode = Callable[[object], Decoded]


@dataclass(frozen=True, slots=True)
class Silence:
    """How long a stream may be silent: until it begins, and then at any time."""

    first: float = 120.0
    idle: float = 120.0


class _Clean(aiohttp.TCPConnector):
    """Keeps connections, but for one on which something came that nobody had asked for: it would be read as the reply
    to the next request."""

    def __init__(self) -> None:
        super().__init__(limit=0, ttl_dns_cache=300)  # pyright: ignore[reportUnknownMemberType]
        self._known: WeakSet[object] = WeakSet()

    async def connect(
        self, req: aiohttp.ClientRequest, traces: list[Any], timeout: aiohttp.ClientTimeout
    ) -> aiohttp.connector.Connection:
        """A fresh connection, or one that was used before and is clean."""
        while True:
            connection = await super().connect(req, traces, timeout)
            if connection.protocol not in self._known:
                self._known.add(connection.protocol)
                return connection
            if not _unread(connection):
                return connection
            connection.close()


def _unread(connection: aiohttp.connector.Connection) -> bool:
    """Whether anything has come on a connection on which nothing was asked yet: read already, or waiting to be."""
    protocol, transport = connection.protocol, connection.transport
    if protocol is None or transport is None or protocol.should_close:
        return True
    place: int = transport.get_extra_info("socket").fileno()
    if place < 0:
        return True
    waiting = select.poll()
    waiting.register(place, select.POLLIN)
    return bool(waiting.poll(0))


class Pool:
    """One HTTP session for all endpoints of a run, made when first needed."""

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None

    def session(self) -> aiohttp.ClientSession:
        """The session; limits are the limiter's, so the pool itself has none."""
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=_Clean(),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=15),
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._session

    async def close(self) -> None:
        """Close every connection."""
        if self._session is not None:
            await self._session.close()
            self._session = None


@dataclass(frozen=True, slots=True)
class Address:
    """A wire format that a provider speaks: where, and with which headers."""

    wire: Wire
    base_url: str
    headers: Mapping[str, str]


class HttpBackend:
    """A model behind an HTTP endpoint. `also` are further formats in which it can be asked, each with its base URL:
    agents that speak one of them are passed on as they are."""

    wire: "Wire"
    model: str
    options: "Options"

    durable = True
    simulated = False

    def __init__(
        self,
        pool: Pool,
        clock: Clock,
        wire: Wire,
        *,
        base_url: str,
        model: str,
        key: str | None,
        options: Options,
        timeout: float,
        silence: Silence | None = None,
        headers: Mapping[str, str] | None = None,
        secret_headers: Mapping[str, str] | None = None,
        also: Sequence[tuple[Wire, str]] = (),
    ) -> None:
        self._pool, self._clock, self.wire = pool, clock, wire
        self.model, self.options = model, options
        self._timeout, self._path = timeout, wire.path(model)
        self.silence = silence or Silence()
        self._proxy = proxy_of(base_url)  # found once: looking it up for every request takes a thread
        private = [value for name, value in (headers or {}).items() if PRIVATE.search(name) and len(value) > 7]
        secret = secret_headers or {}
        bare = [value.partition(" ")[2].strip() for value in secret.values()]  # after the word Bearer
        self._redaction = Redaction([key or "", *private, *secret.values(), *bare, *secrets_in(self._proxy)])
        sent = {**(headers or {}), **secret, "Content-Type": "application/json"}
        self._own, *others = [
            Address(spoken, url.rstrip("/"), sent | spoken.headers(key)) for spoken, url in ((wire, base_url), *also)
        ]
        served = [place for place in [*others, self._own] if place.wire.served is not None]
        self._addresses = {place.wire.served.format: place for place in served if place.wire.served is not None}

    def address(self, served: Served) -> Address | None:
        """Where it is asked in that format as it is; None when it is not."""
        return self._addresses.get(served.format)

    async def attempt(self, request: Request, call: Call) -> Outcome:
        """Send the request once."""
        body = json.dumps(self.wire.encode(self.model, request, self.options)).encode()

        async def take(response: aiohttp.ClientResponse, started: float, _: asyncio.Timeout) -> Outcome:
            return (await self.received(response, started, self.wire.decode, self.wire, ANSWER))[0]

        return await self.exchange(self._path, body, take)

    async def exchange(
        self, path: str, body: bytes, take: Take, address: Address | None = None, first: float | None = None
    ) -> Outcome:
        """Post once and let `take` make an outcome of the response; a lost connection is an outcome too. When `first`
        is given, a stream was asked for, and that is how long it may be silent before it begins."""
        started = self._clock.tick()
        asked = address or self._own
        session, url = self._pool.session(), asked.base_url + path
        silent = asyncio.timeout(first)
        try:
            async with (
                asyncio.timeout(self._timeout),
                silent,
                session.post(
                    url, data=body, headers=asked.headers, allow_redirects=False, proxy=self._proxy
                ) as response,
            ):
                return await take(response, started, silent)
        except NEVER_SENT as error:
            seconds = self._clock.tick() - started
            return Outcome("unreachable", usage=NOTHING, seconds=seconds, error=self._line(_unsent(error)))
        except TimeoutError:
            quiet = "the stream was silent for too long" if silent.expired() else None
            return self.lost("timeout", quiet or f"no complete reply within {self._timeout:g} s", started)
        except aiohttp.ClientResponseError as error:  # it quotes what came, cut: half a key could not be told from it
            return self.lost("unparsable", f"the reply is not HTTP ({_without_quotes(error)})", started)
        except aiohttp.ClientPayloadError as error:
            kind = "unparsable" if "decode" in str(error).lower() else "dropped"
            return self.lost(kind, f"the body broke off: {error}", started)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return self.lost("dropped", f"the connection was lost: {error!r}", started)

    async def received(
        self, response: aiohttp.ClientResponse, started: float, decode: Decode, wire: Wire, most: int = REPLY
    ) -> tuple[Outcome, bytes | None]:
        """The outcome of a reply read whole, and its body unless that is longer than `most`."""
        data = await _read(response, most)
        seconds = self._clock.tick() - started
        if data is None:
            error = f"the body is longer than {bounds.size(most)}"
            return Outcome("unparsable", seconds=seconds, status=response.status, error=error), None
        stated = response.headers.get("Retry-After")
        retry_after = None if stated is None else parse_retry_after(stated, self._clock.now())
        outcome = self._outcome(response.status, data, seconds, retry_after, decode, wire)
        return outcome, data

    def _outcome(
        self,
        status: int,
        data: bytes,
        seconds: float,
        retry_after: float | None,
        decode: Decode,
        wire: Wire | None = None,
    ) -> Outcome:
        """The outcome of a whole body, which is cleared of keys before anything is read from it."""
        read = (wire or self.wire).usage
        text, document, wrong = self._text(data)
        form = format_of(wire or self.wire)
        if status >= 300:
            usage = read(document)
            billed = usage if usage != Usage() else NOTHING
            error = self._line(f"HTTP {status}: {_words(document, text)}")
            if status == 400 and (words := filtered(document)) is not None:
                refusal = Completion(self._line(words), FILTERED, True)
                return Outcome("refused", refusal, billed, seconds, status=status)
            code = self._line(_code(document))
            return Outcome("http", None, billed, seconds, {}, status, retry_after, error, code)
        if document is None:
            return Outcome("unparsable", seconds=seconds, status=status, error=wrong or NO_JSON, body=text, wire=form)
        decoded = decode(document)
        if isinstance(decoded, str):
            usage = read(document)
            error = self._line(decoded)
            return Outcome("unparsable", None, usage, seconds, status=status, error=error, body=text, wire=form)
        completion, usage = self.without_key(*decoded)
        kind = "refused" if completion.refused else "ok"
        return Outcome(kind, completion, usage, seconds, status=status, body=text, wire=form)

    def _text(self, data: bytes) -> tuple[str, object, str]:
        """A body as text without the key, the JSON in it, and why there is none where it is None."""
        try:
            text = self.redacted(data.decode(json.detect_encoding(data)))
        except ValueError:
            return self.redacted(data.decode("utf-8", "replace")), None, NO_JSON
        try:
            return text, bounds.parse(text.removeprefix(BOM), "the reply", Room(REPLY_MEMORY)), ""
        except TooMuch as error:
            return text, None, str(error).partition(":")[0]
        except (ValueError, RecursionError):
            return text, None, NO_JSON

    def lost(self, kind: Kind, error: str, started: float) -> Outcome:
        """The outcome of an attempt that began at `started` and brought no reply."""
        return Outcome(kind, seconds=self._clock.tick() - started, error=self._line(error))

    def redacted(self, text: str) -> str:
        """`text` without the key, which a server may echo; nor any in a header of the configuration."""
        return self._redaction(text)

    def without_key(self, completion: Completion, usage: Usage) -> tuple[Completion, Usage]:
        """A reply and its usage as they may be kept."""
        text, stop, raw = map(self.redacted, (completion.text, completion.stop, usage.raw))
        if (text, stop, raw) == (completion.text, completion.stop, usage.raw):
            return completion, usage
        return replace(completion, text=text, stop=stop), replace(usage, raw=raw)

    def _line(self, text: str) -> str:
        """`text` as one short line without the key, which errors echo; cut last, so that no part of it is left."""
        clean = self.redacted(text)
        return " ".join(clean[:3000].split())[:LINE]

    async def close(self) -> None:
        """The pool is closed by whoever made it."""


async def _read(response: aiohttp.ClientResponse, most: int) -> bytes | None:
    """The whole body, or None when it is longer than that."""
    content, chunks, size = response.content, list[bytes](), 0
    while not content.at_eof():
        chunk = await content.readany()
        size += len(chunk)
        if size > most:
            response.close()
            return None
        chunks.append(chunk)
    return b"".join(chunks)


def _code(document: object) -> str:
    """The provider's own word for an error."""
    error = child(next(iter(as_list(document) or []), document), "error")
    words = (error.get("code"), error.get("type"), error.get("status"))
    return next((word for word in words if isinstance(word, str) and not word.isdigit()), "")


def _unsent(error: Exception) -> str:
    """Why nothing was sent, without the address of a proxy, which may hold a password."""
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return (
            f"the proxy answered with HTTP {error.status}: check its address, with user and password, in https_proxy"
        )
    if isinstance(error, aiohttp.InvalidURL):
        return "the address of the server or of its proxy is not a URL: check base_url, http_proxy and https_proxy"
    return str(error)


def _without_quotes(error: aiohttp.ClientResponseError) -> str:
    """What is wrong with a reply that is no HTTP, without a word of it."""
    words = re.match(r"[A-Za-z ]*(\d+ bytes)?", error.message.partition(":")[0])
    return (words[0].strip() if words else "") or type(error).__name__


def format_of(wire: Wire) -> str:
    """The name under which the ledger keeps replies of a wire."""
    return type(wire).__name__ if wire.served is None else wire.served.format


def _words(document: object, text: str) -> str:
    """The provider's own words about an error."""
    first = next(iter(as_list(document) or []), document)  # Gemini's streams hold an error in a list
    inner = (as_object(first) or {}).get("error")
    words = (as_object(inner) or {}).get("message", inner)
    return words if isinstance(words, str) else text
