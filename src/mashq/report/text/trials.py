"""The trials of a match, as text."""

import math
from collections.abc import Iterator, Mapping

from mashq.report.documents.trials import Trials, TrialsPlayer
from mashq.report.text import passages
from mashq.report.text.formatting import carried_columns, charged, cost, cost_columns, count, number, safe
from mashq.report.text.match import calls_made, has_won, refusal_views
from mashq.report.text.score import floors_said, height, leads, relative_to
from mashq.report.text.seasons import scored_by, simulated
from mashq.report.text.tables import Format, Grid, half, prose, written

MORE_DIGITS = {"calls": 1, "reviews": 1}  # for means over trials


def text(document: Trials, form: Format = "table") -> str:
    """Return the table, then its notes."""
    return written(table(document), form) + "\n\n" + prose(sentences(document), form)


def table(document: Trials, labels: Mapping[str, str] | None = None) -> Grid:
    """Build a table of means and standard deviations over trials, with the confidence interval over items."""
    costs = cost_columns([player.mean.costs for player in document.players])
    carried = carried_columns(player.mean for player in document.players)
    rows = [
        [(labels or {}).get(player.name, player.name) + (" ★" if has_won(document, player.name) else ""),
         *_cells(player, costs, carried)]
        for player in document.players
    ]  # fmt: skip
    headings = ["player", "H ± sd", *carried, *costs, "P", "Q ± sd", "95% CI", "won"]
    won = frozenset(index for index, player in enumerate(document.players) if has_won(document, player.name))
    bold = frozenset((row, headings.index("Q ± sd")) for row in won)
    return Grid(headings, rows, bold=bold, shaded=won)


def _cells(player: TrialsPlayer, costs: list[str], carried: Mapping[str, int]) -> list[str]:
    mean, sd = player.mean, player.sd
    interval = half(player.q_low, player.q_high)
    return [
        with_sd(mean.h, sd.h, 4),
        *(number(getattr(mean, name), digits) for name, digits in carried.items()),
        *(_cost(name, player) for name in costs),
        number(mean.penalty, 3),
        with_sd(mean.q, sd.q, 4),
        interval if interval == "?" else f"± {interval}",
        number(player.wins),
    ]


def _cost(name: str, player: TrialsPlayer) -> str:
    digits, spread = MORE_DIGITS.get(name), player.sd.costs[name]
    mean = charged(name, player.mean.costs[name], player.charged, digits)
    return mean if spread is None or not math.isfinite(spread) else f"{mean} ± {cost(name, spread, digits)}"


def with_sd(mean: float | None, spread: float | None, digits: int) -> str:
    """Format a mean and its standard deviation over trials, if there is one."""
    if mean is None or spread is None or not math.isfinite(spread):
        return number(mean, digits)
    return f"{number(mean, digits)} ± {number(spread, digits)}"


def best_in(document: Trials, best: Mapping[str, str]) -> str:
    """Describe in how many trials the best players have the best Q; `best` maps their names to labels."""
    wins = {player.name: player.wins for player in document.players}
    verb = "has" if len(best) == 1 else "have"
    counts = " and ".join(str(wins[name]) for name in best)
    return f"{' and '.join(best.values())} {verb} the best Q in {counts} of {document.trials} trials."


def sentences(document: Trials) -> Iterator[str]:
    """Yield the context and notes that the table does not show."""
    yield from simulated(document)
    yield (
        f"{count(document.trials, 'trial')} of {count(document.items, 'item')}, {scored_by(document)}; "
        "every item is averaged over its trials first, ± is the standard deviation over trials. "
        f"Q = {document.alpha:g}·H − {document.beta:g}·P, "
        f"costs relative to {relative_to(document.normalise)}, refusals: {document.refusals}. The 95% CI is over "
        f"items.{height(document.h)}"
    )
    yield from floors_said(document.floors)
    yield safe(document.headline, 600)
    if not document.finished:
        played = f"{document.trials} of {document.planned} trials are played"
        yield f"{played}: continue with mashq resume {safe(document.run)}"
    best = document.tied or ([] if document.winner is None else [document.winner])
    if best and document.trials > 1 and len(document.players) > 1:
        yield best_in(document, {name: safe(name) for name in best})
    if len(document.envelope) > 1 or (document.tied and document.envelope):
        yield leads(document)
    if document.passages is not None:
        yield from passages.sentences(document.passages)
    yield from (f"Note: {safe(note, 400)}" for note in document.notes)
    if document.dropped.units:
        yield f"{calls_made('Calls over all trials and items, scored or not:', document.attempts)}."
        yield from refusal_views(document.views)
