"""Agents that try to pay less: the ledger never has less than the provider counted, and P is never lower for it."""

import json
import sys
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

import mashq
from mashq.testing import FakeProvider
from tests.arena.helpers import http_config, rows, write_items
from tests.arena.test_isolation import isolating

AGENT = """
import http.client, json, os, socket, struct, sys, threading
from urllib.parse import urlsplit

BASE, TOKEN, HOW = urlsplit(os.environ["OPENAI_BASE_URL"]), os.environ["OPENAI_API_KEY"], sys.argv[1]

def ask(text, **more):
    connection = http.client.HTTPConnection(BASE.hostname, BASE.port, timeout=30)
    body = {"model": "x", "messages": [{"role": "user", "content": text}], "stream": True, **more}
    headers = {"Authorization": "Bearer " + TOKEN}
    connection.request("POST", BASE.path + "/chat/completions", json.dumps(body), headers)
    reply = connection.getresponse()
    if HOW == "leaves":  # once all has been said, but for what it cost
        while line := reply.readline():
            if b"finish_reason" in line and b"stop" in line:
                break
        connection.sock and connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
    else:
        reply.read()

for line in sys.stdin:
    text = json.loads(line)["text"]
    asking = [threading.Thread(target=ask, args=(f"{n} {text}",)) for n in range(2)]
    for thread in asking: thread.start()
    for thread in asking: thread.join()
    if HOW == "leaves":
        ask("hidden " + text, stream=1)
    print(json.dumps({"answer": text.split(".")[0] + "."}), flush=True)
"""


def test_who_leaves_streams_pays_as_who_stays(tmp_path: Path) -> None:
    program = tmp_path / "agent.py"
    program.write_text(AGENT)
    with FakeProvider(seed=3) as provider:
        config: dict[str, Any] = http_config(provider.base_url, write_items(tmp_path / "items.jsonl", 3))
        config["players"] = [
            {"name": how, "agent": "external", "model": "my/alpha", "command": [sys.executable, str(program), how]}
            for how in ("stays", "leaves")
        ]
        result = mashq.play(config, tmp_path / "run")
        hits = len(provider.hits())
    counted = "count(*), sum(tokens_in), sum(tokens_out), sum(tokens_in IS NULL)"
    query = f"SELECT player, {counted} FROM attempts GROUP BY player ORDER BY player"
    leaves, stays = rows(tmp_path / "run", query)
    assert stays[1:] == leaves[1:] and stays[1] == 6 and stays[4] == 0
    assert hits == 12, "the request with a false stream never left"
    assert rows(tmp_path / "run", "SELECT count(*) FROM refusals WHERE status = 400") == [(3,)]
    told = {player["name"]: player for player in result["players"]}
    assert told["leaves"]["tokens"] == told["stays"]["tokens"]


CHEAT = """
import http.client, json, os, pathlib, random, socket, struct, sys, threading, time
from urllib.parse import urlsplit

BASE, TOKEN, HOW = urlsplit(os.environ["OPENAI_BASE_URL"]), os.environ["OPENAI_API_KEY"], sys.argv[1]
PROVIDER, LEAKED = int(sys.argv[2]), pathlib.Path(sys.argv[3])
NAME = f"{HOW:_<9}"  # as long as any, as what is unknown goes by the bytes of the request
DRAWN = random.Random(7)

def ask(text, stop=None, token=TOKEN, port=BASE.port, path=BASE.path, body=None, **more):
    '''Stream a reply; leave after so many lines of it, if at all. The status.'''
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    plain = {"model": "alpha", "messages": [{"role": "user", "content": NAME + " " + text}],
             "stream": True, "n": 3, "max_tokens": 50, **more}
    sent = body or json.dumps(plain)
    connection.request("POST", path + "/chat/completions", sent, {"Authorization": "Bearer " + token})
    raw = connection.sock
    if stop == 0:  # before the first byte of a reply
        time.sleep(DRAWN.random() / 20)
        return abort(raw)
    reply = connection.getresponse()
    for number, line in enumerate(iter(reply.readline, b"")):
        if number == stop:
            reply.close() if HOW == "leaves" else abort(raw)
            break
    connection.close()
    return reply.status

def abort(raw):
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    raw.close()

def attempt(*arguments, **more):
    try:
        return ask(*arguments, **more)
    except (OSError, http.client.HTTPException) as error:
        return type(error).__name__

def twice(text):  # as a reader may take either
    body = json.dumps({"model": "x", "messages": [{"role": "user", "content": NAME + " " + text}], "stream": True})
    return ask(text, body='{"n": 1, "max_tokens": 1, "n": 3, "max_tokens": 50, ' + body[1:])

def late(text):
    for _ in range(20):
        time.sleep(0.02)
        attempt("late " + text)

if HOW == "stays" and os.access(LEAKED.parent, os.W_OK):
    LEAKED.write_text(TOKEN)
for line in sys.stdin:
    text = json.loads(line)["text"]
    texts = [f"{number} {text}" for number in range(3)]
    came = []
    if HOW == "lies":
        came = [attempt(texts[0], n=lie) for lie in ("3", True, [3], -3, 3.0, 1e99, 10**10, {"n": 3})]
        came.append(twice(texts[0]))
        texts = texts[1:]
    if HOW == "rival" and LEAKED.exists():
        came = [attempt("stolen " + text, token=LEAKED.read_text())]
    if HOW == "elsewhere":
        came = [attempt(each, port=PROVIDER, path="/v1", token="sk-anything") for each in texts]
    if HOW == "together":
        asking = [threading.Thread(target=ask, args=(each, stop)) for each, stop in zip(texts, (None, 4, 4))]
        for thread in asking: thread.start()
        for thread in asking: thread.join()
    else:
        stops = {"leaves": [1, 3, 9], "resets": [0, DRAWN.randrange(1, 12), DRAWN.randrange(1, 12)]}
        for each, stop in zip(texts, stops.get(HOW, [None] * 3)):
            ask(each, stop)
    if HOW == "late":
        threading.Thread(target=late, args=(text,), daemon=True).start()
    print(json.dumps({"answer": " ".join([text.split(".")[0] + ".", *map(str, came)])}), flush=True)
    if HOW == "late":
        time.sleep(0.3)
"""
HONEST, CHEATS = "stays", ("leaves", "resets", "together", "lies", "late", "rival")
EVERY = 5  # tokens of each choice


