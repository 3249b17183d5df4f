"""The provider as a server: what it logs, what it refuses and survives, and many clients at once."""

import asyncio
import contextlib
import hashlib
import http.client
import json
import socket
import struct
import time
from typing import Any

import aiohttp
import pytest

from mashq.testing import FakeProvider

KEY = "sk-secret-0123456789"
CHAT_PATH = "/v1/chat/completions"
VERSIONED = "x-api-key: k\r\nanthropic-version: 1\r\n"
CHAT: dict[str, Any] = {
    "model": "m",
    "messages": [{"role": "user", "content": 'Say {"answer": "..."} or not.'}],
}


def raw_request(body: bytes, path: str = CHAT_PATH, extra: str = "", verb: str = "POST") -> bytes:
    head = f"{verb} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\n{extra}"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def connect(provider: FakeProvider) -> socket.socket:
    return socket.create_connection(("127.0.0.1", provider.port), timeout=5)


def exchange(provider: FakeProvider, data: bytes) -> int:
    """Send bytes, finish, and return the status of the reply (0: none)."""
    with connect(provider) as raw:
        raw.sendall(data)
        raw.shutdown(socket.SHUT_WR)
        reply = b"".join(iter(lambda: raw.recv(65536), b""))
    return int(reply.split(b" ")[1]) if reply else 0


def wait_for_hits(provider: FakeProvider, count: int) -> list[dict[str, Any]]:
    deadline = time.monotonic() + 5
    while len(provider.hits()) < count and time.monotonic() < deadline:
        time.sleep(0.01)
    return provider.hits()


def test_a_log_line(provider: FakeProvider) -> None:
    body = json.dumps(CHAT).encode()
    before = len(provider.hits())
    assert exchange(provider, raw_request(body, "/v1/chat/completions?trace=1")) == 200
    (hit,) = provider.hits()[before:]
    assert hit["n"] == before + 1
    assert abs(hit["time"] - time.time()) < 60
    assert (hit["method"], hit["path"], hit["model"]) == ("POST", "/v1/chat/completions", "m")
    assert hit["authorization"] == hashlib.sha256(KEY.encode()).hexdigest()[:12]
    assert hit["body_digest"] == hashlib.sha256(body).hexdigest()
    assert hit["messages"] == CHAT["messages"]
    assert (hit["fault"], hit["status"], hit["partial"]) == ("ok", 200, False)
    assert KEY not in json.dumps(provider.hits())


