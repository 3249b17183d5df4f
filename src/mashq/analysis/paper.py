"""Compares the paper's printed Q-Scores with the values that its own figures imply.

A row with full counts is recomputed as part of its match, with the beta of its table; a row that prints a penalty but
no counts can only be checked for consistency: H minus that penalty. The Best-of-N rows are shown as printed, each
normalised against itself alone, and as one match of all five players.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from mashq.analysis.flips import envelope
from mashq.analysis.parts import BetaStretch, shared
from mashq.analysis.results import Row, from_rows
from mashq.protocol.score import Figures, ScoreRules, figures, view

ROUNDING = 0.00015
COUNTED = ("tokens", "calls", "reviews", "seconds")
Basis = Literal["counts", "printed penalty"]
Figure = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperRow:
    """A printed Q-Score beside what the row's other figures give."""

    table: str
    """The table that it is from."""
    match: str
    """The match."""
    player: str
    """The player."""
    printed_q: float
    """Q as printed."""
    basis: Basis
    """What Q is worked out from: the counts of the match, or H and the penalty that the row prints."""
    beta: float | None
    """The beta of its table, by which the counts give Q; null: the row has no counts."""
    penalty: float
    """From counts, P; else the printed penalty, in which beta is contained."""
    q: float
    """Q as worked out."""
    follows: bool
    """Whether they are the same, up to rounding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """How many of some printed Q-Scores follow."""

    follow: int
    """So many follow."""
    total: int
    """Of so many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BetaTally(Tally):
    """The same of the tables that follow one beta."""

    beta: float
    """That beta."""


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
    """Best-of-N as printed, each row normalised against itself, and as one match of all five players."""

    as_printed: Sequence[Printed]
    """As printed, best first."""
    one_match: Sequence[InOneMatch]
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
    """The paper's printed Q-Scores beside what its own figures give."""

    kind: ClassVar[str] = "paper"

    rows: Sequence[PaperRow]
    """Every printed Q-Score that other printed figures lead to."""
    recomputed: Tally
    """Those recomputed from the counts of their match."""
    by_beta: Sequence[BetaTally]
    """The same by the beta that their tables follow."""
    consistent: Tally
    """Those that are H minus the penalty that the row prints, which no counts confirm."""
    not_recomputable: Sequence[NotRecomputable]
    """Those that cannot be recomputed."""
    best_of_n: BestOfN
    """The Best-of-N table both ways."""


def paper(printed: Mapping[str, Any]) -> PaperCheck:
    """Every printed Q-Score with the value implied by its row's figures, and the Best-of-N table both ways."""
    counted = list(_recomputed(printed["counts"], printed["same_counts"]))
    stated = [
        _row(row, "printed penalty", None, row["penalty"], row["h"] - row["penalty"]) for row in printed["penalties"]
    ]
    betas = sorted({row.beta for row in counted if row.beta is not None}, reverse=True)
    return PaperCheck(
        rows=[*counted, *stated],
        recomputed=_tally(counted),
        by_beta=[_at_beta(beta, counted) for beta in betas],
        consistent=_tally(stated),
        not_recomputable=[NotRecomputable(**row) for row in printed["not_recomputable"]],
        best_of_n=_best_of_n(printed["counts"]),
    )


def _recomputed(counts: Sequence[Figure], same_counts: Sequence[Figure]) -> Iterator[PaperRow]:
    """Score each match from its counts; then the rows that another table prints for the same match, with that table's
    beta."""
    penalties: dict[tuple[str, str], tuple[float, float]] = {}
    for match in dict.fromkeys(row["match"] for row in counts):
        players = [row for row in counts if row["match"] == match]
        beta: float = players[0]["weight"]
        scores = _scored(players, beta)
        for seat, row in enumerate(players):
            penalty = float(scores.penalty[0][seat])
            penalties[match, row["player"]] = row["h"], penalty
            yield _row(row, "counts", beta, penalty, float(scores.q[0][seat]))
    for row in same_counts:
        h, penalty = penalties[row["match"], row["player"]]
        yield _row(row, "counts", row["weight"], penalty, h - row["weight"] * penalty)


def _tally(rows: Sequence[PaperRow]) -> Tally:
    return Tally(follow=sum(row.follows for row in rows), total=len(rows))


def _at_beta(beta: float, rows: Sequence[PaperRow]) -> BetaTally:
    tally = _tally([row for row in rows if row.beta == beta])
    return BetaTally(beta=beta, follow=tally.follow, total=tally.total)


def _scored(players: Sequence[Figure], beta: float) -> Figures:
    results = from_rows(
        [Row(p["player"], "all", "", p["h"], "ok", {name: p[name] for name in COUNTED}) for p in players], totals=True
    )
    rules = ScoreRules(beta=beta, weights=dict.fromkeys(COUNTED, 1.0))
    return figures(view(results, "intersection", COUNTED), rules)


def _row(row: Figure, basis: Basis, beta: float | None, penalty: float, q: float) -> PaperRow:
    return PaperRow(
        table=row["table"],
        match=row["match"],
        player=row["player"],
        printed_q=row["q"],
        basis=basis,
        beta=beta,
        penalty=penalty,
        q=q,
        follows=abs(q - row["q"]) < ROUNDING,
    )


def _best_of_n(counts: Sequence[Figure]) -> BestOfN:
    """The reversal as printed, and in one match of all five."""
    solo = [row for row in counts if row["table"] == "best_of_n"]
    agents = [dict(row, player=f"Q-Agent {row['player']}") for row in counts if row["match"] == "gpt-4o-mini"]
    players = [*solo, *agents]
    scores = _scored(players, 0.1)
    h, penalty, q = scores.h[0].tolist(), scores.penalty[0].tolist(), scores.q[0].tolist()
    stretches = envelope(h, penalty)
    names = [row["player"] for row in players]
    top = max(range(len(players)), key=lambda seat: h[seat])
    best = max(range(len(players)), key=lambda seat: q[seat])
    printed = sorted(players, key=lambda row: -row["q"])
    return BestOfN(
        as_printed=[Printed(player=row["player"], h=row["h"], q=row["q"]) for row in printed],
        one_match=[
            InOneMatch(player=names[seat], h=h[seat], penalty=penalty[seat], q=q[seat])
            for seat in sorted(range(len(players)), key=lambda seat: -q[seat])
        ],
        most_factual=names[top],
        winner=names[best],
        envelope=[BetaStretch(s.start, s.end, *shared([names[seat] for seat in s.winners])) for s in stretches],
        reversal=Reversal(beta_from=stretches[0].end, beta_to=None) if len(stretches) > 1 else None,
    )
