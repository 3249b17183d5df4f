"""`check_wire`: a wire format reads what it writes, reports what it cannot read, and invents no token counts."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TypeVar, cast

from mashq.gateway.types import Completion, Message, Request, Usage
from mashq.gateway.untrusted import as_list, as_object
from mashq.gateway.wire.base import Answered, Asked, BadRequest, Options, Served, Wire
from mashq.gateway.wire.sse import Cutter
from mashq.protocol.resources import UNKNOWN

T = TypeVar("T")
KEY, MODEL = "sk-conformance-0123456789", "model-of-the-check"
MESSAGES = (
    Message("system", "Answer in one word."),
    Message("user", "Which sea? «Ось» 🚢"),
    Message("assistant", "That one."),
)
LIMIT = 321
REQUEST = Request(MESSAGES, max_tokens=LIMIT, temperature=0.5, seed=7)
JUNK: list[object] = json.loads("""[
  null, 3, "text", [], {}, [{}], {"error": {"message": "no"}}, {"error": "no"},
  {"usage": "x"}, {"usage": {"input_tokens": -1}}, {"usageMetadata": 3},
  {"choices": []}, {"choices": [null]}, {"choices": 3}, {"content": null}, {"content": [3]},
  {"candidates": [null]}, {"output": [3]}
]""")
PREFIXES = ("", "/v1", "/v1beta")
WHOLE = Answered(Completion("The Kara sea. 🚢", "stop"), Usage(12, 5), MODEL, "1")


def check_wire(wire: object, reply: object = None, text: str = "") -> None:
    """Write requests, read replies and junk and, where the format is served, serve requests, whole and streamed.

    A format that is not served needs an example: a `reply` document, and the `text` in it.
    """
    subject = cast(Wire, wire)
    body = _check_client(subject)
    for junk in JUNK:
        decoded = _call(lambda junk=junk: subject.decode(junk), f"decode of {junk!r}")
        assert isinstance(decoded, tuple) or decoded, f"decode says nothing of what is wrong with {junk!r}"
        usage = _call(lambda junk=junk: subject.usage(junk), f"usage of {junk!r}")
        assert usage.tokens_in is UNKNOWN, f"{junk!r} states no tokens: they are unknown, not {usage.tokens_in}"
    if subject.served is not None:
        _check_endpoint(subject, subject.served, body)
    else:
        assert reply is not None, "a wire format that is not served needs an example: check_wire(wire, reply, text)"
    if reply is not None:
        decoded = _call(lambda: subject.decode(reply), "decode of the example")
        assert not isinstance(decoded, str), f"the example cannot be read: {decoded}"
        assert decoded[0].text == text, f"the example says {text!r}, and {decoded[0].text!r} was read"


def _check_client(wire: Wire) -> bytes:
    """Check the client's half; return the body of a request."""
    path = wire.path(MODEL)
    assert path.startswith("/"), f"the path {path!r} must start with /: it goes below the base URL"
    assert KEY in " ".join(wire.headers(KEY).values()), "the headers do not hold the key"
    assert KEY not in " ".join(wire.headers(None).values()), "the headers hold a key where there is none"
    document = wire.encode(MODEL, REQUEST, Options())
    assert wire.encode(MODEL, REQUEST, Options()) == document, "the same request is encoded in two ways"
    texts = "\n".join(_leaves(document, str))
    for message in MESSAGES:
        assert message.content in texts, f"the {message.role} message is not in the request"
    assert MODEL in texts or MODEL in path, "the model is neither in the request nor in its path"
    assert LIMIT in _leaves(document, int), "the output limit is not in the request"
    assert wire.encode(MODEL, REQUEST, Options(extra={"x_extra": 1})).get("x_extra") == 1, "`extra` is not sent"
    return json.dumps(document).encode()


