"""Words, names, numbers and sentences."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mashq.detectors.grounding.reading import Token, read, stem


def numbers(text: str) -> list[tuple[str, str]]:
    return [(t.key, t.unit) for t in read(text) if t.kind == "number"]


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("1,200", "1200", ""),
        ("1200", "1200", ""),
        ("007", "7", ""),
        ("3.50", "3.5", ""),
        ("twelve", "12", ""),
        ("Twenty-one", "21", ""),
        ("twelve hundred", "1200", ""),
        ("two hundred and five", "205", ""),
        ("one million", "1000000", ""),
        ("three million two hundred thousand", "3200000", ""),
        ("1.2 million", "1200000", ""),
        ("$1.2m", "1200000", "$"),
        ("1,200,000 dollars", "1200000", "$"),
        ("£800m", "800000000", "£"),
        ("€1bn", "1000000000", "€"),
        ("5%", "5", "%"),
        ("5 percent", "5", "%"),
        ("five per cent", "5", "%"),
        ("21st", "21", ""),
        ("third", "3", ""),
        ("1990s", "1990", ""),
        ("٣", "3", ""),
        ("1,2", "1,2", ""),
        ("1.2.3", "1.2.3", ""),
        ("1.2.3 million", "1.2.3", ""),
        ("0", "0", ""),
    ],
)
def test_a_number_is_its_value_and_unit(text: str, value: str, unit: str) -> None:
    assert numbers(text) == [(value, unit)]
    assert numbers(f"About {text} of them.") == [(value, unit)]


def test_numbers_in_a_row_stay_apart() -> None:
    assert numbers("five six seven") == [("5", ""), ("6", ""), ("7", "")]
    assert numbers("a 0-0 draw") == [("0", ""), ("0", "")]


def test_one_is_a_pronoun() -> None:
    assert numbers("one of the two") == [("2", "")]


def test_long_numerals_are_kept_as_written() -> None:
    digits = "9" * 5000
    assert numbers(digits) == [(digits, "")]
    assert all(len(value) <= 3 for value, _ in numbers("one hundred " * 3000))
    assert all(len(value) <= 7 for value, _ in numbers("two million " * 3000))


def kinds(text: str) -> list[tuple[str, str]]:
    return [(t.key, t.kind) for t in read(text)]


def test_a_capital_within_a_sentence_marks_a_name() -> None:
    assert kinds("Yesterday Anna left. Boats sank.") == [
        ("yesterday", "word"),
        ("anna", "name"),
        ("left", "word"),
        ("boat", "word"),
        ("sank", "word"),
    ]
    assert kinds("We saw Mr. Smith")[-1] == ("smith", "name")


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("One two. Three four! Five?", 3),
        ("first line\nsecond line", 2),
        ("“Stop.” He left.", 2),
        ("tokenised . text . here", 3),
        ("3.5 apples", 1),
        ("我是。你是！", 2),
        ("यह है। वह था।", 2),
    ],
)
def test_sentences(text: str, count: int) -> None:
    assert len({t.sentence for t in read(text)}) == count


def test_scripts_without_spaces_are_read_by_character() -> None:
    assert [t.key for t in read("北京abc大")] == ["北", "京", "abc", "大"]


@pytest.mark.parametrize(
    ("one", "other"),
    [("walked", "walking"), ("city", "cities"), ("boats", "boat"), ("stopped", "stop"), ("city's", "city")],
)
def test_endings_do_not_matter(one: str, other: str) -> None:
    assert stem(one) == stem(other)


@given(st.text())
def test_tokens_are_ordered_places_in_the_text(text: str) -> None:
    tokens = read(text)
    last = Token(0, 0, 0, "", "")
    for token in tokens:
        assert last.end <= token.start < token.end <= len(text)
        assert token.sentence >= last.sentence
        assert token.key
        last = token
