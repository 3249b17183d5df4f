"""Foreign agents as programs and services: the honest, the clumsy and the hostile."""

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mashq.errors import ConfigError
from mashq.gateway.backends.simulated import Parameters, SimulatedBackend
from mashq.gateway.budgets import OutOfBudget
from mashq.gateway.model import Model
from mashq.players.external import process
from mashq.players.external.agent import Agent, External
from mashq.protocol import Answer, Decision, Item, Rewrite
from mashq.protocol.resources import Amount, Spend
from mashq.protocol.rules import Budget
from mashq.testing import FakeProvider
from tests.gateway.proxy.metered import KEY, Table, table
from tests.players.test_q_agent import ANSWERING, REVIEWING, SEEN

PROGRAM = str(Path(__file__).with_name("agents.py"))
ENVIRONMENT = {"PATH": os.environ["PATH"]}


@pytest.fixture(scope="module")
def provider() -> Iterator[FakeProvider]:
    with FakeProvider() as provider:
        yield provider


def command(character: str) -> tuple[str, ...]:
    return (sys.executable, "-I", PROGRAM, character)


@asynccontextmanager
async def agent(at: Table, character: str = "", **settings: Any) -> AsyncGenerator[External]:
    if character:
        settings["command"] = command(character)
    given: dict[str, Any] = {"environment": ENVIRONMENT, "turn_timeout": 30.0, **settings}
    player = External("A", Agent(**given), at.server)
    await player.start()
    try:
        yield player
    finally:
        await player.close()


async def play(player: External, at: Table, item: int = 0, round_: int = 0) -> tuple[Answer, Model]:
    seen = replace(ANSWERING, item=Item(f"item-{item}", "The ferry sails on Monday. It costs 4."), round=round_)
    model = at.model()
    draft = await player.move(seen, model)
    assert isinstance(draft, Answer)
    return draft, model


@pytest.mark.parametrize("character", ["honest", "told"])
async def test_an_agent_plays_and_pays(provider: FakeProvider, character: str) -> None:
    before = len(provider.hits())
    async with table(provider.base_url) as at, agent(at, character) as player:
        for turn in range(3):
            draft, model = await play(player, at, turn)
            assert draft.status == "ok" and draft.text
            assert draft.confidence == (0.75 if character == "honest" else None)
            assert (model.spend.calls, model.spend.seconds.known) == (1, 1)
            assert model.spend.tokens_in.total > 0 and model.spend.seconds.total > 0
        assert [call.item for call, *_ in at.ledger.opened] == ["item-2"] * 3, "as the grant's call says"
    assert len(provider.hits()) == before + 3


async def test_it_takes_no_decisions_and_writes_no_reviews(provider: FakeProvider) -> None:
    async with table(provider.base_url) as at, agent(at, "honest") as player:
        for handled, choice in [(7, "continue"), (12, "end")]:
            decision = await player.move(replace(SEEN, handled=handled), at.model())
            assert isinstance(decision, Decision) and (decision.choice, decision.source) == (choice, "rule")
        rewrite = await player.move(REVIEWING, at.model())
        assert isinstance(rewrite, Rewrite) and rewrite.status == "failed"
        assert not at.ledger.opened


@pytest.mark.parametrize(
    ("character", "error"),
    [
        ("flood", "wrote more than"),
        ("lines", 'no {"answer"'),
        ("die", "exit code 3"),
        ("junk", 'no {"answer"'),
        ("hang", "no answer within 1 s"),
    ],
)
async def test_what_goes_wrong_is_one_failed_answer(provider: FakeProvider, character: str, error: str) -> None:
    patience = 1.0 if character == "hang" else 30.0
    async with table(provider.base_url) as at, agent(at, character, turn_timeout=patience) as player:
        if character == "hang":  # so that starting up takes none of its second
            assert (await _patient(player, at))[0].status == "ok"
        draft, _ = await play(player, at, 1)
        assert draft.status == "failed" and error in draft.error
        if character == "die":
            assert "out of luck" in draft.error
        if character not in ("flood", "lines"):
            draft, _ = await _patient(player, at)
            assert draft.status == "ok", "it is started afresh for the next item"


