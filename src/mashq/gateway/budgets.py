"""Whether a call can be paid for, decided before it is sent: a pure check.

What is unknown counts at the worst case that was reserved for it, so a budget is never overrun by surprise.
"""

import math
from collections.abc import Callable, Sequence

from mashq.gateway.types import Worst
from mashq.protocol.resources import RATED, TABLE, Amount, Spend, Unknown
from mashq.protocol.rules import Budget

BY_TOKENS = ("tokens", *RATED)  # what a call takes of these follows its tokens
BudgetState = tuple[str, Budget, Spend]
LEAST = 512  # a call whose output cannot be this long is not worth its prompt: it cannot be paid


class OutOfBudget(Exception):
    """The next call cannot be paid for at its worst case."""


def lacking(budget_states: Sequence[BudgetState], spent: Spend, worst: Worst) -> str | None:
    """Why a call cannot be paid, or None. Each budget is its name, its limits, and what was spent of it before."""
    for name, budget, before in budget_states:
        so_far = before + spent
        for resource, limit in budget.limits:
            if resource == "reviews":  # a rule of the game sees to those
                continue
            need = _need(worst, resource)
            used = at_worst(so_far.amount(resource))
            if used + need > limit:
                return (
                    f"{name} budget of {limit:g} {resource} cannot cover the next call: "
                    f"{used:g} used, up to {need:g} more needed"
                )
    return None


def bounding(budget_states: Sequence[BudgetState]) -> bool:
    """Whether any budget needs every call to have a bound of its tokens."""
    limited = {resource for _, budget, _ in budget_states for resource, _ in budget.limits}
    return not limited.isdisjoint(BY_TOKENS)


def affordable(
    budget_states: Sequence[BudgetState], spent: Spend, worst_of: Callable[[int], Worst], most: int, least: int = 1
) -> int:
    """The longest output up to `most` tokens that can be paid for at its worst; `least` where not even that can."""
    low, high = min(least, most), most
    if lacking(budget_states, spent, worst_of(high)) is None:
        return high
    while low < high:  # the longest that can be paid lies in low..high
        middle = (low + high + 1) // 2
        if lacking(budget_states, spent, worst_of(middle)) is None:
            low = middle
        else:
            high = middle - 1
    return low


def _need(worst: Worst, resource: str) -> float:
    """What one more call could take of a resource at most."""
    if resource == "calls":
        return 1
    costs = [worst.cost(measure) for measure in TABLE[resource].measures]
    return sum(math.inf if isinstance(cost, Unknown) else cost for cost in costs)


def at_worst(amount: Amount) -> float:
    """A total with its unknown part at its worst case."""
    return amount.total + amount.worst
