"""The run directory: what is written, what is kept, and who may hold it."""

import math
import os
import shutil
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mashq.errors import StoreError
from mashq.gateway.clock import RealClock
from mashq.gateway.types import Call, Completion, Message, Outcome, Request, Usage, Worst
from mashq.protocol import UNKNOWN, Answer, Item
from mashq.protocol.resources import Amount, Spend
from mashq.protocol.results import ItemResult, PlayerResult
from mashq.runs import chain, ledger
from mashq.runs import database as db
from mashq.runs import writer as store
from mashq.runs.database import Writer
from mashq.runs.ledger import entries
from mashq.runs.manifest import read_manifest
from mashq.runs.reading import (
    read_attempts,
    read_items,
    read_last_error,
    read_left,
    read_lost,
    read_matches,
    read_moves,
    read_results,
)
from mashq.runs.writer import Run

CLOCK = RealClock()
CALL = Call("0", 0, "A", "i", "answer")
REQUEST = Request((Message("user", "hello"),), 10)
WORST = Worst(5, 10, 60.0)
LEDGER: dict[str, Any] = {
    "kind": "gateway",
    "started": "2026-01-01T00:00:00+00:00",
    "ended": None,
    "simulated": False,
    "config": {},
    "player": "A",
}


def create(path: Path, manifest: dict[str, Any] | None = None) -> Run:
    return Run.create(path, CLOCK, {**LEDGER, **(manifest or {})}, [Item("i", "text ü", None)])


async def test_attempts_come_back_as_they_were(tmp_path: Path) -> None:
    run = create(tmp_path / "run")
    book = run.record("0").ledger()
    first = await book.open(CALL, REQUEST, "m", WORST, durable=True)
    second = await book.open(CALL, REQUEST, "m", WORST, durable=False)
    outcome = Outcome(
        "ok", Completion("hi \ud800", "stop", h=0.5), Usage(3, UNKNOWN, 1, raw="{}"), 1.5, {"dollars": 0.25}, 200
    )
    book.close(second, outcome, 0.75)
    run.close()
    connection = sqlite3.connect(tmp_path / "run" / "run.db")
    (call, one), (_, two) = entries(connection)
    connection.close()
    assert (call, one.id, one.outcome, one.worst) == (CALL, first, None, WORST)
    assert two.outcome is not None and two.outcome.completion is not None
    assert two.outcome.completion.text == "hi ?"
    assert (two.outcome.usage, two.outcome.seconds, two.outcome.rated) == (outcome.usage, 1.5, {"dollars": 0.25})
    assert two.waited == 0.75


async def test_an_open_row_is_on_disk_before_open_returns(tmp_path: Path) -> None:
    run = create(tmp_path / "run")
    await run.record("0").ledger().open(CALL, REQUEST, "m", WORST, durable=True)
    other = sqlite3.connect(tmp_path / "run" / "run.db")
    assert other.execute("SELECT count(*) FROM attempts").fetchone() == (1,)
    other.close()
    run.close()


async def test_what_a_crash_left_is_told_once(tmp_path: Path) -> None:
    run = create(tmp_path / "run")
    book = run.record("0").ledger()
    await book.open(CALL, REQUEST, "m", WORST, durable=True)
    run.close()
    again = Run.open(tmp_path / "run", CLOCK)
    book = again.record("0").ledger(read_left(tmp_path / "run", "0"))
    assert [entry.outcome for entry in book.history(CALL)] == [None]
    assert book.history(CALL) == ()
    assert await book.open(CALL, REQUEST, "m", WORST, durable=False) == 2, "numbers go on where they stopped"
    again.close()
    (row,) = read_attempts(tmp_path / "run")
    assert (row["opened"], row["closed"], row["unresolved"]) == (2, 0, 2)
    assert read_last_error(tmp_path / "run", "0", "A") is None


def test_moves_items_and_manifest_come_back(tmp_path: Path) -> None:
    run = create(tmp_path / "run", {"ended": None, "name": "ünï"})
    run.record("0").record(0, "A", "i", Answer("ok", "x", 0.5), None)
    run.close()
    assert list(read_moves(tmp_path / "run", "0")) == [("A", Answer("ok", "x", 0.5))]
    assert read_items(tmp_path / "run") == (Item("i", "text ü", None),)
    assert read_manifest(tmp_path / "run")["name"] == "ünï"


