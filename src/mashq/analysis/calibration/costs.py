"""The costs of a recorded player's calls, as tables for a simulation, and how much of them depends on the item."""

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
MAX_ENTRIES = 20
solver: Any = optimize


def calls(player: Recorded, common: Mapping[str, float | None]) -> dict[str, Any]:
    """The cost tables of the calls of each purpose, and the seconds of failed attempts."""
    tables: dict[str, Any] = {}
    for purpose in PURPOSES:
        attempts = [attempt for attempt in _scored(player) if attempt[0].purpose == purpose]
        rows = [(call, entry) for call, entry in attempts if replied(entry)]
        costs = [
            (
                _known(e, "tokens_in"),
                _known(e, "tokens_out"),
                _known(e, "seconds"),
            )
            for _, e in rows
        ]
        if not costs:
            continue
        cost = _tables(costs, common, purpose)
        asks: dict[tuple[object, ...], set[int]] = defaultdict(set)
        for call, _ in rows:
            asks[call.match, call.round, call.item, call.n].add(call.ask)
        again = share(sum(len(numbers) - 1 for numbers in asks.values()), len(asks))
        if again and player.spec.asks_again:
            cost["again"] = again
        tables[purpose] = cost
    failed_seconds = [_known(e, "seconds") for _, e in player.entries if e.outcome is not None and not replied(e)]
    seconds = [value for value in failed_seconds if value is not None]
    if seconds:
        tables["failed"] = {"seconds": rounded(table(seconds, MAX_ENTRIES), 4)}
    return tables


def _scored(player: Recorded) -> Sequence[tuple[Call, Entry]]:
    """The attempts on scored units; all attempts if none was scored."""
    attempts = [
        attempt
        for trial in player.trials
        for attempt in trial.entries
        if attempt[0].item is None or attempt[0].item in trial.scored
    ]
    return attempts or player.entries


def turns(player: Recorded, common: Mapping[str, float | None]) -> dict[str, Any]:
    """For an agent whose steps cannot be simulated: one call per item that costs as much as the whole turn."""
    spends = [row.spend for row in player.rows]
    costs = [(_sum(spend.tokens_in), _sum(spend.tokens_out), _sum(spend.seconds)) for spend in spends]
    return {"answer": _tables(costs, common, "answer")}


def _tables(
    costs: Sequence[tuple[float | None, float | None, float | None]], common: Mapping[str, float | None], purpose: str
) -> dict[str, Any]:
    tables: dict[str, Any] = {}
    for column, (name, digits) in enumerate((("tokens_in", 1), ("tokens_out", 1), ("seconds", 4))):
        known = [value for value in (cost[column] for cost in costs) if value is not None]
        if known:
            tables[name] = rounded(table(known, MAX_ENTRIES), digits)
    for name, key in (("in_share", f"tokens_in {purpose}"), ("out_share", f"tokens_out {purpose}")):
        item_share = common[key]
        if item_share:
            tables[name] = round(item_share, 4)
    both = np.array(
        [(tokens_out, seconds) for _, tokens_out, seconds in costs if tokens_out is not None and seconds is not None]
    )
    follow = correlation(both[:, 0], both[:, 1]) if len(both) else 0.0
    if follow:
        tables["follow"] = round(follow, 4)
    return tables


def shared(players: Sequence[Recorded]) -> list[dict[str, float | None]]:
    """Per player, how much of H, of refusals and of the tokens of each purpose is determined by the item.

    An item is drawn anew in each trial of a simulation, so its trials count as different items here.
    """
    kinds = ["h", "refused", *(f"{name} {purpose}" for name in ("tokens_in", "tokens_out") for purpose in PURPOSES)]
    rows = {
        kind: np.concatenate([_columns(players, trial, kind) for trial in range(len(players[0].trials))], axis=1)
        for kind in kinds
    }
    result: list[dict[str, float | None]] = [{} for _ in players]
    for kind in ("h", "refused"):
        for seat, item_share in enumerate(shares(rows[kind])):
            result[seat][kind] = item_share
    for name in ("tokens_in", "tokens_out"):  # the purposes have the item's size in common as well
        all_shares = shares(np.concatenate([rows[f"{name} {purpose}"] for purpose in PURPOSES]))
        for number, item_share in enumerate(all_shares):
            result[number % len(players)][f"{name} {PURPOSES[number // len(players)]}"] = item_share
    return result


