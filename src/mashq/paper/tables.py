"""An experiment as a table: its runs' results row by row, beside what the paper prints."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from statistics import fmean, stdev

from mashq.analysis.score_report import Options, judge
from mashq.analysis.score_types import ScoredPlayer
from mashq.errors import ConfigError
from mashq.paper.documents import PaperFigures, PaperTable, PaperTableRow, QAtBeta, Spread
from mashq.paper.experiments import FIGURES, Experiment, Printed, experiment
from mashq.paper.simulated import is_drawn_from_print, said_of_drawn
from mashq.protocol.results import from_match, from_matches
from mashq.protocol.score import PlayerScore, ScoreRules, score
from mashq.report.documents.columns import results_of
from mashq.report.documents.notes import notes_on_run
from mashq.report.html.events import course_of
from mashq.runs.open import Played, Season
from mashq.runs.setup import score_rules_of

NEARLY = 10
AS_THEY_ARE = ("h_before_review", "h", "penalty", "q")


@dataclass(frozen=True, slots=True)
class Bracket:
    """One match of an experiment, with its trials, scored."""

    trials: Sequence[Played]
    rules: ScoreRules
    rows: Sequence[PaperTableRow]


def table(found: Experiment, seasons: Sequence[Season]) -> PaperTable:
    """The experiment as these runs of it stand; without any, what the paper prints."""
    printed = [row for number, group in enumerate(found.groups) for row in _as_printed(number, found, group.printed)]
    brackets = [bracket for season in seasons for bracket in _brackets(season)]
    if seasons and len(brackets) != len(found.groups):
        raise ConfigError(
            f"{seasons[0].path} is not {found.name} of the paper: it has {len(brackets)} match(es), "
            f"and the paper {len(found.groups)}"
        )
    rows = [
        row
        for number, (bracket, group) in enumerate(zip(brackets, found.groups, strict=bool(seasons)))
        for row in _labelled(number, found, bracket.rows, group.labels)
    ]
    drawn = [
        note
        for name, season in zip(found.plays, seasons)
        if is_drawn_from_print(experiment(name), season.config)
        for note in said_of_drawn(experiment(name))
    ]
    beside = printed if len(printed) == len(rows) else []
    return PaperTable(
        name=found.name,
        kind=found.what,
        title=found.title,
        columns=list(found.columns),
        runs=[str(season.path) for season in seasons],
        simulated=any(season.manifest["simulated"] for season in seasons),
        from_print=bool(drawn),
        models=list(
            dict.fromkeys(row.model for bracket in brackets for row in bracket.rows if row.model is not None)
        ),
        detectors=list(dict.fromkeys(season.config.judge for season in seasons)),
        finished=bool(seasons) and all(season.finished for season in seasons),
        trials=max((len(bracket.trials) for bracket in brackets), default=found.trials),
        rows=rows,
        printed=printed,
        differences=[_difference(ours, theirs) for ours, theirs in zip(rows, beside)],
        along_beta=list(_along_beta(found, brackets)),
        exchange=_exchange(brackets) if found.name == "case" else [],
        notes=list(dict.fromkeys([*([found.note] if found.note else []), *drawn, *_run_notes(seasons)])),
    )


def _brackets(season: Season) -> Iterator[Bracket]:
    """The matches of a run that are alike but for the trial, in order."""
    for _, fixtures in groupby(season.fixtures(), key=lambda fixture: fixture.number):
        trials = [season.played(fixture) for fixture in fixtures]
        config = trials[0].config
        rules = score_rules_of(config)
        matches = [results_of(one) for one in trials]
        report = judge(from_matches(matches), Options(rules, finished=season.finished))
        each = [score(from_match(match), rules).players for match in matches] if len(matches) > 1 else []
        rows: list[PaperTableRow] = []
        for at, (player, row) in enumerate(zip(config.players, report.players, strict=True)):
            spread = _spread([_figures(trial[at], rules) for trial in each]) if each else None
            rows.append(
                PaperTableRow(
                    group=0,
                    label=player.name,
                    player=player.name,
                    model=player.model,
                    items=report.items,
                    figures=_figures(row, rules),
                    sd=spread,
                    winner=row.name == report.winner,
                    clear=row.name == report.winner and report.clear,
                )
            )
        yield Bracket(trials, rules, rows)


def _figures(row: ScoredPlayer | PlayerScore, rules: ScoreRules) -> PaperFigures:
    names = ("calls", "tokens", "tokens_in", "tokens_out", "reviews", "seconds")
    return PaperFigures(
        h_before_review=row.h_before_review,
        h=row.h,
        **{name: row.costs.get(name) for name in names},
        penalty=None if row.penalty is None else rules.beta * row.penalty,
        q=row.q,
    )


def _spread(trials: Sequence[PaperFigures]) -> Spread:
    def over(name: str) -> float | None:
        known = [value for trial in trials if (value := getattr(trial, name)) is not None]
        return stdev(known) if len(known) == len(trials) > 1 else None

    return Spread(**{name: over(name) for name in ("h", "calls", "tokens", "reviews", "seconds", "q")})


def _labelled(
    number: int, found: Experiment, rows: Sequence[PaperTableRow], labels: Sequence[str]
) -> Iterator[PaperTableRow]:
    """Rows under the paper's labels; one of their means, where it shows that."""
    if found.mean:
        rows = [
            replace(rows[0], player="mean", figures=_mean([row.figures for row in rows]), winner=False, clear=False)
        ]
    for row, label in zip(rows, labels, strict=True):
        yield replace(row, group=number, label=label)


