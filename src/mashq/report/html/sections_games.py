"""Verdicts and sections of games and of vision studies, from their documents."""

from collections.abc import Mapping, Sequence
from typing import Any

from mashq.analysis.intervals import LEVEL
from mashq.analysis.paired import Difference
from mashq.report.documents.base import plain
from mashq.report.documents.game import Game, Solved
from mashq.report.documents.vision import Vision
from mashq.report.html import charts_seasons as charts
from mashq.report.html.labels import labels
from mashq.report.html.parts import Block, Figure, Prose, Section, Table, Verdict
from mashq.report.text.formatting import count, minus, number, share_of
from mashq.report.text.game import NO_CHANGE, dominated, equilibrium, learned
from mashq.report.text.tables import Grid, change, half
from mashq.report.text.vision import ALONE, COLUMNS, effects, per_item
from mashq.report.text.vision import table as vision_table

EFFECTS = {"h": ("ΔH", 4), "reviews": ("Δreviews per item", 2), "tokens": ("Δtokens per item", 1), "q": ("ΔQ", 4)}


def game(document: Game) -> tuple[Verdict, list[Section]]:
    """Show payoffs, equilibria and the price of disclosure."""
    label_of = labels(document.policies)
    lines: list[str] = []
    sections: list[Section] = []
    for when, solution in document.games.items():
        if not isinstance(solution, Solved):
            lines += solution.notes
            continue
        equilibria = [equilibrium(profile, label_of) for profile in solution.equilibria] or [
            "No equilibrium was found."
        ]
        lines.append(f"Vision {when}: {equilibria[0][0].lower()}{equilibria[0][1:]}")
        blocks = _payoffs(when, solution, document.policies, label_of, equilibria)
        sections.append(Section(f"payoffs-{when}", f"The game with vision: {when}", blocks))
    sections += _disclosure(document, label_of)
    lines.append(
        f"{len(label_of)} policies, every pair in both orders and each against itself; "
        f"{count(document.trials, 'trial')} of {count(document.items, 'item')}; "
        f"Q = {document.alpha:g}·H − {document.beta:g}·P."
    )
    lines += [f"Note: {note}" for note in document.notes]
    return Verdict(_headline(document, label_of), lines), sections


def _headline(document: Game, label_of: Mapping[str, str]) -> str:
    if not document.finished:
        return "Not finished: the game so far"
    profiles = [
        profile
        for solution in document.games.values()
        if isinstance(solution, Solved)
        for profile in solution.equilibria
    ]
    pure = {next(iter(profile.row)) for profile in profiles if profile.pure and profile.row == profile.column}
    if len(pure) == 1 and len(profiles) <= len(document.games):
        shares = [profile.survives for profile in profiles]
        min_share = None if None in shares else min(share for share in shares if share is not None)
        pairing = f"{label_of[next(iter(pure))]} against itself"
        if min_share is not None and min_share >= LEVEL:
            return f"{pairing} is the only equilibrium"
        return f"{pairing} seems to be the only equilibrium (in {share_of(min_share)} of resamples)"
    return "There is no single stable policy"


def _payoffs(
    when: str, game: Solved, names: Sequence[str], label_of: Mapping[str, str], equilibria: Sequence[str]
) -> list[Block]:
    order = [label_of[name] for name in names]
    values = [value for row in game.payoffs for value in row]
    high = min(values) + 0.7 * (max(values) - min(values))
    rows = [
        {"row": order[i], "column": order[j], "value": value, "label": number(value, 3), "light": value > high}
        for i, row in enumerate(game.payoffs)
        for j, value in enumerate(row)
    ]
    caption = f"Q of the row against the column, vision: {when}; darker is better for the row."
    best = max(rows, key=lambda row: float(str(row["value"])))
    highest = f"The highest: {best['row']} against {best['column']}, {best['label']}."
    figure = Figure(f"payoffs-{when}", charts.matrix(rows, order, "against", "Q"), caption, f"{caption} {highest}")
    cells = [
        [order[i], *(f"{number(q, 4)} ± {half(game.low[i][j], game.high[i][j])}" for j, q in enumerate(row))]
        for i, row in enumerate(game.payoffs)
    ]
    lines = [*equilibria]
    lines += dominated(game, label_of)
    for against, best in game.best_responses.items():
        lines.append(f"Best against {label_of[against]}: {', '.join(label_of[name] for name in best)}.")
    lines += [learned(game, label_of), *(f"Note: {n}" for n in game.notes)]
    note = "Q of the row against the column; ± is half a 95% interval over resampled items."
    return [figure, Table(f"payoffs-{when}", Grid(["", *order], cells), note), Prose(lines, listed=True)]