def _columns(players: Sequence[Recorded], trial: int, kind: str) -> Floats:
    """One kind of value, players x items of a trial; NaN if there is none."""
    place = {row.item: at for at, row in enumerate(players[0].trials[trial].result.items)}
    sums, counts = np.zeros((len(players), len(place))), np.zeros((len(players), len(place)))
    for seat, player in enumerate(players):
        for item, value in _values(player, player.trials[trial], kind):
            if item in place and value is not None:
                sums[seat, place[item]] += value
                counts[seat, place[item]] += 1
    return np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)


def _values(player: Recorded, trial: Seen, kind: str) -> list[tuple[str | None, float | None]]:
    """One kind of value of a player, with the items."""
    rows = [row for row in trial.result.items if row.status not in ("unanswered", "pending")]
    if kind == "refused":
        return [(row.item, float(row.status == "refused")) for row in rows]
    if kind == "h":
        if player.followed:
            return [(draft.item, draft.h) for draft in trial.moves.answers]
        return [(row.item, row.h if row.status == "ok" else None) for row in rows]
    name, purpose = kind.split()
    if player.followed:
        return [
            (call.item, _known(entry, name))
            for call, entry in trial.entries
            if call.purpose == purpose and replied(entry)
        ]
    return [(row.item, _sum(getattr(row.spend, name))) for row in rows if purpose == "answer"]


def prices(entries: Sequence[tuple[Call, Entry]]) -> dict[str, tuple[float, float]]:
    """Dollars per million tokens, in and out, paid for each model: a least-squares fit to the cost of its
    attempts."""
    paid: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
    for _, entry in entries:
        tokens = _known(entry, "tokens_in"), _known(entry, "tokens_out")
        dollars = None if entry.outcome is None else entry.outcome.rated.get("dollars")
        if tokens[0] is not None and tokens[1] is not None and isinstance(dollars, int | float):
            paid[entry.model].append((tokens[0], tokens[1], dollars))
    result: dict[str, tuple[float, float]] = {}
    for model, rows in paid.items():
        data = np.array(rows)
        solution: Any = solver.nnls(data[:, :2], data[:, 2] * 1e6)
        result[model] = round(float(solution[0][0]), 6), round(float(solution[0][1]), 6)
    return result


def untold_share(player: Recorded) -> float:
    """The share of replies that came without token counts."""
    known = [_known(entry, "tokens_in") is not None for _, entry in player.entries if replied(entry)]
    return share(known.count(False), len(known))


def replied(entry: Entry) -> bool:
    """Whether an attempt returned a reply."""
    return entry.outcome is not None and entry.outcome.completion is not None


def _known(entry: Entry, name: str) -> float | None:
    """Tokens or seconds of an attempt, None if unknown."""
    if entry.outcome is None:
        return None
    value: object = entry.outcome.seconds if name == "seconds" else getattr(entry.outcome.usage, name)
    return float(value) if isinstance(value, int | float) else None


def _sum(amount: Amount) -> float | None:
    return None if isinstance(amount.value, Unknown) else float(amount.value)


def share(part: float, whole: float) -> float:
    """A fraction of a whole, 0 if the whole is 0."""
    return round(part / whole, 4) if whole else 0.0


def rounded(values: Sequence[float], digits: int) -> list[float]:
    """Round values for output; whole numbers become integers."""
    return [int(value) if value == int(value) else value for value in (round(number, digits) for number in values)]
