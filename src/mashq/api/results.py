"""Results of the API functions: the typed documents that `--json` prints, with conveniences for notebooks.

Every result has its typed document in `document`, the same values by name (`result["winner"]`, as in `--json`) or as
a whole (`to_dict`, `to_json`), `to_frame`, and a table for display.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeVar, cast, overload

from mashq import outputs
from mashq.analysis.conditions import Checked as Check
from mashq.analysis.parts import Costs, Lead
from mashq.analysis.score_types import ScoreReport
from mashq.api import frames
from mashq.api.frames import Library
from mashq.api.headlines import headline_of
from mashq.errors import ConfigError, StoreError
from mashq.report.documents.base import Document, as_json, dumped, plain
from mashq.report.documents.match import Match
from mashq.report.documents.plan import PlanDocument
from mashq.report.text.formatting import charged, cost_columns, number, safe
from mashq.report.text.tables import Grid, half

if TYPE_CHECKING:
    from mashq.report.documents.compare import Comparison as ComparisonDocument
    from mashq.report.documents.sweep import Sweep
    from mashq.report.documents.trials import Trials
    from mashq.runs.open import Season

__all__ = [
    "Check",
    "Comparison",
    "Detection",
    "Detections",
    "MatchRun",
    "Page",
    "Plan",
    "Player",
    "Players",
    "Result",
    "Run",
    "Score",
]

D = TypeVar("D", bound=Document)
What = Literal["players", "items", "attempts", "events"]


@dataclass(frozen=True, slots=True)
class Player:
    """A player of a match or of a score. An unknown is None, never 0."""

    name: str
    """Its name."""
    model: str | None
    """The model that it asks; None in results from elsewhere."""
    agent: str | None
    """What kind of agent it is."""
    h: float | None
    """Mean factuality of its answers."""
    h_before_review: float | None
    """Mean factuality of its first answers."""
    answer_rate: float | None
    """The share of what it was asked that it answered."""
    penalty: float | None
    """P: its costs, each relative to the largest or to the reference, times their weights."""
    q: float | None
    """alpha * H - beta * P."""
    q_low: float | None
    """Lower end of the 95% confidence interval of Q."""
    q_high: float | None
    """Upper end of that interval."""
    p_win: float | None
    """The chance that it has the best Q, by resampled items."""
    costs: Costs = field(repr=False)
    """What it spent, by resource: tokens, calls, reviews, seconds, dollars and the rest."""
    charged: Mapping[str, float] = field(repr=False)
    """By resource, how much of that is a charge for what is unknown."""

    def row(self) -> dict[str, Any]:
        """The player as a row of a table."""
        figures = {name: value for name, value in asdict(self).items() if name not in ("costs", "charged")}
        return {**figures, **self.costs}


class Players(Sequence[Player]):
    """Players in their seats, by place or by name."""

    def __init__(self, players: Sequence[Player]) -> None:
        self._players = tuple(players)

    @overload
    def __getitem__(self, index: int | str) -> Player: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Player, ...]: ...

    def __getitem__(self, index: int | str | slice) -> Player | tuple[Player, ...]:
        """The player in that seat or of that name, or several."""
        if not isinstance(index, str):
            return self._players[index]
        for player in self._players:
            if player.name == index:
                return player
        names = ", ".join(player.name for player in self._players)
        raise ConfigError(f"there is no player {index!r}: there are {names}")

    def __len__(self) -> int:
        return len(self._players)

    def __repr__(self) -> str:
        return repr(self._players)


class Result(Generic[D]):
    """A document of any kind, with its values by name."""

    def __init__(self, document: D) -> None:
        self.document: D = document

    @property
    def kind(self) -> str:
        """Which document it is: match, trials, score, plan and so on."""
        return self.document.kind

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must not miss."""
        return tuple(getattr(self.document, "notes", ()))

    @cached_property
    def _values(self) -> dict[str, Any]:
        return dumped(self.document)

    def to_dict(self) -> dict[str, Any]:
        """The document as plain values, as `--json` prints it."""
        return dumped(self.document)

    def to_json(self) -> str:
        """The document as `--json` prints it."""
        return as_json(self.document)

    def to_frame(self, *, library: Library | None = None) -> Any:
        """Its main table as a data frame of pandas, polars or pyarrow, whichever is named or installed."""
        return frames.frame(*frames.table(self._rows()), library)

    def _rows(self) -> list[dict[str, Any]]:
        return _rows(self.document)

    def __getitem__(self, name: str) -> Any:
        """One of its values, as in `--json`; raises KeyError for any other name."""
        if name not in self._values:
            raise KeyError(f"there is no {name!r}: there are {', '.join(self._values)}")
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def keys(self) -> Sequence[str]:
        """The names of its values."""
        return list(self._values)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Result):
            return self._values == cast("Result[Any]", other).to_dict()
        return self._values == other if isinstance(other, Mapping) else NotImplemented

    __hash__: ClassVar[None]  # pyright: ignore[reportIncompatibleMethodOverride]

    def __str__(self) -> str:
        """What the command prints."""
        from mashq.report.text.seasons import text

        return text(self.document)

    def __repr__(self) -> str:
        return f"<mashq {self.kind}: {safe(self._headline(), 300)}>"

    def _headline(self) -> str:
        return headline_of(self.document) or f"{len(self._rows())} rows"

    def _grid(self) -> Grid | None:
        """The table to display; None displays what the command prints."""
        return None

    def _repr_html_(self) -> str:
        grid = self._grid()
        body = f"<pre>{escape(str(self))}</pre>" if grid is None else _html(grid)
        headline = str(getattr(self.document, "headline", ""))
        head = f"<p><strong>{escape(safe(headline, 600))}</strong></p>" if headline and grid is not None else ""
        notes = "".join(f"<li>{escape(safe(note, 500))}</li>" for note in self.notes) if grid is not None else ""
        return head + body + (f"<ul>{notes}</ul>" if notes else "")