def _disclosure(document: Game, label_of: Mapping[str, str]) -> list[Section]:
    """Show what disclosing one's state changes."""
    if not document.disclosure:
        return []
    changed = [row for row in document.disclosure if row.any]
    if not changed:
        return [Section("disclosure", "The price of disclosure", [Prose([NO_CHANGE])])]
    rows = [
        [row.vision, label_of[row.policy], label_of[row.against], str(row.seat + 1), *_change_cells(row.changes)]
        for row in changed
    ]
    points = [
        {
            "label": f"{label_of[row.policy]} v. {label_of[row.against]}, seat {row.seat + 1}",
            "effect": row.vision,
            **plain(row.changes["q"]),
        }
        for row in changed
        if "q" in row.changes
    ]
    caption = "With snapshots shown minus without, paired by item: what disclosure does to Q."
    chart = charts.changes(points, "ΔQ") if points else None
    blocks: list[Block] = [Figure("disclosure", chart, caption, f"{caption} {_largest(points)}")] if chart else []
    headings = ["vision", "policy", "against", "seat", *(title for title, _ in EFFECTS.values())]
    blocks.append(Table("disclosure", Grid(headings, rows, left=4), "Differences with half a 95% interval."))
    return [Section("disclosure", "The price of disclosure", blocks)]


def _largest(points: Sequence[Mapping[str, Any]]) -> str:
    """Describe the largest change of a chart."""
    largest = max(points, key=lambda row: abs(row["value"]))
    return (
        f"The largest change: {largest['label']} ({largest['effect']}), {minus(format(largest['value'], '+z.4g'))}."
    )


def _change_cells(changes: Mapping[str, Difference]) -> list[str]:
    return [change(changes.get(name), digits) for name, (_, digits) in EFFECTS.items()]


def vision(document: Vision) -> tuple[Verdict, list[Section]]:
    """Show what rivals and vision change."""
    label_of = labels(player.name for player in document.players)
    clear_changes: list[str] = []
    points: dict[str, list[dict[str, Any]]] = {name: [] for name in COLUMNS}
    for player in document.players:
        for effect, changes in player.changes.items():
            for name in COLUMNS.keys() & changes.keys():
                points[name].append(
                    {"label": f"{label_of[player.name]}: {effect}", "effect": effect, **plain(changes[name])}
                )
            clear_changes += [
                f"{effect.capitalize()} changes {label_of[player.name]}: {per_item(name)} "
                + minus(f"{changes[name].value:+z.4g}.")
                for name in COLUMNS
                if name in changes and changes[name].sure
            ]
    headline = "Neither company nor vision is seen to change anyone"
    if clear_changes:
        headline = "Company or vision changes how some play"
    elif len(document.blind) == len(document.players):
        headline = "No player here can react to rivals"
    if not document.finished:
        headline = "Not finished: the comparison so far"
    lines = [*clear_changes[:6]] or ["No 95% CI of a difference excludes 0."]
    lines.append(f"{effects(document)} {count(document.items, 'item')}, {count(document.trials, 'trial')}.")
    lines += [f"Note: {note}" for note in document.notes]
    blocks: list[Block] = []
    for name, rows_of_effect in points.items():
        if any(row["value"] for row in rows_of_effect):
            caption = f"{per_item(name)} from one condition to the next, with 95% intervals."
            chart = charts.changes(rows_of_effect, per_item(name))
            blocks.append(
                Figure(f"vision-{name}", chart, caption, f"{caption} {_largest(rows_of_effect)}", small=True)
            )
    note = f"Means per item, paired by item, ± half a 95% interval; * where it excludes 0. {ALONE}"
    blocks.append(Table("vision", vision_table(document, label_of), note))
    return Verdict(headline, lines), [Section("vision", "What changes", blocks)]
