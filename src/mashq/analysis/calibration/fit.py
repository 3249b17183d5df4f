"""Simulated players like the recorded ones: what `simulated/…` models need so that a match of them is like the match.

Fitted for each player: H of its first answers as a table, and how much of it is the item's difficulty, the same for
everyone; what rewrites came to, by H before them; how often its policy reviewed; tokens and seconds of its calls by
purpose; refusals, failures, retries and replies asked for again; the price of its tokens. What cannot be seen in a
record is named in `notes`, and the figures it leaves open in `unfitted`.
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

MAX_H, MAX_COST = 40, 20
MAX_REWRITES, FEWEST_IN_TURN = 200, 10
GROUP, GROUPS = 10, 5
FEW = 30
DIGITS = 4
UNTOLD = 0.01


@dataclass(frozen=True, slots=True)
class Fitted:
    """A player to simulate: the agent to play it, its model's `simulate` settings, and dollars a million tokens of
    each model it asked (in, out)."""

    name: str
    agent: str
    simulate: Mapping[str, Any]
    prices: Mapping[str, tuple[float, float]]
    notes: tuple[str, ...] = ()
    unfitted: tuple[str, ...] = ()


def fit(players: Sequence[Recorded]) -> tuple[Fitted, ...]:
    """The players of a match, fitted together: what they share by item is theirs in common."""
    for player in players:
        if not player.scores:
            raise DataError(
                f"{player.name!r} answered nothing, so it cannot be simulated: leave it out with --without"
            )
    common = shared(players)
    return tuple(_fitted(player, common[at]) for at, player in enumerate(players))


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
    """What rewrites come to, what the guide says, and when the policy reviews."""
    found: dict[str, Any] = {}
    trials = [
        _plays(player, seen) if player.spec.reviews == "in plays" else seen.moves.changes for seen in player.trials
    ]
    changes = [change for one in trials for change in one]
    if changes:
        pairs = sorted((change.before, change.after) for change in changes)
        found["rewrites"] = [rounded(pair, DIGITS) for pair in _thinned(pairs)]
        lasting = _lasting(trials, pairs) if player.spec.reviews == "by decision" else 0.0
        if lasting > 0:
            found["rewrite_share"] = round(lasting, 4)
        if player.keeps_better:
            found["keeps_better"] = True
    elif player.spec.reviews != "never" and player.max_reviews:
        notes.append("no rewrite was recorded: what one would gain is the default, not fitted")
    if player.guided_apart:
        found["confidence"] = _told(player.answers, changes)
    if player.asks_policy:
        found |= _policy(player, notes)
    if player.spec.reviews == "in a loop":
        turns = sum(call.purpose == "review" and replied(entry) for call, entry in player.entries)
        found["end_rate"] = share(turns - sum(seen.moves.loops for seen in player.trials), turns)
    return found


def _policy(player: Recorded, notes: list[str]) -> dict[str, Any]:
    """How often the policy reviews: where it is recommended, and where it is not."""
    if player.spec.reviews == "in plays":
        return {"review_rate": _reviewing_plays(player)}
    choices = [choice for seen in player.trials for choice in seen.moves.choices]
    due = [choice.review for choice in choices if choice.recommended]
    other = [choice.review for choice in choices if choice.possible and not choice.recommended]
    if not due:
        notes.append("no review was ever recommended: how often the policy would make one is not fitted")
    return {"review_rate": share(sum(due), len(due)), "review_anyway": share(sum(other), len(other))}


def _plays(player: Recorded, seen: Seen) -> list[Change]:
    """The rewrites of a best-of-n agent as far as its attempts show them: the drafts' scores are not recorded.

    A play that stopped before its last review reached T; its other rewrites are taken to change nothing.
    """
    reviews: Counter[tuple[str, int]] = Counter()
    for call, entry in seen.entries:
        if call.purpose == "review" and replied(entry):
            reviews[call.item or "", call.n // PLAY] += 1
    first = {draft.item: draft.h for draft in seen.moves.answers}
    best = {row.item: row.h for row in seen.result.items}
    changes: list[Change] = []
    for (item, _), count in reviews.items():
        before, after = first.get(item), best.get(item)
        if before is None or after is None:
            continue
        for n in range(count):
            moved = n + 1 == count < player.max_reviews
            changes.append(Change(item, n, before, max(after, player.threshold) if moved else before, None))
    return changes


def _thinned(pairs: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """At most MAX_REWRITES of the pairs, evenly along them."""
    step = max(1.0, len(pairs) / MAX_REWRITES)
    return [pairs[int((at + 0.5) * step)] for at in range(int(len(pairs) / step + 1e-9))]


def _lasting(trials: Sequence[Sequence[Change]], pairs: Sequence[tuple[float, float]]) -> float:
    """How much of a rewrite's luck stays with the answer: how one rewrite's rank correlates with the next one's."""
    before = [h for h, _ in pairs]
    found: list[tuple[float, float]] = []
    for changes in trials:
        ranks = {(change.item, change.n): _luck(change, before, pairs) for change in changes}
        found += [(rank, ranks[item, n + 1]) for (item, n), rank in ranks.items() if (item, n + 1) in ranks]
    if len(found) < FEWEST_IN_TURN:
        return 0.0
    return max(0.0, correlation(np.array([a for a, _ in found]), np.array([b for _, b in found])))


