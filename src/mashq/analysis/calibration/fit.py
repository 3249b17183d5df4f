"""Simulated players like the recorded ones: settings for `simulated/…` models that reproduce a recorded match.

Fitted for each player: H of its first answers as a table, and how much of it is the item's difficulty, which is
common to all players; the results of rewrites, by H before them; how often its policy reviewed; tokens and seconds of
its calls by purpose; refusals, failures, retries and repeated requests; the price of its tokens. `notes` names what
cannot be seen in a record, and `unfitted` the figures that are therefore not fitted.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mashq.analysis.calibration.copula import correlation, edges, table
from mashq.analysis.calibration.costs import calls, prices, replied, rounded, share, shared, turns, untold_share
from mashq.analysis.calibration.recorded_moves import Change, Draft, Recorded, Seen
from mashq.errors import DataError
from mashq.gateway.backends.simulated import nearest
from mashq.gateway.types import PLAY, Call, Entry

MAX_H, MAX_GUIDE = 40, 20
MAX_REWRITES, FEWEST_IN_TURN = 200, 10
GROUP, GROUPS = 10, 5
FEW = 30
DIGITS = 4
UNTOLD = 0.01


@dataclass(frozen=True, slots=True)
class Fitted:
    """A player to simulate: the agent to play it, its model's `simulate` settings, and dollars per million tokens of
    each model it called (in, out)."""

    name: str
    agent: str
    simulate: Mapping[str, Any]
    prices: Mapping[str, tuple[float, float]]
    notes: tuple[str, ...] = ()
    unfitted: tuple[str, ...] = ()


def fit(players: Sequence[Recorded]) -> tuple[Fitted, ...]:
    """Fit the players of a match together, because they share the difficulty of the items."""
    for player in players:
        if not player.scores:
            raise DataError(
                f"{player.name!r} answered nothing, so it cannot be simulated: leave it out with --without"
            )
    common = shared(players)
    return tuple(_fitted(player, common[seat]) for seat, player in enumerate(players))


def _fitted(player: Recorded, common: Mapping[str, float | None]) -> Fitted:
    notes: list[str] = []
    first = player.scores
    if len(first) < FEW:
        notes.append(f"only {len(first)} answers to fit: what a simulation of them shows is as uncertain as they are")
    simulate: dict[str, Any] = {"h_values": rounded(table(first, MAX_H), DIGITS)}
    if common["h"] is None:
        notes.append("how much of H is the item's difficulty cannot be told: it needs two players whose H varies")
    else:
        simulate["item_share"] = round(common["h"], 4)
    if player.followed:
        simulate |= _reviews(player, notes)
    simulate |= _rates(player)
    if common["refused"] and simulate.get("refusal_rate"):
        simulate["refusal_share"] = round(common["refused"], 4)
    costs = calls(player, common) if player.followed else turns(player, common)
    return Fitted(
        player.name,
        player.spec.simulated_as or "plain",
        simulate | {"calls": costs},
        prices(player.entries),
        tuple(notes + _limits(player)),
        _unfitted(player),
    )


def _reviews(player: Recorded, notes: list[str]) -> dict[str, Any]:
    """The results of rewrites, the guide's scores, and how often the policy reviews."""
    settings: dict[str, Any] = {}
    trials = [
        _plays(player, recorded) if player.spec.reviews == "in plays" else recorded.moves.changes
        for recorded in player.trials
    ]
    changes = [change for trial in trials for change in trial]
    if changes:
        pairs = sorted((change.before, change.after) for change in changes)
        settings["rewrites"] = [rounded(pair, DIGITS) for pair in _thinned(pairs)]
        lasting = _lasting(trials, pairs) if player.spec.reviews == "by decision" else 0.0
        if lasting > 0:
            settings["rewrite_share"] = round(lasting, 4)
        if player.keeps_better:
            settings["keeps_better"] = True
    elif player.spec.reviews != "never" and player.max_reviews:
        notes.append("no rewrite was recorded: what one would gain is the default, not fitted")
    if player.guided_apart:
        settings["confidence"] = _confidence(player.answers, changes)
    if player.asks_policy:
        settings |= _policy(player, notes)
    if player.spec.reviews == "in a loop":
        reviews = sum(call.purpose == "review" and replied(entry) for call, entry in player.entries)
        settings["end_rate"] = share(reviews - sum(recorded.moves.loops for recorded in player.trials), reviews)
    return settings


def _policy(player: Recorded, notes: list[str]) -> dict[str, Any]:
    """How often the policy reviews when it is recommended, and when it is not."""
    if player.spec.reviews == "in plays":
        return {"review_rate": _reviewing_plays(player)}
    choices = [choice for trial in player.trials for choice in trial.moves.choices]
    due = [choice.review for choice in choices if choice.recommended]
    other = [choice.review for choice in choices if choice.possible and not choice.recommended]
    if not due:
        notes.append("no review was ever recommended: how often the policy would make one is not fitted")
    return {"review_rate": share(sum(due), len(due)), "review_anyway": share(sum(other), len(other))}


