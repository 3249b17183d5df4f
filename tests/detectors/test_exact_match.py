"""Exact match after normalisation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mashq.detectors import Pair
from mashq.detectors.exact_match import ExactMatch, normalise


@pytest.mark.parametrize(
    ("answer", "reference"),
    [
        ("Paris", "paris"),
        ("The  Eiffel\tTower.", "eiffel tower"),
        ("U.S.", "us"),
        ("Jean-Luc", "Jean Luc"),
        ("Ｐａｒｉｓ", "Paris"),
        ("STRASSE", "straße"),
        ("“an apple!”", "apple"),
        ("The The", "the the"),
        ("?!", "?!"),
    ],
)
def test_equal_after_normalisation(answer: str, reference: str) -> None:
    assert ExactMatch().score([Pair("", answer, reference)]) == [1.0]


@pytest.mark.parametrize(
    ("answer", "reference"),
    [("Paris", "London"), ("", "The The"), ("", "?!"), ("Paris, France", "Paris"), ("1", "10")],
)
def test_different_after_normalisation(answer: str, reference: str) -> None:
    assert ExactMatch().score([Pair("", answer, reference)]) == [0.0]


def test_without_a_reference_it_says_so() -> None:
    with pytest.raises(ValueError, match=r"needs a reference answer.*'Paris'"):
        ExactMatch().score([Pair("source", "Paris")])


@given(st.lists(st.text(alphabet="abcdéßΣ北1", min_size=1)), st.sampled_from(["", ".", " the ", "!? ", "\n"]))
def test_articles_punctuation_and_space_do_not_matter(words: list[str], noise: str) -> None:
    assert normalise(" ".join(["x", *words])) == normalise(f" {noise} " + f"  {noise} ".join(["x", *words]))


@given(st.text(), st.text())
def test_the_score_is_symmetric_and_reflexive(a: str, b: str) -> None:
    forth, back, same = ExactMatch().score([Pair("", a, b), Pair("", b, a), Pair("", a, a)])
    assert forth == back
    assert same == 1.0
