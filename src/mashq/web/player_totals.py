"""One player while the moves of a match are folded into columns.

`sums` holds, for tokens in, tokens out, seconds and dollars in turn, the known total, how many attempts it covers and
how many are unknown; `work` holds, for each item answered, the guide's score, the judge's, the first one and the
reviews.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Own:
    """One player while its moves are folded."""

    name: str
    seat: int
    threshold: float
    most: int
    phase: int
    handled: int = 0
    answered: int = 0
    h_sum: float = 0.0
    guide_sum: float = 0.0
    calls: int = 0
    unresolved: int = 0
    reviews: int = 0
    sums: list[float] = field(default_factory=lambda: [0.0] * 12)
    unknown: int = 0
    reviewed: bool = False
    moved: bool = False
    ranked: list[float] = field(default_factory=list[float])
    work: dict[int, tuple[float, float, float, int]] = field(
        default_factory=dict[int, tuple[float, float, float, int]]
    )

    def charge(self, spend: dict[str, Any] | None, review: bool) -> None:
        """What a move cost."""
        self.reviews += review
        if not spend:
            return
        self.calls += spend.get("calls", 0)
        self.unresolved += spend.get("unresolved", 0)
        self.reviews += spend.get("reviews", 0)
        self.unknown += spend.get("unknown", 0)
        sums = self.sums
        for at, name in ((0, "tokens_in"), (3, "tokens_out"), (6, "seconds"), (9, "dollars")):
            amount: Sequence[float] | None = spend.get(name)
            if amount is not None:
                sums[at] += amount[0]
                sums[at + 1] += amount[1]
                sums[at + 2] += amount[2]

    def counts(self) -> tuple[int, ...]:
        """The counts it has come to, in the order of the reel's columns."""
        sums = self.sums
        known = (int(min(sums[1], sums[4])), self.unknown, int(sums[7]), int(sums[8]), int(sums[10]), int(sums[11]))
        return (self.handled, self.answered, self.calls + self.unresolved, self.reviews, *known)

    def amounts(self) -> tuple[float, float, float]:
        """Its tokens, seconds and dollars."""
        return self.sums[0] + self.sums[3], self.sums[6], self.sums[9]

    def snapshot(self, show: Sequence[str]) -> list[float | None]:
        """What a rival may see of it."""
        values = {
            "average_h": self.guide_sum / self.answered if self.answered else None,
            "worst_h": self.ranked[0] if self.ranked else None,
            "items_done": self.handled,
            "tokens": self.sums[0] + self.sums[3],
            "calls": self.calls,
            "reviews": self.reviews,
            "seconds": self.sums[6],
        }
        return [values[name] for name in show]
