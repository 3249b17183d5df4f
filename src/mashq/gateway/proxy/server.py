"""The loopback endpoint through which foreign agents play: metered, and without a key in sight.

    server = MeteringServer(clock)
    await server.start()
    seat = server.admit("A")                 # what the agent is given: seat.variables
    grant = server.issue(seat, model)        # from now on the token works
    ...
    await grant.close()                      # from now on it does not; grant.spend is what the turn cost
    await server.serve(seat, listening)      # for an agent that can reach no other socket than this

It serves the paths of every wire format that can be served (chat/completions, responses, embeddings and models of
OpenAI, messages of Anthropic, generateContent and streamGenerateContent of Gemini) below each seat's own address, to
that seat's token in whichever header or as `?key=`, during that seat's turn. All else is
turned away before it reaches a model, and noted: a wrong path (404), method (405), token (401), size (413) or body
(400), too many requests at once (429), and what cannot be paid for (402).
"""

import asyncio
import hmac
import logging
import re
import secrets
import socket
from collections import Counter
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.abc import AbstractAccessLogger
from aiohttp.http_exceptions import HttpProcessingError

from mashq.bounds import REQUEST
from mashq.errors import StoreError
from mashq.extensions import WIRES
from mashq.gateway.budgets import OutOfBudget
from mashq.gateway.model import Model
from mashq.gateway.proxy import relay
from mashq.gateway.proxy.grants import Grant, Refusal, TurnOver
from mashq.gateway.types import Clock
from mashq.gateway.wire.base import BadRequest, Route, Served

HOST = "127.0.0.1"
MAX_BODY = REQUEST
MAX_AT_ONCE = 128
MAX_CONNECTIONS = 512
IDLE = 60.0
MAX_NOTED = 1000
PATIENCE = 30.0
PLACE = re.compile(r"/([0-9]{1,6})(/.*)")
SERVED = (
    "POST to /v1/chat/completions, /v1/responses, /v1/embeddings, /v1/messages "
    "or /v1beta/models/MODEL:generateContent below the player's address"
)
Handle = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]
NOT_NOW = "this token is not active: it works only during its player's turn"


@dataclass(slots=True)
class Seat:
    """A player's place at the server: its own address, its own token, and at times a grant."""

    player: str
    address: str
    token: str
    variables: dict[str, str]  # what leads the clients of every format here
    grant: Grant | None = None

    @property
    def base_url(self) -> str:
        """What clients of the OpenAI format take as their base URL."""
        return f"{self.address}/v1"

    @property
    def port(self) -> int:
        """The port of its address."""
        return urlsplit(self.address).port or 80


@dataclass(slots=True)
class _Alone:
    """The server of one seat alone, and where it listens."""

    runner: web.ServerRunner
    site: web.SockSite | None = None


@dataclass(frozen=True, slots=True)
class _Way:
    """Where a request goes: the format it is in, and the route."""

    served: Served
    route: Route
    groups: dict[str, str]


class TurnedAway(Exception):
    """A request that goes no further."""

    status: int
    hang_up: bool

    def __init__(self, status: int, reason: str, *, hang_up: bool = False) -> None:
        super().__init__(reason)
        self.status, self.hang_up = status, hang_up