class Scored(Result[D]):
    """A document with a score: who leads, how certain that is, and each player's figures."""

    @property
    def _scored(self) -> "Match | Trials | ScoreReport":
        return cast("Match | Trials | ScoreReport", self.document)

    @cached_property
    def players(self) -> Players:
        """The players, in their seats: by place, or by name."""
        return Players(_players(self._scored))

    def player(self, name: str) -> Player:
        """The player of that name."""
        return self.players[name]

    @property
    def winner(self) -> str | None:
        """Who has the best Q; None for a tie, and while it is being played. See `clear`."""
        return self._scored.winner

    @property
    def tied(self) -> tuple[str, ...]:
        """Who shares the best Q."""
        return tuple(self._scored.tied)

    @property
    def clear(self) -> bool:
        """Whether it may be called the winner: all its differences' 95% intervals, together, exclude 0."""
        return self._scored.clear

    @property
    def best_set(self) -> tuple[str, ...]:
        """The players that cannot be told apart from the best."""
        return tuple(self._scored.best_set)

    @property
    def headline(self) -> str:
        """Who leads and how sure that is, in a sentence."""
        return headline_of(self.document)

    @property
    def differences(self) -> tuple[Lead, ...]:
        """Differences in Q, the better player first, each with its interval."""
        return tuple(self._scored.differences)

    def _rows(self) -> list[dict[str, Any]]:
        return [player.row() for player in self.players]

    def _grid(self) -> Grid:
        costs = cost_columns([player.costs for player in self.players], without=())
        rows = [
            [
                player.name + (" ★" if player.name == self.winner else ""),
                number(player.h, 4),
                *(charged(name, player.costs[name], player.charged) for name in costs),
                number(player.penalty, 3),
                number(player.q, 4),
                half(player.q_low, player.q_high),
                number(player.p_win, 3),
            ]
            for player in self.players
        ]
        return Grid(["player", "H", *costs, "P", "Q", "± 95%", "P(win)"], rows)


class Score(Scored[ScoreReport]):
    """The result of `mashq.score`."""

    def check(self, condition: str) -> Check:
        """Evaluate a condition such as `q(A) < q(B) + 0.02` or `clear(A, B)`; `true` is the outcome, `values` what
        decided it."""
        from mashq.analysis.conditions import check, parse

        return check(parse(condition), self.document)

    def __str__(self) -> str:
        from mashq.report.text.score import score_text

        return score_text(self.document, "table")


