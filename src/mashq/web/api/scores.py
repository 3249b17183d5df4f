"""The score of a match that has ended, from sums over its result rows: the numbers of `mashq show`, at any size.

Contract: equal to `mashq.protocol.score.score` over the rows, up to rounding; the tests compare the two. SQLite adds
up each player's items and one item that stands for all of them goes through the protocol's own function.
"""

import json
import sqlite3
from dataclasses import replace
from typing import Any

from mashq.protocol.resources import Spend
from mashq.protocol.score import ItemResult, PlayerResult, Score, ScoreRules, score
from mashq.report.documents.base import plain
from mashq.report.documents.match import figures
from mashq.runs.results import COUNTS, spend_in, there

_LEFT_OUT = "(SELECT position FROM results WHERE match = :match AND status IN ('refused', 'failed'))"
_OWN = "(status NOT IN ('refused', 'failed'))"
_SUMS = """WITH r AS {once} (SELECT *, {kept} AS kept FROM results WHERE match = :match)
  SELECT seat, count(*), sum(kept), sum(status = 'ok'),
  sum(CASE WHEN kept AND status = 'ok' THEN coalesce(h, 0) ELSE 0 END),
  sum(CASE WHEN kept AND status = 'ok' THEN coalesce(h_first, 0) ELSE 0 END),
  {sums} FROM r GROUP BY seat ORDER BY seat"""


def final(connection: sqlite3.Connection, match: str, rules: ScoreRules) -> dict[str, Any] | None:
    """The result of a match by player; None before it has ended."""
    found = _score(connection, match, rules)
    if found is None:
        return None
    result, rates, dropped, count = found
    players = [
        {"name": row.name, **plain(figures(row)), "answer_rate": rate}
        for row, rate in zip(result.players, rates, strict=True)
    ]
    left = count - dropped if rules.refusals == "intersection" else count
    return {"players": players, "winner": result.winner, "tied": list(result.tied), "items": left, "dropped": dropped}


def _score(
    connection: sqlite3.Connection, match: str, rules: ScoreRules
) -> tuple[Score, list[float], int, int] | None:
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'seats'").fetchone():
        return None
    seats = connection.execute("SELECT player, shared FROM seats WHERE match = ? ORDER BY seat", (match,)).fetchall()
    dropped: int = connection.execute(
        f"SELECT count(DISTINCT position) FROM {_LEFT_OUT}", {"match": match}
    ).fetchone()[0]
    kept = {"intersection": f"(position NOT IN {_LEFT_OUT})", "penalised": "1"}.get(rules.refusals, _OWN)
    names, cut = (*COUNTS, *there(connection)), dropped and rules.refusals == "intersection"
    sums = ", ".join(f"sum(CASE WHEN kept THEN {name} ELSE 0 END)" if cut else f"sum({name})" for name in names)
    kept = kept if dropped else "1"
    rows = connection.execute(
        _SUMS.format(kept=kept, sums=sums, once="MATERIALIZED" if dropped else "NOT MATERIALIZED"), {"match": match}
    ).fetchall()
    if not seats or len(rows) != len(seats):
        return None
    players: list[PlayerResult] = []
    for (name, shared), row in zip(seats, rows, strict=True):
        _, count, scored, _, h, first, *costs = row
        share = scored / count if rules.refusals == "intersection" else 1.0
        known = dict(zip(names, costs, strict=True))
        spend = spend_in({count: known[count] for count in COUNTS}, known) + Spend.from_json(
            json.loads(shared)
        ).share(share)
        mean = (h / scored, first / scored) if scored else (None, None)
        one = ItemResult("all", "ok" if scored else "refused", *mean, spend)
        players.append(PlayerResult(name, (one,)))
    result = score(tuple(players), replace(rules, refusals="answered"))
    return result, [row[3] / row[1] for row in rows], dropped, rows[0][1]
