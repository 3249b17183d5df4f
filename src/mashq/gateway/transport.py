"""One HTTP request is one attempt: nothing here retries, follows a redirect or guesses.

What came back becomes an Outcome. A complete error reply without usage bills nothing; a lost connection, a
time-out or a body that cannot be read has unknown usage; a connection that was never made sent nothing.
"""

import asyncio
import json
from collections.abc import Mapping
from types import ModuleType
from typing import Protocol

import aiohttp

from mashq.gateway.openai_chat import Options
from mashq.gateway.retry import parse_retry_after
from mashq.gateway.types import Call, Clock, Completion, Kind, Outcome, Request, Usage
from mashq.gateway.untrusted import as_object

MOST_BYTES = 32 * 1024 * 1024
LINE = 300
NOTHING = Usage(0, 0, 0, 0)
NEVER_SENT = (
    aiohttp.ClientConnectorError,
    aiohttp.ConnectionTimeoutError,
    aiohttp.ClientHttpProxyError,
    aiohttp.InvalidURL,
)


class Codec(Protocol):
    """A wire format: the modules `openai_chat` and `anthropic_messages`."""

    def path(self) -> str: ...
    def headers(self, key: str | None) -> dict[str, str]: ...
    def encode(self, model: str, request: Request, options: Options) -> dict[str, object]: ...
    def decode(self, document: object) -> tuple[Completion, Usage] | str: ...
    def read_usage(self, document: object) -> Usage: ...


class Pool:
    """One HTTP session for all endpoints of a run, made when first needed."""

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None

    def session(self) -> aiohttp.ClientSession:
        """The session; limits are the limiter's, so the pool itself has none."""
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=300),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=15),
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=True,
            )
        return self._session

    async def close(self) -> None:
        """Close every connection."""
        if self._session is not None:
            await self._session.close()
            self._session = None


class HttpBackend:
    """A model behind an HTTP endpoint."""

    durable = True
    simulated = False

    def __init__(
        self,
        pool: Pool,
        clock: Clock,
        codec: Codec | ModuleType,
        *,
        base_url: str,
        model: str,
        key: str | None,
        options: Options,
        timeout: float,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self._pool, self._clock, self._codec = pool, clock, codec
        self._url = base_url.rstrip("/") + codec.path()
        self._model, self._key, self._options, self._timeout = model, key, options, timeout
        self._headers = dict(headers or {}) | codec.headers(key) | {"Content-Type": "application/json"}

    async def attempt(self, request: Request, call: Call) -> Outcome:
        """Send the request once."""
        body = json.dumps(self._codec.encode(self._model, request, self._options)).encode()
        started = self._clock.tick()
        try:
            async with asyncio.timeout(self._timeout):
                return await self._send(body, started)
        except NEVER_SENT as error:
            seconds = self._clock.tick() - started
            return Outcome("unreachable", usage=NOTHING, seconds=seconds, error=self._line(str(error)))
        except TimeoutError:
            return self._lost("timeout", f"no complete reply within {self._timeout:g} s", started)
        except aiohttp.ClientResponseError as error:  # its repr would show every header that was sent
            return self._lost("unparsable", f"the reply is not HTTP: {error.message}", started)
        except aiohttp.ClientPayloadError as error:
            kind = "unparsable" if "decode" in str(error).lower() else "dropped"
            return self._lost(kind, f"the body broke off: {error}", started)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return self._lost("dropped", f"the connection was lost: {error!r}", started)

    async def _send(self, body: bytes, started: float) -> Outcome:
        session = self._pool.session()
        async with session.post(self._url, data=body, headers=self._headers, allow_redirects=False) as response:
            data = await _read(response)
            seconds = self._clock.tick() - started
            if data is None:
                return Outcome("unparsable", seconds=seconds, status=response.status, error="the body never ended")
            retry_after = parse_retry_after(response.headers.get("Retry-After"), self._clock.now())
            return self._outcome(response.status, data, seconds, retry_after)

    def _outcome(self, status: int, data: bytes, seconds: float, retry_after: float | None) -> Outcome:
        try:
            document: object = json.loads(data)
        except (ValueError, RecursionError):
            document = None
        if status >= 300:
            usage = self._codec.read_usage((as_object(document) or {}).get("usage"))
            billed = usage if usage != Usage() else NOTHING
            error = self._line(f"HTTP {status}: {_words(document, data)}")
            return Outcome("http", None, billed, seconds, status=status, retry_after=retry_after, error=error)
        if document is None:
            return Outcome("unparsable", seconds=seconds, status=status, error="the reply is not JSON")
        decoded = self._codec.decode(document)
        if isinstance(decoded, str):
            return Outcome("unparsable", seconds=seconds, status=status, error=decoded)
        completion, usage = decoded
        return Outcome("refused" if completion.refused else "ok", completion, usage, seconds, status=status)

    def _lost(self, kind: Kind, error: str, started: float) -> Outcome:
        return Outcome(kind, seconds=self._clock.tick() - started, error=self._line(error))

    def _line(self, text: str) -> str:
        """`text` as one short line without the key, which errors echo; cut last, so that no part of it is left."""
        clean = text.replace(self._key, "[key]") if self._key else text
        return " ".join(clean[:3000].split())[:LINE]

    async def close(self) -> None:
        """The pool is closed by whoever made it."""


async def _read(response: aiohttp.ClientResponse) -> bytes | None:
    """The whole body, or None when it is longer than any reply could be."""
    data = bytearray()
    async for chunk in response.content.iter_any():
        data += chunk
        if len(data) > MOST_BYTES:
            response.close()
            return None
    return bytes(data)


def _words(document: object, data: bytes) -> str:
    """The provider's own words about an error."""
    inner = (as_object(document) or {}).get("error")
    words = (as_object(inner) or {}).get("message", inner)
    return words if isinstance(words, str) else data.decode("utf-8", "replace")