class Run(Result[Document]):
    """A run directory: a match, its trials, a sweep, a tournament, a game or a vision study."""

    def __init__(self, season: "Season") -> None:
        from mashq.report.documents.seasons import document

        super().__init__(document(season))
        self._season = season

    @property
    def path(self) -> Path:
        """The run directory."""
        return self._season.path

    @property
    def finished(self) -> bool:
        """Whether every match was played to the end."""
        return self._season.finished

    @property
    def simulated(self) -> bool:
        """Whether some player was not a real model."""
        return bool(self._season.manifest["simulated"])

    @property
    def config(self) -> dict[str, Any]:
        """The configuration of the run."""
        return self._season.config.model_dump(mode="json")

    def __getattr__(self, name: str) -> Any:
        """What its document has under that name: the ratings of a tournament, the cells of a sweep, and so on."""
        if not name.startswith("_") and name != "document" and hasattr(self.document, name):
            return getattr(self.document, name)
        raise AttributeError(f"a {self.kind} has no {name!r}" if name != "document" else name)

    @property
    def headline(self) -> str:
        """The run in a sentence."""
        return headline_of(self.document)

    def to_frame(self, what: What = "players", *, library: Library | None = None) -> Any:
        """A data frame of its players (or what takes their place), items, attempts or events.

        `library` is "pandas", "polars" or "pyarrow": by default the first of them that is installed.

        `items` has one row per player and item of each match, which `mashq.score` can read; `attempts` has every
        request, `events` every move.
        """
        if what == "players":
            return super().to_frame(library=library)
        from mashq.export import tables

        tables_by_name: dict[str, Callable[[], Any]] = {
            "items": lambda: tables.results(self._season),
            "attempts": lambda: tables.attempts(self.path),
            "events": lambda: tables.events(self.path),
        }
        if what not in tables_by_name:
            hint = f"; the library is chosen with library={what!r}" if str(what) in frames.LIBRARIES else ""
            raise ConfigError(f"there are no rows of {what!r}: use players, {', '.join(tables_by_name)}{hint}")
        table = tables_by_name[what]()
        return frames.frame(table.names, table.rows, library)

    def __fspath__(self) -> str:
        return str(self.path)

    def _headline(self) -> str:
        headline = super()._headline()
        return f"{self.path}: {headline}" + ("" if self.finished else " (not finished)")


class MatchRun(Run, Scored[Document]):
    """The run of one match, or of its trials."""

    def __str__(self) -> str:
        if not isinstance(self.document, Match):
            return super().__str__()
        from mashq.report.documents.match import review_spend
        from mashq.report.text.match import text

        return text(self.document, review_spend(next(self._season.fixtures_played())))


class Comparison(Result["ComparisonDocument"]):
    """Several runs side by side."""

    @property
    def differing(self) -> dict[str, tuple[Any, ...]]:
        """The settings in which the runs differ, each with its values by run."""
        return {name: tuple(values) for name, values in self.document.settings.items()}

    def _grid(self) -> Grid:
        from mashq.report.text.compare import table

        return table(self.document)


class Plan(Result[PlanDocument]):
    """What a season would cost, expected and at worst. An unknown is None."""

    @property
    def expected(self) -> Costs:
        """The expected total cost, by resource."""
        return self.document.expected.costs

    @property
    def worst(self) -> Costs:
        """The maximum total cost, by resource."""
        return self.document.worst.costs


@dataclass(frozen=True, slots=True)
class Detection:
    """How far an answer is supported by its source."""

    h: float
    """From 0 to 1; 1 is fully supported."""
    spans: tuple[tuple[int, int], ...] | None
    """The unsupported parts of the answer, as offsets; None where the detector cannot say."""


class Detections(Sequence[Detection]):
    """A detector's result for each pair, in the given order."""

    def __init__(self, detections: Sequence[Detection], detector: str, version: str) -> None:
        self._detections = tuple(detections)
        self.detector: str = detector
        self.version: str = version

    @property
    def h(self) -> tuple[float, ...]:
        """H of each pair."""
        return tuple(detection.h for detection in self._detections)

    @overload
    def __getitem__(self, index: int) -> Detection: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Detection, ...]: ...

    def __getitem__(self, index: int | slice) -> Detection | tuple[Detection, ...]:
        """One of them, or several."""
        return self._detections[index]

    def __len__(self) -> int:
        return len(self._detections)

    def __repr__(self) -> str:
        return f"<mashq detections: {len(self)} by {self.detector} {self.version}>"

    def to_frame(self, *, library: Library | None = None) -> Any:
        """A data frame with one row per pair."""
        rows = [
            (detection.h, None if detection.spans is None else [list(span) for span in detection.spans])
            for detection in self._detections
        ]
        return frames.frame(("h", "spans"), rows, library)

    def _repr_html_(self) -> str:
        rows = [[str(index), number(detection.h, 4)] for index, detection in enumerate(self._detections[:100])]
        return _html(Grid(["pair", "H"], rows))


