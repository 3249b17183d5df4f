"""Batches of similar length under a token budget, and what happens when memory runs out.

Contract: `plan` puts every index into exactly one batch, longest first, each batch within the budget (a text
longer than the budget is a separate batch). `Batches.run` works through a plan; when a batch does not fit into
memory it is halved and the run continues with the smaller budget. A single text that does not fit alone
is a DetectorError. Results come back with their indices, so that the caller can restore the order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from mashq.errors import DetectorError

__all__ = ["Batches", "plan"]

Result = TypeVar("Result")


def plan(lengths: Sequence[int], budget: int) -> list[list[int]]:
    """Return indices by descending length, cut where the sum of lengths would exceed the budget."""
    batches: list[list[int]] = []
    remaining = 0
    for index in sorted(range(len(lengths)), key=lambda i: (-lengths[i], i)):
        if not batches or lengths[index] > remaining:
            batches.append([])
            remaining = budget
        batches[-1].append(index)
        remaining -= lengths[index]
    return batches


@dataclass(slots=True)
class Batches:
    """Runs work over batches of at most `budget` tokens; `full` says whether an error means that memory ran out."""

    budget: int
    full: Callable[[BaseException], bool]

    def run(self, lengths: Sequence[int], work: Callable[[list[int]], Result]) -> list[tuple[list[int], Result]]:
        """Return each batch with its result."""
        queue = plan(lengths, self.budget)[::-1]
        done: list[tuple[list[int], Result]] = []
        while queue:
            batch = queue.pop()
            try:
                done.append((batch, work(batch)))
                continue
            except Exception as error:
                if not self.full(error):
                    raise
            # Outside the handler, so that the error no longer holds references to what the failed batch allocated.
            self._halve(batch, lengths, queue)
        return done

    def _halve(self, batch: list[int], lengths: Sequence[int], queue: list[list[int]]) -> None:
        if len(batch) == 1:
            raise DetectorError(
                f"a text of {lengths[batch[0]]:,} tokens does not fit into memory: shorten the source, or score on a "
                "device with more memory."
            )
        self.budget = max(1, sum(lengths[i] for i in batch) // 2)
        half = len(batch) // 2
        queue += [batch[half:], batch[:half]]