async def test_what_cannot_be_stored_is_an_error_and_not_a_hang(tmp_path: Path) -> None:
    for value in ("\ud800", 2**80, object()):
        writer = Writer(tmp_path / f"{id(value)}.db")
        writer.put("INSERT INTO prompts VALUES (?, ?)", ("x", value))
        with pytest.raises(StoreError, match="cannot be written"):
            await writer.durable()
        with pytest.raises(StoreError):
            writer.close()


async def test_who_waits_for_the_disk_gets_it_and_nobody_else_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    let_go = threading.Event()

    def slow(file: int) -> None:
        let_go.wait(10)
        synced.append(file)

    monkeypatch.setattr(os, "fsync", slow)
    writer = Writer(tmp_path / "run.db")
    writer.put("INSERT INTO prompts VALUES ('a', 'b')", ())
    await writer.durable()
    other = sqlite3.connect(tmp_path / "run.db")
    assert other.execute("SELECT count(*) FROM prompts").fetchone() == (1,) and not synced
    other.close()
    let_go.set()
    await writer.synced()
    assert synced
    writer.close()


async def test_a_disk_that_cannot_sync_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_file: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", broken)
    writer = Writer(tmp_path / "run.db")
    writer.put("INSERT INTO prompts VALUES ('a', 'b')", ())
    with pytest.raises(StoreError, match="Input/output error"):
        await writer.synced()
    with pytest.raises(StoreError):
        writer.close()


async def test_after_the_machine_went_down_the_run_says_how_many_attempts_it_may_lack(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = create(tmp_path / "run")
    book = run.record("0").ledger()
    for _ in range(3):
        await book.open(CALL, REQUEST, "m", WORST, durable=True)
    await run.writer.synced()
    shutil.copytree(tmp_path / "run", tmp_path / "cut")  # what the disk has when the power goes
    run.close()
    connection = sqlite3.connect(tmp_path / "cut" / "run.db")
    connection.execute("DELETE FROM attempts WHERE id = 3")  # the last commit had not reached the disk
    connection.commit()
    connection.close()
    same = Run.open(tmp_path / "run", CLOCK)
    same.notice_losses()
    same.close()
    assert read_lost(tmp_path / "run") == 0, "a process that dies loses nothing"
    monkeypatch.setattr(store, "boot_id", lambda: "another start")
    after = Run.open(tmp_path / "cut", CLOCK)
    after.notice_losses()
    after.close()
    assert 1 <= read_lost(tmp_path / "cut") <= 2 * ledger.AHEAD + 1
    again = Run.open(tmp_path / "cut", CLOCK)
    found = read_lost(tmp_path / "cut")
    again.notice_losses()
    again.close()
    assert read_lost(tmp_path / "cut") == found, "noticed once"


async def test_results_come_back_exactly(tmp_path: Path) -> None:
    amounts = (Amount(5, 2, 1, 9), Amount(7, 3), Amount(0.1, 3), Amount(0, 0, 3, math.inf), Amount(2.5, 3))
    spend = Spend(2, 1, 1, 1, 3, amounts, 0.25)
    items = (ItemResult("i", "ok", 0.1 + 0.2, 0.1, spend, 0.7, None, 12),)
    found = (PlayerResult("A", items, spend, 0.85, 3, "no tokens left"), PlayerResult("B", items))
    run = create(tmp_path / "run")
    record = run.record("0")
    assert read_results(tmp_path / "run", "0") is None
    record.begin()
    await record.end(found)
    run.close()
    assert read_results(tmp_path / "run", "0") == found
    assert read_matches(tmp_path / "run") == {"0": True}


def test_a_second_process_cannot_begin_a_run_that_is_being_begun(tmp_path: Path) -> None:
    run = create(tmp_path / "run")
    (tmp_path / "run" / "manifest.json").unlink()
    with pytest.raises(StoreError, match="another process"):
        create(tmp_path / "run")
    run.record("0").record(0, "A", "i", Answer("ok", "x", 0.5), None)
    run.close()
    assert (tmp_path / "run" / "run.db").exists()


def test_a_manifest_that_is_none_is_one_sentence(tmp_path: Path) -> None:
    for body, sentence in (
        ("[]", "not the manifest"),
        ("{}", "not the manifest"),
        ('{"ended": 1, "format": 99}', "99"),
    ):
        (tmp_path / "manifest.json").write_text(body)
        with pytest.raises(StoreError, match=sentence):
            read_manifest(tmp_path)


def test_a_run_is_held_by_one_process_at_a_time(tmp_path: Path) -> None:
    run = create(tmp_path / "run")
    with pytest.raises(StoreError, match="another process"):
        Run.open(tmp_path / "run", CLOCK)
    run.close()
    Run.open(tmp_path / "run", CLOCK).close()


def test_a_run_that_died_before_it_began_may_be_begun_again(tmp_path: Path) -> None:
    create(tmp_path / "run").close()
    (tmp_path / "run" / "manifest.json").unlink()
    create(tmp_path / "run").close()
    with pytest.raises(StoreError, match="already used"):
        create(tmp_path / "run")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("do not touch")
    with pytest.raises(StoreError, match="holds other files"):
        create(tmp_path / "mine")


def test_places_that_cannot_be_used_are_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match="cannot be made"):
        create(tmp_path / "file" / "run")
    create(tmp_path / "run").close()
    (tmp_path / "run" / "run.db").unlink()
    with pytest.raises(StoreError, match="is missing"):
        read_items(tmp_path / "run")
    (tmp_path / "run" / "run.db").write_bytes(b"not a database at all, but long enough to be read as one" * 20)
    with pytest.raises(StoreError, match="cannot be opened"):
        read_items(tmp_path / "run")
    (tmp_path / "run" / "manifest.json").write_text("{")
    with pytest.raises(StoreError, match="cannot be read"):
        read_manifest(tmp_path / "run")


