"""The table of the trials of a match."""

from mashq.report.documents.trials import Trials, TrialsPlayer
from mashq.report.html.facts import Facts
from mashq.report.html.labels import labels
from mashq.report.text.formatting import charged, cost, cost_columns, number
from mashq.report.text.tables import Grid

LEFT_OUT = ("calls", "dollars")
MORE_DIGITS = {"reviews": 1}  # for means over trials


def table(facts: Facts, document: Trials) -> Grid:
    """Build a table of means and standard deviations over the trials."""
    label_of = labels(facts.names)
    costs = cost_columns([player.mean.costs for player in document.players], LEFT_OUT)
    rows: list[list[str]] = []
    for player in document.players:
        mean, sd = player.mean, player.sd
        cells = [_with_sd(name, player) for name in costs]
        rows.append(
            [label_of[player.name], _figure(mean.h, sd.h), *cells, _figure(mean.q, sd.q), number(player.wins)]
        )
    return Grid(["player", "H", *costs, "Q", "won"], rows)


def _figure(mean: float | None, spread: float | None) -> str:
    return number(mean, 4) + ("" if spread is None else f" ± {number(spread, 4)}")


def _with_sd(name: str, player: TrialsPlayer) -> str:
    digits, spread = MORE_DIGITS.get(name), player.sd.costs[name]
    mean = charged(name, player.mean.costs[name], player.charged, digits)
    return mean + ("" if spread is None else f" ± {cost(name, spread, digits)}")
