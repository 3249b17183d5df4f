"""Reading requests that someone else wrote: what the accounting rests on is checked, the rest is theirs."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Literal, NoReturn, cast

from mashq.gateway.types import Message
from mashq.gateway.untrusted import as_object, count
from mashq.gateway.wire.base import BadRequest
from mashq.protocol.resources import Unknown

MAX_OUT = 10**9
KEPT = 100_000
NOT_TEXT = "this model takes plain text messages only: send each message's content as a string"


def body_of(data: bytes) -> dict[str, object]:
    """The JSON object in a request's body, or BadRequest."""
    try:
        document = as_object(json.loads(data, parse_constant=_no_constant, parse_float=_finite))
    except RecursionError:
        raise BadRequest("the body is nested too deeply") from None
    except ValueError as error:
        raise BadRequest(f"the body is not JSON: {error}") from None
    if document is None:
        raise BadRequest("the body must be a JSON object")
    return document


def bounded(document: Mapping[str, object], name: str) -> int:
    """A count that the request states, or BadRequest when it could be anything."""
    value = count(document[name])
    if isinstance(value, Unknown) or value > MAX_OUT:
        raise BadRequest(f"{name} is {str(document[name])[:40]!r}, must be a whole number from 0 to {MAX_OUT}")
    return value


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


def no_tools(document: Mapping[str, object], *names: str) -> None:
    """BadRequest when the request brings tools to a model that is asked by way of our own requests."""
    for name in names:
        if document.get(name):
            raise BadRequest(
                f"this model takes no {name}: leave them out, or play on a model behind an HTTP endpoint"
            )


def _no_constant(name: str) -> NoReturn:
    raise BadRequest(f"{name} is not JSON")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise BadRequest(f"{text} is too large a number")
    return value
