"""Verdicts and sections of sweeps and tournaments, from their documents."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import Any

from mashq.report.documents.sweep import Sweep
from mashq.report.documents.tournament import Tournament
from mashq.report.html import charts_seasons as charts
from mashq.report.html.labels import labels, listed
from mashq.report.html.parts import Block, Figure, Prose, Section, Table, Tile, Verdict
from mashq.report.html.style import MAX_COST
from mashq.report.text.formatting import charged, cost_columns, count, number, safe, share_of
from mashq.report.text.sweep import IN_COMMON, UNEVEN, in_common, leader_counts, notes, uneven
from mashq.report.text.tables import Grid, change
from mashq.report.text.tournament import MAX_MATRIX, RATINGS, first, ranks, rating, ratings, span, wins

MAX_CHARTS = 6


def sweep(document: Sweep) -> tuple[Verdict, list[Section]]:
    """Show who wins under which settings."""
    cells = document.cells
    names = list(dict.fromkeys(player.name for cell in cells for player in cell.players))
    label_of = labels(names)
    if not cells:
        return Verdict("Nothing has been played yet", ["Continue with mashq resume."]), []
    blocks: list[Block] = [
        *_sweep_charts(document, label_of),
        Table("sweep", _sweep_grid(document, label_of), _SWEEP),
    ]
    note_lines = [*([UNEVEN] if uneven(document) else []), *(f"Note: {note}" for note in notes(document))]
    verdict = Verdict(
        _sweep_headline(document, label_of), [_sweep_description(document)], tiles=_leaders(document, label_of)
    )
    return verdict, [
        Section("sweep", "Q under every setting", [*blocks, Prose(note_lines, listed=True)] if note_lines else blocks)
    ]


_SWEEP = "Every combination; costs are means over trials; ΔQ is the difference to the Q of the first one."


def _sweep_description(document: Sweep) -> str:
    over = "; ".join(f"{safe(o.setting)} over {', '.join(safe(str(v), 24) for v in o.values)}" for o in document.over)
    return f"{count(len(document.cells), 'combination')} of {over}; {count(document.trials, 'trial')} each."


def _sweep_headline(document: Sweep, label_of: Mapping[str, str]) -> str:
    """Say who wins, if that is clear, or who leads."""
    counts, all_ = leader_counts(document), len(document.cells)
    if not counts:
        return "No setting has a winner"
    first, (count, clear) = next(iter(counts.items()))
    if len(counts) > 1:
        return "Who leads depends on the settings"
    if count < all_:
        return f"{label_of[first]} leads under {count} of {all_} settings"
    return f"{label_of[first]} {'wins' if clear == all_ else 'leads'} under every setting"


def _leaders(document: Sweep, label_of: Mapping[str, str]) -> list[Tile]:
    counts, all_ = leader_counts(document), len(document.cells)
    top_counts = [count for count, _ in counts.values()][:2]
    return [
        Tile(
            label_of[name],
            f"best in {count} of {all_}",
            f"clearly in {clear}",
            top_counts.count(count) == 1 and index == 0,
        )
        for index, (name, (count, clear)) in enumerate([*counts.items()][:4])
    ]


def _sweep_charts(document: Sweep, label_of: Mapping[str, str]) -> Iterator[Figure]:
    """Yield a chart over the setting with the most values, for each combination of the other settings."""
    over = document.over
    axis = max(over, key=lambda swept: len(swept.values)).setting
    others = [swept for swept in over if swept.setting != axis]
    numbers = all(
        isinstance(v, int | float) and not isinstance(v, bool)
        for swept in over if swept.setting == axis for v in swept.values
    )  # fmt: skip
    for index, values in enumerate(product(*(swept.values for swept in others))):
        if index == MAX_CHARTS:
            return
        fixed_settings = {swept.setting: value for swept, value in zip(others, values, strict=True)}
        rows: list[dict[str, Any]] = [
            {"player": label_of[p.name], "value": _value(cell.settings[axis], numbers),
             "q": p.q, "low": p.q_low, "high": p.q_high}
            for cell in document.cells
            if all(cell.settings[name] == value for name, value in fixed_settings.items())
            for p in cell.players
            if p.q is not None
        ]  # fmt: skip
        names = list(dict.fromkeys(row["player"] for row in rows))[:MAX_COST]
        kept = [row for row in rows if row["player"] in names]
        fixed_text = ", ".join(f"{safe(name)} {safe(str(value), 24)}" for name, value in fixed_settings.items())
        caption = f"Q over {safe(axis)}{' at ' + fixed_text if fixed_text else ''}, with 95% intervals."
        best = max(kept, key=lambda row: row["q"], default=None)
        best_text = (
            f"The best Q: {best['player']} {best['q']:.4f} at {best['value']}." if best else "Nothing is scored here."
        )
        spec = charts.swept(kept, names, safe(axis), numbers=numbers)
        yield Figure(
            f"sweep-{index + 1}" if fixed_settings else "sweep",
            spec,
            caption,
            f"{caption} {best_text}",
            small=bool(fixed_settings),
        )


def _value(value: Any, numbers: bool) -> Any:
    return value if numbers else safe(str(value), 24)


def _sweep_grid(document: Sweep, label_of: Mapping[str, str]) -> Grid:
    settings = [swept.setting for swept in document.over]
    costs = cost_columns([player.costs for cell in document.cells for player in cell.players])
    has_uneven = uneven(document)
    rows: list[list[str]] = []
    for cell in document.cells:
        for player in cell.players:
            star = " ★" if player.name == cell.winner else ""
            rows.append(
                [
                    *(safe(str(cell.settings[name]), 24) for name in settings),
                    label_of[player.name] + star,
                    number(player.h, 4),
                    *(charged(name, player.costs[name], player.charged) for name in costs),
                    number(player.penalty, 3),
                    number(player.q, 4),
                    change(player.against_first.get("q"), missing="–" if cell is document.cells[0] else "?"),
                    *([in_common(player, "–")] if has_uneven else []),
                ]
            )
    headings = [*settings, "player", "H", *costs, "P", "Q", "ΔQ ± 95%", *([IN_COMMON] if has_uneven else [])]
    return Grid(headings, rows, left=len(settings) + 1)


def tournament(document: Tournament) -> tuple[Verdict, list[Section]]:
    """Show ratings with intervals, and who beat whom."""
    players = document.players
    label_of = labels(player.name for player in players)
    if not players:
        return Verdict("Nothing can be rated yet", list(document.notes)), []
    top = players[0]
    sentences = [
        f"{document.matches} pairings ({document.system}, {count(document.trials, 'trial')} each) of "
        f"{count(document.items, 'item')}; Q = {document.alpha:g}·H − {document.beta:g}·P."
    ]
    mark, headline = "", "The order is not known"
    if top.p_first is not None:
        mark, headline = "sure" if top.rank_worst == 1 else "unsure", f"{label_of[top.name]} is rated first"
        sentences.insert(
            0,
            f"{label_of[top.name]} is first in {share_of(top.p_first)} of resampled tournaments; the 95% interval of "
            f"its rank: {ranks(top, ' to ')}.",
        )
    if not document.finished:
        mark, headline = "", "Not finished: the ratings so far"
    tiles = [Tile(label_of[p.name], rating(p.rating), f"{span(p)} · first {first(p)}", p is top) for p in players[:4]]
    rows = [{"player": label_of[p.name], "rating": p.rating, "low": p.low, "high": p.high} for p in players[:40]]
    alt = "; ".join(f"{row['player']} {row['rating']:.0f}" for row in rows[:12])
    caption = "Ratings with 95% intervals over resampled items; 400 points are odds of 10 to 1."
    figure = Figure("ratings", charts.ratings(rows), caption, f"Ratings: {alt}.")
    blocks: list[Block] = [Table("ratings", ratings(document, label_of), RATINGS)]
    sections = [Section("ratings", "The ratings", [*blocks, *_notes(document)])]
    if 1 < len(players) <= MAX_MATRIX:
        sections.append(Section("wins", "Who beat whom", _matrix(document, label_of)))
    return Verdict(headline, sentences, mark, tiles, figure), sections


def _notes(document: Tournament) -> list[Block]:
    return [Prose([f"Note: {note}" for note in document.notes], listed=True)] if document.notes else []


def _matrix(document: Tournament, label_of: Mapping[str, str]) -> list[Block]:
    names = [player.name for player in document.players]
    cells = {(row.a, row.b): row for row in document.wins}
    rows = [
        {
            "row": label_of[a],
            "column": label_of[b],
            "value": cell.predicted,
            "label": f"{cell.won}-{cell.tied}-{cell.lost}",
            "light": cell.predicted > 0.7,
        }
        for (a, b), cell in cells.items()
    ]
    order = [label_of[name] for name in names]
    caption = "Won-tied-lost of the row against the column; darker: the ratings give the row a higher chance."
    grid = replace(wins(document, label_of), title="")
    best = listed(names[:3], label_of)
    figure = Figure(
        "wins", charts.matrix(rows, order, "against", "won-tied-lost"), caption, f"Win matrix; the best: {best}."
    )
    return [figure, Table("wins", grid, "Won-tied-lost, and the chance of winning that the ratings predict.")]
