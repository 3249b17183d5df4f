"""Agents that try to pay less: the ledger never has less than the provider counted, and P is never lower for it."""

import sys
from pathlib import Path
from typing import Any

import pytest

import mashq
from mashq.testing import FakeProvider
from tests.arena import cheating
from tests.arena.cheating import HONEST
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


CHEATS = ("leaves", "resets", "together", "lies", "late", "rival")


@pytest.mark.parametrize(
    ("tells", "isolate"),
    [(True, False), (False, False), pytest.param(True, True, marks=isolating)],
    ids=["usage told", "usage never told", "isolated"],
)
def test_who_cheats_pays_no_less(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tells: bool, isolate: bool) -> None:
    """Every cheat makes the requests that the honest one makes, each in its own way, and tries for more."""
    monkeypatch.setenv("CHEATED_KEY", cheating.KEY)
    players = [HONEST, *CHEATS, *(["elsewhere"] if isolate else [])]
    with cheating.counting(tells=tells) as (bill, port):
        config = cheating.match_of(tmp_path, port, {how: (how,) for how in players}, isolate=isolate)
        result = mashq.play(config, tmp_path / "run")
    told = {own["name"]: own for own in result["players"]}
    opened = dict(rows(tmp_path / "run", "SELECT player, count(*) FROM attempts GROUP BY 1"))
    assert set(bill.requests) == set(players), "nobody asked elsewhere"
    for how in players:
        requests, tokens = bill.requests[how], bill.tokens[how]
        assert requests == opened[how] == told[how]["calls"], how
        assert requests == 6 or how == "late", "what came late was paid for if it came in the next turn"
        assert told[how]["tokens"] == tokens if tells else told[how]["tokens"] > tokens, how
        assert told[how]["penalty"] >= told[HONEST]["penalty"] > 0, how
    refused = dict(rows(tmp_path / "run", "SELECT player, group_concat(DISTINCT status) FROM refusals GROUP BY 1"))
    assert refused.pop("late", "401") == "401"
    assert refused == {"lies": "400"} | ({} if isolate else {"rival": "401"})
