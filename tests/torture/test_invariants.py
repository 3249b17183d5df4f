"""The torture can fail: each invariant is broken on purpose, in a run's files or in the code, and detected."""

import shutil
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from mashq.gateway.backends.http import HttpBackend
from mashq.gateway.proxy.grants import Grant
from mashq.gateway.proxy.relay import _Listener, _Passing  # pyright: ignore[reportPrivateUsage]
from mashq.gateway.proxy.server import MeteringServer, Seat
from mashq.gateway.redaction import Redaction
from mashq.gateway.types import Call, Entry, Outcome, Request
from mashq.gateway.wire import openai_chat
from mashq.players.external import agent, process
from mashq.runs import charges
from mashq.runs.database import Writer
from mashq.runs.ledger import RunLedger
from tests.arena.cheating import HONEST
from tests.torture import hostile, invariants, virtual
from tests.torture.invariants import Violation
from tests.torture.wire import KEY

GOOD = 1_000_002


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """Play a match without faults; return its folder and how many requests arrived."""
    trial = virtual.Trial(GOOD, tmp_path_factory.mktemp("good") / "t")
    trial.faults = 0.0
    line = trial.line()
    trial._run("run", line)  # pyright: ignore[reportPrivateUsage]
    return trial.folder / "run", line.hits


def holds(run: Path, good: Path, hits: int) -> None:
    """Check every invariant of a run that ended without a kill."""
    invariants.law(run, hits, killed=False)
    invariants.sums(run)
    invariants.kept(invariants.written(good), run)
    invariants.once(run)
    invariants.same(run, good)
    invariants.no_key(run, KEY)


def broken(good: Path, folder: Path, *statements: str) -> Path:
    """Copy a run and change something in it."""
    run = folder / "broken"
    shutil.copytree(good, run)
    with closing(sqlite3.connect(run / "run.db")) as connection:
        for statement in statements:
            assert connection.execute(statement).rowcount, statement
        connection.commit()
    return run


def test_a_good_run_holds(good: tuple[Path, int]) -> None:
    holds(good[0], *good)


@pytest.mark.parametrize(
    ("statement", "check"),
    [
        ("DELETE FROM attempts WHERE id = 2", "law"),
        ("UPDATE attempts SET outcome = NULL WHERE id = 2", "law"),
        ("UPDATE attempts SET tokens_in = tokens_in + 1 WHERE id = 1", "sums"),
        ("UPDATE attempts SET tokens_out = NULL WHERE id = 1", "sums"),
        ("DELETE FROM events WHERE seq = (SELECT max(seq) FROM events)", "sums"),
        ("UPDATE events SET move = json_set(move, '$.spend.calls', 9) WHERE seq = 1", "sums"),
        ("UPDATE results SET calls = calls + 1 WHERE seat = 0 AND position = 0", "sums"),
        ("UPDATE results SET h = 0.123 WHERE h IS NOT NULL", "sums"),
        ("UPDATE spent SET opened = opened + 1", "sums"),
        ("UPDATE items SET text = text || '.' WHERE position = 0", "sums"),
        ("UPDATE attempts SET reply = 'another' WHERE id = 1", "kept"),
        ("UPDATE events SET time = time + 1 WHERE seq = 1", "kept"),
        ("DELETE FROM events WHERE seq = 1", "kept"),
        ("UPDATE events SET round = round + 1 WHERE seq = 1", "same"),
        (f"UPDATE attempts SET error = 'it is {KEY}' WHERE id = 1", "no_key"),
        (f"UPDATE prompts SET messages = messages || '{KEY[-12:]}'", "no_key"),
    ],
)
def test_a_broken_record_is_found_out(good: tuple[Path, int], tmp_path: Path, statement: str, check: str) -> None:
    run, (whole, hits) = broken(good[0], tmp_path, statement), good
    checks: dict[str, Callable[[], None]] = {
        "law": lambda: invariants.law(run, hits, killed=False),
        "sums": lambda: invariants.sums(run),
        "kept": lambda: invariants.kept(invariants.written(whole), run),
        "same": lambda: invariants.same(run, whole),
        "no_key": lambda: invariants.no_key(run, KEY),
    }
    with pytest.raises(Violation):
        checks[check]()


def test_a_request_that_is_not_in_the_ledger_is_found_out(good: tuple[Path, int]) -> None:
    with pytest.raises(Violation):
        invariants.law(good[0], good[1] + 1, killed=True)


def test_a_call_sent_again_is_found_out(good: tuple[Path, int], tmp_path: Path) -> None:
    names = [row[1] for row in sqlite3.connect(good[0] / "run.db").execute("PRAGMA table_info(attempts)")][1:]
    again = f"INSERT INTO attempts ({', '.join(names)}) SELECT {', '.join(names)} FROM attempts WHERE id = 1"
    with pytest.raises(Violation):
        invariants.once(broken(good[0], tmp_path, again))


