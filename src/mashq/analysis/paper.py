"""The paper's printed Q-Scores beside the recomputed ones.

A row with full counts is scored as one of its match; a row that prints its penalty only is H minus that penalty. The
Best-of-N rows are shown as printed, each normalised against itself alone, and as one honest match of five.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from mashq.analysis.flips import envelope
from mashq.analysis.results import Row, from_rows
from mashq.analysis.scoring import Figures, figures, view
from mashq.protocol.score import ScoreRules

ROUNDING = 0.00015
COUNTED = ("tokens", "calls", "reviews", "seconds")
Figure = Mapping[str, Any]


def paper(printed: Mapping[str, Any]) -> dict[str, Any]:
    """Every printed Q-Score with the recomputed one, and the Best-of-N table both ways."""
    rows: list[dict[str, Any]] = []
    for match in dict.fromkeys(row["match"] for row in printed["counts"]):
        players = [row for row in printed["counts"] if row["match"] == match]
        q = _scored(players, players[0]["weight"]).q[0].tolist()
        rows += [_row(row, value) for row, value in zip(players, q, strict=True)]
    rows += [_row(row, row["h"] - row["penalty"]) for row in printed["penalties"]]
    return {
        "rows": rows,
        "follow": sum(row["follows"] for row in rows),
        "total": len(rows),
        "not_recomputable": [dict(row) for row in printed["not_recomputable"]],
        "best_of_n": _best_of_n(printed["counts"]),
    }


def _scored(players: Sequence[Figure], beta: float) -> Figures:
    results = from_rows(
        [Row(p["player"], "all", "", p["h"], "ok", {name: p[name] for name in COUNTED}) for p in players], totals=True
    )
    rules = ScoreRules(beta=beta, weights=dict.fromkeys(COUNTED, 1.0))
    return figures(view(results, "intersection", COUNTED), rules)


def _row(row: Figure, q: float) -> dict[str, Any]:
    return {
        "table": row["table"],
        "match": row["match"],
        "player": row["player"],
        "printed_q": row["q"],
        "q": q,
        "follows": abs(q - row["q"]) < ROUNDING,
    }


def _best_of_n(counts: Sequence[Figure]) -> dict[str, Any]:
    """The reversal as printed, and in one match of all five."""
    solo = [row for row in counts if row["table"] == "best_of_n"]
    agents = [dict(row, player=f"Q-Agent {row['player']}") for row in counts if row["match"] == "gpt-4o-mini"]
    five = [*solo, *agents]
    found = _scored(five, 0.1)
    h, penalty, q = found.h[0].tolist(), found.penalty[0].tolist(), found.q[0].tolist()
    stretches = envelope(h, penalty)
    names = [row["player"] for row in five]
    top = max(range(len(five)), key=lambda at: h[at])
    best = max(range(len(five)), key=lambda at: q[at])
    printed = sorted(five, key=lambda row: -row["q"])
    return {
        "as_printed": [{"player": row["player"], "h": row["h"], "q": row["q"]} for row in printed],
        "honest": [
            {"player": names[at], "h": h[at], "penalty": penalty[at], "q": q[at]}
            for at in sorted(range(len(five)), key=lambda at: -q[at])
        ],
        "most_factual": names[top],
        "winner": names[best],
        "envelope": [{"beta_from": s.start, "beta_to": s.end, "winner": names[s.winner]} for s in stretches],
        "reversal": {"beta_from": stretches[0].end, "beta_to": None} if len(stretches) > 1 else None,
    }
