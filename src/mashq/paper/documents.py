"""The documents that `mashq paper list`, `plan`, `play` and `show` print with --json."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from mashq.analysis.parts import flat
from mashq.paper.experiments import What


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Standard deviations over trials; null where they are not known."""

    h: float | None = None
    """Of H."""
    calls: float | None = None
    """Of calls."""
    tokens: float | None = None
    """Of tokens."""
    reviews: float | None = None
    """Of reviews."""
    seconds: float | None = None
    """Of seconds."""
    q: float | None = None
    """Of Q."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperFigures:
    """The figures of a row. What is not known, or not printed, is null."""

    h_before_review: float | None = None
    """Mean factuality of first answers."""
    h: float | None = None
    """Mean factuality of final answers."""
    calls: float | None = None
    """Model calls."""
    tokens: float | None = None
    """Tokens in and out."""
    tokens_in: float | None = None
    """Tokens in."""
    tokens_out: float | None = None
    """Tokens out."""
    reviews: float | None = None
    """Reviews."""
    seconds: float | None = None
    """Service time."""
    penalty: float | None = None
    """beta * P."""
    q: float | None = None
    """alpha * H - beta * P."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperTableRow:
    """A row of a table, ours or as printed."""

    group: int
    """Which match of the experiment, from 0."""
    label: str
    """The row's name in the paper."""
    player: str
    """The player."""
    model: str | None
    """The model that it asked; in a printed row the paper's name of it, null where the row does not say."""
    items: float | None
    """How many items it is over."""
    figures: PaperFigures = field(metadata=flat())
    """Its figures."""
    sd: Spread | None
    """Standard deviations over trials; null: one trial."""
    winner: bool
    """Whether it has the best Q of its match."""
    clear: bool
    """Whether it may be called the winner: the intervals of its differences to all others, together, exclude 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QAtBeta:
    """Q of a row under another beta."""

    label: str
    """The row."""
    beta: float
    """The weight of P."""
    q: float | None
    """alpha * H - beta * P."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperTable:
    """An experiment of the paper as played here, beside what the paper prints."""

    name: str
    """Its label in the paper."""
    kind: What
    """What it is."""
    title: str
    """What it shows."""
    columns: Sequence[str]
    """The paper's columns, in its order."""
    runs: Sequence[str]
    """The run directories that it is made of; empty: it was not played."""
    simulated: bool
    """Whether some player was not a real model."""
    from_print: bool
    """Whether its players were drawn from what the paper prints of them."""
    models: Sequence[str]
    """The models that played; the rows keep the paper's names whoever played them."""
    detectors: Sequence[str]
    """The judges of our answers."""
    finished: bool
    """Whether every match was played to the end."""
    trials: int
    """How many trials each match has."""
    rows: Sequence[PaperTableRow]
    """Ours, in the paper's order; empty where it was not played."""
    printed: Sequence[PaperTableRow]
    """The paper's, in its order; empty where it prints no numbers."""
    differences: Sequence[PaperFigures | None]
    """Row by row ours less the printed: h, penalty and q as they are, counts per item and relative to the printed."""
    along_beta: Sequence[QAtBeta]
    """Q under other betas, where the experiment shows that."""
    exchange: Sequence[str]
    """The story of the match, where the experiment is a case study."""
    notes: Sequence[str]
    """What a reader must not miss."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperTables:
    """Experiments of the paper."""

    kind: ClassVar[str] = "paper_tables"

    experiments: Sequence[PaperTable]
    """One after the other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperCost:
    """What an experiment takes at full size, as the paper measured it."""

    name: str
    """Its label in the paper."""
    kind: What
    """What it is."""
    title: str
    """What it shows."""
    command: str
    """The command that plays it."""
    shares: Sequence[str]
    """The experiments whose matches it shows: it takes nothing more than they do."""
    matches: int
    """How many matches it plays."""
    items: int
    """Items of a match."""
    calls: float
    """Model calls."""
    tokens_in: float
    """Tokens in."""
    tokens_out: float
    """Tokens out."""
    dollars: float
    """Dollars at today's list prices, of the models that have one."""
    unpriced: Sequence[str]
    """The models that have none."""
    assumed: bool
    """Whether some of it is not printed, and taken from GPT-4o-mini's rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperPlan:
    """What every experiment takes, and all of them."""

    kind: ClassVar[str] = "paper_plan"

    experiments: Sequence[PaperCost]
    """One after the other."""
    calls: float
    """Model calls in all, matches that several show counted once."""
    tokens: float
    """Tokens in all."""
    dollars: float
    """Dollars in all, for the models that have a price."""
    unpriced: Sequence[str]
    """The models that have none."""
