"""The Anthropic wire format: what is sent, and what is made of good, odd and hostile replies."""

from typing import Any, cast

import pytest
from hypothesis import given

from mashq.gateway.types import Completion, Message, Request, Usage
from mashq.gateway.wire.anthropic_messages import AnthropicMessages, read_usage
from mashq.gateway.wire.openai_chat import Options
from mashq.protocol.resources import UNKNOWN
from tests.gateway.fakes import asked
from tests.gateway.wire.test_openai_chat import ANY_JSON, SCHEMA

WIRE = AnthropicMessages()


def read(document: object) -> tuple[Completion, Usage]:
    found = WIRE.decode(document)
    assert not isinstance(found, str), found
    return found


def said(*texts: object, stop: object = "end_turn") -> Completion:
    return read({"content": [{"type": "text", "text": text} for text in texts], "stop_reason": stop})[0]


def test_system_messages_go_into_their_own_field_and_no_seed_is_sent() -> None:
    request = Request(
        (Message("system", "One."), Message("user", "Hi"), Message("system", "Two."), Message("assistant", "Ho")),
        64,
        seed=3,
        facts={"secret": 1},
    )
    assert WIRE.encode("m", request, Options(seed=True)) == {
        "model": "m",
        "max_tokens": 64,
        "system": "One.\n\nTwo.",
        "messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}],
    }


def test_no_system_message_is_no_field() -> None:
    assert "system" not in WIRE.encode("m", asked(), Options())


def test_temperature_zero_is_sent() -> None:
    assert WIRE.encode("m", asked(), Options())["temperature"] == 0.0


def test_each_way_to_ask_for_json() -> None:
    modes: tuple[Any, ...] = ("schema", "object", "none")
    formats = [WIRE.encode("m", asked(schema=SCHEMA), Options(json=mode)).get("output_config") for mode in modes]
    assert formats == [{"format": {"type": "json_schema", "schema": SCHEMA}}, None, None]
    assert "output_config" not in WIRE.encode("m", asked(), Options(json="schema"))


def test_extra_settings_have_the_last_word() -> None:
    assert WIRE.encode("m", asked(), Options(extra={"temperature": 1}))["temperature"] == 1


def test_the_key_goes_into_its_own_header_beside_the_version() -> None:
    assert WIRE.path("m") == "/messages"
    assert WIRE.headers("sk-1") == {"anthropic-version": "2023-06-01", "x-api-key": "sk-1"}
    assert WIRE.headers(None) == {"anthropic-version": "2023-06-01"}


def test_a_good_reply_is_its_text_blocks() -> None:
    blocks: list[object] = [
        {"type": "thinking", "text": "hm", "thinking": "hm"},
        {"type": "text", "text": "Hel"},
        "odd",
        None,
        {"type": "text"},
        {"type": "text", "text": 3},
        {"type": "text", "text": "lo"},
    ]
    reply = {"content": blocks, "stop_reason": "end_turn", "usage": {"input_tokens": 3, "output_tokens": 2}}
    completion, usage = read(reply)
    assert completion == Completion("Hello", "end_turn", refused=False)
    assert (usage.tokens_in, usage.tokens_out, usage.cached, usage.reasoning) == (3, 2, UNKNOWN, UNKNOWN)


def test_refusals() -> None:
    assert said("I", stop="refusal") == Completion("I", "refusal", refused=True)
    assert said().refused
    assert said("  \n").refused
    assert not said("cut", stop="max_tokens").refused
    assert said("no reason", stop=None) == Completion("no reason", "", refused=False)


@pytest.mark.parametrize(
    ("document", "says"),
    [(None, "not a JSON object"), ([], "not a JSON object"), ({}, "no content"), ({"content": "text"}, "no content")],
)
def test_what_is_no_message_is_named(document: object, says: str) -> None:
    found = WIRE.decode(document)
    assert isinstance(found, str)
    assert says in found


def test_what_the_cache_read_and_wrote_is_input_counted_once() -> None:
    used = read_usage(
        {
            "input_tokens": 10,
            "cache_read_input_tokens": 70,
            "cache_creation_input_tokens": 20,
            "cache_creation": {"ephemeral_5m_input_tokens": 20},
            "output_tokens": 5,
        }
    )
    assert (used.tokens_in, used.tokens_out, used.cached) == (100, 5, 70)


def test_absent_cache_counts_are_no_tokens() -> None:
    used = read_usage({"input_tokens": 10, "cache_read_input_tokens": None, "output_tokens": 5})
    assert (used.tokens_in, used.cached) == (10, UNKNOWN)


@pytest.mark.parametrize("bad", [-7, True, 7.0, "7 tokens", [], 10**30])
@pytest.mark.parametrize("name", ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"])
def test_an_unreadable_part_makes_the_input_unknown(name: str, bad: object) -> None:
    honest: dict[str, object] = {
        "input_tokens": 10,
        "cache_read_input_tokens": 1,
        "cache_creation_input_tokens": 2,
        "output_tokens": 5,
    }
    assert read_usage(honest).tokens_in == 13
    used = read_usage(honest | {name: bad})
    assert (used.tokens_in, used.tokens_out) == (UNKNOWN, 5)


@pytest.mark.parametrize("bad", [None, -1, False, 5.0, "5", 10**30])
def test_unreadable_output_is_unknown(bad: object) -> None:
    assert read_usage({"input_tokens": 1, "output_tokens": bad}).tokens_out is UNKNOWN


def test_no_usage_is_unknown() -> None:
    assert read_usage(None) == read_usage("usage") == Usage()


@given(ANY_JSON, ANY_JSON, ANY_JSON)
def test_no_document_breaks_the_reader(block: object, stop: object, usage: object) -> None:
    for document in (block, {"content": block}, {"content": [block], "usage": usage, "stop_reason": stop}):
        WIRE.decode(document)
    found = WIRE.decode({"content": [{"type": "text", "text": block}], "stop_reason": stop, "usage": usage})
    completion, used = cast(tuple[Completion, Usage], found)
    assert completion.refused or completion.text.strip()
    for count in (used.tokens_in, used.tokens_out, used.cached):
        assert count is UNKNOWN or (type(count) is int and count >= 0)
