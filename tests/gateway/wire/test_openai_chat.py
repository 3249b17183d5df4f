"""The OpenAI-compatible wire format: what is sent, and what is made of good, odd and hostile replies."""

import json
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mashq.gateway.types import Completion, Message, Request, Usage
from mashq.gateway.untrusted import MAX_TOKENS
from mashq.gateway.wire.openai_chat import OpenAIChat, Options, read_usage
from mashq.protocol.resources import UNKNOWN
from tests.gateway.fakes import asked

WIRE = OpenAIChat()

SCHEMA = {"type": "object", "properties": {"summary": {"type": "string"}}}
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
NO_COMPLETIONS: list[tuple[object, str]] = [
    (None, "not a JSON object"),
    ([], "not a JSON object"),
    ("choices", "not a JSON object"),
    ({}, "no choices"),
    ({"choices": None}, "no choices"),
    ({"choices": []}, "no choices"),
    ({"choices": {"0": {}}}, "no choices"),
    ({"choices": ["text"]}, "no choices"),
    ({"choices": [{}]}, "no message"),
    ({"choices": [{"message": "text"}]}, "no message"),
    ({"choices": [{"message": {}}]}, "no message"),
]


def completion(message: object, finish: object = "stop", **more: object) -> dict[str, object]:
    return {"choices": [{"message": message, "finish_reason": finish}], **more}


def read(document: object) -> tuple[Completion, Usage]:
    found = WIRE.decode(document)
    assert not isinstance(found, str), found
    return found


def test_a_plain_request_has_what_was_asked_and_nothing_more() -> None:
    request = Request((Message("system", "Be brief."), Message("user", "Hi")), 64, facts={"secret": 1})
    assert WIRE.encode("m", request, Options()) == {
        "model": "m",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}],
        "max_tokens": 64,
    }


def test_temperature_zero_and_seed_zero_are_sent() -> None:
    body = WIRE.encode("m", Request((), 1, temperature=0.0, seed=0), Options())
    assert (body["temperature"], body["seed"]) == (0.0, 0)


def test_a_seed_is_kept_from_endpoints_that_take_none() -> None:
    assert "seed" not in WIRE.encode("m", asked(), Options(seed=False))


def test_the_limit_has_the_name_the_endpoint_knows() -> None:
    body = WIRE.encode("m", asked(), Options(max_tokens_key="max_completion_tokens"))
    assert body["max_completion_tokens"] == 64
    assert "max_tokens" not in body


def test_each_way_to_ask_for_json() -> None:
    formats = {
        mode: WIRE.encode("m", asked(schema=SCHEMA), Options(json=mode)).get("response_format")
        for mode in ("schema", "object", "none")
    }
    assert formats == {
        "schema": {"type": "json_schema", "json_schema": {"name": "reply", "strict": True, "schema": SCHEMA}},
        "object": {"type": "json_object"},
        "none": None,
    }


@pytest.mark.parametrize("mode", ["schema", "object", "none"])
def test_without_a_schema_no_json_is_asked_for(mode: Any) -> None:
    assert "response_format" not in WIRE.encode("m", asked(), Options(json=mode))


def test_extra_settings_have_the_last_word() -> None:
    body = WIRE.encode("m", asked(), Options(extra={"temperature": 1, "top_k": 3}))
    assert (body["temperature"], body["top_k"]) == (1, 3)


def test_the_key_goes_into_one_header() -> None:
    assert WIRE.path("m") == "/chat/completions"
    assert WIRE.headers("sk-1") == {"Authorization": "Bearer sk-1"}
    assert WIRE.headers(None) == WIRE.headers("") == {}


def test_a_good_reply() -> None:
    usage = {"prompt_tokens": 12, "completion_tokens": 7, "total_tokens": 19}
    said, used = read(completion({"content": "Hello"}, usage=usage))
    assert said == Completion("Hello", "stop", refused=False)
    assert used == Usage(12, 7, UNKNOWN, UNKNOWN, json.dumps(usage, sort_keys=True))


def test_list_content_is_the_text_of_its_parts() -> None:
    parts: list[object] = [
        {"type": "text", "text": "Hel"},
        {"type": "image"},
        "odd",
        None,
        {"text": 5},
        {"text": "lo"},
    ]
    assert read(completion({"content": parts}))[0].text == "Hello"


@pytest.mark.parametrize(
    ("message", "finish", "text"),
    [
        ({"content": None, "refusal": "I cannot help."}, "stop", "I cannot help."),
        ({"content": "  ", "refusal": "I cannot help."}, "stop", "I cannot help."),
        ({"content": "Well, ", "refusal": "no."}, "stop", "Well, "),
        ({"content": "partly", "refusal": {"why": 1}}, "stop", "partly"),
        ({"content": "cut short"}, "content_filter", "cut short"),
        ({"content": "cut short"}, "SAFETY", "cut short"),
        ({"content": ""}, "stop", ""),
        ({"content": " \n\t"}, "stop", " \n\t"),
        ({"content": None}, "tool_calls", ""),
        ({"content": {"text": "no list"}}, "stop", ""),
        ({"role": "assistant"}, None, ""),
    ],
)
def test_a_refusal_is_known_by_any_of_its_signs(message: object, finish: object, text: str) -> None:
    said, _ = read(completion(message, finish))
    assert said.refused
    assert said.text == text


