"""Reading requests that someone else wrote: what the accounting rests on is checked, the rest is theirs."""

import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal, NoReturn, cast

from mashq.bounds import TooMuch, parse, unique, whole
from mashq.gateway.types import Message
from mashq.gateway.untrusted import as_list, as_object, child, count
from mashq.gateway.wire.base import BadRequest
from mashq.protocol.resources import Unknown

MAX_OUT = 10**9
KEPT = 100_000
DEEPEST = 12
FETCHED = frozenset(  # in any case
    {"file_id", "file_url", "fileuri", "file_uri", "image_url", "video_url", "audio_url", "document_url"}
)
THEIR_OWN = frozenset({"tools", "args", "parameters", "arguments", "response"})  # words of tools: nothing is fetched
WITHOUT_EFFECT = frozenset(  # on the words of a reply
    {"user", "metadata", "store", "service_tier", "parallel_tool_calls", "tool_choice", "include", "truncation"}
    | {"safety_identifier", "prompt_cache_key", "prompt_cache_retention", "prompt_cache_options", "cache_control"}
    | {"function_call", "labels", "toolConfig", "tool_config", "model", "stream"}
)
NEUTRAL: dict[str, object] = {
    "n": 1,
    "top_p": 1,
    "presence_penalty": 0,
    "frequency_penalty": 0,
    "response_format": {"type": "text"},
    "thinking": {"type": "disabled"},
    "reasoning_effort": "none",
}
USUAL: dict[str, frozenset[str]] = {  # the values that cost what the price list says, and are served as all are
    "service_tier": frozenset({"auto", "default", "standard", "standard_only", "on_demand", "flex"}),
    "serviceTier": frozenset({"auto", "default", "standard", "unspecified"}),
    "speed": frozenset({"standard"}),
    "inference_geo": frozenset({"global"}),
}
ACCOUNTED = frozenset(  # what the accounting reads, or passes over: a server must not find it under another name
    {"messages", "input", "contents", "instructions", "system", "systemInstruction", "system_instruction", "prompt"}
    | {"max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens", "candidateCount"}
    | {"candidate_count", "generationConfig", "generation_config", "stream_options", "include_usage", "tools", "type"}
    | {
        "models",
        "route",
        "fallbacks",
        "preset",
        "background",
        "previous_response_id",
        "conversation",
        "container",
        "mcp_servers",
    }
    | {"container", "mcp_servers", "web_search_options", "search_parameters", "enable_search", "plugins"}
    | {"cachedContent", "cached_content"}
    | {*WITHOUT_EFFECT, *NEUTRAL, *USUAL}
)
_AS_WRITTEN = {name.casefold(): name for name in ACCOUNTED}
_OPTIONS = ("stream_options", "generationConfig", "generation_config")
NOT_TEXT = "this model takes plain text messages only: send each message's content as a string"


def body_of(data: bytes) -> dict[str, object]:
    """The JSON object in a request's body, or BadRequest when it is none or can be read in more than one way."""
    try:
        document = as_object(parse(data, "the body", decoder=_DECODER))
    except BadRequest:
        raise
    except TooMuch as error:
        raise BadRequest(str(error)) from None
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"the body is not JSON: {error}") from None
    if not document:
        raise BadRequest("the body must be a JSON object that asks for something")
    tools = [as_object(entry) or {} for entry in as_list(document.get("tools")) or []]
    for part in (document, *(child(document, name) for name in _OPTIONS), *tools):
        _plainly_named(part)
    return document


def _plainly_named(part: Mapping[str, object]) -> None:
    """BadRequest when servers that do not tell cases apart, or have two names for a field, would read another field
    than the one that is written."""
    meant: set[str] = set()
    for name in part:
        known = _AS_WRITTEN.get(name.casefold())
        if known is None:
            continue
        if name not in ACCOUNTED:
            raise BadRequest(f"some servers would read {name[:40]!r} as {known!r}: write it so, or leave it out")
        plain = name.replace("_", "").casefold()
        if plain in meant:
            raise BadRequest(f"{name!r} stands in the body under two names: leave one out")
        meant.add(plain)


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    try:
        return unique(pairs)
    except ValueError as error:
        raise BadRequest(f"the body can be read in two ways ({error}): send every key once") from None


def entries(document: Mapping[str, object], name: str) -> list[object]:
    """The messages of a request for a model of another format, under that name; BadRequest when there are none."""
    messages = as_list(document.get(name))
    if not messages:
        raise BadRequest(f"{name} must be a list with at least one message")
    return messages


