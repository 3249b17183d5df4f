"""The result of a match as a person reads it in a terminal."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from mashq.players.registry import recorded_spec
from mashq.protocol.resources import TABLE
from mashq.report.documents.base import MEASURED
from mashq.report.documents.match import Match, MatchPlayer, ReviewSpend
from mashq.report.text.formatting import cost, is_shown, number, safe
from mashq.report.text.score import flips

NARROWEST = 100


def result(document: Match, reviews: Mapping[str, ReviewSpend]) -> RenderableType:
    """The table, the winner, and what must be said with it; `reviews` is what each player's reviews took."""
    parts: list[RenderableType] = []
    drawn = [safe(player.name) for player in document.players if player.model.startswith("simulated/")]
    if drawn:
        real = "no real model answered" if len(drawn) == len(document.players) else f"not real: {', '.join(drawn)}"
        parts.append(Text(f"SIMULATED, {real}; scores, costs and times are drawn.", style="bold yellow"))
    parts += [_table(document), *(Text(line) for line in _sentences(document, reviews))]
    return Group(*parts)


def table_width(document: Match) -> int:
    """What the table needs so that no number is cut."""
    return Console(width=1000).measure(_table(document)).maximum


def _table(document: Match) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("player", no_wrap=True, min_width=12)
    costs = _columns(document.players)
    for heading in ("H before → after", *costs.values(), "P", "Q"):
        table.add_column(heading, justify="right", no_wrap=True)
    for player in document.players:
        won, score = document.finished and player.name == document.winner, player.score
        table.add_row(
            Text(safe(player.name, 24) + (" ★" if won else "")),
            f"{number(score.h_before_review, 4)} → {number(score.h, 4)}",
            *(_cost(player, name) for name in costs),
            number(score.penalty, 3),
            number(score.q, 4),
            style="bold" if won else "",
        )
    return table


def _columns(players: Sequence[MatchPlayer]) -> dict[str, str]:
    """The costs that the table shows, with their headings: tokens in and out apart."""
    split = {name for row in TABLE.values() if len(row.measures) > 1 for name in row.measures}
    shown: dict[str, str] = {}
    for name in MEASURED:
        if name in split:
            shown[name] = name.replace("tokens_", "tok ")
        elif len(TABLE[name].measures) < 2 and is_shown(name, [player.score.costs for player in players]):
            shown[name] = name
    return shown


def _cost(player: MatchPlayer, name: str) -> str:
    if name == "reviews" and recorded_spec(player.agent).reviews == "unseen":
        return "n/a"
    return cost(name, player.score.costs[name])


def _sentences(document: Match, reviews: Mapping[str, ReviewSpend]) -> Iterable[str]:
    players = document.players
    by = f"scored by {safe(document.detector.name)} {safe(document.detector.version)}"
    if all(player.model.startswith("simulated/") for player in players):
        by = "scored as drawn (no detector ran)"
    relative = "the largest in the match" if document.normalise == "match" else "a fixed reference"
    yield (
        f"{document.items} items {by}; Q = {document.alpha:g}·H − {document.beta:g}·P, costs relative to {relative}, "
        f"refusals: {document.refusals}."
    )
    for player in players:
        name, model = safe(player.name), safe(player.model)
        yield f"{name}: {safe(player.agent)} on {model}, T {player.T:g}, R {player.R}"
    yield from _guides(document)
    yield ""
    bill = document.referee
    if bill is not None:
        yield (
            f"The referee's own bill, charged to nobody: {bill.opened} calls, {number(bill.tokens)} tokens, "
            f"{number(bill.seconds, 1)} s."
        )
    if document.finished:
        yield _verdict(document)
        yield from _sure(document)
    else:
        yield f"This match is not finished, so nobody has won yet: mashq resume {safe(document.run)}"
    yield _bought(players, reviews)
    rates = [f"{safe(p.name)} {p.score.answer_rate:.1%}" for p in players if p.score.answer_rate < 1]
    if rates:
        others = "; the others everything" if len(rates) < len(players) else ""
        yield f"Answered: {', '.join(rates)}{others}."
    for note in document.notes:
        yield f"Note: {safe(note, 400)}"
    if document.dropped:
        yield from _views(document)