async def test_a_failed_write_fails_all_that_follow(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "run.db")
    writer.put("INSERT INTO nowhere VALUES (1)", ())
    with pytest.raises(StoreError, match="cannot be written"):
        await writer.durable()
    with pytest.raises(StoreError, match="what was paid for so far is kept"):
        writer.put("SELECT 1", ())
    with pytest.raises(StoreError):
        writer.close()


async def test_many_writers_waiting_share_one_commit(tmp_path: Path) -> None:
    import asyncio

    run = create(tmp_path / "run")
    book = run.record("0").ledger()
    await asyncio.gather(*(book.open(CALL, REQUEST, "m", WORST, durable=True) for _ in range(200)))
    run.close()
    assert read_attempts(tmp_path / "run")[0]["opened"] == 200


async def test_a_loop_that_waits_commits_by_itself_and_in_order_with_the_thread(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "run.db")
    for n in range(3000):
        writer.put("INSERT INTO prompts VALUES (?, ?)", (f"{n:05}", "x"))
        if n % 7 == 0:
            await writer.durable()
            other = sqlite3.connect(tmp_path / "run.db")
            assert other.execute("SELECT count(*), max(digest) FROM prompts").fetchone() == (n + 1, f"{n:05}")
            other.close()
    writer.close()


async def test_two_connections_write_one_chain(tmp_path: Path) -> None:
    driver, desk = Writer(tmp_path / "run.db"), Writer(tmp_path / "run.db")
    for n in range(40):
        writer = driver if n % 3 == 0 else desk
        writer.put(chain.NOTE, ("learnt", f"m{n}", "key", None, None, None))
        writer.put(chain.PROMPT, (f"{n:05}", "x"))
        await writer.durable()
    driver.close()
    desk.close()
    with closing(sqlite3.connect(tmp_path / "run.db")) as file:
        assert chain.last(file)[0] == 40
        told = [entry[1] for entry in chain.notes(file, "learnt")]
        assert told == [f"m{n}" for n in range(40)] and chain.check(file).links == 40


async def test_the_log_of_a_long_run_is_cut_while_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(db, "SOME", 50)
    monkeypatch.setattr(db, "LARGE", 200_000)
    monkeypatch.setattr(db, "PAUSE", 0.001)
    writer = Writer(tmp_path / "run.db")
    largest, log = 0, tmp_path / "run.db-wal"
    for n in range(600):
        writer.put("INSERT INTO prompts VALUES (?, ?)", (str(n), "x" * 5000))
        await (writer.synced() if n % 20 == 0 else writer.durable())
        largest = max(largest, log.stat().st_size)
    assert largest < 3_000_000, "600 x 5000 letters and their pages are 6 MB and more"
    reader = sqlite3.connect(tmp_path / "run.db")
    assert reader.execute("SELECT count(*) FROM prompts").fetchone() == (600,)
    reader.close()
    writer.close()
