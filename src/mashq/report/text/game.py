"""The game behind the match, as text."""

from collections.abc import Iterator, Mapping

from mashq.report.documents.game import Equilibrium, Game, Solved
from mashq.report.text.formatting import count, number, safe, share_of
from mashq.report.text.seasons import scored_by, simulated
from mashq.report.text.tables import Format, Grid, change, half, prose, written

SHOWN = 0.005  # the smallest share of a mix that is shown
DIGITS = {"q": 4, "h": 4, "reviews": 2, "tokens": 2}


def text(document: Game, form: Format = "table") -> str:
    """Return payoffs and equilibria under each vision, then the price of disclosure."""
    parts: list[str] = []
    for when, game in document.games.items():
        if isinstance(game, Solved):
            parts += [written(payoffs(document, when, game), form), prose(_solution(game), form)]
        else:
            parts.append(prose(game.notes, form))
    if any(row.any for row in document.disclosure):
        parts.append(written(disclosure(document), form))
    elif document.disclosure:
        parts.append(prose([NO_CHANGE], form))
    return "\n\n".join([*parts, prose(sentences(document), form)])


NO_CHANGE = "Disclosure changed nothing: no policy here reacts to what it is shown."


def payoffs(document: Game, when: str, game: Solved) -> Grid:
    """Build the payoff table: Q of the row against the column."""
    names = document.policies
    rows = [
        [name, *(f"{number(q, 4)} ± {half(game.low[i][j], game.high[i][j])}" for j, q in enumerate(game.payoffs[i]))]
        for i, name in enumerate(names)
    ]
    return Grid(["", *names], rows, f"Q of the row against the column, vision: {when}", named=True)


def _solution(game: Solved) -> Iterator[str]:
    yield from (equilibrium(point, {}) for point in game.equilibria)
    yield from dominated(game, {})
    yield learned(game, {})
    yield from (f"Note: {note}" for note in game.notes)


def equilibrium(point: Equilibrium, labels: Mapping[str, str]) -> str:
    """Describe an equilibrium: the mix and Q of each side, and the share of resamples in which it exists."""
    return (
        f"Equilibrium: {mixes(point, labels)}; Q {number(point.payoffs[0], 4)} and {number(point.payoffs[1], 4)}; "
        f"it holds in {share_of(point.survives)} of resamples of the items."
    )


def dominated(game: Solved, labels: Mapping[str, str]) -> Iterator[str]:
    """Yield which policies are dominated, and which only seem to be."""
    shown = {name: labels.get(name, safe(name)) for name in game.dominated_in}
    if game.dominated:
        described = (
            f"{shown[name]} (dominated in {share_of(game.dominated_in[name])} of resamples)"
            for name in game.dominated
        )
        yield f"Never worth playing: {', '.join(described)}."
    for name, share in game.dominated_in.items():
        if name not in game.dominated:
            certainty = "too few items to say how surely" if share is None else f"in {share_of(share)} of resamples"
            yield f"{shown[name]} seems dominated ({certainty})."


def mixes(point: Equilibrium, labels: Mapping[str, str]) -> str:
    """Format the mixes of an equilibrium; only one if both sides play the same."""
    row, column = (
        ", ".join(f"{labels.get(name, safe(name))} {share:.0%}" for name, share in side.items())
        for side in (point.row, point.column)
    )
    return row if row == column else f"{row} against {column}"


def learned(game: Solved, labels: Mapping[str, str]) -> str:
    """Describe the mix that learning converges to, or that it does not converge."""
    path = game.replicator
    mix = ", ".join(
        f"{labels.get(name, safe(name))} {share:.0%}" for name, share in path.end.items() if share > SHOWN
    )
    if path.converged:
        return f"Learning from an even start leads to: {mix}."
    return f"Learning from an even start did not settle within {path.steps:,} steps; it was last at: {mix}."


def disclosure(document: Game) -> Grid:
    """Build the table of what showing snapshots changes, without rows in which nothing changes."""
    rows = [
        [
            row.vision,
            row.policy,
            row.against,
            str(row.seat + 1),
            *(change(row.changes.get(name), digits) for name, digits in DIGITS.items()),
        ]
        for row in document.disclosure
        if row.any
    ]
    headings = ["vision", "policy", "against", "seat", "ΔQ", "ΔH", "Δreviews per item", "Δtokens per item"]
    title = "The price of disclosure: with snapshots shown minus without, paired by item"
    return Grid(headings, rows, title, left=4)


def sentences(document: Game) -> Iterator[str]:
    """Yield the context and notes that the tables do not show."""
    yield from simulated(document)
    yield (
        f"{len(document.policies)} policies, every pair in both orders and each against itself, "
        f"{count(document.trials, 'trial')} of {count(document.items, 'item')}, {scored_by(document)}; "
        "± is half a 95% interval over resampled items. "
        f"Q = {document.alpha:g}·H − {document.beta:g}·P."
    )
    if not document.finished:
        yield f"Not all matches are played: continue with mashq resume {safe(document.run)}"
    yield from (f"Note: {safe(note, 400)}" for note in document.notes)
