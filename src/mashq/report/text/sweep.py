"""A sweep as text: one row per combination and player."""

from collections import Counter
from collections.abc import Iterator

from mashq.report.documents.sweep import Sweep, SweepPlayer
from mashq.report.text.formatting import charged, cost_columns, count, number, safe
from mashq.report.text.seasons import scored_by, simulated
from mashq.report.text.tables import Format, Grid, change, prose, written

MAX_NOTES = 12
IN_COMMON = "ΔQ in common (units)"
UNEVEN = (
    "Not every combination scores the same units (an item in a trial): Q and ΔQ are of what each scores by its own "
    "rules. ΔQ in common is over the units that it and the first both score, of those that either does."
)


def text(document: Sweep, form: Format = "table") -> str:
    """Return the table, then its notes."""
    return written(table(document), form) + "\n\n" + prose(sentences(document), form)


def table(document: Sweep) -> Grid:
    """Build a table of every combination; settings go by the last part of their names if these differ."""
    names = [axis.setting for axis in document.over]
    short = [name.rpartition(".")[2] for name in names]
    heads = names if len(set(short)) < len(short) else short
    costs = cost_columns([player.costs for cell in document.cells for player in cell.players])
    has_uneven = uneven(document)
    rows: list[list[str]] = []
    shaded: set[int] = set()
    for cell in document.cells:
        settings = [str(cell.settings[name]) for name in names]
        for player in cell.players:
            star = " ★" if player.name == cell.winner else ""
            shaded |= {len(rows)} if star else set()
            rows.append(
                [
                    *settings,
                    player.name + star,
                    number(player.h, 4),
                    *(charged(name, player.costs[name], player.charged) for name in costs),
                    number(player.penalty, 3),
                    number(player.q, 4),
                    change(player.against_first.get("q"), missing="" if cell is document.cells[0] else "?"),
                    *([in_common(player, "")] if has_uneven else []),
                ]
            )
    headings = [*heads, "player", "H", *costs, "P", "Q", "ΔQ ± 95%", *([IN_COMMON] if has_uneven else [])]
    bold = frozenset((row, headings.index("Q", len(heads))) for row in shaded)
    return Grid(headings, rows, left=len(names) + 1, bold=bold, shaded=frozenset(shaded))


def uneven(document: Sweep) -> bool:
    """Whether some combination scores different units than the first."""
    return any(player.common is not None for cell in document.cells for player in cell.players)


def in_common(player: SweepPlayer, missing: str) -> str:
    """Format the difference in Q over the units that both combinations score, if these differ, with their number."""
    if player.common is None or player.in_common is None:
        return missing
    return f"{change(player.in_common.get('q'))} ({player.common.both} of {player.common.either})"


def sentences(document: Sweep) -> Iterator[str]:
    """Yield the context and notes that the table does not show."""
    yield from simulated(document)
    items = max((cell.items or 0 for cell in document.cells), default=0)
    yield (
        f"{count(len(document.cells), 'combination')} of {count(items, 'item')}, "
        f"{count(document.trials, 'trial')} each, {scored_by(document)}. "
        "Costs are means over trials. ΔQ is the difference to "
        "the Q of the first combination, with its 95% interval, items resampled together."
    )
    if uneven(document):
        yield UNEVEN
    if document.missing:
        yield f"{document.missing} are still to be played: continue with mashq resume {safe(document.run)}"
    if any(cell.winner for cell in document.cells):
        yield _leader_sentence(document)
    yield from (f"Note: {safe(note, 400)}" for note in notes(document))


def leader_counts(document: Sweep) -> dict[str, tuple[int, int]]:
    """Return, by player, in how many combinations it has the best Q, and in how many clearly; most frequent first."""
    leaders = [(cell.winner, cell.clear) for cell in document.cells if cell.winner is not None]
    counts = Counter(name for name, _ in leaders)
    return {name: (count, leaders.count((name, True))) for name, count in counts.most_common()}


def _leader_sentence(document: Sweep) -> str:
    """Describe how often each player has the best Q, and how often clearly."""
    leaders, all_ = leader_counts(document), len(document.cells)
    counts = ", ".join(f"{safe(name)} in {n} (clearly in {clear})" for name, (n, clear) in leaders.items())
    ((first, (count, clear)), *others) = leaders.items()
    if not others and count == all_:
        return f"{safe(first)} has the best Q under every combination: clearly in {clear} of {all_}."
    return f"Who has the best Q depends on the settings: of {all_} combinations {counts}."


def notes(document: Sweep) -> list[str]:
    """Return each note on the combinations once, with its number of combinations unless it is all of them."""
    counts = Counter(note for cell in document.cells for note in cell.notes)
    all_ = len(document.cells)
    lines = [note if count == all_ else f"{note} ({count} of {all_} combinations)" for note, count in counts.items()]
    return lines if len(lines) <= MAX_NOTES else [*lines[:MAX_NOTES], f"and {len(lines) - MAX_NOTES} more (--json)."]
