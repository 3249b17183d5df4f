"""What grounding measures of a source and of an answer's wording."""

from __future__ import annotations

import math

import pytest

from mashq.detectors.grounding.evidence import Source
from mashq.detectors.grounding.features import FEATURES, features
from mashq.detectors.grounding.passage import PASSAGE, lone_names
from mashq.detectors.grounding.reading import read
from mashq.detectors.grounding.wording import WORDING

SOURCE = (
    "The council may approve a budget of 40 million on Monday. Mayor Anna Lopez said Weber would leave in 2025. "
    "The old library, built in 1931, will become a museum. Some residents opposed the plan."
)


def measure(answer: str, source: str = SOURCE) -> dict[str, float]:
    return dict(zip(FEATURES, features(Source.of(source), answer, read(answer)), strict=True))


def test_every_feature_has_a_name_of_its_own() -> None:
    assert len(set(FEATURES)) == len(FEATURES)
    assert {*PASSAGE, *WORDING} < {*FEATURES}


def test_a_surname_alone_is_lone_until_a_name_stands_next_to_it() -> None:
    assert lone_names(read("Police said Weber met Anna Lopez on Monday. Later Lopez left.")) == {"weber"}
    assert lone_names(read("Police said Weber left. They know Max Weber.")) == frozenset()
    assert lone_names([]) == frozenset()


def test_a_source_that_opens_in_the_middle_shows_it() -> None:
    middle = measure("It.", "The Iron beat Barrow. They may say that Cowley was hurt last week.")
    full = measure("It.", "Scunthorpe United Football Club beat Barrow Football Club in Barrow Town Park.")
    for name in ("source_the", "source_lone", "source_hedges", "source_past", "source_relative", "source_saying"):
        assert middle[name] > full[name], name
    assert full["source_opening"] > middle["source_opening"]


def test_an_empty_source_has_a_shape() -> None:
    assert all(math.isfinite(value) for value in measure("Anna left.", "").values())
    assert len(Source.of("").shape) == len(PASSAGE)


@pytest.mark.parametrize(
    ("name", "more", "less"),
    [
        ("far_words", "Mayor Anna Lopez opposed the 1931 budget.", "Mayor Anna Lopez said Weber would leave."),
        ("far_starts", "Residents cheered the plan.", "Residents planned the opposition."),
        ("far_function", "Within a museum, despite them, it is.", "The old library will become a museum."),
        ("hedge_lost", "The council approved a budget.", "The council may approve a budget."),
        ("quantifiers", "All residents opposed the plan.", "Some residents opposed the plan."),
        ("sentences_free", "Lopez residents budget library.", "Some residents opposed the plan."),
        ("cover_words", SOURCE, "Residents opposed the plan."),
        ("cover_names", "It is about Anna Lopez and Weber.", "It is about Weber."),
        ("cover_numbers", "Built in 1931 for 40 million.", "Built in 1931."),
        ("cover_opening", "The council may approve a budget.", "The old library will become a museum."),
        ("gap", "Lopez said orchids bloom yearly.", "Lopez said orchids, Weber blooms, yearly plan."),
        ("completed", "On Monday Max Weber will leave.", "On Monday Anna Weber will leave."),
        ("new_names", "On Monday Max Weber met Otto.", "On Monday Anna Lopez met Weber."),
        ("inferences", "This highlights a significant impact.", "This opposed a plan."),
        ("apart", "Council residents budget museum.", "Some residents opposed the plan."),
    ],
)
def test_a_feature_is_larger_where_there_is_more_of_it(name: str, more: str, less: str) -> None:
    assert measure(more)[name] > measure(less)[name]


def test_a_copied_sentence_adds_nothing() -> None:
    copied = measure("Mayor Anna Lopez said Weber would leave in 2025.")
    for name in (
        "far_words",
        "far_starts",
        "far_function",
        "quantifiers",
        "gap",
        "new_names",
        "completed",
        "inferences",
    ):
        assert copied[name] == 0.0, name