class MeteringServer:
    """One server for all the foreign agents of a run."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._served = formats()
        self._runner: web.ServerRunner | None = None
        self._alone: dict[str, _Alone] = {}
        self._root = ""
        self._seats: dict[str, Seat] = {}
        self._record: Callable[[Refusal], None] | None = None
        self.refused: list[Refusal] = []

    async def start(self) -> str:
        """Listen on a free port of the loopback interface; the address."""
        self._runner = await self._running(self._handle)
        site = web.TCPSite(self._runner, HOST, 0, backlog=1024)
        await site.start()
        self._root = f"http://{HOST}:{self._runner.addresses[0][1]}"
        return self._root

    async def serve(self, seat: Seat, listening: socket.socket) -> None:
        """Serve a seat, and no other, also on a socket that listens elsewhere, instead of the one before.

        What is under way on connections of the one before goes on to its end.
        """
        alone = self._alone.get(seat.token)
        if alone is None:
            alone = self._alone[seat.token] = _Alone(await self._running(partial(self._handle, only=seat)))
        elif alone.site is not None:
            await alone.site.stop()
        alone.site = web.SockSite(alone.runner, listening, backlog=1024)
        await alone.site.start()

    async def _running(self, handle: Handle) -> web.ServerRunner:
        quiet = logging.Logger(
            "mashq.gateway.proxy.server", logging.CRITICAL + 1
        )  # an agent must not fill a terminal
        server = _Bounded(
            handle,
            logger=quiet,
            access_log=quiet,
            access_log_class=_noting(self),
            lingering_time=0.5,
            keepalive_timeout=IDLE,
            auto_decompress=False,
        )
        runner = web.ServerRunner(server, shutdown_timeout=0.5)
        await runner.setup()
        return runner

    def admit(self, player: str) -> Seat:
        """A seat for a player; its token is worth nothing until a grant is issued."""
        number = str(len(self._seats) + 1)
        address, token = f"{self._root}/{number}", "mashq-" + secrets.token_urlsafe(24)
        variables: dict[str, str] = {}
        for served in self._served:
            variables |= served.variables(address, token)
        seat = Seat(player, address, token, variables)
        self._seats[number] = seat
        return seat

    def issue(self, seat: Seat, model: Model) -> Grant:
        """Let the seat's player ask `model` until the grant is closed."""
        seat.grant = Grant(model)
        return seat.grant

    def record_to(self, record: Callable[[Refusal], None]) -> None:
        """Where refusals are written from now on; those noted so far are written at once."""
        self._record = record
        for refusal in self.refused:
            record(refusal)

    async def close(self) -> None:
        """Stop listening; whatever is still under way is cut off and stays unresolved."""
        for seat in self._seats.values():
            if seat.grant is not None:
                seat.grant.stop()
        alone, self._alone = list(self._alone.values()), {}
        await asyncio.gather(*(own.runner.cleanup() for own in alone))
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def _handle(self, request: web.BaseRequest, only: Seat | None = None) -> web.StreamResponse:
        connection = request.protocol
        assert isinstance(connection, _Connection)
        with connection.serving():
            return await self._handled(request, connection, only)

    async def _handled(
        self, request: web.BaseRequest, connection: "_Connection", only: Seat | None
    ) -> web.StreamResponse:
        path, _, _ = request.raw_path.partition("?")
        place = PLACE.fullmatch(path)
        seat = None if place is None else self._seats.get(place[1])
        if only is not None and seat is not only:
            seat = None
        way = None if place is None else self._way(place[2].rstrip("/"), request)
        served = self._served[0] if way is None else way.served
        try:
            if seat is None or way is None:
                raise TurnedAway(404, f"nothing is at {path[:100]}: {SERVED}")
            return await self._serve(request, connection, seat, way)
        except TurnedAway as away:
            self.note(request, only or seat or self._holder(request), away.status, str(away))
            response = relay.problem(served, away.status, str(away))
            if away.hang_up:
                response.force_close()
            return response
        except StoreError:
            return relay.problem(served, 500, "the ledger cannot be written: nothing was sent")

    def _way(self, path: str, request: web.BaseRequest) -> "_Way | None":
        """The format and the route of a path; the first that has it."""
        for served in self._served:
            for route in served.routes:
                match = re.fullmatch(route.path, path)
                if match is not None:
                    asked = {name: request.query[name] for name in route.query if name in request.query}
                    return _Way(served, route, match.groupdict("") | asked)
        return None

    async def _serve(
        self, request: web.BaseRequest, connection: "_Connection", seat: Seat, way: "_Way"
    ) -> web.StreamResponse:
        served, route = way.served, way.route
        if request.method != route.method:
            raise TurnedAway(405, f"{request.method[:20]} is not possible here: use {route.method}")
        grant = self._granted(request, seat, served)
        connection.player = seat.player
        if route.kind == "models":
            return web.json_response(served.models(grant.endpoint.name))
        if grant.busy >= MAX_AT_ONCE:
            raise TurnedAway(429, f"more than {MAX_AT_ONCE} requests at once")
        grant.busy += 1
        try:
            body = await _body(request)
            asked = served.read(route.kind, way.groups, body)
            return await relay.answer(grant, served, asked, request)
        except BadRequest as wrong:
            raise TurnedAway(400, str(wrong)) from None
        except OutOfBudget as reason:
            raise TurnedAway(402, str(reason)) from None
        except TurnOver:
            raise TurnedAway(401, NOT_NOW) from None
        finally:
            grant.busy -= 1

    def _granted(self, request: web.BaseRequest, seat: Seat, served: Served) -> Grant:
        """The seat's grant, when the request holds the seat's own token and its turn is on."""
        holder = self._holder(request)
        if holder is None:
            name = next(name for name, value in served.variables("", seat.token).items() if value == seat.token)
            raise TurnedAway(401, f"the token is missing or wrong: send the one given as {name}", hang_up=True)
        if holder is not seat:
            reason = (
                f"the token belongs to another player: that of {holder.player!r}, used at {seat.player!r}'s address"
            )
            raise TurnedAway(401, reason, hang_up=True)
        if seat.grant is None or not seat.grant.active:
            raise TurnedAway(401, NOT_NOW, hang_up=True)
        return seat.grant

    def _holder(self, request: web.BaseRequest) -> Seat | None:
        """Whose token a request holds."""
        headers = dict.fromkeys(header for served in self._served for header in served.token_headers)
        places = [(header, request.headers.getall(header, [])) for header in headers]
        for header, given in [*places, ("key", request.query.getall("key", []))]:
            token = given[0] if len(given) == 1 else ""
            if header == "Authorization":
                scheme, _, token = token.partition(" ")
                token = token if scheme.lower() == "bearer" else ""
            sent = token.strip().encode("utf-8", "surrogateescape")
            for seat in self._seats.values():
                if hmac.compare_digest(sent, seat.token.encode()):
                    return seat
        return None

    def note(self, request: web.BaseRequest, seat: Seat | None, status: int, reason: str) -> None:
        """Keep what was turned away, the first thousand of it."""
        player = None if seat is None else seat.player
        path = request.raw_path.partition("?")[0].encode("utf-8", "replace").decode()[:200]  # no token in a query
        refusal = Refusal(self._clock.now(), player, request.method[:20], path, status, reason[:300])
        if seat is not None and seat.grant is not None and len(seat.grant.refused) < MAX_NOTED:
            seat.grant.refused.append(refusal)
        if len(self.refused) < MAX_NOTED:
            self.refused.append(refusal)
            if self._record is not None:
                self._record(refusal)


