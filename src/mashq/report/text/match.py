"""The result of a match, as text for a terminal."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from mashq.analysis.story.words import listed
from mashq.config import NO_MODEL
from mashq.players.registry import answers_are_drawn, recorded_spec
from mashq.protocol.resources import TABLE
from mashq.report.documents.base import MEASURED
from mashq.report.documents.match import Advice, AttemptCounts, Match, MatchPlayer, RefusalView
from mashq.report.text import passages
from mashq.report.text.formatting import (
    carried_columns,
    charged,
    count,
    is_shown,
    number,
    reviews_by_rule,
    safe,
    signed,
    simulated_said,
    times,
)
from mashq.report.text.score import floors_said, height, leads, relative_to
from mashq.report.text.tables import Grid, page_width, wrapped, written
from mashq.runs.reading import ReviewSpend

if TYPE_CHECKING:
    from mashq.report.documents.trials import Trials

SHORTEST = 12


def text(document: Match, reviews: Mapping[str, ReviewSpend]) -> str:
    """Return the table, the winner and the notes; `reviews` is what each player's reviews cost."""
    simulated = simulated_said(document.players)
    banner = [f"SIMULATED, {simulated}."] if simulated else []
    width = page_width()
    sentences = wrapped(_sentences(document, reviews), width)
    return "\n".join(
        [
            *([wrapped(banner, width)] if banner else []),
            "",
            written(table(document), "table"),
            "",
            sentences,
        ]
    )


def table(document: Match) -> Grid:
    """Build the result table with one row per player."""
    costs = _columns(document.players)
    carried = carried_columns(player.score for player in document.players)
    rows: list[list[str]] = []
    for player in document.players:
        won, score = has_won(document, player.name), player.score
        rows.append(
            [
                player.name + (" ★" if won else ""),
                f"{number(score.h_before_review, 4)} → {number(score.h, 4)}",
                *(number(getattr(score, name), digits) for name, digits in carried.items()),
                *(_cost(player, name) for name in costs),
                number(score.penalty, 3),
                number(score.q, 4),
            ]
        )
    return Grid([f"{'player':<{SHORTEST}}", "H before → after", *carried, *costs.values(), "P", "Q"], rows)


def _columns(players: Sequence[MatchPlayer]) -> dict[str, str]:
    """Return the costs that the table shows, with their headings: input and output tokens separately."""
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
    return charged(name, player.score.costs[name], player.score.charged)


def _sentences(document: Match, reviews: Mapping[str, ReviewSpend]) -> Iterable[str]:
    players = document.players
    basis = f"scored by {safe(document.detector.name)} {safe(document.detector.version)}"
    if all(answers_are_drawn(player.agent, player.model) for player in players):
        basis = "scored as drawn (no detector ran)"
    relative = relative_to(document.normalise)
    yield (
        f"{count(document.items, 'item')} {basis}; Q = {document.alpha:g}·H − {document.beta:g}·P, costs relative to "
        f"{relative}, refusals: {document.refusals}.{height(document.h)}"
    )
    yield from floors_said(document.floors)
    for player in players:
        name, model = safe(player.name), safe(player.model)
        reviewing = f", T {player.T:g}, R {player.R}" if reviews_by_rule(player.agent) else ""
        settings = "without a model" if model == NO_MODEL else f"on {model}{reviewing}"
        yield f"{name}: {safe(player.agent)} {settings}"
    yield from _guides(document)
    yield ""
    bill = document.referee
    if bill is not None:
        yield (
            f"The judge's own calls, charged to no player: {bill.opened} calls, {number(bill.tokens)} tokens, "
            f"{number(bill.seconds, 1)} s."
        )
    yield safe(document.headline, 600)
    yield from _figures(document)
    if not document.finished:
        yield f"To continue: mashq resume {safe(document.run)}"
    yield _bought(players, reviews)
    if document.advice:
        yield "; ".join(_advised(document, name, advice) for name, advice in document.advice.items()) + "."
    rates = [f"{safe(p.name)} {p.score.answer_rate:.1%}" for p in players if p.score.answer_rate < 1]
    if rates:
        others = "; the others everything" if len(rates) < len(players) else ""
        yield f"Answered: {', '.join(rates)}{others}."
    if document.passages is not None:
        yield from passages.sentences(document.passages)
    for note in document.notes:
        yield f"Note: {safe(note, 400)}"
    if document.dropped:
        yield from _views(document)


