"""`agent: external`: any program, in any language, that plays through the gateway's metering server.

For each item it gets one JSON object, `{"item", "text", "round", "rules", "state", "token", "base_url"}` (for a
question with passages also `"question"` and `"passages"`; if the task asks for a length, `"words"`, the minimum and
the maximum), as a line on its standard input or as the body of a POST to its URL, and replies `{"answer": "…"}`
(optionally with `"confidence"` and `"abstained"`). Its model traffic goes to the server under its own token, which is
valid only during its turn; if isolated, a command can reach that server and nothing else. It makes no decisions and
writes no reviews. Its seconds are the length of its turn, minus the time it waited for the server. Any error becomes
a failed answer, and a program that failed is restarted for the next item.
"""

import asyncio
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from mashq.errors import ConfigError
from mashq.gateway.budgets import OutOfBudget, at_worst
from mashq.gateway.model import Model
from mashq.gateway.post import ServiceError, answer_in, post_json
from mashq.gateway.preflight import reach
from mashq.gateway.proxy.grants import Grant
from mashq.gateway.proxy.server import MeteringServer, Seat
from mashq.gateway.untrusted import whole
from mashq.gateway.wire.spoken import without_thinking
from mashq.players.base import Draft
from mashq.players.external.process import MAX_OUTPUT, AgentError, Program
from mashq.players.external.sandbox import Sandbox
from mashq.players.external.spec import EXTERNAL
from mashq.players.prompting import abstained_of, confidence_of
from mashq.players.telling import told_rules, told_state
from mashq.protocol.moves import Answer, Decision, Rewrite
from mashq.protocol.state import Observation


@dataclass(frozen=True, slots=True)
class Agent:
    """An external agent: a command with its environment and directory, or the URL of a service."""

    command: tuple[str, ...] = ()
    url: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    directory: str | None = None
    turn_timeout: float = 300.0
    words: tuple[int, int] | None = None
    isolate: bool = False

    @property
    def sandbox(self) -> Sandbox | None:
        """The sandbox its command runs in; None without isolation."""
        directory = Path(self.directory or ".").resolve()
        return Sandbox(self.command, self.environment, directory) if self.isolate else None


class External:
    """The player of an external agent."""

    agent: "Agent"

    spec = EXTERNAL

    def __init__(self, name: str, agent: Agent, server: MeteringServer) -> None:
        self.name = name
        self.agent, self._server = agent, server
        self._seat: Seat | None = None
        self._program: Program | None = None

    async def start(self) -> None:
        """Take a seat and start the program; raises ConfigError if it cannot be started."""
        self._seat = self._server.admit(self.name)
        if self.agent.url is not None:
            await reach({f"the agent {self.name}": self.agent.url})
            return
        try:
            await self._running()
        except (OSError, ValueError) as error:
            command = " ".join(self.agent.command)
            raise ConfigError(f"the command of player {self.name!r} cannot be started ({error}): {command}") from None

    async def close(self) -> None:
        """Stop the program and everything it started."""
        program, self._program = self._program, None
        if program is not None:
            await program.kill()

    async def move(self, seen: Observation, model: Model) -> Draft:
        """Its answer; decisions are made for it at no cost."""
        if seen.step == "decide":
            choice = "end" if seen.handled == seen.total else "continue"
            return Decision(choice, source="rule", reason="an external agent takes no decisions")
        if seen.step == "review" or seen.item is None or self._seat is None:
            return Rewrite("failed", error="an external agent writes no reviews")
        limit, exceeded = _turn_limit(model, self.agent.turn_timeout)
        grant = self._server.issue(self._seat, model)
        try:
            answer = await self._turn(seen, self._seat, grant, limit)
            seconds = grant.seconds
            await grant.close()
        finally:
            grant.stop()
        model.spend += grant.charged(seconds)
        model.exhausted = grant.reason or (exceeded if answer.status == "failed" and seconds >= limit else None)
        return answer

    async def _turn(self, seen: Observation, seat: Seat, grant: Grant, limit: float) -> Answer:
        assert seen.item is not None
        task: dict[str, object] = {"item": seen.item.id, "text": seen.item.shown, "round": seen.round}
        if seen.item.passages:
            task |= {"question": seen.item.text, "passages": [asdict(passage) for passage in seen.item.passages]}
        if self.agent.words is not None:
            task["words"] = list(self.agent.words)
        if seen.rules.version > 1:
            task |= {"rules": told_rules(seen), "state": told_state(seen)}
        asking = asyncio.create_task(self._ask({**task, "token": seat.token, "base_url": seat.base_url}))
        exhausted = asyncio.create_task(grant.exhausted.wait())
        try:
            await asyncio.wait({asking, exhausted}, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
            if asking.done():
                document, reason = answer_in(asking.result())
            else:
                document, reason = None, grant.reason or f"the agent gave no answer within {limit:g} s"
        except (AgentError, ServiceError, OSError) as error:
            document, reason = None, str(error)
        finally:
            for pending in (asking, exhausted):
                pending.cancel()
            await asyncio.gather(asking, exhausted, return_exceptions=True)
        if document is None:
            await self.close()
            return Answer("failed", error=whole(reason))
        text = without_thinking(whole(str(document["answer"]))).strip()
        abstained = abstained_of(document) if seen.item.passages else ""
        if not text and abstained != "yes":
            return Answer("refused", error="empty answer")
        drawn = grant.h is not None
        return Answer("ok", text, grant.h, simulated=drawn, confidence=confidence_of(document), abstained=abstained)

    async def _ask(self, task: dict[str, object]) -> bytes:
        if self.agent.url is not None:
            return await post_json(self.agent.url, task, MAX_OUTPUT)
        program, line = await self._running(), json.dumps(task).encode()
        try:
            return await program.ask(line)
        except AgentError:
            if not program.retired:
                raise
        return await (await self._running()).ask(line)

    async def _running(self) -> Program:
        """The program, restarted if it is not running."""
        if self._program is None or not self._program.running:
            await self.close()
            assert self._seat is not None
            variables, sandbox = self._seat.variables, self.agent.sandbox
            if sandbox is not None:
                self._program, listening = await sandbox.start(variables, self._seat.port)
                await self._server.serve(self._seat, listening)
                return self._program
            environment = {"PYTHONUNBUFFERED": "1", **self.agent.environment, **variables}
            self._program = await Program.start(self.agent.command, environment, self.agent.directory)
        return self._program


def _turn_limit(model: Model, longest: float) -> tuple[float, str | None]:
    """The time limit of a turn, and the budget that shortens it, if any; raises OutOfBudget when nothing is left."""
    left, reason = math.inf, ""
    for name, budget, spent in model.budget_states:
        limit = budget.limit("seconds")
        if limit is not None and limit - at_worst(spent.seconds) < left:
            left = limit - at_worst(spent.seconds)
            reason = f"{name} budget of {limit:g} seconds is used up"
    if left <= 0:
        raise OutOfBudget(reason)
    return (left, reason) if left < longest else (longest, None)