def _check_endpoint(wire: Wire, served: Served, body: bytes) -> None:
    """Check the endpoint's half."""
    variables = served.variables("http://127.0.0.1:9/1", KEY)
    assert KEY in variables.values(), "no variable holds the token"
    assert any("http://127.0.0.1:9/1" in value for value in variables.values()), "no variable holds the address"
    groups = _groups(wire, served)
    for junk in (b"", b"not JSON", b"[]", b"{}", b'{"a": NaN}'):
        try:
            served.read("chat", groups, junk)
        except BadRequest:
            continue
        raise AssertionError(f"the body {junk!r} must be a BadRequest")
    parsed = served.read("chat", groups, body)
    assert parsed.tokens_out is not None, "the output limit of a request is not read"
    assert parsed.tokens_out >= LIMIT, f"at most {parsed.tokens_out} tokens out: the request allows more"
    request = served.as_request(parsed, 50, None)
    assert request.messages == MESSAGES, "as_request does not give the messages that were sent"
    recorded = " ".join(message.content for message in served.noted(parsed).messages)
    assert all(message.content in recorded for message in MESSAGES), "the ledger would not hold every message"
    _check_no_limit(served, groups, body)
    sent = json.loads(served.upstream(parsed, "another-model", None, Options()))
    assert "another-model" in [*_leaves(sent, str), *re.split("[/:]", served.target(parsed, "another-model"))], (
        "the request is sent on to the agent's model, not to the configured one"
    )
    assert "why" in _leaves(served.problem(400, "why"), str), "an error does not hold its sentence"
    _check_replies(wire, served, parsed)
    _check_streams(served, replace(parsed, stream=True, usage_wanted=True))


def _check_no_limit(served: Served, groups: Mapping[str, str], body: bytes) -> None:
    """Check that a request without an output limit is sent on without one, unless one is given."""
    document = _without(json.loads(body), REQUEST.max_tokens)
    parsed = served.read("chat", groups, json.dumps(document).encode())
    assert parsed.tokens_out is None, f"at most {parsed.tokens_out} tokens out: the request sets no limit"
    limits = [_leaves(json.loads(served.upstream(parsed, MODEL, limit, Options())), int) for limit in (None, 50)]
    assert 50 not in limits[0] and 50 in limits[1], "an output limit is sent unasked, or not when asked"


def _without(value: object, leaf: object) -> object:
    """Return a document without the fields whose value is `leaf`."""
    document = as_object(value)
    if document is None:
        return value
    return {name: _without(inner, leaf) for name, inner in document.items() if inner != leaf}


def _check_replies(wire: Wire, served: Served, request: Asked) -> None:
    for reply in (WHOLE, replace(WHOLE, usage=Usage()), replace(WHOLE, completion=Completion("No.", "", True))):
        document = json.loads(json.dumps(served.reply(reply)))
        for decoded in (wire.decode(document), served.decode(request, document)):
            assert not isinstance(decoded, str), f"its own reply cannot be read: {decoded}"
            completion, usage = decoded
            assert completion.text == reply.completion.text, "a reply's text is not what was written"
            assert completion.refused == reply.completion.refused, "a refusal is not read as it was written"
            assert usage.tokens_in == reply.usage.tokens_in, "the tokens in are not read as they were written"
            assert usage.tokens_out == reply.usage.tokens_out, "the tokens out are not read as they were written"


def _check_streams(served: Served, request: Asked) -> None:
    events = Cutter().feed(served.events(WHOLE, request))
    reader = served.reader(request)
    relayed = [reader.take(event) for event in events]
    kind, completion, error = reader.ending()
    assert kind == "ok" and completion is not None, f"its own stream is {kind}: {error}"
    assert completion.text == WHOLE.completion.text, "a stream's text is not what was written"
    assert all(relayed), "an agent that asked for everything is not sent every event"
    assert (reader.usage.tokens_in, reader.usage.tokens_out) == (12, 5), "the usage of a stream is not read"
    reader = served.reader(request)
    reader.take(events[0])
    kind, _, error = reader.ending()
    assert kind not in ("ok", "refused") and error, "a stream that broke off counts as whole"
    assert reader.usage.tokens_out is UNKNOWN, "the tokens out of a stream that broke off must be unknown"


def _groups(wire: Wire, served: Served) -> Mapping[str, str]:
    """Return the groups that the endpoint's route extracts from the client's path."""
    for route in served.routes:
        for prefix in PREFIXES:
            match = re.fullmatch(route.path, prefix + wire.path(MODEL))
            if match is not None and (route.kind, route.method) == ("chat", "POST"):
                return match.groupdict("")
    raise AssertionError(f"no route serves {wire.path(MODEL)}, where the client asks")


def _call(act: Callable[[], T], what: str) -> T:
    """Call extension code, turning an exception into a failed check."""
    try:
        return act()
    except Exception as error:
        raise AssertionError(f"{what} raised {type(error).__name__}: {error}") from error


def _leaves(value: object, kind: type[T]) -> list[T]:
    return list(_walk(value, kind))


def _walk(value: object, kind: type[T]) -> Iterator[T]:
    if isinstance(value, kind):
        yield value
    for inner in (as_object(value) or {}).values():
        yield from _walk(inner, kind)
    for inner in as_list(value) or []:
        yield from _walk(inner, kind)
