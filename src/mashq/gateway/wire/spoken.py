"""What a reply says, apart from what the model thought: one reading for every wire format.

Thinking that arrives in fields or blocks of its own is left out by the formats; thinking in the text itself, between
`<think>` and `</think>`, is left out here. A reply that ended at an output limit has the stop `length`, one that a
filter took has `content_filter`, whatever the provider calls them.
"""

import json
import re

from mashq.gateway.types import CUT, Completion
from mashq.gateway.untrusted import as_object, child, whole

FILTERED = "content_filter"
STOPS = {
    "max_tokens": CUT,
    "MAX_TOKENS": CUT,
    "max_output_tokens": CUT,
    "model_length": CUT,
    "model_context_window_exceeded": CUT,
    "safety": FILTERED,
    **dict.fromkeys(
        ("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY", "MODEL_ARMOR"), FILTERED
    ),
}
REFUSING = frozenset({FILTERED, "refusal"})
FILTER_CODES = frozenset({"content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation"})
FILTER_WORDS = re.compile("content (management|filter(ing)?|usage) policy|content filter", re.IGNORECASE)
_THOUGHT = re.compile(r"<(think|thinking)>.*?</\1>\s*", re.DOTALL)
_UNFINISHED = re.compile(r"\A\s*<(?:think|thinking)>.*", re.DOTALL)
_HEADLESS = re.compile(r"\A.*</(?:think|thinking)>\s*", re.DOTALL)  # templates may write the opening tag themselves


def without_thinking(text: str) -> str:
    """`text` without what stands between `<think>` and `</think>`; all that follows when it is never closed."""
    if "think" not in text:
        return text
    return _HEADLESS.sub("", _UNFINISHED.sub("", _THOUGHT.sub("", text)))


def completion(text: str, stop: str, *, refused: bool = False, called: object = None) -> Completion:
    """A reply. One that only calls tools says what it calls; any other without words is a refusal, unless cut off."""
    words, end = without_thinking(text), STOPS.get(stop, stop)
    refused = refused or end in REFUSING
    if not refused and not words.strip():
        if called:
            return Completion(whole(called if isinstance(called, str) else json.dumps(called)), whole(end))
        refused = end != CUT
    return Completion(whole(words), whole(end), refused)


def filtered(document: object) -> str | None:
    """The sentence of an error reply that says a filter took the prompt or the answer; None for other errors."""
    error = child(document, "error")
    words = error.get("message")
    sentence = words if isinstance(words, str) else ""
    inner = as_object(error.get("innererror")) or {}
    if {str(error.get("code")), str(error.get("type")), str(inner.get("code"))} & FILTER_CODES:
        return sentence or FILTERED
    return sentence if FILTER_WORDS.search(sentence) else None
