"""When streamed replies began, from the ledger of a match to everything that is made of it."""

import csv
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pytest

import mashq
from mashq.report.documents import metered
from mashq.report.documents.first_byte import FirstByte
from mashq.report.documents.schema import schema_of
from mashq.report.html.facts import facts
from mashq.report.html.parts import Table
from mashq.report.html.times import FIRST, STREAMED, times
from mashq.report.text.metered import text
from mashq.runs.open import load_season
from mashq.runs.verify import verify
from tests.export.runs import command
from tests.report import runs
from tests.report.test_schema import wrong
from tests.runs import tamper


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A and B ask for whole replies; C, a program of anyone's, for streams too."""
    return tamper.played(tmp_path_factory.mktemp("streams"), trials=1)


def ledger(run: Path, query: str) -> list[Any]:
    with closing(sqlite3.connect(run / "run.db")) as connection:
        return connection.execute(query).fetchall()


def begun(run: Path) -> list[float]:
    """When the streams of C began."""
    rows = ledger(run, "SELECT player, first_byte, seconds FROM attempts WHERE first_byte IS NOT NULL")
    assert rows and all(player == "C" and 0 < first <= seconds for player, first, seconds in rows)
    return [first for _, first, _ in rows]


def test_the_report_has_it_for_who_streamed(played: Path) -> None:
    (table,) = times(facts(load_season(played))).blocks
    assert isinstance(table, Table) and list(table.grid.headings[-3:]) == FIRST and STREAMED in table.caption
    whole, other, streams = (row[-3:] for row in table.grid.rows)
    assert whole == other == ["0", "not streamed", "not streamed"]
    seconds = begun(played)
    p95 = float(np.quantile(seconds, 0.95))
    assert streams == [str(len(seconds)), f"{median(seconds):,.2f}", f"{p95:,.2f}"]


def test_the_document_has_it_and_follows_its_schema(played: Path) -> None:
    shown = mashq.show(played)
    document = json.loads(command("show", played, "--json"))
    assert list(document["first_byte"]) == ["C"] and not wrong(document)
    own, seconds = document["first_byte"]["C"], begun(played)
    assert (own["replies"], own["median"]) == (len(seconds), pytest.approx(median(seconds)))
    assert own["median"] <= own["p95"] <= max(seconds) and shown["first_byte"]["C"] == own
    assert "first_byte" in schema_of("trials")["properties"]


def test_where_nobody_streamed_nothing_is_said(tmp_path: Path) -> None:
    run = runs.play(runs.config(2, 3), tmp_path / "run")
    (table,) = times(facts(load_season(run))).blocks
    assert isinstance(table, Table) and len(table.grid.headings) == 7 and STREAMED not in table.caption
    assert "first_byte" not in json.loads(command("show", run, "--json"))
    assert "first_byte" not in command("export", run, "--format", "csv", "--what", "attempts").splitlines()[0]


def test_exports_have_it(played: Path) -> None:
    rows = list(csv.DictReader(command("export", played, "--format", "csv", "--what", "attempts").splitlines()))
    assert [float(row["first_byte"]) for row in rows if row["first_byte"]] == sorted_by_id(played)
    assert all(row["first_byte"] == "" for row in rows if row["player"] != "C"), "unknown, never 0"
    spans = command("export", played, "--format", "otel")
    assert spans.count('"mashq.first_byte"') == len(begun(played))


def sorted_by_id(run: Path) -> list[float]:
    rows = ledger(run, "SELECT first_byte FROM attempts WHERE first_byte IS NOT NULL ORDER BY id")
    return [first for (first,) in rows]


@pytest.mark.parametrize("change", ["first_byte * 0.5", "NULL"])
def test_a_change_of_it_is_noticed(played: Path, tmp_path: Path, change: str) -> None:
    run = tamper.copied(played, tmp_path / "run")
    assert [one.wrong for one in verify(run) if one.wrong] == []
    with closing(sqlite3.connect(run / "run.db")) as connection:
        which = "(SELECT max(id) FROM attempts WHERE first_byte IS NOT NULL)"
        connection.execute(f"UPDATE attempts SET first_byte = {change} WHERE id = {which}")
        connection.commit()
    assert [one.check for one in verify(run) if one.wrong] == ["chain"]


def test_the_ledger_of_a_gateway_has_it(played: Path, tmp_path: Path) -> None:
    run = tamper.copied(played, tmp_path / "run")
    manifest = json.loads((run / "manifest.json").read_text())
    (run / "manifest.json").write_text(json.dumps(manifest | {"kind": "gateway", "player": "C"}))
    document = metered.document(run)
    seconds = begun(run)
    found = {row.player: row.first_byte for row in document.spent}
    assert found["A"] is found["B"] is None
    assert isinstance(found["C"], FirstByte) and found["C"].replies == len(seconds)
    assert f"Streamed: {len(seconds)} x C (my/alpha)" in " ".join(text(document).split())