def test_a_reply_cut_at_the_limit_is_no_refusal() -> None:
    said, _ = read(completion({"content": "half a sen", "refusal": None}, "length"))
    assert (said.refused, said.stop) == (False, "length")


@pytest.mark.parametrize(("document", "says"), NO_COMPLETIONS)
def test_what_is_no_completion_is_named(document: object, says: str) -> None:
    found = WIRE.decode(document)
    assert isinstance(found, str)
    assert says in found


def test_cached_and_reasoning_tokens_are_within_the_counts_and_never_added() -> None:
    used = read_usage(
        {
            "prompt_tokens": 100,
            "completion_tokens": 50,
            "total_tokens": 150,
            "prompt_tokens_details": {"cached_tokens": 80},
            "completion_tokens_details": {"reasoning_tokens": 40},
        }
    )
    assert (used.tokens_in, used.tokens_out, used.cached, used.reasoning) == (100, 50, 80, 40)


def test_reasoning_left_out_of_the_parts_shows_in_the_total_and_is_output() -> None:
    used = read_usage(
        {
            "prompt_tokens": 100,
            "completion_tokens": 10,
            "total_tokens": 150,
            "completion_tokens_details": {"reasoning_tokens": 40},
        }
    )
    assert (used.tokens_in, used.tokens_out, used.reasoning) == (100, 50, 40)


@pytest.mark.parametrize("total", [None, 0, 1, 109, "150", -3, True, 150.0, 10**30])
def test_a_total_below_the_parts_or_unreadable_changes_nothing(total: object) -> None:
    used = read_usage({"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": total})
    assert (used.tokens_in, used.tokens_out) == (100, 10)


@pytest.mark.parametrize("bad", [None, -7, -1, True, False, 7.0, "7", [], {}, MAX_TOKENS + 1, 10**30, float("nan")])
def test_a_count_that_is_no_count_is_unknown_and_never_zero(bad: object) -> None:
    used = read_usage({"prompt_tokens": bad, "completion_tokens": bad, "total_tokens": 9})
    assert used.tokens_in is UNKNOWN
    assert used.tokens_out is UNKNOWN
    half = read_usage({"prompt_tokens": 3, "completion_tokens": bad, "total_tokens": 9})
    assert (half.tokens_in, half.tokens_out) == (3, UNKNOWN)
    details = {"cached_tokens": bad, "reasoning_tokens": bad}
    rest = read_usage({"prompt_tokens_details": details, "completion_tokens_details": details})
    assert rest.cached is UNKNOWN
    assert rest.reasoning is UNKNOWN


def test_zero_and_the_largest_count_are_counts() -> None:
    used = read_usage({"prompt_tokens": 0, "completion_tokens": MAX_TOKENS})
    assert (used.tokens_in, used.tokens_out) == (0, MAX_TOKENS)


@pytest.mark.parametrize("missing", [None, [], "usage", 5])
def test_no_usage_is_unknown(missing: object) -> None:
    assert read_usage(missing) == Usage()


def test_usage_is_kept_as_it_was_sent_but_not_without_end() -> None:
    assert json.loads(read_usage({"b": 1, "a": "é\ud800"}).raw) == {"a": "é\ud800", "b": 1}
    assert read_usage({"a": "é"}).raw.isascii()
    assert len(read_usage({"junk": "x" * 10_000}).raw) == 2000


def test_usage_nested_as_deep_as_json_can_be_read_is_still_usage() -> None:
    deepest = 0
    for depth in range(500, 5000):
        text = '{"prompt_tokens": 1, "completion_tokens": 2, "x": ' + "[" * depth + "]" * depth + "}"
        try:
            document = json.loads(text)
        except RecursionError:
            break
        deepest = depth
        if depth > 900:
            used = read_usage(document)
            assert (used.tokens_in, used.tokens_out) == (1, 2)
    assert deepest


@given(ANY_JSON, ANY_JSON, ANY_JSON)
def test_no_document_breaks_the_reader(message: object, finish: object, usage: object) -> None:
    for document in (message, {"choices": message}, {"choices": [message], "usage": usage}):
        WIRE.decode(document)
    found = WIRE.decode(completion({"content": message, "refusal": usage}, finish, usage=usage))
    said, used = cast(tuple[Completion, Usage], found)
    assert said.refused or said.text.strip()
    for count in (used.tokens_in, used.tokens_out, used.cached, used.reasoning):
        assert count is UNKNOWN or (type(count) is int and count >= 0)


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 3 * 10**6))
def test_the_sum_is_the_larger_of_the_parts_and_the_total(one: int, other: int, total: int) -> None:
    used = read_usage({"prompt_tokens": one, "completion_tokens": other, "total_tokens": total})
    assert used.tokens_in == one
    assert used.tokens_out == max(other, total - one)
