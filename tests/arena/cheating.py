"""A match of agents that cheat, on models that count what they are asked: for tests and for the torture."""

import json
import sys
import threading
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

from tests.arena.helpers import http_config, write_items

PROGRAM = Path(__file__).with_name("cheating_program.py")
HONEST = "stays"
EVERY = 5  # tokens of each choice
MOST = 100  # choices that are written at all
KEY = "sk-cheated-0123456789abcdef"


@dataclass
class Bill:
    """What the models have been asked, by the player whose they are: how often, and for how many tokens."""

    requests: dict[str, int] = field(default_factory=dict[str, int])
    tokens: dict[str, int] = field(default_factory=dict[str, int])
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, player: str, requests: int, tokens: int) -> None:
        """Put it on the bill."""
        with self.lock:
            self.requests[player] = self.requests.get(player, 0) + requests
            self.tokens[player] = self.tokens.get(player, 0) + tokens


class Counting(BaseHTTPRequestHandler):
    """Models that bill what they are asked for, whoever stays to read it: `n` in whatever form it can be read."""

    protocol_version = "HTTP/1.1"
    bill: ClassVar[Bill]
    tells: ClassVar[bool] = True

    def do_POST(self) -> None:
        """One request; whose it is stands first in its path."""
        player = self.path.split("/")[1]
        self.bill.add(player, 1, 0)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            asked = json.loads(body)
            said = asked["messages"][0]["content"].split()
            choices = min(MOST, max(1, int(float(str(asked.get("n", 1))))))
        except (ValueError, TypeError, LookupError, AttributeError, OverflowError):
            self._whole(400, {"error": {"message": "this cannot be read", "type": "invalid_request_error"}})
            return
        read, wrote = len(said), EVERY * choices
        self.bill.add(player, 0, read + wrote)
        usage = {"prompt_tokens": read, "completion_tokens": wrote, "total_tokens": read + wrote}
        if asked.get("stream") is not True:
            reply = [
                {
                    "index": index,
                    "message": {"role": "assistant", "content": "word " * EVERY},
                    "finish_reason": "stop",
                }
                for index in range(choices)
            ]
            document = {"id": "x", "object": "chat.completion", "model": "alpha", "choices": reply}
            self._whole(200, document | ({"usage": usage} if self.tells else {}))
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for index in range(choices):
            for word in range(EVERY):
                last = "stop" if word == EVERY - 1 else None
                self._event(choices=[{"index": index, "delta": {"content": "word "}, "finish_reason": last}])
                time.sleep(0.002)
        if self.tells:
            self._event(choices=[], usage=usage)
        self.wfile.write(b"data: [DONE]\n\n")

    def _whole(self, status: int, document: Mapping[str, Any]) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _event(self, **body: Any) -> None:
        event = {"id": "x", "object": "chat.completion.chunk", **body}
        self.wfile.write(b"data: " + json.dumps(event).encode() + b"\n\n")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the library names it
        """Nothing."""


class _Quiet(ThreadingHTTPServer):
    """Whoever reads no further is no error here."""

    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Nothing: the bill has it."""


@contextmanager
def counting(*, tells: bool) -> Generator[tuple[Bill, int]]:
    """Serve such models: their bill, and their port. `tells`: whether they say what a reply cost."""
    bill = Bill()
    with _Quiet(("127.0.0.1", 0), type("Served", (Counting,), {"bill": bill, "tells": tells})) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield bill, server.server_port
        finally:
            server.shutdown()


def match_of(
    folder: Path,
    port: int,
    players: Mapping[str, Sequence[str]],
    *,
    items: int = 2,
    isolate: bool = False,
    seed: int = 7,
    **more: Any,
) -> dict[str, Any]:
    """A match of agents by name, each with its tricks and with a model of its own, so that it has its own bill."""
    programs = folder / "programs"
    programs.mkdir()
    (programs / PROGRAM.name).write_text(PROGRAM.read_text())
    config = http_config(f"http://127.0.0.1:{port}/v1", write_items(folder / "items.jsonl", items))
    (model,) = {json.dumps(model): model for model in config["models"].values()}.values()
    plain = {"agent": "external", "directory": str(programs), "isolate": isolate, **more}
    rest = [str(seed), str(port), str(programs / "leaked")]
    return config | {
        "models": {
            _model(name): {**model, "base_url": f"http://127.0.0.1:{port}/{name}/v1", "api_key_env": "CHEATED_KEY"}
            for name in players
        },
        "players": [
            {"name": name, "model": _model(name), **plain}
            | {"command": [sys.executable, PROGRAM.name, name, "+".join(tricks), *rest]}
            for name, tricks in players.items()
        ],
        "score": {"resources": ["tokens", "calls"], "refusals": "penalised"},
    }


def _model(player: str) -> str:
    """The model of a player, its name as long as any: what is unknown goes by the bytes of a request."""
    return f"my/{player:_<9}"
