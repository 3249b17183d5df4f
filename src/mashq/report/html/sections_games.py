"""Games and the effect of rivals and vision as verdicts and sections, from their documents."""

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
from mashq.report.text.formatting import count, number, safe
from mashq.report.text.game import NO_CHANGE, dominated, equilibrium, learned, share_of
from mashq.report.text.tables import Grid, change, half
from mashq.report.text.vision import unknown

EFFECTS = {"h": ("ΔH", 4), "reviews": ("Δreviews per item", 2), "tokens": ("Δtokens per item", 1), "q": ("ΔQ", 4)}


def game(document: Game) -> tuple[Verdict, list[Section]]:
    """Payoffs, equilibria and the price of disclosure."""
    known = labels(document.policies)
    lines: list[str] = []
    sections: list[Section] = []
    for when, found in document.games.items():
        if not isinstance(found, Solved):
            lines += found.notes
            continue
        equilibria = [equilibrium(one, known) for one in found.equilibria] or ["No equilibrium was found."]
        lines.append(f"Vision {when}: {equilibria[0][0].lower()}{equilibria[0][1:]}")
        blocks = _payoffs(when, found, document.policies, known, equilibria)
        sections.append(Section(f"payoffs-{when}", f"The game with vision: {when}", blocks))
    sections += _price(document, known)
    lines.append(
        f"{len(known)} policies, every pair in both orders and each against itself; {document.trials} trial(s) of "
        f"{count(document.items, 'item')}; Q = {document.alpha:g}·H − {document.beta:g}·P."
    )
    lines += [f"Note: {note}" for note in document.notes]
    return Verdict(_headline(document, known), lines), sections


def _headline(document: Game, known: Mapping[str, str]) -> str:
    if not document.finished:
        return "Not finished: the game so far"
    every = [e for found in document.games.values() if isinstance(found, Solved) for e in found.equilibria]
    pure = {next(iter(e.row)) for e in every if e.pure and e.row == e.column}
    if len(pure) == 1 and len(every) <= len(document.games):
        shares = [e.survives for e in every]
        least = None if None in shares else min(share for share in shares if share is not None)
        only = f"{known[next(iter(pure))]} against itself"
        if least is not None and least >= LEVEL:
            return f"{only} is the only equilibrium"
        return f"{only} seems to be the only equilibrium (in {share_of(least)} of resamples)"
    return "There is no single stable policy"


def _payoffs(
    when: str, game: Solved, names: Sequence[str], known: Mapping[str, str], equilibria: Sequence[str]
) -> list[Block]:
    order = [known[name] for name in names]
    values = [value for row in game.payoffs for value in row]
    high = min(values) + 0.7 * (max(values) - min(values))
    rows = [
        {"row": order[i], "column": order[j], "value": value, "label": f"{value:.3f}", "light": value > high}
        for i, row in enumerate(game.payoffs)
        for j, value in enumerate(row)
    ]
    caption = f"Q of the row against the column, vision: {when}; darker is better for the row."
    best = max(rows, key=lambda row: float(str(row["value"])))
    told = f"The highest: {best['row']} against {best['column']}, {best['label']}."
    figure = Figure(f"payoffs-{when}", charts.matrix(rows, order, "against", "Q"), caption, f"{caption} {told}")
    cells = [
        [order[i], *(f"{q:.4f} ± {half(game.low[i][j], game.high[i][j])}" for j, q in enumerate(row))]
        for i, row in enumerate(game.payoffs)
    ]
    lines = [*equilibria]
    lines += dominated(game, known)
    for against, best in game.best_responses.items():
        lines.append(f"Best against {known[against]}: {', '.join(known[name] for name in best)}.")
    lines += [learned(game, known), *(f"Note: {n}" for n in game.notes)]
    note = "Q of the row against the column; ± is half a 95% interval over resampled items."
    return [figure, Table(f"payoffs-{when}", Grid(["", *order], cells), note), Prose(lines, listed=True)]


