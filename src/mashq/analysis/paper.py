"""The paper's printed Q-Scores beside the recomputed ones.

A row with full counts is scored as one of its match; a row that prints its penalty only is H minus that penalty. The
Best-of-N rows are shown as printed, each normalised against itself alone, and as one honest match of five.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from mashq.analysis.flips import envelope
from mashq.analysis.parts import BetaStretch
from mashq.analysis.results import Row, from_rows
from mashq.protocol.score import Figures, ScoreRules, figures, view

ROUNDING = 0.00015
COUNTED = ("tokens", "calls", "reviews", "seconds")
Figure = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperRow:
    """A printed Q-Score beside the recomputed one."""

    table: str
    """The table that it is from."""
    match: str
    """The match."""
    player: str
    """The player."""
    printed_q: float
    """Q as printed."""
    q: float
    """Q as recomputed."""
    follows: bool
    """Whether they are the same, up to rounding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotRecomputable:
    """A printed Q-Score that cannot be recomputed."""

    table: str
    """The table that it is from."""
    match: str
    """The match."""
    player: str
    """The player."""
    printed_q: float
    """Q as printed."""
    reason: str
    """Why not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """A row of Best-of-N as printed."""

    player: str
    """The player."""
    h: float
    """H as printed."""
    q: float
    """Q as printed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InOneMatch:
    """A row of Best-of-N in one match of all."""

    player: str
    """The player."""
    h: float
    """H."""
    penalty: float
    """P, relative to the largest of all."""
    q: float
    """Q."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reversal:
    """Where the most factual player does not win."""

    beta_from: float | None
    """From this beta."""
    beta_to: float | None
    """To this one; null: on and on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BestOfN:
    """Best-of-N as printed, each row normalised against itself, and as one match of five."""

    as_printed: Sequence[Printed]
    """As printed, best first."""
    honest: Sequence[InOneMatch]
    """In one match, best first."""
    most_factual: str
    """Who has the highest H."""
    winner: str
    """Who has the best Q in one match."""
    envelope: Sequence[BetaStretch]
    """Who leads at which beta."""
    reversal: Reversal | None
    """Where the most factual player does not win."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperCheck:
    """The paper's printed Q-Scores beside the recomputed ones."""

    kind: ClassVar[str] = "paper"

    rows: Sequence[PaperRow]
    """Every printed Q-Score that can be recomputed."""
    follow: int
    """How many follow."""
    total: int
    """How many there are."""
    not_recomputable: Sequence[NotRecomputable]
    """Those that cannot be recomputed."""
    best_of_n: BestOfN
    """The Best-of-N table both ways."""


def paper(printed: Mapping[str, Any]) -> PaperCheck:
    """Every printed Q-Score with the recomputed one, and the Best-of-N table both ways."""
    rows: list[PaperRow] = []
    for match in dict.fromkeys(row["match"] for row in printed["counts"]):
        players = [row for row in printed["counts"] if row["match"] == match]
        q = _scored(players, players[0]["weight"]).q[0].tolist()
        rows += [_row(row, value) for row, value in zip(players, q, strict=True)]
    rows += [_row(row, row["h"] - row["penalty"]) for row in printed["penalties"]]
    return PaperCheck(
        rows=rows,
        follow=sum(row.follows for row in rows),
        total=len(rows),
        not_recomputable=[NotRecomputable(**row) for row in printed["not_recomputable"]],
        best_of_n=_best_of_n(printed["counts"]),
    )


def _scored(players: Sequence[Figure], beta: float) -> Figures:
    results = from_rows(
        [Row(p["player"], "all", "", p["h"], "ok", {name: p[name] for name in COUNTED}) for p in players], totals=True
    )
    rules = ScoreRules(beta=beta, weights=dict.fromkeys(COUNTED, 1.0))
    return figures(view(results, "intersection", COUNTED), rules)


def _row(row: Figure, q: float) -> PaperRow:
    return PaperRow(
        table=row["table"],
        match=row["match"],
        player=row["player"],
        printed_q=row["q"],
        q=q,
        follows=abs(q - row["q"]) < ROUNDING,
    )


def _best_of_n(counts: Sequence[Figure]) -> BestOfN:
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
    return BestOfN(
        as_printed=[Printed(player=row["player"], h=row["h"], q=row["q"]) for row in printed],
        honest=[
            InOneMatch(player=names[at], h=h[at], penalty=penalty[at], q=q[at])
            for at in sorted(range(len(five)), key=lambda at: -q[at])
        ],
        most_factual=names[top],
        winner=names[best],
        envelope=[BetaStretch(s.start, s.end, names[s.winner]) for s in stretches],
        reversal=Reversal(beta_from=stretches[0].end, beta_to=None) if len(stretches) > 1 else None,
    )