@dataclass(frozen=True, slots=True)
class Page:
    """A report as one HTML page that needs no network."""

    html: str = field(repr=False)
    """The page."""
    path: Path | None = None
    """Where it was written, if anywhere."""

    def save(self, path: "str | Path") -> "Page":
        """Write the page to a file."""
        target = Path(path)
        try:
            outputs.write(target, self.html)
        except OSError as error:
            raise StoreError(f"{target} cannot be written ({error.strerror}): choose another place") from None
        return Page(self.html, target)

    def _repr_html_(self) -> str:
        frame = 'style="width:100%;height:80vh;border:1px solid #ccc" sandbox="allow-scripts"'
        return f'<iframe title="mashq report" {frame} srcdoc="{escape(self.html, quote=True)}"></iframe>'


def _players(document: "Match | Trials | ScoreReport") -> tuple[Player, ...]:
    if isinstance(document, ScoreReport):
        return tuple(
            _player(player.name, None, None, player, player.q_low, player.q_high, player.p_win, player.charged)
            for player in document.players
        )
    if isinstance(document, Match):
        spans = document.intervals
        return tuple(
            _player(
                *(player.name, player.model, player.agent, player.score),
                *(spans[player.name].low, spans[player.name].high, document.p_win[player.name], player.score.charged),
            )
            for player in document.players
        )
    return tuple(
        _player(
            player.name,
            player.model,
            player.agent,
            player.mean,
            player.q_low,
            player.q_high,
            player.p_win,
            player.charged,
        )
        for player in document.players
    )


def _player(
    name: str,
    model: str | None,
    agent: str | None,
    figures: Any,
    low: float | None,
    high: float | None,
    p_win: float | None,
    charges: Mapping[str, float],
) -> Player:
    same = {key: getattr(figures, key) for key in ("h", "h_before_review", "answer_rate", "penalty", "q", "costs")}
    return Player(name=name, model=model, agent=agent, q_low=low, q_high=high, p_win=p_win, charged=charges, **same)


def _rows(document: Document) -> list[dict[str, Any]]:
    """The main table of a document, by its kind."""
    any_document: Any = document
    if document.kind == "sweep":
        sweep = cast("Sweep", document)
        return [
            frames.flat({**cell.settings, **plain(player), "trials": cell.trials})
            for cell in sweep.cells
            for player in cell.players
        ]
    if document.kind == "compare":
        comparison = cast("ComparisonDocument", document)
        return [
            frames.flat({"player": player.name, "run": run.run, **plain(figures)})
            for player in comparison.players
            for run, figures in zip(comparison.runs, player.runs, strict=True)
        ]
    if document.kind == "vision":
        return [
            frames.flat({"player": player.name, "condition": name, **means})
            for player in any_document.players
            for name, means in player.means.items()
        ]
    if document.kind == "game":
        return list(_payoffs(any_document))
    return [frames.flat(plain(player)) for player in any_document.players]


def _payoffs(game: Any) -> Iterator[dict[str, Any]]:
    """The payoff of each policy against each, under each vision."""
    for vision, solution in game.games.items():
        if solution.payoffs is None:
            continue
        for row, policy in enumerate(game.policies):
            for column, against in enumerate(game.policies):
                yield {
                    "vision": vision,
                    "policy": policy,
                    "against": against,
                    "q": solution.payoffs[row][column],
                    "q_low": solution.low[row][column],
                    "q_high": solution.high[row][column],
                }


def _html(grid: Grid) -> str:
    def line(tag: str, cells: Sequence[str]) -> str:
        sides = ["left" if index < grid.left else "right" for index in range(len(cells))]
        parts = (
            f'<{tag} style="text-align:{side}">{escape(safe(cell))}</{tag}>'
            for side, cell in zip(sides, cells, strict=True)
        )
        return f"<tr>{''.join(parts)}</tr>"

    body = "".join(line("td", row) for row in grid.rows)
    return f"<table><thead>{line('th', grid.headings)}</thead><tbody>{body}</tbody></table>"
