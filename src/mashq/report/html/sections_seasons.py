"""Sweeps and tournaments as verdicts and sections, from their documents."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from mashq.report.documents.sweep import Sweep
from mashq.report.documents.tournament import Pairing, RatedPlayer, Tournament
from mashq.report.html import charts_seasons as charts
from mashq.report.html.labels import labels, listed
from mashq.report.html.parts import Block, Figure, Prose, Section, Table, Tile, Verdict
from mashq.report.html.style import MAX_COST
from mashq.report.text.formatting import charged, cost_columns, count, number, safe
from mashq.report.text.sweep import IN_COMMON, UNEVEN, in_common, leader_counts, notes, uneven
from mashq.report.text.tables import Grid, change
from mashq.report.text.tournament import LEFT_OUT, MAX_MATRIX, MORE_DIGITS, first, ranks

MAX_CHARTS = 6


def sweep(found: Sweep) -> tuple[Verdict, list[Section]]:
    """Who wins under which settings."""
    cells = found.cells
    names = list(dict.fromkeys(player.name for cell in cells for player in cell.players))
    known = labels(names)
    if not cells:
        return Verdict("Nothing has been played yet", ["Continue with mashq resume."]), []
    blocks: list[Block] = [*_lines(found, known), Table("sweep", _sweep_grid(found, known), _SWEEP)]
    said = [*([UNEVEN] if uneven(found) else []), *(f"Note: {note}" for note in notes(found))]
    verdict = Verdict(_best(found, known), [_swept(found)], tiles=_leaders(found, known))
    return verdict, [
        Section("sweep", "Q under every setting", [*blocks, Prose(said, listed=True)] if said else blocks)
    ]


_SWEEP = "Every combination; costs are means over trials; ΔQ is the difference to the Q of the first one."


def _swept(found: Sweep) -> str:
    over = "; ".join(f"{safe(o.setting)} over {', '.join(safe(str(v), 24) for v in o.values)}" for o in found.over)
    return f"{len(found.cells)} combination(s) of {over}; {found.trials} trial(s) each."


def _best(found: Sweep, known: Mapping[str, str]) -> str:
    """Who wins, where that may be claimed, or who leads."""
    counts, all_ = leader_counts(found), len(found.cells)
    if not counts:
        return "No setting has a winner"
    first, (count, clear) = next(iter(counts.items()))
    if len(counts) > 1:
        return "Who leads depends on the settings"
    if count < all_:
        return f"{known[first]} leads under {count} of {all_} settings"
    return f"{known[first]} {'wins' if clear == all_ else 'leads'} under every setting"


def _leaders(found: Sweep, known: Mapping[str, str]) -> list[Tile]:
    counts, all_ = leader_counts(found), len(found.cells)
    most = [count for count, _ in counts.values()][:2]
    return [
        Tile(known[name], f"best in {count} of {all_}", f"clearly in {clear}", most.count(count) == 1 and at == 0)
        for at, (name, (count, clear)) in enumerate([*counts.items()][:4])
    ]


def _lines(found: Sweep, known: Mapping[str, str]) -> Iterator[Figure]:
    """A chart over the setting with most values, for each combination of the others."""
    over = found.over
    axis = max(over, key=lambda one: len(one.values)).setting
    others = [one for one in over if one.setting != axis]
    numbers = all(
        isinstance(v, int | float) and not isinstance(v, bool)
        for one in over if one.setting == axis for v in one.values
    )  # fmt: skip
    for at, fixed in enumerate(product(*(one.values for one in others))):
        if at == MAX_CHARTS:
            return
        want = {one.setting: value for one, value in zip(others, fixed, strict=True)}
        rows: list[dict[str, Any]] = [
            {"player": known[p.name], "value": _value(cell.settings[axis], numbers),
             "q": p.q, "low": p.q_low, "high": p.q_high}
            for cell in found.cells
            if all(cell.settings[name] == value for name, value in want.items())
            for p in cell.players
            if p.q is not None
        ]  # fmt: skip
        names = list(dict.fromkeys(row["player"] for row in rows))[:MAX_COST]
        kept = [row for row in rows if row["player"] in names]
        said = ", ".join(f"{safe(name)} {safe(str(value), 24)}" for name, value in want.items())
        caption = f"Q over {safe(axis)}{' at ' + said if said else ''}, with 95% intervals."
        best = max(kept, key=lambda row: row["q"], default=None)
        told = (
            f"The best Q: {best['player']} {best['q']:.4f} at {best['value']}." if best else "Nothing is scored here."
        )
        spec = charts.swept(kept, names, safe(axis), numbers=numbers)
        yield Figure(f"sweep-{at + 1}" if want else "sweep", spec, caption, f"{caption} {told}", small=bool(want))


def _value(value: Any, numbers: bool) -> Any:
    return value if numbers else safe(str(value), 24)


def _sweep_grid(found: Sweep, known: Mapping[str, str]) -> Grid:
    settings = [one.setting for one in found.over]
    costs = cost_columns([player.costs for cell in found.cells for player in cell.players])
    pairs = uneven(found)
    rows: list[list[str]] = []
    for cell in found.cells:
        for player in cell.players:
            star = " ★" if player.name == cell.winner else ""
            rows.append(
                [
                    *(safe(str(cell.settings[name]), 24) for name in settings),
                    known[player.name] + star,
                    number(player.h, 4),
                    *(charged(name, player.costs[name], player.charged) for name in costs),
                    number(player.penalty, 3),
                    number(player.q, 4),
                    change(player.against_first.get("q"), missing="–" if cell is found.cells[0] else "?"),
                    *([in_common(player, "–")] if pairs else []),
                ]
            )
    headings = [*settings, "player", "H", *costs, "P", "Q", "ΔQ ± 95%", *([IN_COMMON] if pairs else [])]
    return Grid(headings, rows, left=len(settings) + 1)


def tournament(found: Tournament) -> tuple[Verdict, list[Section]]:
    """Ratings with intervals, and who beat whom."""
    players = found.players
    known = labels(player.name for player in players)
    if not players:
        return Verdict("Nothing can be rated yet", list(found.notes)), []
    top = players[0]
    sentences = [
        f"{found.matches} pairings ({found.system}, {found.trials} trial(s) each) of "
        f"{count(found.items, 'item')}; Q = {found.alpha:g}·H − {found.beta:g}·P."
    ]
    mark, headline = "", "The order is not known"
    if top.p_first is not None:
        mark, headline = "sure" if top.rank_worst == 1 else "unsure", f"{known[top.name]} is rated first"
        sentences.insert(
            0,
            f"{number(top.p_first * 100, 1)}% of resampled tournaments have {known[top.name]} first; "
            f"its rank is {ranks(top, ' to ')} at 95%.",
        )
    if not found.finished:
        mark, headline = "", "Not finished: the ratings so far"
    tiles = [Tile(known[p.name], f"{p.rating:.0f}", f"{_span(p)} · first {first(p)}", p is top) for p in players[:4]]
    rows = [{"player": known[p.name], "rating": p.rating, "low": p.low, "high": p.high} for p in players[:40]]
    alt = "; ".join(f"{row['player']} {row['rating']:.0f}" for row in rows[:12])
    said = "Ratings with 95% intervals over resampled items; 400 points are odds of 10 to 1."
    figure = Figure("ratings", charts.ratings(rows), said, f"Ratings: {alt}.")
    blocks: list[Block] = [Table("ratings", _ratings_grid(players, known), _RATINGS)]
    sections = [Section("ratings", "The ratings", [*blocks, *_notes(found)])]
    if 1 < len(players) <= MAX_MATRIX:
        sections.append(Section("wins", "Who beat whom", _matrix(found, known)))
    return Verdict(headline, sentences, mark, tiles, figure), sections


_RATINGS = (
    "Intervals and ranks are over resampled items. Q (ref.) is each player's mean Q against the largest mean costs "
    "of the field, so that it compares players who never met."
)


def _notes(found: Tournament) -> list[Block]:
    return [Prose([f"Note: {note}" for note in found.notes], listed=True)] if found.notes else []


def _span(player: RatedPlayer) -> str:
    return "?" if player.low is None else f"{player.low:.0f} to {player.high:.0f}"


def _ratings_grid(players: Sequence[RatedPlayer], known: Mapping[str, str]) -> Grid:
    costs = cost_columns([player.costs for player in players], LEFT_OUT)
    rows = [
        [
            str(at),
            known[p.name],
            f"{p.rating:.0f}",
            _span(p),
            ranks(p, " to "),
            first(p),
            number(p.h, 4),
            *(charged(name, p.costs[name], p.charged, MORE_DIGITS.get(name)) for name in costs),
            number(p.q_reference, 4),
        ]
        for at, p in enumerate(players, start=1)
    ]
    headings = ["", "player", "rating", "95%", "ranks", "first", "H", *costs, "Q (ref.)"]
    return Grid(headings, rows, left=2)


def _matrix(found: Tournament, known: Mapping[str, str]) -> list[Block]:
    names = [player.name for player in found.players]
    cells = {(row.a, row.b): row for row in found.wins}
    rows = [
        {
            "row": known[a],
            "column": known[b],
            "value": cell.predicted,
            "label": f"{cell.won}-{cell.tied}-{cell.lost}",
            "light": cell.predicted > 0.7,
        }
        for (a, b), cell in cells.items()
    ]
    order = [known[name] for name in names]
    said = "Won-tied-lost of the row against the column; darker: the ratings give the row a higher chance."
    table = [[known[a], *(_cell(cells.get((a, b))) for b in names)] for a in names]
    grid = Grid(["", *order], table)
    best = listed(names[:3], known)
    figure = Figure(
        "wins", charts.matrix(rows, order, "against", "won-tied-lost"), said, f"Win matrix; the best: {best}."
    )
    return [figure, Table("wins", grid, "Won-tied-lost, and the chance of winning that the ratings predict.")]


def _cell(row: Pairing | None) -> str:
    return "·" if row is None else f"{row.won}-{row.tied}-{row.lost} ({row.predicted:.0%})"