def _price(document: Game, known: Mapping[str, str]) -> list[Section]:
    """What showing one's state changes."""
    if not document.disclosure:
        return []
    moved = [row for row in document.disclosure if row.any]
    if not moved:
        return [Section("disclosure", "The price of disclosure", [Prose([NO_CHANGE])])]
    rows = [
        [row.vision, known[row.policy], known[row.against], str(row.seat + 1), *_priced(row.changes)] for row in moved
    ]
    points = [
        {
            "label": f"{known[row.policy]} v. {known[row.against]}, seat {row.seat + 1}",
            "effect": row.vision,
            **plain(row.changes["q"]),
        }
        for row in moved
        if "q" in row.changes
    ]
    caption = "With snapshots shown minus without, paired by item: what disclosure does to Q."
    chart = charts.changes(points, "ΔQ") if points else None
    blocks: list[Block] = [Figure("disclosure", chart, caption, f"{caption} {_largest(points)}")] if chart else []
    headings = ["vision", "policy", "against", "seat", *(title for title, _ in EFFECTS.values())]
    blocks.append(Table("disclosure", Grid(headings, rows, left=3), "Differences with half a 95% interval."))
    return [Section("disclosure", "The price of disclosure", blocks)]


def _largest(points: Sequence[Mapping[str, Any]]) -> str:
    """The largest change of a chart, in words."""
    most = max(points, key=lambda row: abs(row["value"]))
    return f"The largest change: {most['label']} ({most['effect']}), {most['value']:+z.4g}."


def _priced(changes: Mapping[str, Difference]) -> list[str]:
    return [change(changes.get(name), digits) for name, (_, digits) in EFFECTS.items()]


def _effects(effect: str, changes: Mapping[str, Difference]) -> list[str]:
    return [change(changes.get(name), digits, unknown(effect, name)) for name, (_, digits) in EFFECTS.items()]


def vision(document: Vision) -> tuple[Verdict, list[Section]]:
    """What rivals and vision change."""
    known = labels(player.name for player in document.players)
    sure: list[str] = []
    rows: list[list[str]] = []
    points: dict[str, list[dict[str, Any]]] = {name: [] for name in EFFECTS}
    for player in document.players:
        for effect, changes in player.changes.items():
            rows.append([known[player.name], effect, *_effects(effect, changes)])
            for name in EFFECTS.keys() & changes.keys():
                points[name].append(
                    {"label": f"{known[player.name]}: {effect}", "effect": effect, **plain(changes[name])}
                )
            sure += [
                f"{effect.capitalize()} changes {known[player.name]}: {title} {changes[name].value:+z.4g}."
                for name, (title, _) in EFFECTS.items()
                if name in changes and changes[name].sure
            ]
    headline = "Neither company nor vision is seen to change anyone"
    if sure:
        headline = "Company or vision changes how some play"
    elif len(document.blind) == len(document.players):
        headline = "No player here can react to rivals"
    if not document.finished:
        headline = "Not finished: the comparison so far"
    lines = [*sure[:6]] or ["No 95% CI of a difference excludes 0."]
    lines.append(
        f"Company: playing with rivals, unseen, instead of alone. Vision: seeing the rivals' state "
        f"({safe(document.when)}) instead of not. {number(document.items)} items, {document.trials} trial(s)."
    )
    lines += [f"Note: {note}" for note in document.notes]
    blocks: list[Block] = []
    for name, some in points.items():
        if any(row["value"] for row in some):
            caption = f"{EFFECTS[name][0]} from one condition to the next, with 95% intervals."
            chart = charts.changes(some, EFFECTS[name][0])
            blocks.append(Figure(f"vision-{name}", chart, caption, f"{caption} {_largest(some)}", small=True))
    note = "Means per item, paired by item. Alone, a player is its own normaliser, so its Q cannot be compared."
    headings = ["player", "effect of", *(title for title, _ in EFFECTS.values())]
    blocks.append(Table("vision", Grid(headings, rows, left=2), note))
    return Verdict(headline, lines), [Section("vision", "What changes", blocks)]