def bounded(document: Mapping[str, object], name: str) -> int:
    """A count that the request states, or BadRequest when it could be anything."""
    value = count(document[name])
    if isinstance(value, Unknown) or value > MAX_OUT:
        raise BadRequest(f"{name} is {str(document[name])[:40]!r}, must be a whole number from 0 to {MAX_OUT}")
    return value


def flag(document: Mapping[str, object], name: str) -> bool:
    """What the request says is so, or BadRequest when a provider could take it for something else than we do."""
    value = document.get(name)
    if value is not None and not isinstance(value, bool):
        raise BadRequest(f"{name} is {str(value)[:40]!r}, must be true or false")
    return value is True


def number(value: object, otherwise: float | None) -> float | None:
    """A number, or what to take otherwise."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else otherwise


def noted_messages(entries: Sequence[object]) -> list[Message]:
    """Messages as text for the ledger: their content where it is all they hold, otherwise their JSON."""
    messages: list[Message] = []
    for entry in entries:
        message = as_object(entry) or {}
        role = str(message.get("role"))[:40]
        content = message.get("content")
        text = content if isinstance(content, str) and set(message) <= {"role", "content"} else json.dumps(entry)
        messages.append(Message(cast(Literal["user"], role), text[:KEPT]))
    return messages


def one_model(document: Mapping[str, object]) -> None:
    """BadRequest when the request could be answered by another model than the player's, or later than in its turn."""
    for name in ("models", "route", "fallbacks", "preset"):
        if document.get(name):
            raise BadRequest(f"{name} could choose another model than the player's: leave it out")
    if document.get("background"):
        raise BadRequest("background would answer after the request has ended, unmetered: leave it out")


def one_price(document: Mapping[str, object]) -> None:
    """BadRequest when the request would be served faster than others, at more than the listed price.

    A slower and cheaper service is charged at the listed price."""
    for name, usual in USUAL.items():
        value = document.get(name)
        if value is not None and str(value).lower() not in usual:
            raise BadRequest(
                f"{name} {str(value)[:40]!r} has a speed and a price of its own, which are not metered: leave it out "
                "(models.X.extra sets it for every player of a model)"
            )


def only_text(document: Mapping[str, object], carried: Collection[str]) -> None:
    """BadRequest when a request for a model of another format sets anything that would be lost on the way."""
    for name, value in document.items():
        if name in carried or name in WITHOUT_EFFECT or value in (None, False, "", [], {}):
            continue
        if name in NEUTRAL and value == NEUTRAL[name]:
            continue
        raise BadRequest(
            f"{name} cannot be passed to this model, which is asked in another format: leave it out, "
            "or play on a model that is asked in this one"
        )


def drawing(document: Mapping[str, object], names: Iterable[str]) -> str:
    """The first of the fields that the request sets, or a file or picture named by its place; else nothing."""
    for name in names:
        if document.get(name):
            return name
    return _referred(document, 0)


def _referred(value: object, depth: int) -> str:
    """The key under which something is named that the provider has to fetch."""
    inner: Iterable[tuple[str, object]] = (as_object(value) or {}).items()
    if as_list(value) is not None:
        inner = (("", entry) for entry in as_list(value) or [])
    for key, entry in inner:
        named = _fetched(key, entry)
        if not named and depth < DEEPEST and key not in THEIR_OWN and isinstance(entry, dict | list):
            named = _referred(cast(object, entry), depth + 1)
        if named:
            return named
    return ""


def _fetched(key: str, entry: object) -> str:
    """`key`, in whichever case, when its entry names what the provider has to fetch."""
    name, inner = key.casefold(), as_object(entry) or {}
    place = inner.get("url", entry) if name.endswith("_url") else entry
    if name in FETCHED and isinstance(place, str) and not place.startswith("data:"):
        return key
    if name == "source" and inner.get("type") in ("url", "file"):
        return key
    return "item_reference" if name == "type" and entry == "item_reference" else ""


def _no_constant(name: str) -> NoReturn:
    raise BadRequest(f"{name} is not JSON")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise BadRequest(f"{text[:40]} is too large a number")
    return value


_DECODER = json.JSONDecoder(
    object_pairs_hook=_once, parse_constant=_no_constant, parse_float=_finite, parse_int=whole
)
