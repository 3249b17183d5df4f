"""JSON out of whatever a model wrote around it. Nothing is evaluated; what cannot be read is None."""

import json
import re
from collections.abc import Iterator, Mapping

_DECODER = json.JSONDecoder(strict=False)
_HALF_ESCAPE = re.compile(r"\\u[0-9a-fA-F]{0,3}\Z")


def json_object(text: str, key: str) -> Mapping[str, object] | None:
    """The first JSON object in `text` that has `key`: bare, fenced, or with chatter around it."""
    for document in _objects(text):
        if key in document:
            return document
    return None


def _objects(text: str, most: int = 50) -> Iterator[Mapping[str, object]]:
    """The JSON objects in `text`, left to right; only so many braces are tried, so junk cannot cost much."""
    at = text.find("{")
    for _ in range(most):
        if at < 0:
            return
        try:
            document, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            at = text.find("{", at + 1)
            continue
        yield document
        at = text.find("{", end)


def cut_string(text: str, key: str) -> str | None:
    """The value of `"key": "…` in an object that broke off before its end, or None."""
    found = re.search(rf'"{re.escape(key)}"\s*:\s*"((?:[^"\\]|\\.)*)', text, re.DOTALL)
    if found is None or not found[1].strip():
        return None
    for body in (found[1], _HALF_ESCAPE.sub("", found[1])):
        try:
            value: str = json.loads(f'"{body}"', strict=False)
        except ValueError:
            continue
        return value.encode("utf-8", "ignore").decode() or None  # without half a surrogate pair
    return found[1]
