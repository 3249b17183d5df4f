"""The trials of a match, for a person."""

import math
from collections.abc import Iterator

from mashq.report.documents.trials import Trials, TrialsPlayer
from mashq.report.text.formatting import cost, cost_columns, number, safe
from mashq.report.text.score import flips
from mashq.report.text.seasons import SIMULATED, scored_by
from mashq.report.text.tables import Format, Grid, half, prose, written

MORE_DIGITS = {"calls": 1, "reviews": 1}  # of means over trials


def text(document: Trials, form: Format = "table") -> str:
    """The table, then what must be said with it."""
    return written(table(document), form) + "\n\n" + prose(sentences(document), form)


def table(document: Trials) -> Grid:
    """Means and standard deviations over trials, and the interval over items."""
    costs = cost_columns([player.mean.costs for player in document.players])
    rows = [_row(document, player, costs) for player in document.players]
    return Grid(["player", "H ± sd", *costs, "P", "Q ± sd", "95%", "won"], rows, wide=True)


def _row(document: Trials, player: TrialsPlayer, costs: list[str]) -> list[str]:
    mean, sd = player.mean, player.sd
    won = " ★" if document.finished and player.name == document.winner else ""
    interval = half(player.q_low, player.q_high)
    return [
        safe(player.name, 24) + won,
        with_sd(mean.h, sd.h, 4),
        *(_cost(name, mean.costs[name], sd.costs[name]) for name in costs),
        number(mean.penalty, 3),
        with_sd(mean.q, sd.q, 4),
        interval if interval == "?" else f"± {interval}",
        number(player.wins),
    ]


def _cost(name: str, mean: float | None, spread: float | None) -> str:
    digits = MORE_DIGITS.get(name)
    if mean is None or spread is None or not math.isfinite(spread):
        return cost(name, mean, digits)
    return f"{cost(name, mean, digits)} ± {cost(name, spread, digits)}"


def with_sd(mean: float | None, spread: float | None, digits: int) -> str:
    """A mean and its standard deviation over trials, where there is one."""
    if mean is None or spread is None or not math.isfinite(spread):
        return number(mean, digits)
    return f"{number(mean, digits)} ± {number(spread, digits)}"


def sentences(document: Trials) -> Iterator[str]:
    """What the table alone would hide."""
    if document.simulated:
        yield SIMULATED
    yield (
        f"{document.trials} trial(s) of {document.items} items, {scored_by(document)}; means "
        f"± standard deviation over trials. Q = {document.alpha:g}·H − "
        f"{document.beta:g}·P. The 95% interval is over items, each averaged over its trials first."
    )
    if not document.finished:
        yield (
            f"{document.trials} of {document.planned} trials are played: go on with mashq resume {safe(document.run)}"
        )
    elif document.winner is not None:
        wins = next(player.wins for player in document.players if player.name == document.winner)
        yield f"Winner: {safe(document.winner)}, the best Q in {wins} of {document.trials} trials."
    elif document.tied:
        yield f"A tie between {', '.join(safe(name) for name in document.tied)}."
    first = next(iter(document.differences), None)
    if first is not None and first.low is not None:
        yield (
            f"The lead of {safe(first.a)} over {safe(first.b)}, {first.dq:.4f}, has the 95% interval "
            f"{first.low:.4f} to {first.high:.4f}."
        )
    if len(document.envelope) > 1:
        yield flips("beta", document.envelope)
    yield from (f"Note: {safe(note, 400)}" for note in document.notes)
