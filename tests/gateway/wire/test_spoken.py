"""What a reply says: never what was thought; cut, filtered and refused under one name each."""

import pytest

from mashq.gateway.wire.spoken import completion, filtered, without_thinking


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<think>\nA draft.\n</think>\n\nThe answer.", "The answer."),
        ("<think></think>Yes.", "Yes."),
        ("<thinking>Hm.</thinking> Yes.", "Yes."),
        ("First. <think>More.</think>Then.", "First. Then."),
        ("A draft without a beginning.\n</think>\nThe answer.", "The answer."),
        ("  <think>It never came to an end", ""),
        ("I think that <thin> ice breaks.", "I think that <thin> ice breaks."),
        ("The tag <think> opens a thought.", "The tag <think> opens a thought."),
        ("", ""),
    ],
)
def test_thinking_is_left_out(text: str, said: str) -> None:
    assert without_thinking(text) == said


@pytest.mark.parametrize(
    ("text", "stop", "called", "expected"),
    [
        ("Yes.", "stop", None, ("Yes.", "stop", False)),
        ("", "stop", None, ("", "stop", True)),
        ("<think>…</think>", "stop", None, ("", "stop", True)),
        ("", "max_tokens", None, ("", "length", False)),
        ("<think>It never", "MAX_TOKENS", None, ("", "length", False)),
        ("Half", "max_output_tokens", None, ("Half", "length", False)),
        ("Half", "model_context_window_exceeded", None, ("Half", "length", False)),
        ("Some", "content_filter", None, ("Some", "content_filter", True)),
        ("", "SAFETY", [{"name": "f"}], ("", "content_filter", True)),
        ("", "RECITATION", None, ("", "content_filter", True)),
        ("", "tool_calls", [{"name": "f"}], ('[{"name": "f"}]', "tool_calls", False)),
        ("Words.", "tool_calls", [{"name": "f"}], ("Words.", "tool_calls", False)),
        ("", "refusal", None, ("", "refusal", True)),
    ],
)
def test_how_a_reply_ended(text: str, stop: str, called: object, expected: tuple[str, str, bool]) -> None:
    found = completion(text, stop, called=called)
    assert (found.text, found.stop, found.refused) == expected


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"error": {"code": "content_filter", "message": "The prompt was barred."}}, "The prompt was barred."),
        ({"error": {"innererror": {"code": "ResponsibleAIPolicyViolation"}}}, "content_filter"),
        ({"error": {"message": "Output blocked by content filtering policy"}},
         "Output blocked by content filtering policy"),
        ({"error": {"message": "max_tokens is too large", "code": None}}, None),
        ({"error": "content filter"}, None),
        (None, None),
    ],
)  # fmt: skip
def test_an_error_of_a_filter_is_told_from_others(document: object, words: str | None) -> None:
    assert filtered(document) == words
