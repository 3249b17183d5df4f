"""What models take: the file, and what an error teaches."""

from dataclasses import fields, replace
from typing import Literal

import pytest

from mashq.gateway.profiles import LARGEST, Experience, Lesson, Profile, lesson_of, optional_fields, profile_of
from mashq.gateway.types import Message, Outcome, Request

FULL = Request((Message("user", "x"),), 1000, 0.0, 7, {"type": "object"})
TAKES = Profile(json="schema")


def rejected(message: str, status: int = 400) -> Outcome:
    return Outcome("http", status=status, error=f"HTTP {status}: {message}")


@pytest.mark.parametrize(
    ("name", "wire", "sent", "largest", "field", "json"),
    [
        ("openai/gpt-4o-mini", "openai", None, 16384, "max_completion_tokens", "schema"),
        ("openai/gpt-5-nano", "openai", None, 128000, "max_completion_tokens", "schema"),
        ("openai/gpt-3.5-turbo", "openai", None, 4096, "max_completion_tokens", "object"),
        ("anthropic/claude-opus-4-8", "anthropic", 16384, 128000, "max_tokens", "none"),
        ("anthropic/claude-3-haiku-20240307", "anthropic", 4096, 4096, "max_tokens", "none"),
        ("anthropic/claude-3-5-sonnet-20240620", "anthropic", 8192, 8192, "max_tokens", "none"),
        ("mine/any", "anthropic", 16384, LARGEST, "max_tokens", "none"),
        ("mine/any", "openai", None, LARGEST, "max_tokens", "none"),
        ("gemini/gemini-2.5-flash", "openai", None, 65536, "max_tokens", "schema"),
    ],
)
def test_what_is_known_beforehand(
    name: str, wire: str, sent: int | None, largest: int, field: str, json: Literal["schema", "object", "none"]
) -> None:
    profile = profile_of(name, wire)
    assert (profile.sent_limit, profile.largest, profile.limit_field, profile.json) == (sent, largest, field, json)


def test_the_file_holds_nothing_that_no_profile_has() -> None:
    from mashq.gateway.profiles import _document  # pyright: ignore[reportPrivateUsage]

    known = {own.name for own in fields(Profile)} | {"match", "wire"}
    assert {key for row in _document()["models"] for key in row} <= known
    assert set(optional_fields()) == {"temperature", "seed", "schema", "limit", "stream_options"}


@pytest.mark.parametrize(
    ("message", "learnt"),
    [
        ("`temperature` is deprecated for this model.", "temperature"),
        ("Unsupported value: 'temperature' does not support 0.0 with this model.", "temperature"),
        ("Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead.", "limit"),
        ("max_tokens is too large: 1000. This model supports at most 800 completion tokens.", "limit"),
        ("Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.", "schema"),
        ('Invalid JSON payload received. Unknown name "seed": Cannot find field.', "seed"),
        ('{"detail":[{"type":"extra_forbidden","loc":["body","seed"]}]}', "seed"),
        ("Invalid 'messages[3]'. Content blocks are expected to be either text or image_url type.", None),
        ("The temperatures in Oslo", None),
        ("Prompt is too long", None),
    ],
)
def test_an_error_that_names_an_optional_field_is_a_lesson(message: str, learnt: str | None) -> None:
    for status in (400, 422):
        lesson = lesson_of(rejected(message, status), FULL, TAKES)
        assert (lesson and (lesson.field, lesson.limit)) == (learnt and (learnt, None))
    assert lesson_of(rejected(message, 429), FULL, TAKES) is None


def test_only_what_was_sent_is_left_out() -> None:
    said = rejected("temperature, seed, response_format and max_tokens are not supported")
    request = FULL
    left: list[str] = []
    while (lesson := lesson_of(said, request, TAKES)) is not None:
        left.append(lesson.field)
        name = "max_tokens" if lesson.field == "limit" else lesson.field
        request = replace(request, **{name: None})
    assert left == ["temperature", "seed", "schema", "limit"]
    unsent = replace(TAKES, seed=False, json="none")
    assert lesson_of(rejected("seed"), FULL, unsent) is None
    assert lesson_of(rejected("response_format"), FULL, unsent) is None


def test_a_limit_that_is_required_is_lowered_to_what_the_provider_allows() -> None:
    profile = profile_of("anthropic/claude-next", "anthropic")
    said = rejected("max_tokens: 16384 > 8192, which is the maximum allowed number of output tokens for claude-next")
    lesson = lesson_of(said, replace(FULL, max_tokens=16384), profile)
    assert lesson is not None and (lesson.field, lesson.limit) == ("limit", 8192)
    assert lesson_of(rejected("max_tokens: field required"), FULL, profile) is None
    seen = Experience(lessons={"limit": lesson})
    assert (seen.limited(16384), seen.limited(100), seen.left_out("limit")) == (8192, 100, False)
    gone = Experience(lessons={"limit": Lesson("limit", None, "")})
    assert (gone.limited(16384), gone.left_out("limit")) == (None, True)