def _plays(player: Recorded, trial: Seen) -> list[Change]:
    """The rewrites of a best-of-n agent, reconstructed from its attempts: the scores of drafts are not recorded.

    A play that stopped before its last review reached T; its other rewrites are assumed to change nothing.
    """
    reviews: Counter[tuple[str, int]] = Counter()
    for call, entry in trial.entries:
        if call.purpose == "review" and replied(entry):
            reviews[call.item or "", call.n // PLAY] += 1
    first = {draft.item: draft.h for draft in trial.moves.answers}
    best = {row.item: row.h for row in trial.result.items}
    changes: list[Change] = []
    for (item, _), count in reviews.items():
        before, after = first.get(item), best.get(item)
        if before is None or after is None:
            continue
        for n in range(count):
            reached = n + 1 == count < player.max_reviews
            changes.append(Change(item, n, before, max(after, player.threshold) if reached else before, None))
    return changes


def _thinned(pairs: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """At most MAX_REWRITES of the pairs, evenly spaced."""
    step = max(1.0, len(pairs) / MAX_REWRITES)
    return [pairs[int((index + 0.5) * step)] for index in range(int(len(pairs) / step + 1e-9))]


def _lasting(trials: Sequence[Sequence[Change]], pairs: Sequence[tuple[float, float]]) -> float:
    """How much of a rewrite's luck persists: the rank correlation of consecutive rewrites."""
    before = [h for h, _ in pairs]
    consecutive: list[tuple[float, float]] = []
    for changes in trials:
        ranks = {(change.item, change.n): _luck(change, before, pairs) for change in changes}
        consecutive += [(rank, ranks[item, n + 1]) for (item, n), rank in ranks.items() if (item, n + 1) in ranks]
    if len(consecutive) < FEWEST_IN_TURN:
        return 0.0
    return max(0.0, correlation(np.array([a for a, _ in consecutive]), np.array([b for _, b in consecutive])))


def _luck(change: Change, before: Sequence[float], pairs: Sequence[tuple[float, float]]) -> float:
    """The rank of a rewrite's result among those with the nearest H before, from 0 to 1."""
    start, stop = nearest(before, change.before)
    others = [after for _, after in pairs[start:stop]]
    return sum((after < change.after) + (after == change.after) / 2 for after in others) / len(others)


def _confidence(answers: Sequence[Draft], changes: Sequence[Change]) -> list[dict[str, Any]]:
    """The guide's scores of answers, by the judge's H."""
    scores = [(draft.h, draft.guide) for draft in answers if draft.h is not None and draft.guide is not None]
    scores += [(change.after, change.guide) for change in changes if change.guide is not None]
    ends = edges([h for h, _ in scores], GROUP, GROUPS)
    group_of = [int(np.searchsorted(ends, h)) for h, _ in scores]
    rows: list[dict[str, Any]] = []
    for number, end in enumerate(ends):
        values = table(
            [guide for (_, guide), group in zip(scores, group_of, strict=True) if group == number], MAX_GUIDE
        )
        rows.append(
            {"up_to": 1.0 if number + 1 == len(ends) else round(end, DIGITS), "values": rounded(values, DIGITS)}
        )
    return rows


def _reviewing_plays(player: Recorded) -> float:
    """The share of a best-of-n agent's plays below T that were reviewed; how many are below T is estimated from its
    first drafts."""
    steps = [(call.purpose, (call.match, call.item, call.n // PLAY)) for call, _ in player.entries]
    plays = {play for purpose, play in steps if purpose == "answer"}
    reviewed = {play for purpose, play in steps if purpose == "review"}
    first = [draft.h for draft in player.answers if draft.h is not None]
    below = sum(h < player.threshold for h in first) / len(first)
    return min(1.0, share(len(reviewed), below * len(plays)))


def _rates(player: Recorded) -> dict[str, Any]:
    """Rates of refused and failed answers, and of failed attempts that were repeated."""
    statuses = [row.status for row in player.rows]
    failed, refused = statuses.count("failed") + statuses.count("cut"), statuses.count("refused")
    rates = {
        "refusal_rate": share(refused, len(statuses) - failed),
        "failure_rate": share(failed, len(statuses)),
    }
    asks: dict[Call, list[Entry]] = defaultdict(list)
    for call, entry in player.entries:
        asks[call].append(entry)
    repeated = sum(not replied(entry) for attempts in asks.values() for entry in attempts[:-1])
    rates["retry_rate"] = share(repeated, sum(map(len, asks.values())))
    return {name: rate for name, rate in rates.items() if rate}


def _limits(player: Recorded) -> list[str]:
    """What no record of such an agent can show."""
    notes: list[str] = []
    if not player.followed:
        notes.append(
            f"an agent {player.agent!r} is simulated as plain, one call per item that costs what its turns did"
        )
    elif player.spec.reviews == "in plays":
        notes.append(
            "the scores of drafts that were not picked are not recorded: H of the best of them is not fitted"
        )
    elif player.spec.reviews == "in a loop":
        notes.append(
            "scores within a loop are not recorded: H is taken to move evenly from its first draft to its last"
        )
    unknown_share = untold_share(player)
    if unknown_share > UNTOLD:
        notes.append(
            f"the tokens of {unknown_share:.0%} of its calls are unknown and count nothing in the record: "
            "simulated calls all cost what the known ones did"
        )
    return notes


def _unfitted(player: Recorded) -> tuple[str, ...]:
    """The figures that a simulation of such an agent need not reproduce."""
    spends = [row.spend for row in player.rows]
    names: list[str] = []
    if player.spec.reviews == "in plays":
        names.append("h")
    if not player.followed and any(spend.calls != 1 for spend in spends):
        names.append("calls")
    if not player.followed and any(spend.reviews for spend in spends):
        names.append("reviews")
    if untold_share(player) > UNTOLD:
        names.append("tokens")
    return (*names, "q") if names else ()
