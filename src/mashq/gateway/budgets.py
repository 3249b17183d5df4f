"""Whether a call can be paid for, decided before it is sent: a pure check.

What is unknown counts at the worst case that was reserved for it, so a budget is never overrun by surprise.
"""

import math
from collections.abc import Sequence

from mashq.gateway.types import Worst
from mashq.protocol.resources import Amount, Spend, Unknown
from mashq.protocol.rules import Budget

Purse = tuple[str, Budget, Spend]


class OutOfBudget(Exception):
    """The next call cannot be paid for at its worst case."""


def lacking(purses: Sequence[Purse], spent: Spend, worst: Worst) -> str | None:
    """Why a call cannot be paid, or None. A purse is its name, its limits, and what was spent of it before."""
    dollars = math.inf if isinstance(worst.dollars, Unknown) else worst.dollars
    needs = {"tokens": worst.tokens_in + worst.tokens_out, "calls": 1, "seconds": worst.seconds, "dollars": dollars}
    for name, budget, before in purses:
        so_far = before + spent
        for resource, need in needs.items():
            limit: float | None = getattr(budget, resource)
            if limit is None:
                continue
            used = at_worst(so_far.amount(resource))
            if used + need > limit:
                return (
                    f"{name} budget of {limit:g} {resource} cannot cover the next call: "
                    f"{used:g} used, up to {need:g} more needed"
                )
    return None


def at_worst(amount: Amount) -> float:
    """A total with its unknown part at its worst case."""
    return amount.total + amount.worst
