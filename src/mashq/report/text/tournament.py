"""A tournament as text: the ratings, then who beat whom."""

from collections.abc import Iterator, Mapping

from mashq.report.documents.tournament import RatedPlayer, Tournament
from mashq.report.text.formatting import carried_columns, charged, cost_columns, count, minus, number, safe, share_of
from mashq.report.text.seasons import scored_by, simulated
from mashq.report.text.tables import Format, Grid, prose, written

MAX_MATRIX = 12
RATINGS = (
    "Intervals and ranks are over resampled items. Q (ref.) is each player's mean Q against the largest mean costs "
    "of the field, so that it compares players who never met."
)
LEFT_OUT = ("calls",)
MORE_DIGITS = {"reviews": 1}  # for means over matches


def text(document: Tournament, form: Format = "table") -> str:
    """Return the tables, then their notes."""
    parts = [written(ratings(document), form)]
    if 1 < len(document.players) <= MAX_MATRIX:
        parts.append(written(wins(document), form))
    return "\n\n".join([*parts, prose(sentences(document), form)])


def ratings(document: Tournament, labels: Mapping[str, str] | None = None) -> Grid:
    """Build the rating table, best player first."""
    costs = cost_columns([player.costs for player in document.players], LEFT_OUT)
    carried = carried_columns(document.players)
    rows = [
        [
            str(place),
            (labels or {}).get(player.name, player.name),
            rating(player.rating),
            span(player),
            ranks(player, "–"),
            first(player),
            number(player.h, 4),
            *(number(getattr(player, name), digits) for name, digits in carried.items()),
            *(charged(name, player.costs[name], player.charged, MORE_DIGITS.get(name)) for name in costs),
            number(player.q_reference, 4),
        ]
        for place, player in enumerate(document.players, start=1)
    ]
    return Grid(["", "player", "rating", "95%", "ranks", "first", "H", *carried, *costs, "Q (ref.)"], rows, left=2)


def rating(value: float | None) -> str:
    """Format a rating: points without a separator."""
    return "?" if value is None else minus(f"{value:.0f}")


def span(player: RatedPlayer) -> str:
    """Format the interval of a rating."""
    return "?" if player.low is None else f"{rating(player.low)} to {rating(player.high)}"


def first(player: RatedPlayer) -> str:
    """Format how often a player is first, in percent."""
    return share_of(player.p_first)


def ranks(player: RatedPlayer, between: str) -> str:
    """Format the ranks that a player may have."""
    best, worst = player.rank_best, player.rank_worst
    if best is None:
        return "?"
    return str(best) if best == worst else f"{best}{between}{worst}"


def wins(document: Tournament, labels: Mapping[str, str] | None = None) -> Grid:
    """Build the matrix of matches won, tied and lost for each pair."""
    names = [player.name for player in document.players]
    shown = {name: (labels or {}).get(name, name) for name in names}
    cells = {(row.a, row.b): row for row in document.wins}
    rows: list[list[str]] = []
    for a in names:
        row = [shown[a]]
        for b in names:
            pairing = cells.get((a, b))
            row.append(
                "·" if pairing is None else f"{pairing.won}-{pairing.tied}-{pairing.lost} ({pairing.predicted:.0%})"
            )
        rows.append(row)
    title = "Won-tied-lost against each (chance of winning that the ratings predict)"
    return Grid(["", *shown.values()], rows, title, named=True)


def sentences(document: Tournament) -> Iterator[str]:
    """Yield the context and notes that the tables do not show."""
    yield from simulated(document)
    yield (
        f"{document.matches} pairings ({document.system}, {count(document.trials, 'trial')} each, every group in "
        f"each order of its seats) of {count(document.items, 'item')}, {scored_by(document)}; "
        f"Q = {document.alpha:g}·H − {document.beta:g}·P."
    )
    yield f"Ratings: 400 points are odds of 10 to 1. {RATINGS}"
    if not document.finished:
        yield f"Not all matches are played: continue with mashq resume {safe(document.run)}"
    yield from (f"Note: {safe(note, 400)}" for note in document.notes)
