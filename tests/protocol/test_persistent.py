"""Sequences that share what did not change."""

import pickle
from bisect import insort
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mashq.protocol import persistent
from mashq.protocol.persistent import EMPTY_SORTED
from mashq.protocol.rules import Seat


@given(st.lists(st.integers(), min_size=1, max_size=40), st.data())
def test_a_row_is_a_tuple_with_one_element_put_in_anothers_place(values: list[int], data: st.DataObject) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(persistent, "SIZE", 4)
        row = persistent.persistent_list(values)
        for _ in range(5):
            before, at = tuple(row), data.draw(st.integers(0, len(values) - 1))
            values[at] = data.draw(st.integers())
            row, old = row.put(at, values[at]), row
            assert tuple(old) == before and tuple(row) == tuple(values) == row[:]
            assert row == values and row == persistent.persistent_list(values) and hash(row) == hash(tuple(values))
            assert [row[n] for n in range(-len(values), len(values))] == values * 2
            assert len(row) == len(values) and repr(row) == repr(tuple(values))
        with pytest.raises(IndexError, match="no element"):
            row[len(values)]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3)), max_size=60), st.data())
def test_ranked_elements_are_a_sorted_list(added: list[tuple[int, int]], data: st.DataObject) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(persistent, "SIZE", 2)
        ranked, plain = EMPTY_SORTED, list[tuple[int, int]]()
        for element in added:
            ranked = ranked.add(element)
            insort(plain, element)
            if data.draw(st.booleans()):
                gone = data.draw(st.sampled_from(plain))
                ranked = ranked.without(gone)
                plain.remove(gone)
            assert list(ranked) == plain and len(ranked) == len(plain) and bool(ranked) == bool(plain)
            assert [ranked[n] for n in range(len(plain))] == plain
        assert pickle.loads(pickle.dumps(ranked)) == ranked == plain
        with pytest.raises(ValueError, match="not among these"):
            ranked.without((10, 0))
        with pytest.raises(IndexError):
            ranked[len(plain)]
    assert ranked != 7


def test_a_changed_copy_of_a_data_class_is_that_of_the_standard_library() -> None:
    seat = Seat("A", (1, 0), threshold=0.5)
    assert persistent.replaced(seat, name="B", order=(0, 1)) == replace(seat, name="B", order=(0, 1))
    assert seat == Seat("A", (1, 0), threshold=0.5)
    with pytest.raises(KeyError, match="colour"):
        persistent.replaced(seat, colour="red")
