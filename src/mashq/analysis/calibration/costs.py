"""What the calls of a recorded player cost, as a simulation draws it; and how much of that is the item's own."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import optimize  # pyright: ignore[reportMissingTypeStubs]

from mashq.analysis.calibration.copula import correlation, shares, table
from mashq.analysis.calibration.recorded_moves import Recorded, Seen
from mashq.gateway.types import Call, Entry
from mashq.protocol.resources import Amount, Unknown
from mashq.protocol.results import Floats

PURPOSES = ("answer", "decision", "review")
MAX_COST = 20
solver: Any = optimize


def calls(player: Recorded, common: Mapping[str, float | None]) -> dict[str, Any]:
    """The cost of the calls of each purpose, and the seconds of failed attempts."""
    found: dict[str, Any] = {}
    for purpose in PURPOSES:
        made = [one for one in _scored(player) if one[0].purpose == purpose]
        rows = [(call, entry) for call, entry in made if replied(entry)]
        costs = [(_known(e, "tokens_in"), _known(e, "tokens_out"), _known(e, "seconds")) for _, e in rows]
        if not costs:
            continue
        cost = _tables(costs, common, purpose)
        asks: dict[tuple[object, ...], set[int]] = defaultdict(set)
        for call, _ in rows:
            asks[call.match, call.round, call.item, call.n].add(call.ask)
        again = share(sum(len(own) - 1 for own in asks.values()), len(asks))
        if again and player.spec.asks_again:
            cost["again"] = again
        found[purpose] = cost
    lost = [_known(e, "seconds") for _, e in player.entries if e.outcome is not None and not replied(e)]
    seconds = [value for value in lost if value is not None]
    if seconds:
        found["failed"] = {"seconds": rounded(table(seconds, MAX_COST), 4)}
    return found


def _scored(player: Recorded) -> Sequence[tuple[Call, Entry]]:
    """The attempts on the units that were scored; all where none was."""
    own = [one for seen in player.trials for one in seen.entries if one[0].item is None or one[0].item in seen.scored]
    return own or player.entries


def turns(player: Recorded, common: Mapping[str, float | None]) -> dict[str, Any]:
    """An agent that cannot be followed: one call per item that costs what the whole turn did."""
    spends = [row.spend for row in player.rows]
    costs = [(_sum(s.tokens_in), _sum(s.tokens_out), _sum(s.seconds)) for s in spends]
    return {"answer": _tables(costs, common, "answer")}


def _tables(
    costs: Sequence[tuple[float | None, float | None, float | None]], common: Mapping[str, float | None], purpose: str
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for at, (name, digits) in enumerate((("tokens_in", 1), ("tokens_out", 1), ("seconds", 4))):
        known = [value for value in (cost[at] for cost in costs) if value is not None]
        if known:
            found[name] = rounded(table(known, MAX_COST), digits)
    for name, key in (("in_share", f"tokens_in {purpose}"), ("out_share", f"tokens_out {purpose}")):
        own = common[key]
        if own:
            found[name] = round(own, 4)
    both = np.array([(out, slow) for _, out, slow in costs if out is not None and slow is not None])
    follow = correlation(both[:, 0], both[:, 1]) if len(both) else 0.0
    if follow:
        found["follow"] = round(follow, 4)
    return found


def shared(players: Sequence[Recorded]) -> list[dict[str, float | None]]:
    """By player, how much of H, of refusals and of the tokens of each purpose is the item's own.

    An item is drawn anew in each trial of a simulation, so its trials count as different items here.
    """
    kinds = ["h", "refused", *(f"{name} {purpose}" for name in ("tokens_in", "tokens_out") for purpose in PURPOSES)]
    rows = {
        kind: np.concatenate([_columns(players, at, kind) for at in range(len(players[0].trials))], axis=1)
        for kind in kinds
    }
    found: list[dict[str, float | None]] = [{} for _ in players]
    for kind in ("h", "refused"):
        for seat, own in enumerate(shares(rows[kind])):
            found[seat][kind] = own
    for name in ("tokens_in", "tokens_out"):  # the purposes share the item's size among them, too
        together = shares(np.concatenate([rows[f"{name} {purpose}"] for purpose in PURPOSES]))
        for number, own in enumerate(together):
            found[number % len(players)][f"{name} {PURPOSES[number // len(players)]}"] = own
    return found


def _columns(players: Sequence[Recorded], trial: int, kind: str) -> Floats:
    """One kind of values, players x items of a trial; NaN where there is none."""
    place = {row.item: at for at, row in enumerate(players[0].trials[trial].result.items)}
    sums, counts = np.zeros((len(players), len(place))), np.zeros((len(players), len(place)))
    for seat, player in enumerate(players):
        for item, value in _values(player, player.trials[trial], kind):
            if item in place and value is not None:
                sums[seat, place[item]] += value
                counts[seat, place[item]] += 1
    return np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)


def _values(player: Recorded, seen: Seen, kind: str) -> list[tuple[str | None, float | None]]:
    """One kind of values of a player, with their items."""
    rows = [row for row in seen.result.items if row.status not in ("unanswered", "pending")]
    if kind == "refused":
        return [(row.item, float(row.status == "refused")) for row in rows]
    if kind == "h":
        if player.followed:
            return [(draft.item, draft.h) for draft in seen.moves.answers]
        return [(row.item, row.h if row.status == "ok" else None) for row in rows]
    name, purpose = kind.split()
    if player.followed:
        return [(c.item, _known(e, name)) for c, e in seen.entries if c.purpose == purpose and replied(e)]
    return [(row.item, _sum(getattr(row.spend, name))) for row in rows if purpose == "answer"]


def prices(entries: Sequence[tuple[Call, Entry]]) -> dict[str, tuple[float, float]]:
    """Dollars a million tokens, in and out, that each model was paid: the best fit to what its attempts cost."""
    paid: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
    for _, entry in entries:
        tokens = _known(entry, "tokens_in"), _known(entry, "tokens_out")
        dollars = None if entry.outcome is None else entry.outcome.rated.get("dollars")
        if tokens[0] is not None and tokens[1] is not None and isinstance(dollars, int | float):
            paid[entry.model].append((tokens[0], tokens[1], dollars))
    found: dict[str, tuple[float, float]] = {}
    for model, rows in paid.items():
        data = np.array(rows)
        solved: Any = solver.nnls(data[:, :2], data[:, 2] * 1e6)
        found[model] = round(float(solved[0][0]), 6), round(float(solved[0][1]), 6)
    return found


def untold_share(player: Recorded) -> float:
    """How many of its replies came without their tokens."""
    told = [_known(entry, "tokens_in") is not None for _, entry in player.entries if replied(entry)]
    return share(told.count(False), len(told))


def replied(entry: Entry) -> bool:
    """Whether an attempt brought a reply."""
    return entry.outcome is not None and entry.outcome.completion is not None


def _known(entry: Entry, name: str) -> float | None:
    """Tokens or seconds of an attempt, None where they are unknown."""
    if entry.outcome is None:
        return None
    value: object = entry.outcome.seconds if name == "seconds" else getattr(entry.outcome.usage, name)
    return float(value) if isinstance(value, int | float) else None


def _sum(amount: Amount) -> float | None:
    return None if isinstance(amount.value, Unknown) else float(amount.value)


def share(part: float, whole: float) -> float:
    """A part of a whole, 0 where there is none."""
    return round(part / whole, 4) if whole else 0.0


def rounded(values: Sequence[float], digits: int) -> list[float]:
    """Values as they are written: whole numbers without a point."""
    return [int(value) if value == int(value) else value for value in (round(one, digits) for one in values)]