def has_won(document: "Match | Trials", name: str) -> bool:
    """Whether the player alone has the best Q of a finished match with more than one player."""
    return document.finished and name == document.winner and len(document.players) > 1


def _guides(document: Match) -> Iterator[str]:
    """Describe what the players were guided by, and how far another guide than the judge misled them."""
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
                f"gained on the guide but not on the judge: {signed(player.overfit)}"
            )


def _figures(document: Match) -> Iterator[str]:
    """Compare the two best players, and say at which beta the leader would change."""
    score_of = {player.name: player.score for player in document.players}
    lead = next(iter(document.differences), None)
    if lead is not None and not document.tied:
        a, b = score_of[lead.a], score_of[lead.b]
        yield (
            f"Q {number(a.q, 4)} against {number(b.q, 4)}; in H {number(a.h, 4)} against {number(b.h, 4)}, in P "
            f"{number(a.penalty, 3)} against {number(b.penalty, 3)}."
        )
    if len(document.best_set) > 1 and len(document.players) > 2:
        yield f"Cannot be told apart from the best: {', '.join(safe(name) for name in document.best_set)}."
    if len(document.envelope) > 1 or (document.tied and document.envelope):
        yield leads(document)


def _bought(players: Sequence[MatchPlayer], reviews: Mapping[str, ReviewSpend]) -> str:
    """Describe in one sentence what the reviews gained and what they cost."""
    parts: list[str] = []
    for player in players:
        after, before = player.score.h, player.score.h_before_review
        if not player.score.costs["reviews"] or after is None or before is None:
            continue
        gain, spent = after - before, reviews.get(player.name, ReviewSpend())
        effect = f"raised its H by {gain:.4f}" if gain > 0 else f"lowered its H by {-gain:.4f}"
        measured = [name for name, row in TABLE.items() if row.measures and is_shown(name, [player.score.costs], ())]
        parts.append(
            f"{safe(player.name)}'s {count(round(player.score.costs['reviews']), 'review')} "
            f"{effect if gain else 'left its H as it was'} for {listed([_spent(spent, name) for name in measured])}"
        )
    return f"What the reviews bought: {'; '.join(parts)}." if parts else "Nobody reviewed."


def _spent(reviews: ReviewSpend, name: str) -> str:
    """Format what reviews cost; `~` marks an estimate, and a sum that leaves attempts out is a lower bound."""
    amount = TABLE[name].shown(reviews.cost(name))
    if not reviews.is_whole(name):
        return f"at least {amount}"
    return f"~{amount}" if reviews.charged(name) else amount


def _advised(document: Match, name: str, advice: Advice) -> str:
    """Describe what a policy made of the advice to review; one decision to review can be several rewrites."""
    reviews = next(player.score.costs["reviews"] for player in document.players if player.name == name)
    did = "never did"
    if advice.did:
        rewrites = f" ({count(round(reviews), 'rewrite')})" if reviews and not document.dropped else ""
        did = f"did so {times(advice.did)}{rewrites}"
    return f"{safe(name)} was advised to review {times(advice.advised)} and {did}"


def _views(document: Match) -> Iterator[str]:
    """List refused and failed items, calls, and the score under each rule for refusals."""
    failures: dict[str, int] = {}
    for dropped in document.dropped:
        for name in dropped.by:
            failures[name] = failures.get(name, 0) + 1
    yield f"Refused or failed items: {', '.join(f'{safe(name)} {count}' for name, count in failures.items())}."
    attempts = document.attempts.by_player or {}
    calls = ", ".join(calls_made(safe(name), counts) for name, counts in attempts.items())
    yield f"Calls including items that are not scored: {calls}."
    yield from refusal_views(document.views)


def calls_made(name: str, attempts: AttemptCounts) -> str:
    """Format how many calls were made, and how many of them failed."""
    failed = f" ({number(attempts.failed)} failed)" if attempts.failed else ""
    return f"{name} {number(attempts.opened)}{failed}"


def refusal_views(views: Sequence[RefusalView]) -> Iterator[str]:
    """Yield the score under each rule for refusals."""
    for view in views:
        figures = ", ".join(
            f"{safe(name)} Q {number(row.q, 4)} (H {number(row.h, 4)})" for name, row in view.players.items()
        )
        yield f"  {view.refusals:>12}, {count(view.items, 'item')}: {figures}"