def _mean(rows: Sequence[PaperFigures]) -> PaperFigures:
    def over(name: str) -> float | None:
        values = [getattr(row, name) for row in rows]
        return None if None in values else fmean(values)

    return PaperFigures(**{name: over(name) for name in FIGURES})


def _as_printed(number: int, found: Experiment, rows: Sequence[Printed]) -> list[PaperTableRow]:
    labels = found.groups[number].labels
    figures = [PaperFigures(**row.figures) for row in rows]
    best = max((one.q for one in figures if one.q is not None), default=None)
    several = [one.q for one in figures].count(best) > 1
    made = [
        PaperTableRow(
            group=number,
            label=label,
            player=row.player,
            model=row.model,
            items=_items(row, found),
            figures=own,
            sd=Spread(**row.sd) if row.sd else None,
            winner=own.q == best and best is not None and not several and len(rows) > 1,
            clear=False,
        )
        for row, own, label in zip(rows, figures, labels if not found.mean else [labels[0]] * len(rows))
    ]
    if found.mean and made:
        return [replace(made[0], player="mean", figures=_mean(figures), winner=False, clear=False)]
    return made


def _items(row: Printed, found: Experiment) -> float:
    """How many items a printed row is over: as its counts tell, or about as many as the paper says."""
    told = row.items
    return told if told is not None and told == round(told) and abs(told - found.items) < NEARLY else found.items


def _difference(ours: PaperTableRow, theirs: PaperTableRow) -> PaperFigures:
    """Ours less the printed: scores as they are, counts per item, relative to the printed."""

    def of(name: str) -> float | None:
        own, printed = getattr(ours.figures, name), getattr(theirs.figures, name)
        if own is None or printed is None:
            return None
        if name in AS_THEY_ARE:
            return own - printed
        if not ours.items or not theirs.items or not printed:
            return None
        return (own / ours.items) / (printed / theirs.items) - 1

    return PaperFigures(**{name: of(name) for name in FIGURES})


def _along_beta(found: Experiment, brackets: Sequence[Bracket]) -> Iterator[QAtBeta]:
    """Q of the first match under other betas: the moves are the same, only the score changes."""
    if not found.betas or not brackets:
        return
    bracket = brackets[0]
    for beta in found.betas:
        values = [
            None
            if h is None or penalty is None or not bracket.rules.beta
            else bracket.rules.alpha * h - beta * penalty / bracket.rules.beta
            for h, penalty in ((row.figures.h, row.figures.penalty) for row in bracket.rows)
        ]
        known = [value for value in values if value is not None]
        q = fmean(known) if len(known) == len(values) else None
        yield QAtBeta(label=found.groups[0].labels[0], beta=beta, q=q)


def _exchange(brackets: Sequence[Bracket]) -> list[str]:
    """The story of a match, as its report tells it."""
    if not brackets:
        return []
    return [f"Round {one.round}: {one.sentence}" for one in course_of(brackets[0].trials[0]).highlights]


def _run_notes(seasons: Sequence[Season]) -> list[str]:
    return list(
        dict.fromkeys(note for season in seasons for note in notes_on_run(Path(season.path), season.manifest))
    )
