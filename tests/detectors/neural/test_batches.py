"""Batches under a token budget, and memory that runs out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mashq.detectors.neural.batches import Batches, plan
from mashq.errors import DetectorError

LENGTHS = st.lists(st.integers(1, 300), max_size=60)


def full(error: BaseException) -> bool:
    return isinstance(error, MemoryError)


@given(LENGTHS, st.integers(1, 500))
def test_every_text_is_in_one_batch_within_the_budget_longest_first(lengths: list[int], budget: int) -> None:
    batches = plan(lengths, budget)
    order = [i for batch in batches for i in batch]
    assert sorted(order) == list(range(len(lengths)))
    assert [lengths[i] for i in order] == sorted(lengths, reverse=True)
    assert all(len(batch) == 1 or sum(lengths[i] for i in batch) <= budget for batch in batches)


@given(LENGTHS, st.integers(1, 500), st.integers(300, 500))
def test_a_batch_that_does_not_fit_is_halved_and_the_work_goes_on(lengths: list[int], budget: int, room: int) -> None:
    def work(batch: list[int]) -> list[int]:
        if sum(lengths[i] for i in batch) > room:
            raise MemoryError
        return [lengths[i] for i in batch]

    done = Batches(budget, full).run(lengths, work)
    assert sorted(i for batch, _ in done for i in batch) == list(range(len(lengths)))
    assert all(result == [lengths[i] for i in batch] for batch, result in done)


def test_the_smaller_budget_is_remembered() -> None:
    sizes: list[int] = []

    def work(batch: list[int]) -> None:
        sizes.append(len(batch))
        if len(batch) > 4:
            raise MemoryError

    batches = Batches(160, full)
    batches.run([10] * 16, work)
    assert sizes == [16, 8, 4, 4, 8, 4, 4]
    sizes.clear()
    batches.run([10] * 16, work)
    assert max(sizes) == 4


def test_one_text_that_does_not_fit_alone_is_an_error_that_says_so() -> None:
    def work(batch: list[int]) -> None:
        if 0 in batch:
            raise MemoryError

    with pytest.raises(DetectorError, match=r"a text of 9,000 tokens does not fit into memory"):
        Batches(10_000, full).run([9_000, 10], work)


def test_any_other_error_is_passed_on() -> None:
    def work(batch: list[int]) -> None:
        raise ValueError("other")

    with pytest.raises(ValueError, match="other"):
        Batches(100, full).run([1], work)
