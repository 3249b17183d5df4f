"""An agent that plays like any other and cheats: what it does is in its arguments.

    cheating_program.py NAME TRICKS SEED PORT LEAKED

For every item it makes the same three requests, in the manner of one of its tricks, tries what its other tricks try
besides, and answers with the item's first sentence and, as JSON, what came of what it tried. NAME begins every
prompt, TRICKS are joined with +, PORT is where the models themselves are, and LEAKED is a file in which an honest one
left its token. It uses nothing but the standard library.
"""

import http.client
import json
import os
import pathlib
import random
import socket
import struct
import sys
import threading
import time
from typing import Any
from urllib.parse import urlsplit

BASE, TOKEN = urlsplit(os.environ["OPENAI_BASE_URL"]), os.environ["OPENAI_API_KEY"]
NAME, TRICKS, SEED = sys.argv[1], sys.argv[2].split("+"), int(sys.argv[3])
PROVIDER, LEAKED = int(sys.argv[4]), pathlib.Path(sys.argv[5])
DRAWN = random.Random(SEED)
MUCH = 3 * 2**20
LIES: tuple[Any, ...] = ("3", "90", True, [3], -3, 3.0, 90.0, 1e99, 10**10, {"n": 3})
MESSAGES = b'{"messages": [{"role": "user", "content": "a"}], '
ODD = (
    *(b"", b"{", b"[]", b"null", b"\xff\xfe\x00", b'"text"', b"[" * 5000, b'{"messages": 7}', b'{"messages": []}'),
    b'{"messages": [{"role": "user"}], "stream": "yes"}',
    b'{"messages": [{"role": "user", "content": 5}], "stream": 1}',
    b'{"messages": [{"role": "user", "content": "a\\ud800"}], "stream": true}',
    MESSAGES + b'"stream": true, "max_tokens": "many"}',
    MESSAGES + b'"stream": true, "max_tokens": -1}',
    MESSAGES + b'"model": 9, "models": ["b"], "route": "fallback"}',
    MESSAGES + b'"stream": true, "stream_options": {"include_usage": 0}}',
    MESSAGES + b'"stream": true, "stream_options": "none", "max_tokens": 5}',
    MESSAGES + b'"stream": true, "max_tokens": 5, "max_completion_tokens": 50}',
)
THERE = b"%s/chat/completions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer %s\r\n"
RAW = (
    b"GET / HTTP/1.1\r\n\r\n",
    b"\x16\x03\x01" + bytes(40),
    b"POST " + b"/" * 70_000 + b" HTTP/1.1\r\n\r\n",
    b"POST " + THERE + b"Content-Length: -5\r\n\r\n{}",
    b"POST " + THERE + b"Content-Length: 99999999999\r\n\r\n{}",
    b"POST " + THERE + b"Transfer-Encoding: chunked\r\n\r\nZZ\r\n",
    b"POST " + THERE + b"Content-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"DELETE " + THERE + b"\r\n",
    b"POST %s/../../etc HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer %s\r\nContent-Length: 2\r\n\r\n{}",
)