def _guides(document: Match) -> Iterator[str]:
    """What the players were shown, when it was not the judge's score; and what that misled them by."""
    if document.guide == "judge":
        if document.task == "qa":
            yield "Guide: the judge itself, so every player was told whether it was right."
        return
    shown = "their own stated confidence" if document.guide == "confidence" else safe(document.guide)
    yield f"Guide: {shown}; the judge's scores were not shown to the players."
    for player in document.players:
        if player.overfit is not None:
            yield (
                f"  {safe(player.name)}: guide {player.h_guide_before_review:.4f} → {player.h_guide:.4f}; "
                f"gained on the guide but not on the judge: {player.overfit:+.4f}"
            )


def _sure(document: Match) -> Iterator[str]:
    """How sure the verdict is, and where it would be another."""
    first = next(iter(document.differences), None)
    if first is not None and first.low is not None:
        chance = None if document.winner is None else document.p_win.get(document.winner)
        won = "" if chance is None else f"; it wins {chance:.0%} of resampled matches"
        won += " (few items make the interval wide)" if document.items < 30 else ""
        yield f"The lead of {first.dq:.4f} has the 95% interval {first.low:.4f} to {first.high:.4f}{won}."
    if len(document.envelope) > 1:
        yield flips("beta", document.envelope)


def _verdict(document: Match) -> str:
    ranked = sorted(
        ((player.score.q, player) for player in document.players if player.score.q is not None),
        key=lambda pair: -pair[0],
    )
    if not ranked:
        return "No winner: Q is undefined."
    q, first = ranked[0]
    if document.tied:
        return f"A tie between {', '.join(safe(name) for name in document.tied)} at Q {q:.4f}."
    if len(ranked) == 1:
        how = "played alone" if len(document.players) == 1 else "is the only one with a score"
        return f"{safe(first.name)} {how}: Q {q:.4f}."
    other, second = ranked[1]
    return (
        f"Winner: {safe(first.name)}, with Q {q:.4f} against {other:.4f} ({safe(second.name)}); "
        f"in H {first.score.h:.4f} against {second.score.h:.4f}."
    )


def _bought(players: Sequence[MatchPlayer], reviews: Mapping[str, ReviewSpend]) -> str:
    """One sentence on what the reviews bought, and what they cost."""
    parts: list[str] = []
    for player in players:
        after, before = player.score.h, player.score.h_before_review
        if not player.score.costs["reviews"] or after is None or before is None:
            continue
        gain, spent = after - before, reviews.get(player.name, ReviewSpend(0, 0))
        moved = f"raised its H by {gain:.4f}" if gain > 0 else f"lowered its H by {-gain:.4f}"
        parts.append(
            f"{safe(player.name)}'s {number(player.score.costs['reviews'])} review(s) "
            f"{moved if gain else 'left its H as it was'} for {number(spent.tokens)} tokens and "
            f"{number(spent.seconds, 1)} s"
        )
    return f"What the reviews bought: {'; '.join(parts)}." if parts else "Nobody reviewed."


def _views(document: Match) -> Iterator[str]:
    """The score under each rule for refusals, when they differ."""
    blamed: dict[str, int] = {}
    for dropped in document.dropped:
        for name in dropped.by:
            blamed[name] = blamed.get(name, 0) + 1
    yield f"Refused or failed items: {', '.join(f'{safe(name)} {count}' for name, count in blamed.items())}."
    for view in document.views:
        figures = ", ".join(
            f"{safe(name)} Q {number(row.q, 4)} (H {number(row.h, 4)})" for name, row in view.players.items()
        )
        yield f"  {view.refusals:>12}, {view.items} items: {figures}"
