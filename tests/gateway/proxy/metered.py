"""A metering server in front of the loopback provider, with one player at it."""

import json
import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from mashq.gateway.backends.http import HttpBackend, Pool
from mashq.gateway.budgets import BudgetState
from mashq.gateway.clock import RealClock
from mashq.gateway.limits import Limiter
from mashq.gateway.model import Endpoint, Model
from mashq.gateway.prices import Rate
from mashq.gateway.proxy.grants import Grant
from mashq.gateway.proxy.server import MeteringServer, Seat
from mashq.gateway.types import Backend, Call
from mashq.gateway.wire.base import Wire
from mashq.gateway.wire.openai_chat import OpenAIChat, Options
from tests.gateway.fakes import FakeLedger

KEY = "sk-the-real-key-0123456789abcdef"
CALL = Call("0", 2, "A", "item-2", "answer")
CHAT: dict[str, Any] = {
    "model": "whatever",
    "messages": [{"role": "user", "content": "Say something.\n\nThe ferry sails on Monday. It costs 4 dollars."}],
}


def http_backend(
    pool: Pool,
    url: str,
    timeout: float = 20.0,
    wire: Wire | None = None,
    also: Sequence[tuple[Wire, str]] = (),
    **options: Any,
) -> HttpBackend:
    """The loopback provider as a model."""
    return HttpBackend(
        pool,
        RealClock(),
        wire or OpenAIChat(),
        base_url=url,
        model="alpha",
        key=KEY,
        options=Options(**options),
        timeout=timeout,
        headers={"X-Auth-Other": "another-secret-of-ours", "X-Plain": "plain"},
        also=also,
    )


@dataclass
class Table:
    """A server, a seat at it, and its grant."""

    server: MeteringServer
    seat: Seat
    ledger: FakeLedger
    endpoint: Endpoint
    session: aiohttp.ClientSession
    grant: Grant
    budget_states: Sequence[BudgetState] = field(default_factory=list[BudgetState])

    def model(self, call: Call = CALL) -> Model:
        """The model of a turn."""
        return Model(self.endpoint, self.ledger, RealClock(), call, 7, self.budget_states)

    async def ask(
        self,
        document: object = None,
        path: str = "/chat/completions",
        *,
        token: str | None = None,
        data: Any = None,
        headers: dict[str, str] | None = None,
    ) -> tuple[int, Any, dict[str, str]]:
        """Post, and the status, the body and the headers of the reply."""
        sent = {"Authorization": f"Bearer {token or self.seat.token}"} | (headers or {})
        body = data if data is not None else json.dumps(CHAT if document is None else document).encode()
        async with self.session.post(self.seat.base_url + path, data=body, headers=sent) as response:
            text = (await response.read()).decode("utf-8", "replace")
            try:
                found = json.loads(text)
            except ValueError:
                found = text
            return response.status, found, dict(response.headers)

    def outcomes(self) -> list[str]:
        """How the closed attempts ended, in the order they were opened."""
        return [self.ledger.closed[number][0].kind for number in sorted(self.ledger.closed)]


@asynccontextmanager
async def table(
    url: str = "",
    *,
    backend: Backend | None = None,
    budget_states: Sequence[BudgetState] = (),
    at_once: int = 64,
    timeout: float = 20.0,
    price: Rate | None = None,
    max_tokens: int = 99,
    **options: Any,
) -> AsyncGenerator[Table]:
    """A table laid for player A, whose turn it is."""
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        del os.environ[name]
    clock, pool = RealClock(), Pool()
    server = MeteringServer(clock)
    await server.start()
    asked = backend or http_backend(pool, url, timeout, **options)
    endpoint = Endpoint(
        "my/alpha",
        asked,
        Limiter(clock, at_once),
        max_tokens,
        0.0,
        timeout,
        {} if price is None else {"dollars": price},
    )
    ledger = FakeLedger()
    seat = server.admit("A")
    grant = server.issue(seat, Model(endpoint, ledger, clock, CALL, 7, budget_states))
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        try:
            yield Table(server, seat, ledger, endpoint, session, grant, budget_states)
        finally:
            await server.close()
            await pool.close()
