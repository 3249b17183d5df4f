"""`policy: rule`: review when a review is recommended and the possible gain exceeds its rated cost.

The possible gain is what lifts the worst answer to the threshold. Deterministic and free: it asks no model.
"""

from mashq.protocol.moves import Decision
from mashq.protocol.state import Observation


def decide(seen: Observation) -> Decision:
    """The decision for this state."""
    current = None if seen.item is None else seen.item.id
    if seen.worst is None:
        return Decision("continue", current, None, "rule", "nothing has been answered yet")
    worst, h = seen.worst
    gain = seen.threshold - h
    if not seen.recommended:
        choice, why = "continue", "no review is recommended"
    elif gain > seen.review_cost:
        choice, why = "review", f"a gain of {gain:.3f} exceeds the review cost of {seen.review_cost:g}"
    else:
        choice, why = "continue", f"a gain of {gain:.3f} is not worth the review cost of {seen.review_cost:g}"
    if choice == "continue" and seen.handled == seen.total:
        choice = "end"
    return Decision(choice, current, worst, "rule", why)
