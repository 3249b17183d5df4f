"""Detects secrets in a configuration, which every run's manifest stores in readable form."""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, cast
from urllib.parse import unquote_plus, urlsplit

NAMED = re.compile(
    r"(^|_)(secrets?|passwords?|passwd|passphrase|authorization|bearer|credentials?|cookies?)(_json)?(_?\d+)?$"
    r"|(^|_)(api|access|secret|private|subscription|auth|account)_?keys?(_?\d+)?$|^keys?$"
    r"|(^|_)(access|auth|bearer|session|api|id|refresh|security|x)_?tokens?(_?\d+)?$|^tokens?$"
    r"|^(sig|signature|auth|pwd|pass)$",
    re.IGNORECASE,
)
HEADER = re.compile(r"key|auth|token|secret|cookie|credential|passw|signature|(^|[-_])(pass|pwd)$", re.IGNORECASE)
LIKE_ONE = re.compile(
    r"^(bearer|basic|token)\s+\S{6}"
    r"|^(sk|rk|pk|csk|gsk|xai|nvapi|pplx|hf|ghp|fw|r8|tgp)[-_][A-Za-z0-9_-]{10}|^github_pat_|^AIza[\w-]{10}|^AKIA\w{10}",
    re.IGNORECASE,
)
URL = re.compile(r"[a-z][a-z0-9+.-]*://[^\s\"'<>]+", re.IGNORECASE)
IN_URLS = ("code",)  # parameters that are keys in URLs, as of Azure Functions
COMMON = re.compile(r"^(keys?|tokens?|auth|sig|signature|pass)$", re.IGNORECASE)  # options that seldom take a secret
LONG = 16  # characters of a value that make even those suspicious


def in_url(url: str) -> str:
    """What in a URL is a secret (a user, a password, or a part of its path or parameters), or an empty string."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    if "@" in parts.netloc:
        return "a user or password"
    rest = unquote_plus(f"{parts.path}?{parts.query}#{parts.fragment}")
    for part in re.split(r"[/?&;#]", rest):
        name, equals, value = part.partition("=")
        if equals and (_is_secret(name, value) or (name.lower() in IN_URLS and value.strip())):
            return f"a key ({name}=…)"
        if LIKE_ONE.search(part):
            return "a key"
    return ""


def in_headers(headers: Mapping[str, Any]) -> str:
    """The name of the first header that holds a secret, or an empty string."""
    return next((name for name, value in headers.items() if HEADER.search(name) or LIKE_ONE.search(str(value))), "")


def in_settings(settings: Mapping[str, Any]) -> str:
    """The dotted path to the first secret in plain data, or an empty string."""
    return next((path for path, name, value in _texts(settings, "") if _in_text(path, name, value)), "")


def in_command(command: str | Sequence[str]) -> str:
    """The option or variable of a command that holds a secret, or an empty string."""
    try:
        words = shlex.split(command) if isinstance(command, str) else list(command)
    except ValueError:  # a quote is not closed: the arena refuses that
        words = cast(str, command).split()
    for word, following in pairwise([*words, ""]):
        name, equals, value = word.partition("=")
        if not equals and word.startswith("-"):
            value = "" if following.startswith("-") else following
        if _is_written_out(name.lstrip("-"), value):
            return name
        if LIKE_ONE.search(word) or any(map(in_url, URL.findall(word))):
            return word[:4] + "…"
        if " " in word and (inner := in_command(word)):  # a script, as in sh -c '…'
            return inner
    return ""


def _is_written_out(name: str, value: str) -> bool:
    """Whether an option's value is a secret itself, and not a number or the name of a variable."""
    if not value or value.startswith("$") or value.isdigit():
        return False
    return _is_secret(name, value) and not (COMMON.search(name) and len(value) < LONG and not LIKE_ONE.search(value))


def _is_secret(name: str, value: str) -> bool:
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[.-]", "_", name)
    return bool(value.strip()) and bool(NAMED.search(snake) or LIKE_ONE.search(value.strip()))


def _in_text(path: str, name: str, value: str) -> bool:
    """Whether a string in plain data is a secret: by its name, by what it looks like, or as a URL."""
    within = path.lower().split(".")[:-1]
    is_header = "headers" in within and HEADER.search(name)
    return bool(is_header) or _is_secret(name, value) or any(map(in_url, URL.findall(value)))


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
