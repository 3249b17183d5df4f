"""Detects secrets in a configuration, which every run's manifest stores in readable form."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast
from urllib.parse import parse_qsl, urlsplit

NAMED = re.compile(
    r"(^|[_-])(secrets?|passwords?|passwd|authorization|bearer|credentials?|cookies?)$"
    r"|(^|[_-])(api|access|secret|private|subscription|auth|account)[_-]?keys?$|^keys?$"
    r"|(^|[_-])(access|auth|bearer|session|api|id|refresh|security)[_-]?tokens?$|^tokens?$|^(sig|signature|auth|pwd)$",
    re.IGNORECASE,
)
HEADER = re.compile("key|auth|token|secret|cookie", re.IGNORECASE)
LIKE_ONE = re.compile(
    r"^(bearer|basic|token)\s+\S{6}"
    r"|^(sk|rk|pk|csk|gsk|xai|nvapi|pplx|hf|ghp|fw|r8|tgp)[-_][A-Za-z0-9_-]{10}|^github_pat_|^AIza[\w-]{10}|^AKIA\w{10}",
    re.IGNORECASE,
)


def in_url(url: str) -> str:
    """What in a URL is a secret (a user, a password or a parameter), or an empty string."""
    parts = urlsplit(url)
    if "@" in parts.netloc:
        return "a user or password"
    for name, value in parse_qsl(parts.query):
        if _is_secret(name, value):
            return f"a key ({name}=…)"
    return ""


def in_headers(headers: Mapping[str, str]) -> str:
    """The name of the first header that holds a secret, or an empty string."""
    return next((name for name, value in headers.items() if HEADER.search(name) or LIKE_ONE.search(value)), "")


def in_settings(settings: Mapping[str, Any]) -> str:
    """The dotted path to the first secret in plain data, or an empty string."""
    return next((path for path, name, value in _texts(settings, "") if _is_secret(name, value)), "")


def _is_secret(name: str, value: str) -> bool:
    return bool(value.strip()) and bool(NAMED.search(name) or LIKE_ONE.search(value.strip()))


def _texts(value: object, path: str, name: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield every string in plain data with its dotted path and its key: (path, key, string)."""
    if isinstance(value, str):
        yield path, name, value
    elif isinstance(value, Mapping):
        for key, inner in cast(Mapping[object, object], value).items():
            yield from _texts(inner, f"{path}.{key}" if path else str(key), str(key))
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(cast(list[object], value)):
            yield from _texts(inner, f"{path}.{index}", name)