async def _patient(player: External, at: Table) -> tuple[Answer, Model]:
    """A turn of item 2, tried again while the program is still starting up."""
    draft, model = await play(player, at, 2)
    for _ in range(20):
        if draft.status == "ok":
            break
        player.agent = replace(player.agent, turn_timeout=30.0)
        draft, model = await play(player, at, 2)
    player.agent = replace(player.agent, turn_timeout=1.0)
    return draft, model


async def test_last_words_count_and_empty_ones_are_a_refusal(provider: FakeProvider) -> None:
    async with table(provider.base_url) as at:
        async with agent(at, "last_words") as player:
            for _ in range(2):
                draft, _ = await play(player, at)
                assert (draft.status, draft.text) == ("ok", "my last words")
        async with agent(at, "silent") as player:
            assert (await play(player, at))[0].status == "refused"


async def test_what_is_written_between_turns_is_no_answer(provider: FakeProvider) -> None:
    async with table(provider.base_url) as at:
        async with agent(at, "noise") as player:
            await asyncio.sleep(0.5)
            assert (await play(player, at))[0].status == "ok"
        async with agent(at, "chatty") as player:
            for _ in range(3):
                assert (await play(player, at))[0].text == "first"
                await asyncio.sleep(0.2)


async def test_a_flood_between_turns_ends_it(provider: FakeProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "MAX_OUTPUT", 100)
    async with table(provider.base_url) as at:
        script = "import sys\nsys.stdout.write('x' * 1000)\nsys.stdout.flush()\nsys.stdin.read()"
        async with agent(at, command=(sys.executable, "-I", "-c", script)) as player:
            await asyncio.sleep(0.5)
            draft, _ = await play(player, at)
            assert draft.status == "failed"