def test_a_request_is_logged_before_it_is_answered(provider: FakeProvider) -> None:
    provider.configure(script=["hang"])
    before = len(provider.hits())
    with connect(provider) as raw:
        raw.sendall(raw_request(json.dumps(CHAT).encode()))
        assert len(wait_for_hits(provider, before + 1)) == before + 1


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (raw_request(b"{}", "/nowhere"), 404),
        (raw_request(b"", verb="GET"), 405),
        (raw_request(b"not json"), 400),
        (raw_request(b"\xff\xfe"), 400),
        (raw_request(b"[]"), 400),
        (raw_request(b'{"model": NaN}'), 400),
        (raw_request(b"[" * 100_000), 400),
        (raw_request(b'{"model": "m"}'), 400),
        (raw_request(b'{"messages": [{}]}'), 400),
        (raw_request(b'{"model": "m", "messages": [1]}'), 400),
        (raw_request(json.dumps({**CHAT, "stream": True}).encode(), "/v1/messages", VERSIONED), 400),
        (raw_request(json.dumps({**CHAT, "seed": "x"}).encode()), 400),
        (raw_request(b'{"model": "m", "messages": [{"content": ' + b"[" * 900 + b"]" * 900 + b"}]}"), 200),
        (raw_request(json.dumps({**CHAT, "model": "\ud800"}).encode()), 200),
        (raw_request(json.dumps(CHAT).encode(), "/v1/messages"), 401),
        (raw_request(json.dumps(CHAT).encode(), "/v1/messages", "x-api-key: k\r\n"), 400),
        (raw_request(json.dumps(CHAT).encode(), "/v1/messages", VERSIONED), 400),
        (b"nonsense\r\n\r\n", 400),
        (b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: -5\r\n\r\n", 400),
        (b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 99999999999999\r\n\r\n", 413),
        (b"POST /v1/chat/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 411),
        (b"GET / HTTP/1.1\r\nX: " + b"x" * 200_000, 431),
    ],
)
def test_refused_requests_are_logged_and_leave_the_plan_alone(
    provider: FakeProvider, data: bytes, status: int
) -> None:
    provider.configure(script=["503"] if status != 200 else [])
    before = len(provider.hits())
    assert exchange(provider, data) == status
    (hit,) = provider.hits()[before:]
    assert (hit["fault"], hit["status"]) == ("ok", status)
    assert hit["partial"] == (status in (411, 413, 431))
    if status != 200:
        assert exchange(provider, raw_request(json.dumps(CHAT).encode())) == 503


@pytest.mark.parametrize("reset", [False, True])
@pytest.mark.parametrize("cut", [1, 30, 80, -5])
def test_a_part_of_a_request_is_logged_as_partial(provider: FakeProvider, cut: int, reset: bool) -> None:
    before = len(provider.hits())
    raw = connect(provider)
    raw.sendall(raw_request(json.dumps(CHAT).encode())[:cut])
    time.sleep(0.05)
    if reset:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    raw.close()
    (hit,) = wait_for_hits(provider, before + 1)[before:]
    assert hit["partial"] is True and hit["status"] is None


@pytest.mark.parametrize("missing", [0, 10])
def test_clients_that_reset_at_once_are_counted(provider: FakeProvider, missing: int) -> None:
    request = raw_request(json.dumps(CHAT).encode())
    before = len(provider.hits())
    for _ in range(100):
        with connect(provider) as raw:
            raw.sendall(request[: len(request) - missing])
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    hits = wait_for_hits(provider, before + 100)[before:]
    assert [hit["partial"] for hit in hits] == [missing > 0] * 100


def test_a_connection_without_a_byte_is_no_request(provider: FakeProvider) -> None:
    before = len(provider.hits())
    connect(provider).close()
    assert exchange(provider, b"") == 0
    assert exchange(provider, raw_request(json.dumps(CHAT).encode())) == 200
    assert len(provider.hits()) == before + 1


def test_expect_continue_and_a_body_in_pieces(provider: FakeProvider) -> None:
    body = json.dumps(CHAT).encode()
    request = raw_request(body, extra="Expect: 100-continue\r\n")
    with connect(provider) as raw:
        raw.sendall(request[: -len(body)])
        assert raw.recv(100).startswith(b"HTTP/1.1 100 Continue")
        for index in range(len(body)):
            raw.sendall(body[index : index + 1])
        assert raw.recv(100).startswith(b"HTTP/1.1 200 OK")


def test_keep_alive_serves_many_requests_on_one_connection(provider: FakeProvider) -> None:
    provider.configure(rates={"429": 0.5, "wrong_json": 0.2})
    before = len(provider.hits())
    client = http.client.HTTPConnection("127.0.0.1", provider.port, timeout=5)
    client.connect()
    first = client.sock
    for _ in range(10):
        client.request("POST", "/v1/chat/completions", json.dumps(CHAT))
        reply = client.getresponse()
        assert reply.read()
        assert reply.headers["x-request-id"] == str(provider.hits()[-1]["n"])
        assert client.sock is first
    client.close()
    assert len(provider.hits()) == before + 10


async def test_64_clients_at_once(provider: FakeProvider) -> None:
    provider.configure(rates={"429": 0.1, "500": 0.1, "reset_before": 0.1, "drop_body": 0.1, "length": 0.1})
    before = len(provider.hits())

    async def client(number: int) -> None:
        async with aiohttp.ClientSession(headers={"Authorization": f"Bearer k{number}"}) as session:
            for _ in range(5):
                with contextlib.suppress(aiohttp.ClientError):
                    async with session.post(f"{provider.base_url}/chat/completions", json=CHAT) as reply:
                        await reply.read()

    await asyncio.gather(*(client(number) for number in range(64)))
    hits = provider.hits()[before:]
    assert len(hits) == 64 * 5
    assert [hit["n"] for hit in hits] == list(range(before + 1, before + 321))
    assert len({hit["authorization"] for hit in hits}) == 64
    assert len({hit["fault"] for hit in hits}) == 6


def test_control_is_not_a_hit_and_says_what_is_wrong(provider: FakeProvider) -> None:
    before = len(provider.hits())
    provider.configure(script=["429"])
    for bad in (
        {"script": ["nope"]},
        {"script": "429"},
        {"rates": {"429": 1.5}},
        {"rates": {"429": 0.6, "500": 0.6}},
        {"rates": {"429": True}},
        {"rates": 3},
        {"rates": {"429": 0.1}, "script": ["ok"]},
        {"models": {"m": {"drip": 1}}},
        {"drip": -1},
        {"drip": 10**400},
        {"surprise": 1},
    ):
        with pytest.raises(ValueError, match=r"429|nope|rates|script|drip|surprise"):
            provider.configure(**bad)
    with connect(provider) as raw:
        raw.sendall(b"POST /__control HTTP/1.1\r\nContent-Length: 10\r\n\r\n{")
    assert len(provider.hits()) == before
    assert exchange(provider, raw_request(json.dumps(CHAT).encode())) == 429
