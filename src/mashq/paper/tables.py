"""An experiment as a table: its runs' results row by row, beside the printed figures."""

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


def table(selected: Experiment, seasons: Sequence[Season]) -> PaperTable:
    """The experiment with the results of these runs; without any, only the printed figures."""
    printed = [
        row for number, group in enumerate(selected.groups) for row in _as_printed(number, selected, group.printed)
    ]
    brackets = [bracket for season in seasons for bracket in _brackets(season)]
    if seasons and len(brackets) != len(selected.groups):
        raise ConfigError(
            f"{seasons[0].path} is not {selected.name} of the paper: it has {len(brackets)} match(es), "
            f"and the paper {len(selected.groups)}"
        )
    rows = [
        row
        for number, (bracket, group) in enumerate(zip(brackets, selected.groups, strict=bool(seasons)))
        for row in _labelled(number, selected, bracket.rows, group.labels)
    ]
    drawn = [
        note
        for name, season in zip(selected.plays, seasons)
        if is_drawn_from_print(experiment(name), season.config)
        for note in said_of_drawn(experiment(name))
    ]
    matching = printed if len(printed) == len(rows) else []
    return PaperTable(
        name=selected.name,
        kind=selected.what,
        title=selected.title,
        columns=list(selected.columns),
        runs=[str(season.path) for season in seasons],
        simulated=any(season.manifest["simulated"] for season in seasons),
        from_print=bool(drawn),
        models=list(
            dict.fromkeys(row.model for bracket in brackets for row in bracket.rows if row.model is not None)
        ),
        detectors=list(dict.fromkeys(season.config.judge for season in seasons)),
        finished=bool(seasons) and all(season.finished for season in seasons),
        trials=max((len(bracket.trials) for bracket in brackets), default=selected.trials),
        rows=rows,
        printed=printed,
        differences=[_difference(ours, theirs) for ours, theirs in zip(rows, matching)],
        along_beta=list(_along_beta(selected, brackets)),
        exchange=_exchange(brackets) if selected.name == "case" else [],
        notes=list(dict.fromkeys([*([selected.note] if selected.note else []), *drawn, *_run_notes(seasons)])),
    )


def _brackets(season: Season) -> Iterator[Bracket]:
    """The matches of a run, in order, with their trials grouped."""
    for _, fixtures in groupby(season.fixtures(), key=lambda fixture: fixture.number):
        trials = [season.played(fixture) for fixture in fixtures]
        config = trials[0].config
        rules = score_rules_of(config)
        matches = [results_of(played) for played in trials]
        report = judge(from_matches(matches), Options(rules, finished=season.finished))
        trial_scores = [score(from_match(match), rules).players for match in matches] if len(matches) > 1 else []
        rows: list[PaperTableRow] = []
        for index, (player, row) in enumerate(zip(config.players, report.players, strict=True)):
            spread = _spread([_figures(trial[index], rules) for trial in trial_scores]) if trial_scores else None
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
    def deviation(name: str) -> float | None:
        known = [value for trial in trials if (value := getattr(trial, name)) is not None]
        return stdev(known) if len(known) == len(trials) > 1 else None

    return Spread(**{name: deviation(name) for name in ("h", "calls", "tokens", "reviews", "seconds", "q")})


def _labelled(
    number: int, selected: Experiment, rows: Sequence[PaperTableRow], labels: Sequence[str]
) -> Iterator[PaperTableRow]:
    """Rows under the paper's labels; a single row of their means, if the experiment shows that."""
    if selected.mean:
        rows = [
            replace(rows[0], player="mean", figures=_mean([row.figures for row in rows]), winner=False, clear=False)
        ]
    for row, label in zip(rows, labels, strict=True):
        yield replace(row, group=number, label=label)


def _mean(rows: Sequence[PaperFigures]) -> PaperFigures:
    def mean_of(name: str) -> float | None:
        values = [getattr(row, name) for row in rows]
        return None if None in values else fmean(values)

    return PaperFigures(**{name: mean_of(name) for name in FIGURES})


def _as_printed(number: int, selected: Experiment, rows: Sequence[Printed]) -> list[PaperTableRow]:
    labels = selected.groups[number].labels
    figures = [PaperFigures(**row.figures) for row in rows]
    best = max((row_figures.q for row_figures in figures if row_figures.q is not None), default=None)
    tied = [row_figures.q for row_figures in figures].count(best) > 1
    table_rows = [
        PaperTableRow(
            group=number,
            label=label,
            player=row.player,
            model=row.model,
            items=_items(row, selected),
            figures=figures_of_row,
            sd=Spread(**row.sd) if row.sd else None,
            winner=figures_of_row.q == best and best is not None and not tied and len(rows) > 1,
            clear=False,
        )
        for row, figures_of_row, label in zip(rows, figures, labels if not selected.mean else [labels[0]] * len(rows))
    ]
    if selected.mean and table_rows:
        return [replace(table_rows[0], player="mean", figures=_mean(figures), winner=False, clear=False)]
    return table_rows


def _items(row: Printed, selected: Experiment) -> float:
    """The number of items of a printed row: derived from its counts, or else as the paper states."""
    count = row.items
    return (
        count
        if count is not None and count == round(count) and abs(count - selected.items) < NEARLY
        else selected.items
    )


def _difference(ours: PaperTableRow, theirs: PaperTableRow) -> PaperFigures:
    """Ours minus the printed: absolute for scores, relative and per item for counts."""

    def difference(name: str) -> float | None:
        value, printed = getattr(ours.figures, name), getattr(theirs.figures, name)
        if value is None or printed is None:
            return None
        if name in AS_THEY_ARE:
            return value - printed
        if not ours.items or not theirs.items or not printed:
            return None
        return (value / ours.items) / (printed / theirs.items) - 1

    return PaperFigures(**{name: difference(name) for name in FIGURES})


def _along_beta(selected: Experiment, brackets: Sequence[Bracket]) -> Iterator[QAtBeta]:
    """Q of the first match under other betas: the moves are the same, only the score changes."""
    if not selected.betas or not brackets:
        return
    bracket = brackets[0]
    for beta in selected.betas:
        values = [
            None
            if h is None or penalty is None or not bracket.rules.beta
            else bracket.rules.alpha * h - beta * penalty / bracket.rules.beta
            for h, penalty in ((row.figures.h, row.figures.penalty) for row in bracket.rows)
        ]
        known = [value for value in values if value is not None]
        q = fmean(known) if len(known) == len(values) else None
        yield QAtBeta(label=selected.groups[0].labels[0], beta=beta, q=q)


def _exchange(brackets: Sequence[Bracket]) -> list[str]:
    """The story of a match, as in its report."""
    if not brackets:
        return []
    return [
        f"Round {highlight.round}: {highlight.sentence}" for highlight in course_of(brackets[0].trials[0]).highlights
    ]


def _run_notes(seasons: Sequence[Season]) -> list[str]:
    return list(
        dict.fromkeys(note for season in seasons for note in notes_on_run(Path(season.path), season.manifest))
    )
