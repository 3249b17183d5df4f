"""The metering server of a program that is none of the players': what it leaves behind, however the program ends."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mashq.arena import metering
from mashq.arena.endpoints import Facilities
from mashq.config import check
from mashq.errors import ConfigError
from mashq.gateway.clock import RealClock
from mashq.testing import FakeProvider
from tests.arena.helpers import http_config, rows, write_items

LEAVES = """
import os, socket, urllib.parse
place = urllib.parse.urlsplit(os.environ["OPENAI_BASE_URL"])
body = b'{"model": "x", "messages": [{"role": "user", "content": "Hello"}]}'
head = (f"POST {place.path}/chat/completions HTTP/1.1\\r\\nHost: x\\r\\nContent-Type: application/json\\r\\n"
        f"Authorization: Bearer {os.environ['OPENAI_API_KEY']}\\r\\nContent-Length: {len(body)}\\r\\n\\r\\n")
line = socket.create_connection((place.hostname, place.port))
line.sendall(head.encode() + body)
__import__("time").sleep(0.3)
"""


async def metered(tmp_path: Path, command: Sequence[str], latency: float = 0.0) -> int:
    with FakeProvider(latency=latency) as provider:
        config = check(http_config(provider.base_url, write_items(tmp_path / "items.jsonl", 1)))
        return await metering.meter(
            config, tmp_path / "run", ["A"], command, lambda _: None, clock=RealClock(), base=tmp_path
        )


async def test_what_is_under_way_when_a_program_ends_is_waited_for(tmp_path: Path) -> None:
    assert await metered(tmp_path, [sys.executable, "-c", LEAVES], latency=1.0) == 0
    ((match, round_, player, item, outcome, tokens),) = rows(
        tmp_path / "run", "SELECT match, round, player, item, outcome, tokens_in FROM attempts"
    )
    assert (match, round_, player, item) == ("0", 0, "A", None)
    assert outcome == "ok" and tokens > 0, "the provider was asked, and has charged for it"


async def test_a_program_that_cannot_be_started_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[Any] = []
    close = Facilities.close

    async def told(self: Facilities) -> None:
        closed.append(self)
        await close(self)

    monkeypatch.setattr(Facilities, "close", told)
    with pytest.raises(ConfigError, match=r"the command 'no-such-program-here' cannot be started .*: name another"):
        await metered(tmp_path, ["no-such-program-here"])
    assert len(closed) == 1, "its connections are closed all the same"
