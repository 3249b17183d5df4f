"""Batches of like length under a token budget, and what happens when memory runs out.

Contract: `plan` puts every index into exactly one batch, longest first, each batch within the budget (a text
longer than the budget is a batch of its own). `Batches.run` works through a plan; when a batch does not fit into
memory it is halved and the work goes on, with the smaller budget from then on. One text that does not fit alone
is a DetectorError. Results come back with their indices, so the caller restores the order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from mashq.errors import DetectorError

__all__ = ["Batches", "plan"]

Result = TypeVar("Result")


def plan(lengths: Sequence[int], budget: int) -> list[list[int]]:
    """Indices by falling length, cut where the sum of lengths would pass the budget."""
    batches: list[list[int]] = []
    room = 0
    for index in sorted(range(len(lengths)), key=lambda i: (-lengths[i], i)):
        if not batches or lengths[index] > room:
            batches.append([])
            room = budget
        batches[-1].append(index)
        room -= lengths[index]
    return batches


@dataclass(slots=True)
class Batches:
    """Runs work over batches of at most `budget` tokens; `full` says whether an error means that memory ran out."""

    budget: int
    full: Callable[[BaseException], bool]

    def run(self, lengths: Sequence[int], work: Callable[[list[int]], Result]) -> list[tuple[list[int], Result]]:
        """Each batch with its result."""
        waiting = plan(lengths, self.budget)[::-1]
        done: list[tuple[list[int], Result]] = []
        while waiting:
            batch = waiting.pop()
            try:
                done.append((batch, work(batch)))
                continue
            except Exception as error:
                if not self.full(error):
                    raise
            # Out of the handler, so that the error no longer holds on to what the failed batch had allocated.
            self._halve(batch, lengths, waiting)
        return done

    def _halve(self, batch: list[int], lengths: Sequence[int], waiting: list[list[int]]) -> None:
        if len(batch) == 1:
            raise DetectorError(
                f"a text of {lengths[batch[0]]:,} tokens does not fit into memory: shorten the source, or score on a "
                "device with more memory."
            )
        self.budget = max(1, sum(lengths[i] for i in batch) // 2)
        half = len(batch) // 2
        waiting += [batch[half:], batch[:half]]
