"""The game behind the match, for a person."""

from collections.abc import Iterator, Mapping

from mashq.report.documents.game import Equilibrium, Game, Solved
from mashq.report.text.formatting import count, number, safe
from mashq.report.text.seasons import SIMULATED, scored_by
from mashq.report.text.tables import Format, Grid, change, half, prose, written

SHOWN = 0.005  # a share of a mix that is worth a word
DIGITS = {"q": 4, "h": 4, "reviews": 2, "tokens": 2}


def text(document: Game, form: Format = "table") -> str:
    """Payoffs and equilibria under each vision, then the price of disclosure."""
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
    """Q of the row against the column."""
    names = document.policies
    rows = [
        [name, *(f"{number(q, 4)} ± {half(game.low[i][j], game.high[i][j])}" for j, q in enumerate(game.payoffs[i]))]
        for i, name in enumerate(names)
    ]
    return Grid(["", *names], rows, f"Q of the row against the column, vision: {when}", named=True)


def _solution(game: Solved) -> Iterator[str]:
    yield from (equilibrium(found, {}) for found in game.equilibria)
    yield from dominated(game, {})
    yield learned(game, {})
    yield from (f"Note: {note}" for note in game.notes)


def equilibrium(found: Equilibrium, labels: Mapping[str, str]) -> str:
    """An equilibrium: who mixes what, what each side gets, and in how many resamples it is there."""
    return (
        f"Equilibrium: {mixes(found, labels)}; Q {found.payoffs[0]:.4f} and {found.payoffs[1]:.4f}; it holds in "
        f"{share_of(found.survives)} of resamples of the items."
    )


def dominated(game: Solved, labels: Mapping[str, str]) -> Iterator[str]:
    """What is never worth playing, and what only seems so."""
    shown = {name: labels.get(name, safe(name)) for name in game.dominated_in}
    if game.dominated:
        sure = (
            f"{shown[name]} (dominated in {share_of(game.dominated_in[name])} of resamples)"
            for name in game.dominated
        )
        yield f"Never worth playing: {', '.join(sure)}."
    for name, share in game.dominated_in.items():
        if name not in game.dominated:
            how = "too few items to say how surely" if share is None else f"in {share_of(share)} of resamples"
            yield f"{shown[name]} seems dominated ({how})."


def share_of(share: float | None) -> str:
    """A share of resamples; only all of them are 100%, and only none are 0%."""
    if share is None:
        return "?"
    if 0 < share < 0.005:
        return "under 1%"
    return "over 99%" if 0.995 <= share < 1 else f"{share:.0%}"


def mixes(found: Equilibrium, labels: Mapping[str, str]) -> str:
    """The mixes of an equilibrium; only one where both sides play the same."""
    row, column = (
        ", ".join(f"{labels.get(name, safe(name))} {share:.0%}" for name, share in side.items())
        for side in (found.row, found.column)
    )
    return row if row == column else f"{row} against {column}"


def learned(game: Solved, labels: Mapping[str, str]) -> str:
    """The mix that learning leads to, or that it leads to none."""
    path = game.replicator
    mix = ", ".join(
        f"{labels.get(name, safe(name))} {share:.0%}" for name, share in path.end.items() if share > SHOWN
    )
    if path.converged:
        return f"Learning from an even start leads to: {mix}."
    return f"Learning from an even start did not settle within {path.steps:,} steps; it was last at: {mix}."


def disclosure(document: Game) -> Grid:
    """What showing snapshots changes, where it changes anything."""
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
    return Grid(headings, rows, title, left=3)


def sentences(document: Game) -> Iterator[str]:
    """What the tables alone would hide."""
    if document.simulated:
        yield SIMULATED
    yield (
        f"{len(document.policies)} policies, every pair in both orders and each against itself, {document.trials} "
        f"trial(s) of {count(document.items, 'item')}, {scored_by(document)}; ± is half a 95% interval over "
        "resampled items. "
        f"Q = {document.alpha:g}·H − {document.beta:g}·P."
    )
    if not document.finished:
        yield f"Not all matches are played: continue with mashq resume {safe(document.run)}"
    yield from (f"Note: {safe(note, 400)}" for note in document.notes)