def test_a_key_in_any_file_is_found_out(good: tuple[Path, int], tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(good[0], run)
    (run / "notes.txt").write_text(f"Bearer {KEY}")
    with pytest.raises(Violation):
        invariants.no_key(run, KEY)


def test_another_players_moves_that_changed_are_found_out(good: tuple[Path, int], tmp_path: Path) -> None:
    run = broken(good[0], tmp_path, "UPDATE events SET round = round + 1 WHERE seq = 1")
    with pytest.raises(Violation):
        invariants.apart(run, good[0], "nobody")


def unredacted(_self: Redaction, text: str) -> str:
    """A key is not redacted."""
    return text


async def unwaited(_self: Writer) -> None:
    """A request is sent before its row is written."""


def forgetful(_self: RunLedger, _call: Call) -> Sequence[Entry]:
    """What a crashed process had paid for is forgotten."""
    return ()


async def twice(self: HttpBackend, request: Request, call: Call) -> Outcome:
    """A request that fails is sent again behind the ledger's back."""
    first_outcome = await _attempt(self, request, call)
    return first_outcome if first_outcome.kind == "ok" else await _attempt(self, request, call)


def charged(self: RunLedger, attempt: int, outcome: Outcome, waited: float) -> None:
    """A failed attempt is not recorded as closed."""
    if outcome.kind not in ("dropped", "timeout"):
        _close(self, attempt, outcome, waited)


_attempt, _close = HttpBackend.attempt, RunLedger.close


def trials(folder: Path) -> None:
    """Play a few matches of the torture."""
    for seed in range(2_000_000, 2_000_040):
        virtual.trial(seed, folder / str(seed))


@pytest.mark.parametrize(
    ("owner", "name", "mutant", "says"),
    [
        (Redaction, "__call__", unredacted, "the key is in"),
        (Writer, "durable", unwaited, "arrived, .* opened"),
        (RunLedger, "history", forgetful, "was charged"),
        (RunLedger, "close", charged, "closed, .* arrived"),
        (virtual, "_attempt", twice, "replied, .* arrived"),
    ],
)
def test_broken_code_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, mutant: Any, says: str
) -> None:
    monkeypatch.setattr(owner, name, mutant)
    with pytest.raises(Violation, match=says):
        trials(tmp_path)


def left_alone(self: _Listener, data: bytes) -> None:
    """A stream that its agent has left is left, too."""
    if self.left:
        raise ConnectionResetError
    _tell(self, data)


def nobodys(_self: _Passing, _outcome: Outcome) -> str:
    """That a cost is unknown is nobody's doing."""
    return ""


_tell = _Listener.tell


def lenient(document: Any, name: str) -> int:
    """A number is accepted in any form."""
    try:
        return min(100, abs(int(float(str(document[name])))))
    except (ValueError, OverflowError):
        return 1


def anyone(self: MeteringServer, request: web.BaseRequest) -> Seat | None:
    """Any request to a seat's address counts as having its token."""
    return next((seat for place, seat in self._seats.items() if f"/{place}/" in request.path), None)  # pyright: ignore[reportPrivateUsage]


def endless(_grant: Grant) -> None:
    """A turn never ends."""


async def hasty(self: Grant) -> None:
    """Requests in flight are not awaited."""
    self.stop()


def patient(_model: object, _longest: float) -> tuple[float, None]:
    """A turn has no time limit."""
    return 1e6, None


async def unconfined(self: Any) -> process.Program:
    """Isolated in name only."""
    if self._program is None or not self._program.running:
        environment = {**self.agent.environment, **self._seat.variables}
        self._program = await process.Program.start(self.agent.command, environment, self.agent.directory)
    return self._program


UNCHARGED = charges.CHARGED.replace("WHERE charge IS NOT NULL", "WHERE 0")  # what is unknown costs nothing
DEFENCES: dict[str, tuple[list[tuple[Any, str, Any]], list[str], bool, str]] = {
    "streams are read on": (
        [(_Listener, "tell", left_alone), (_Passing, "_left", nobodys)], ["leaves", "baits"], True, "charged",
    ),
    "the unknown is charged": (
        [(charges, "CHARGED", UNCHARGED)], [], False, "charged",
    ),
    "fields are read strictly": ([(openai_chat, "bounded", lenient)], ["lies"], True, "must not"),
    "a token is a seat's own": ([(MeteringServer, "_holder", anyone)], ["rival"], True, "must not"),
    "a turn ends": ([(Grant, "stop", endless)], ["late", "resets"], True, "cost|closed|charged"),
    "what has left is waited for": ([(Grant, "close", hasty)], ["resets"], True, "cost|closed|charged"),
    "an answer has its size": ([(process, "MAX_OUTPUT", 2**40)], ["huge"], True, "characters stands"),
    "a turn has its time": (
        [(agent, "_turn_limit", patient), (hostile, "ENOUGH", 8.0)], ["hangs"], True, "no end",
    ),
    "isolation": ([(agent.External, "_running", unconfined)], ["elsewhere"], True, "past|must not|arrived"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("defence", DEFENCES)
def test_an_attack_succeeds_without_its_defence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, defence: str
) -> None:
    removed, tricks, tells, says = DEFENCES[defence]
    isolated = "elsewhere" in tricks
    if isolated and not hostile.isolates():
        pytest.skip("nothing can be isolated here")
    players = {HONEST: [HONEST, "slow"], "first": tricks}
    (tmp_path / "with").mkdir()
    hostile.match(tmp_path / "with", players, items=2, tells=tells, isolated=isolated)
    for owner, name, mutant in removed:
        monkeypatch.setattr(owner, name, mutant)
    (tmp_path / "without").mkdir()
    with pytest.raises(Violation, match=says):
        hostile.match(tmp_path / "without", players, items=2, tells=tells, isolated=isolated)