async def test_it_sees_no_key(provider: FakeProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOPBACK_KEY", KEY)
    async with table(provider.base_url) as at, agent(at, "spy") as player:
        draft, _ = await play(player, at)
        found = json.loads(draft.text)
        assert set(found["own"]) <= {"PATH", "PYTHONUNBUFFERED", "LC_CTYPE", *at.seat.variables}
        keys = [found["own"][f"{maker}_API_KEY"] for maker in ("OPENAI", "ANTHROPIC", "GEMINI")]
        assert len(set(keys)) == 1 and keys[0].startswith("mashq-")
        assert KEY not in draft.text


async def test_what_it_leaves_behind_can_do_nothing(provider: FakeProvider) -> None:
    before = len(provider.hits())
    async with table(provider.base_url) as at:
        async with agent(at, "late") as player:
            await play(player, at, round_=0)
            async with asyncio.timeout(20):
                while not at.server.refused:
                    await asyncio.sleep(0.05)
            in_turn = len(provider.hits()) - before
            assert in_turn == len(at.ledger.opened)
            assert {refusal.status for refusal in at.server.refused} == {401}
            assert all(refusal.player == "A" for refusal in at.server.refused)
            await asyncio.sleep(0.2)
            assert len(provider.hits()) - before == in_turn, "nothing gets through after the turn"
            _, model = await play(player, at, round_=1)
            assert model.spend.calls == len(at.ledger.opened) - in_turn > 0, "in its next turn the player pays for it"
        seen = len(at.server.refused)
        await asyncio.sleep(0.3)
        assert len(at.server.refused) <= seen + 1, "the whole process group is gone"


async def test_an_agent_that_cannot_pay_stops_at_once(provider: FakeProvider) -> None:
    budget_states = [("its", Budget.of(calls=3), Spend())]
    async with table(provider.base_url, budget_states=budget_states) as at, agent(at, "spender") as player:
        started = time.monotonic()
        draft, model = await play(player, at)
        assert draft.status == "failed" and model.exhausted is not None and "3 calls" in model.exhausted
        assert model.spend.calls == 3
        assert time.monotonic() - started < 30


async def test_seconds_are_a_budget_too(provider: FakeProvider) -> None:
    used = Spend.of(seconds=Amount(9.5, 1))
    short, none = [("its", Budget.of(seconds=10), used)], [("its", Budget.of(seconds=9), used)]
    async with table(provider.base_url, budget_states=short) as at, agent(at, "hang") as player:
        draft, model = await play(player, at, 1)
        assert draft.status == "failed" and model.exhausted == "its budget of 10 seconds is used up"
    async with table(provider.base_url, budget_states=none) as at, agent(at, "hang") as player:
        with pytest.raises(OutOfBudget):
            await play(player, at, 1)


async def test_a_simulated_model_brings_its_score() -> None:
    async with table(backend=SimulatedBackend(Parameters(), 1)) as at, agent(at, "honest") as player:
        draft, _ = await play(player, at)
        assert draft.simulated and draft.h is not None


@pytest.mark.parametrize("words", [("no-such-program-anywhere",), (os.devnull,), ("nul\0byte",)])
async def test_a_command_that_is_none_is_said_before_anything_is_paid(words: tuple[str, ...]) -> None:
    async with table("http://127.0.0.1:9/v1") as at:
        with pytest.raises(ConfigError, match="cannot be started"):
            async with agent(at, command=words):
                pass


async def test_a_turn_that_is_cancelled_leaves_nothing_running(provider: FakeProvider) -> None:
    async with table(provider.base_url) as at, agent(at, "hang") as player:
        turn = asyncio.create_task(play(player, at, 1))
        await asyncio.sleep(0.3)
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn


@asynccontextmanager
async def service(reply: Any) -> AsyncGenerator[str]:
    """An agent that is a service: `reply` makes the bytes of a reply from the task."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(
            int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-l")
        )
        writer.write(await reply(json.loads(await reader.readexactly(length))))
        writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with listening:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/play"


def ok(body: bytes, status: bytes = b"200 OK") -> bytes:
    return b"HTTP/1.1 " + status + b"\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body


async def test_an_agent_can_be_a_service(provider: FakeProvider) -> None:
    tasks: list[dict[str, Any]] = []

    async def reply(task: dict[str, Any]) -> bytes:
        tasks.append(task)
        said = await asyncio.to_thread(_ask, task)
        return ok(json.dumps({"answer": said}).encode())

    async with service(reply) as url, table(provider.base_url) as at, agent(at, url=url) as player:
        draft, model = await play(player, at)
        assert draft.status == "ok" and model.spend.calls == 1
        assert set(tasks[0]) == {"item", "text", "round", "rules", "state", "token", "base_url"}


def _ask(task: dict[str, Any]) -> str:
    from tests.players.external.agents import ask

    return ask(task["base_url"], task["token"], task["text"])


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (ok(b"{}", b"500 Oops"), "HTTP 500"),
        (ok(b"nonsense"), "not JSON"),
        (ok(b"x" * 3_000_000), "more than"),
        (b"not http", "could not be asked"),
    ],
)
async def test_a_service_that_goes_wrong(provider: FakeProvider, body: bytes, error: str) -> None:
    async def reply(_: dict[str, Any]) -> bytes:
        return body

    async with service(reply) as url, table(provider.base_url) as at, agent(at, url=url) as player:
        draft, _ = await play(player, at)
        assert draft.status == "failed" and error in draft.error


async def test_a_service_that_is_not_there() -> None:
    async with table("http://127.0.0.1:9/v1") as at:
        with pytest.raises(ConfigError, match="cannot be reached"):
            async with agent(at, url="http://127.0.0.1:9/"):
                pass
