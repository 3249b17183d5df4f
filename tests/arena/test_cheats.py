"""Agents that try to pay less: the ledger never has less than the provider counted, and P is never lower for it."""

import sys
from pathlib import Path
from typing import Any

import mashq
from mashq.testing import FakeProvider
from tests.arena.helpers import http_config, rows, write_items

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