def ask(
    text: str,
    stop: int | None = None,
    token: str = TOKEN,
    port: int | None = BASE.port,
    path: str = BASE.path,
    body: str | bytes | None = None,
    **more: Any,
) -> object:
    """Stream a reply; leave after so many lines of it, if at all. The status."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    plain = {
        "model": "alpha", "messages": [{"role": "user", "content": f"{NAME:_<9} {text}"}],
        "stream": True, "n": 3, "max_tokens": 50, **more,
    }  # fmt: skip
    sent = json.dumps(plain) if body is None else body
    connection.request("POST", path + "/chat/completions", sent, {"Authorization": "Bearer " + token})
    line: Any = connection.sock
    if stop == 0:  # before the first byte of a reply
        time.sleep(DRAWN.random() / 20)
        return abort(line)
    reply = connection.getresponse()
    for number, _ in enumerate(iter(reply.readline, b"")):
        if number == stop:
            reply.close() if "leaves" in TRICKS else abort(line)
            break
    connection.close()
    return reply.status


def abort(line: Any) -> None:
    """Reset a connection."""
    line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    line.close()


def attempt(*arguments: Any, **more: Any) -> object:
    """The same, or the name of what it met."""
    try:
        return ask(*arguments, **more)
    except (OSError, ValueError, http.client.HTTPException) as error:
        return type(error).__name__


def ambiguous(text: str) -> list[object]:
    """A field that stands twice, of which a reader may take either; or in another case, which some do not tell."""
    body = json.dumps({"model": "x", "messages": [{"role": "user", "content": f"{NAME:_<9} {text}"}], "stream": True})
    lies = ('{"n": 1, "n": 3, ', '{"n": 1, "N": 3, ', '{"Stream": false, ', '{"MODEL": "cheaper", ')
    return [attempt(text, body=lie + body[1:]) for lie in lies]


def raw(text: bytes) -> str:
    """Bytes that are hardly a request."""
    text = text.replace(b"%s", BASE.path.encode(), 1).replace(b"%s", TOKEN.encode())
    try:
        with socket.create_connection(("127.0.0.1", BASE.port), timeout=1) as connection:
            connection.sendall(text)
            connection.shutdown(socket.SHUT_WR)
            return connection.recv(64).decode("latin-1")[:12]
    except OSError as error:
        return type(error).__name__


def later(text: str, times: int = 20) -> None:
    """Ask when the turn is over."""
    for _ in range(times):
        time.sleep(0.02)
        attempt("late " + text)


def together(texts: list[str]) -> None:
    """Two streams that are left and one that is read, at once."""
    asking = [threading.Thread(target=ask, args=pair) for pair in zip(texts, (None, 4, 4), strict=False)]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join()


def turn(text: str) -> dict[str, list[object]]:
    """What it does for one item; what came of what it tried, by trick."""
    texts = [f"{number} {text}" for number in range(3)]
    came: dict[str, list[object]] = {}
    if "lies" in TRICKS:
        came["lies"] = [*(attempt(texts[0], n=lie) for lie in LIES), *ambiguous(texts[0])]
    if "odd" in TRICKS:
        attempted = [attempt(texts[0], body=body) for body in DRAWN.sample(ODD, 6)]
        came["odd"] = [*attempted, *(raw(some) for some in DRAWN.sample(RAW, 3))]
    if "rival" in TRICKS and LEAKED.exists():
        came["rival"] = [attempt("stolen " + text, token=LEAKED.read_text())]
    if "elsewhere" in TRICKS:
        came["elsewhere"] = [attempt(each, port=PROVIDER, path="/elsewhere", token="sk-anything") for each in texts]
    if "baits" in TRICKS:  # something small that is known, so that the mean is small
        came["baits"] = [attempt("a", n=1)]
    stops: list[int | None] = [None] * 3
    if "leaves" in TRICKS:
        stops = [1, 3, 9]
    if "resets" in TRICKS:
        stops = [0, DRAWN.randrange(1, 12), DRAWN.randrange(1, 12)]
    if "together" in TRICKS:
        together(texts)
    else:
        for each, stop in zip(texts, stops, strict=False):
            attempt(each, stop)
    if "late" in TRICKS:
        threading.Thread(target=later, args=(text,), daemon=True).start()
    if "forks" in TRICKS and os.fork() == 0:  # one that outlives it
        os.setsid()
        later(text, 60)
        os._exit(0)
    return came


def says(text: str, came: dict[str, list[object]]) -> None:
    """Answer, in the manner of a trick."""
    answer = json.dumps({"answer": text.split(".")[0] + ". " + json.dumps(came)})
    if "slow" in TRICKS:
        time.sleep(0.4)
    if "hangs" in TRICKS:
        time.sleep(60)
    if "exits" in TRICKS:
        os._exit(DRAWN.choice((0, 1, 3, 137)))
    if "floods" in TRICKS:
        sys.stdout.write("x" * MUCH)
    if "huge" in TRICKS:
        answer = json.dumps({"answer": "x" * MUCH})
    if "noise" in TRICKS:
        answer = DRAWN.choice(
            ("nothing", "[1]", '{"answer": 7}', '{"answer": null}', '{"answer": "a\\ud800"}', "{" * 9000)
        )
    if "shouts" in TRICKS:
        sys.stderr.write("y" * MUCH)
    sys.stdout.write(answer + "\n")
    sys.stdout.flush()


if "stays" in TRICKS and os.access(LEAKED.parent, os.W_OK):
    LEAKED.write_text(TOKEN)
for line in sys.stdin:
    asked = json.loads(line)["text"]
    says(asked, turn(asked))
    if "late" in TRICKS:
        time.sleep(0.3)