class _Connection(web.RequestHandler):
    """A connection: whose it is once a request on it has held a token in its turn, and since when it only waits.

    One on which no request has come PATIENCE seconds after it was made is closed. A request may name its client
    twice, as that of pydantic-ai over Gemini's does.
    """

    __slots__ = ("_alarm", "busy", "dropped", "idle_since", "player")

    def __init__(self, server: "_Bounded", loop: asyncio.AbstractEventLoop, **settings: Any) -> None:
        super().__init__(server, loop=loop, **settings)
        self.player: str | None = None
        self.busy = self.dropped = False
        self.idle_since = loop.time()
        self._alarm = loop.call_later(PATIENCE, self.drop)

    def data_received(self, data: bytes) -> None:
        """Take bytes in; a header block comes in one piece, or is left as it is."""
        super().data_received(_named_once(data) if data.startswith(b"POST ") else data)

    def connection_lost(self, exc: BaseException | None) -> None:
        """It is gone."""
        self._alarm.cancel()
        super().connection_lost(exc)

    def drop(self) -> None:
        """Hang up."""
        if self.transport is not None:
            self.transport.abort()

    @contextmanager
    def serving(self) -> Generator[None]:
        """While a request is handled."""
        self._alarm.cancel()
        self.busy = True
        try:
            yield
        finally:
            self.busy, self.idle_since = False, self._loop.time()


def _named_once(data: bytes) -> bytes:
    """A request whose header block has its first User-Agent only."""
    head, end, body = data.partition(b"\r\n\r\n")
    if not end or head.lower().count(b"\r\nuser-agent:") < 2:
        return data
    lines = head.split(b"\r\n")
    names = [line.partition(b":")[0].lower() for line in lines]
    kept = [line for at, line in enumerate(lines) if names[at] != b"user-agent" or b"user-agent" not in names[:at]]
    return b"\r\n".join(kept) + end + body


class _Bounded(web.Server):
    """A server that holds so many connections, so that one agent cannot use up all files. For one more it drops the
    longest idle one of the player that has most of them: no agent can shut out another."""

    def __call__(self) -> web.RequestHandler:
        """A handler for a connection."""
        return _Connection(self, self._loop, **self._kwargs)

    def connection_made(self, handler: web.RequestHandler, transport: asyncio.Transport) -> None:
        """Take a connection in, at the expense of another where there are too many."""
        super().connection_made(handler, transport)
        held = [own for own in self.connections if isinstance(own, _Connection) and not own.dropped]
        if len(held) > MAX_CONNECTIONS:
            idle = [own for own in held if not own.busy]
            most, _ = Counter(own.player for own in idle).most_common(1)[0]  # the new one is among them
            longest = min((own for own in idle if own.player == most), key=lambda own: own.idle_since)
            longest.dropped = True
            self._loop.call_soon(longest.drop)  # a handler that has not begun cannot end


async def _body(request: web.BaseRequest) -> bytes:
    """The body, as long as it is of a size that any request could have."""
    if request.headers.get("Content-Encoding", "identity") != "identity":
        raise TurnedAway(415, "send the body as it is, without Content-Encoding", hang_up=True)
    if (request.content_length or 0) > MAX_BODY:
        raise TurnedAway(413, f"the body is longer than {MAX_BODY} bytes", hang_up=True)
    data = bytearray()
    try:
        async with asyncio.timeout(PATIENCE):
            async for chunk in request.content.iter_any():
                data += chunk
                if len(data) > MAX_BODY:
                    raise TurnedAway(413, f"the body is longer than {MAX_BODY} bytes", hang_up=True)
    except TimeoutError:
        raise TurnedAway(408, f"the body did not arrive within {PATIENCE:g} s", hang_up=True) from None
    except (OSError, web.RequestPayloadError, HttpProcessingError):
        raise TurnedAway(400, "the body broke off", hang_up=True) from None
    return bytes(data)


def formats() -> list[Served]:
    """The wire formats that can be served: built in, then of installed packages."""
    wires = [WIRES.create(name) for name in WIRES.names()]
    return [wire.served for wire in wires if wire.served is not None]


def _noting(server: MeteringServer) -> type[AbstractAccessLogger]:
    """A log that keeps what is no HTTP at all: the server answers that by itself."""

    class Noting(AbstractAccessLogger):
        def log(self, request: web.BaseRequest, response: web.StreamResponse, time: float) -> None:
            if request.method == "UNKNOWN":
                server.note(request, None, response.status, "this is not HTTP")

    return Noting
