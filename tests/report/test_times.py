"""How long a call and an answer take, against the ledger read by hand."""

import sqlite3
from collections import defaultdict
from contextlib import closing
from pathlib import Path
from statistics import median

from mashq.report.html.facts import facts
from mashq.report.html.parts import Table
from mashq.report.html.times import times
from mashq.runs.open import load_season
from tests.report import runs


def test_medians_are_those_of_the_ledger(tmp_path: Path) -> None:
    said = runs.config(2, 5, models={"simulated/default": {"simulate": {"retry_rate": 0.3}}})
    place = runs.play(said, tmp_path / "run", trials=2)
    calls: dict[str, list[float]] = defaultdict(list)
    answers: dict[tuple[str, str, str], float] = defaultdict(float)
    with closing(sqlite3.connect(place / "run.db")) as ledger, ledger:
        query = "SELECT match, player, item, outcome, seconds, waited FROM attempts"
        for match, player, item, outcome, seconds, waited in ledger.execute(query):
            if outcome == "ok":
                calls[player].append(seconds)
            answers[player, match, item] += seconds + (waited or 0)
    (table,) = times(facts(load_season(place))).blocks
    assert isinstance(table, Table) and [row[0] for row in table.grid.rows] == ["p0", "p1"]
    for row in table.grid.rows:
        whole = [seconds for (player, _, _), seconds in answers.items() if player == row[0]]
        assert row[1:3] == [str(len(calls[row[0]])), f"{median(calls[row[0]]):.2f}"]
        assert row[4:6] == [str(len(whole)), f"{median(whole):,.2f}"] and len(whole) == 10
        assert max(calls[row[0]]) >= float(row[3]) >= float(row[2])
        assert max(whole) >= float(row[6].replace(",", "")) >= float(row[5].replace(",", ""))