def _luck(change: Change, before: Sequence[float], pairs: Sequence[tuple[float, float]]) -> float:
    """The rank of what a rewrite came to among those nearest in H before, from 0 to 1."""
    start, stop = nearest(before, change.before)
    others = [after for _, after in pairs[start:stop]]
    return sum((after < change.after) + (after == change.after) / 2 for after in others) / len(others)


def _told(answers: Sequence[Draft], changes: Sequence[Change]) -> list[dict[str, Any]]:
    """What the guide said of answers, by the judge's H of them."""
    said = [(d.h, d.guide) for d in answers if d.h is not None and d.guide is not None]
    said += [(change.after, change.guide) for change in changes if change.guide is not None]
    ends = edges([h for h, _ in said], GROUP, GROUPS)
    place = [int(np.searchsorted(ends, h)) for h, _ in said]
    rows: list[dict[str, Any]] = []
    for at, end in enumerate(ends):
        values = table([guide for (_, guide), own in zip(said, place, strict=True) if own == at], MAX_COST)
        rows.append({"up_to": 1.0 if at + 1 == len(ends) else round(end, DIGITS), "values": rounded(values, DIGITS)})
    return rows


def _reviewing_plays(player: Recorded) -> float:
    """How many plays of a best-of-n agent were reviewed, of those below T at the rate of its first drafts."""
    named = [(call.purpose, (call.match, call.item, call.n // PLAY)) for call, _ in player.entries]
    plays = {play for purpose, play in named if purpose == "answer"}
    reviewed = {play for purpose, play in named if purpose == "review"}
    first = [draft.h for draft in player.answers if draft.h is not None]
    below = sum(h < player.threshold for h in first) / len(first)
    return min(1.0, share(len(reviewed), below * len(plays)))


def _rates(player: Recorded) -> dict[str, Any]:
    """Refusals and failures of answers, and failed attempts that were repeated."""
    statuses = [row.status for row in player.rows]
    failed, refused = statuses.count("failed") + statuses.count("cut"), statuses.count("refused")
    found = {
        "refusal_rate": share(refused, len(statuses) - failed),
        "failure_rate": share(failed, len(statuses)),
    }
    asks: dict[Call, list[Entry]] = defaultdict(list)
    for call, entry in player.entries:
        asks[call].append(entry)
    repeated = sum(not replied(entry) for attempts in asks.values() for entry in attempts[:-1])
    found["retry_rate"] = share(repeated, sum(map(len, asks.values())))
    return {name: rate for name, rate in found.items() if rate}


def _limits(player: Recorded) -> list[str]:
    """What no record of such an agent can tell."""
    said: list[str] = []
    if not player.followed:
        said.append(
            f"an agent {player.agent!r} is simulated as plain, one call per item that costs what its turns did"
        )
    elif player.spec.reviews == "in plays":
        said.append("the scores of drafts that were not picked are not recorded: H of the best of them is not fitted")
    elif player.spec.reviews == "in a loop":
        said.append(
            "scores within a loop are not recorded: H is taken to move evenly from its first draft to its last"
        )
    untold = untold_share(player)
    if untold > UNTOLD:
        said.append(
            f"the tokens of {untold:.0%} of its calls are unknown and count nothing in the record: "
            "simulated calls all cost what the known ones did"
        )
    return said


def _unfitted(player: Recorded) -> tuple[str, ...]:
    """The figures that a simulation of such an agent need not reproduce."""
    spent = [row.spend for row in player.rows]
    found: list[str] = []
    if player.spec.reviews == "in plays":
        found.append("h")
    if not player.followed and any(spend.calls != 1 for spend in spent):
        found.append("calls")
    if not player.followed and any(spend.reviews for spend in spent):
        found.append("reviews")
    if untold_share(player) > UNTOLD:
        found.append("tokens")
    return (*found, "q") if found else ()
