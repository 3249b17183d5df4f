"""A key that a server echoes, however it writes it, is never kept."""

import base64
import html
import json
import random
from urllib.parse import quote

import pytest

from mashq.gateway.backends.http import HttpBackend, Pool
from mashq.gateway.clock import RealClock
from mashq.gateway.redaction import Redaction
from mashq.gateway.types import Outcome
from mashq.gateway.wire.openai_chat import OpenAIChat, Options

KEY = "sk-proj/Very+secret=0123456789~abc"
ESCAPED = "".join(f"\\u{ord(character):04x}" for character in KEY)
HALF = "".join(f"\\u{ord(c):04X}" if n % 3 == 0 else c for n, c in enumerate(KEY))
WAYS = {
    "as it is": KEY,
    "JSON escapes": ESCAPED,
    "some JSON escapes": HALF,
    "JSON in JSON": json.dumps(ESCAPED)[1:-1],
    "JSON with slashes escaped": KEY.replace("/", "\\/"),
    "URL": quote(KEY, safe=""),
    "all of it URL": "".join(f"%{ord(character):02X}" for character in KEY),
    "URL twice": quote(quote(KEY, safe=""), safe=""),
    "HTML": "".join(f"&#{ord(character)};" for character in KEY),
    "hexadecimal HTML": "".join(f"&#x{ord(character):x};" for character in KEY),
    "base64": base64.b64encode(KEY.encode()).decode(),
    "base64 of a header": base64.b64encode(f"Bearer {KEY}\r\n".encode()).decode(),
    "base64 of a login": base64.b64encode(f"me:{KEY}".encode()).decode(),
    "URL-safe base64": base64.urlsafe_b64encode(KEY.encode()).decode(),
}


def outcome(status: int, body: str, key: str = KEY) -> Outcome:
    backend = HttpBackend(
        Pool(), RealClock(), OpenAIChat(), base_url="http://x", model="m", key=key, options=Options(), timeout=1
    )
    return backend._outcome(status, body.encode(), 0.1, None, OpenAIChat().decode)  # pyright: ignore[reportPrivateUsage]


def readable(text: str) -> str:
    """What someone who undoes the usual escapes would read in `text`."""
    try:
        text += text.encode().decode("unicode_escape")
    except UnicodeDecodeError:
        text += ""
    return text + html.unescape(text)


@pytest.mark.parametrize("way", WAYS)
def test_no_way_of_writing_the_key_is_kept(way: str) -> None:
    written = WAYS[way]
    reply = {"choices": [{"message": {"content": f"It is {written}."}, "finish_reason": written}]}
    replies = [
        outcome(401, f"You sent {written}, which is wrong"),
        outcome(401, json.dumps({"error": {"message": f"key {written} is unknown"}})),
        outcome(401, '{"error": {"message": "' + written.replace('"', "") + '"}}'),
        outcome(401, json.dumps({"detail": [written]})),
        outcome(200, json.dumps({"error": {"message": f"{written} has no choices"}})),
        outcome(200, json.dumps({**reply, "usage": {"prompt_tokens": 1, "note": written}})),
    ]
    for found in replies:
        kept = found.error + found.usage.raw
        kept += found.completion.text + found.completion.stop if found.completion else ""
        assert "[key]" in kept
        assert "secret" not in readable(kept) and written[8:-8] not in kept
    assert replies[5].completion is not None and "[key]" in replies[5].completion.text


@pytest.mark.parametrize("key", ["EMPTY", "none", "x", "sk-1234"])
def test_a_placeholder_is_left_in_answers(key: str) -> None:
    found = outcome(200, json.dumps({"choices": [{"message": {"content": f"The box is {key}."}}]}), key)
    assert found.completion is not None and found.completion.text == f"The box is {key}."


def test_other_text_is_left_alone() -> None:
    rng, clean = random.Random(1), Redaction([KEY])
    for _ in range(300):
        text = "".join(rng.choice("sk-proj/\\u0073%73&#115;= ") for _ in range(60))
        assert clean(text) == text
    assert Redaction([])("a\\u0073%") == "a\\u0073%"


def test_a_long_text_of_escapes_takes_no_time() -> None:
    for part in ("\\", "%25", "&#0", "\\u0073", "%73"):
        text = part * (200_000 // len(part))
        assert Redaction([KEY])(text) == text
