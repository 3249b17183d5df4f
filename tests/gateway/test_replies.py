"""JSON out of chatter: found where it is, never where it is not, and junk costs little."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mashq.gateway.replies import cut_string, json_object

WANTED = {"choice": "review", "question_id": "q1"}
TEXT = json.dumps(WANTED)


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        f"  \n{TEXT}\n",
        f"```json\n{TEXT}\n```",
        f"Sure! Here it is:\n\n```\n{TEXT}\n```\n\nAnything else?",
        f"<think>maybe {{x}} or {{}}</think>{TEXT}",
        f'{{"verdict": 1}} then {TEXT}',
        f"[1, 2, {TEXT}]",
        f'{{"broken": {TEXT}',
        f"{TEXT} and later {json.dumps({'choice': 'end'})}",
    ],
)
def test_the_object_is_found_whatever_is_around_it(text: str) -> None:
    assert json_object(text, "choice") == WANTED


@pytest.mark.parametrize(
    "text",
    ["", "no JSON", "{", "}{", '{"choice": ', "[1, 2]", '"choice"', "{'choice': 'review'}", '{"other": 1}', "\x00{"],
)
def test_what_cannot_be_read_is_none(text: str) -> None:
    assert json_object(text, "choice") is None


def test_an_object_inside_another_belongs_to_the_outer_one() -> None:
    assert json_object('{"a": {"choice": "end"}} {"choice": "review"}', "choice") == {"choice": "review"}
    assert json_object('{"choice": {"choice": 1}}', "choice") == {"choice": {"choice": 1}}
    assert json_object('{"note": "{\\"choice\\": 1}"}', "choice") is None


def test_line_breaks_inside_a_string_are_forgiven() -> None:
    assert json_object('{"summary": "one\ntwo\tthree"}', "summary") == {"summary": "one\ntwo\tthree"}


@given(
    st.text(alphabet=st.characters(exclude_characters="{"), max_size=40),
    st.dictionaries(st.text(max_size=5), st.text(max_size=20) | st.integers() | st.none(), max_size=4),
    st.text(max_size=40),
)
def test_any_object_comes_out_of_any_chatter(before: str, document: dict[str, object], after: str) -> None:
    document["key"] = 1
    assert json_object(before + json.dumps(document) + after, "key") == document


@given(st.text(max_size=200), st.text(max_size=5))
def test_no_text_breaks_the_readers(text: str, key: str) -> None:
    json_object(text, key)
    cut_string(text, key)


@pytest.mark.parametrize(
    "junk",
    [
        "{" * 1_000_000,
        '{"a":' * 200_000,
        '{"a":[' * 200_000,
        '{"a": "' + "x" * 1_000_000,
        ('{"b": "' + "y" * 20_000) * 60,
        '{"choice": ' + "9" * 1_000_000,
    ],
    ids=["braces", "nested", "arrays", "open string", "open strings", "digits"],
)
def test_huge_junk_is_nothing_and_quickly_so(junk: str) -> None:
    started = time.perf_counter()
    assert json_object(junk, "choice") is None
    assert time.perf_counter() - started < 2


def test_only_so_many_braces_are_tried() -> None:
    assert json_object("{" * 49 + TEXT, "choice") == WANTED
    assert json_object("{" * 50 + TEXT, "choice") is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"summary": "The pool clo', "The pool clo"),
        ('```json\n{ "summary" :\n"one\\ntwo \\"three', 'one\ntwo "three'),
        ('{"summary": "whole", "b": ', "whole"),
        ('{"summary": "line\nbreak', "line\nbreak"),
        ('{"summary": "back\\', "back"),
        ('{"summary": "a\\nb \\u00', "a\nb "),
        ('{"summary": "a\\nb \\u', "a\nb "),
        ('{"summary": "caf\\u00e9', "café"),
        ('{"summary": "a \\\\u00', "a \\u00"),
        ('{"summary": "a smile \\ud83d', "a smile "),
        ('{"summary": "a smile \\ud83d\\ude', "a smile "),
        ('{"summary": "a smile \\ud83d\\ude00', "a smile 😀"),
        ('{"summary": "50 \\% off', "50 \\% off"),
    ],
)
def test_a_cut_string_is_read_to_where_it_was_cut(text: str, value: str) -> None:
    assert cut_string(text, "summary") == value


@pytest.mark.parametrize(
    "text", ["", "summary", '{"summary": 5', '{"summary": "', '{"summary": "  ', '{"other": "x', '{"summary": "\\ud8']
)
def test_no_cut_string_is_none(text: str) -> None:
    assert cut_string(text, "summary") is None


def test_a_key_is_no_pattern() -> None:
    assert cut_string('{"abc": "x', "a.c") is None
    assert cut_string('{"a.c": "x', "a.c") == "x"


def test_a_huge_cut_string_is_quick() -> None:
    started = time.perf_counter()
    found = cut_string('{"summary": "' + "x\\n" * 300_000, "summary")
    assert found == "x\n" * 300_000
    assert time.perf_counter() - started < 2


@given(st.text(min_size=1, max_size=60), st.data())
def test_a_cut_anywhere_gives_a_beginning(text: str, data: st.DataObject) -> None:
    whole = json.dumps({"summary": text}, ensure_ascii=data.draw(st.booleans()))
    cut = data.draw(st.integers(0, len(whole)))
    found = cut_string(whole[:cut], "summary")
    assert found is None or text.startswith(found)