class Counting(BaseHTTPRequestHandler):
    """A provider that bills what it is asked for, whoever stays to read it: `n` in whatever form it can be read."""

    protocol_version = "HTTP/1.1"
    billed: ClassVar[list[tuple[str, int]]] = []
    tells: ClassVar[bool] = True

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        said = str(asked["messages"][0]["content"])
        choices, read = int(float(str(asked.get("n", 1)))), len(said.split())
        self.billed.append((said.split()[0].strip("_"), read + EVERY * choices))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        usage = {"prompt_tokens": read, "completion_tokens": EVERY * choices, "total_tokens": read + EVERY * choices}
        for index in range(choices):
            for word in range(EVERY):
                last = "stop" if word == EVERY - 1 else None
                self._event(choices=[{"index": index, "delta": {"content": "word "}, "finish_reason": last}])
                time.sleep(0.002)
        if self.tells:
            self._event(choices=[], usage=usage)
        self.wfile.write(b"data: [DONE]\n\n")

    def _event(self, **body: Any) -> None:
        event = {"id": "x", "object": "chat.completion.chunk", **body}
        self.wfile.write(b"data: " + json.dumps(event).encode() + b"\n\n")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the library names it
        """Nothing."""


@pytest.mark.parametrize(
    ("tells", "isolate"),
    [(True, False), (False, False), pytest.param(True, True, marks=isolating)],
    ids=["usage told", "usage never told", "isolated"],
)
def test_who_cheats_pays_no_less(tmp_path: Path, tells: bool, isolate: bool) -> None:
    """Every cheat makes the requests that the honest one makes, each in its own way, and tries for more."""
    folder = tmp_path / "programs"
    folder.mkdir()
    (folder / "cheat.py").write_text(CHEAT)
    served = type("Served", (Counting,), {"billed": list[tuple[str, int]](), "tells": tells})
    players = [HONEST, *CHEATS, *(["elsewhere"] if isolate else [])]
    with ThreadingHTTPServer(("127.0.0.1", 0), served) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url, rest = f"http://127.0.0.1:{server.server_port}/v1", [str(server.server_port), str(folder / "leaked")]
        config: dict[str, Any] = http_config(url, write_items(tmp_path / "items.jsonl", 2))
        plain = {"agent": "external", "model": "my/alpha", "directory": str(folder), "isolate": isolate}
        config |= {
            "players": [
                {"name": how, "command": [sys.executable, "cheat.py", how, *rest], **plain} for how in players
            ],
            "score": {"resources": ["tokens", "calls"]},
        }
        result = mashq.play(config, tmp_path / "run")
        server.shutdown()
    counted, requests = Counter[str](), Counter[str]()
    for how, tokens in served.billed:
        counted[how] += tokens
        requests[how] += 1
    told = {own["name"]: own for own in result["players"]}
    opened = dict(rows(tmp_path / "run", "SELECT player, count(*) FROM attempts GROUP BY 1"))
    for how in players:
        assert requests[how] == opened[how] == told[how]["calls"], how
        assert requests[how] == 6 or how == "late", "what came late was paid for if it came in the next turn"
        assert told[how]["tokens"] == counted[how] if tells else told[how]["tokens"] > counted[how], how
        assert told[how]["penalty"] >= told[HONEST]["penalty"] > 0, how
    refused = dict(rows(tmp_path / "run", "SELECT player, group_concat(DISTINCT status) FROM refusals GROUP BY 1"))
    assert refused.pop("late", "401") == "401"
    assert refused == {"lies": "400"} | ({} if isolate else {"rival": "401"})
