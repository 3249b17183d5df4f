"""Each fault as a real client sees it, and the one log line that it leaves."""

import asyncio
import contextlib
import email.utils
import json
import socket
import time
from typing import Any

import aiohttp
import pytest

from mashq.testing import FakeProvider
from mashq.testing.faults import KINDS, NO_STATUS

KEY = "sk-secret-0123456789"
PASSAGE = "The bridge opened in 1932. It is 503 metres long. Sixteen men died building it."
CHAT = {
    "model": "m",
    "messages": [{"role": "user", "content": f'{PASSAGE}\n\nReply with {{"summary": "..."}}.'}],
}
MESSAGES = {**CHAT, "max_tokens": 100}
ANTHROPIC = {"x-api-key": KEY, "anthropic-version": "2023-06-01"}

Seen = tuple[int, dict[str, str], bytes]


async def ask(provider: FakeProvider, *, shape: str = "chat", timeout: float = 5.0) -> Seen:
    """One request on a connection of its own: status, headers (lower case) and body."""
    path, headers, body = ("/chat/completions", {"Authorization": f"Bearer {KEY}"}, CHAT)
    if shape == "messages":
        path, headers, body = ("/messages", ANTHROPIC, MESSAGES)
    limit = aiohttp.ClientTimeout(total=timeout)
    async with (
        aiohttp.ClientSession(timeout=limit) as session,
        session.post(provider.base_url + path, json=body, headers=headers) as reply,
    ):
        return (
            reply.status,
            {name.lower(): value for name, value in reply.headers.items()},
            await reply.read(),
        )


async def completion(provider: FakeProvider, kind: str, shape: str = "chat") -> dict[str, Any]:
    """The JSON of a reply with status 200 under a fault."""
    provider.configure(script=[kind])
    status, _, body = await ask(provider, shape=shape)
    assert status == 200
    return json.loads(body)


def last_hit(provider: FakeProvider) -> dict[str, Any]:
    return provider.hits()[-1]


async def test_ok_in_both_shapes(provider: FakeProvider) -> None:
    chat = await completion(provider, "ok")
    assert json.loads(chat["choices"][0]["message"]["content"])["summary"]
    assert chat["choices"][0]["finish_reason"] == "stop"
    usage = chat["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"] > 0
    message = await completion(provider, "ok", "messages")
    assert message["content"][0]["type"] == "text"
    assert json.loads(message["content"][0]["text"])["summary"]
    assert message["stop_reason"] == "end_turn"
    assert {"input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"} == set(
        message["usage"]
    )


@pytest.mark.parametrize("shape", ["chat", "messages"])
@pytest.mark.parametrize("kind", ["429", "500", "503", "400", "401", "404", "echo_key_500"])
async def test_error_statuses(provider: FakeProvider, kind: str, shape: str) -> None:
    provider.configure(script=[kind])
    before = len(provider.hits())
    status, _, body = await ask(provider, shape=shape)
    assert status == int(kind[-3:])
    error = json.loads(body)["error"]
    assert (KEY in error["message"]) == (kind in ("400", "echo_key_500"))
    assert len(provider.hits()) == before + 1
    assert last_hit(provider)["fault"] == kind
    assert last_hit(provider)["status"] == status


async def test_retry_after(provider: FakeProvider) -> None:
    provider.configure(script=["429", "429_absurd"])
    assert (await ask(provider))[1]["retry-after"] == "0"
    assert (await ask(provider))[1]["retry-after"] == "99999999"
    provider.configure(script=["429", "429_date"], retry_after=2.5)
    assert (await ask(provider))[1]["retry-after"] == "2.5"
    date = email.utils.parsedate_to_datetime((await ask(provider))[1]["retry-after"])
    assert 1.0 < date.timestamp() - time.time() < 5


@pytest.mark.parametrize("kind", ["reset_before", "drop_headers", "drop_body", "half_close"])
async def test_connections_that_break(provider: FakeProvider, kind: str) -> None:
    provider.configure(script=[kind])
    before = len(provider.hits())
    with pytest.raises(aiohttp.ClientError) as caught:
        await ask(provider)
    assert isinstance(caught.value, aiohttp.ClientPayloadError) == (kind == "drop_body")
    assert len(provider.hits()) == before + 1
    assert last_hit(provider)["status"] == (200 if kind == "drop_body" else None)


async def test_reset_is_a_reset_and_half_close_is_a_fin(provider: FakeProvider) -> None:
    body = json.dumps(CHAT).encode()
    request = b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    provider.configure(script=["reset_before", "half_close"])
    with socket.create_connection(("127.0.0.1", provider.port), timeout=5) as raw:
        raw.sendall(request)
        with pytest.raises(ConnectionResetError):
            raw.recv(1)
    with socket.create_connection(("127.0.0.1", provider.port), timeout=5) as raw:
        raw.sendall(request)
        assert raw.recv(1) == b""
        raw.sendall(b"the other direction is still open")


async def test_hang_lasts_until_the_client_gives_up(provider: FakeProvider) -> None:
    provider.configure(script=["hang"])
    with pytest.raises(TimeoutError):
        await ask(provider, timeout=0.2)
    assert last_hit(provider)["fault"] == "hang"
    provider.configure(script=["hang"], hang=0.1)
    with pytest.raises(aiohttp.ServerDisconnectedError):
        await ask(provider)


async def test_slow_drip_arrives_late_but_whole(provider: FakeProvider) -> None:
    provider.configure(script=["ok", "slow_drip"], drip=0.0005)
    _, _, expected = await ask(provider)
    start = time.monotonic()
    assert (await ask(provider))[2] == expected
    assert time.monotonic() - start > 0.0005 * len(expected)
    provider.configure(script=["slow_drip"], drip=0.05)
    with pytest.raises(TimeoutError):
        await ask(provider, timeout=0.3)


async def test_endless_goes_on_for_64_megabytes(provider: FakeProvider) -> None:
    provider.configure(script=["endless"])
    _, headers, body = await ask(provider, timeout=30)
    assert "content-length" not in headers
    assert 60_000_000 < len(body) < 70_000_000
    provider.configure(script=["endless"])
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{provider.base_url}/chat/completions", json=CHAT) as reply,
    ):
        assert await reply.content.readexactly(1000)


async def test_wrong_length_leaves_bytes_over(provider: FakeProvider) -> None:
    provider.configure(script=["ok", "wrong_length"])
    _, _, whole = await ask(provider)
    body = json.dumps(CHAT).encode()
    with socket.create_connection(("127.0.0.1", provider.port), timeout=5) as raw:
        raw.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        received = b"".join(iter(lambda: raw.recv(65536), b""))
    head, _, sent = received.partition(b"\r\n\r\n")
    assert f"Content-Length: {len(whole) // 2}".encode() in head
    assert sent == whole


async def test_bodies_that_are_no_completion(provider: FakeProvider) -> None:
    provider.configure(script=["bad_gzip", "bad_utf8", "html", "truncated_json", "not_a_completion"])
    with pytest.raises(aiohttp.ClientPayloadError):
        await ask(provider)
    with pytest.raises(UnicodeDecodeError):
        (await ask(provider))[2].decode()
    _, headers, body = await ask(provider)
    assert headers["content-type"].startswith("text/html") and b"<html>" in body
    _, headers, body = await ask(provider)
    assert int(headers["content-length"]) == len(body)
    with pytest.raises(json.JSONDecodeError):
        json.loads(body)
    assert "choices" not in json.loads((await ask(provider))[2])


async def test_usage_faults(provider: FakeProvider) -> None:
    assert "usage" not in await completion(provider, "no_usage")
    assert "usage" not in await completion(provider, "no_usage", "messages")
    provider.configure(script=["bad_usage"] * 3)
    replies = [await ask(provider) for _ in range(3)]
    negative, text, false = (json.loads(body)["usage"] for _, _, body in replies)
    assert negative["prompt_tokens"] < 0
    assert isinstance(text["prompt_tokens"], str)
    assert false["total_tokens"] != false["prompt_tokens"] + false["completion_tokens"]
    provider.configure(script=["bad_usage"] * 3)
    replies = [await ask(provider, shape="messages") for _ in range(3)]
    negative, text, false = (json.loads(body)["usage"] for _, _, body in replies)
    assert negative["input_tokens"] < 0
    assert isinstance(text["input_tokens"], str)
    assert false["output_tokens"] == 0


async def test_turns_of_a_chat(provider: FakeProvider) -> None:
    whole = (await completion(provider, "ok"))["choices"][0]["message"]["content"]
    found = {kind: (await completion(provider, kind))["choices"][0] for kind in ("refusal", "content_filter")}
    assert found["refusal"]["message"]["content"] is None and found["refusal"]["message"]["refusal"]
    assert found["content_filter"]["finish_reason"] == "content_filter"
    assert (await completion(provider, "empty"))["choices"][0]["message"]["content"] == ""
    cut = (await completion(provider, "length"))["choices"][0]
    assert cut["finish_reason"] == "length"
    assert whole.startswith(cut["message"]["content"]) and whole != cut["message"]["content"]
    fenced = (await completion(provider, "fenced"))["choices"][0]["message"]["content"]
    assert f"```json\n{whole}\n```" in fenced and not fenced.startswith("```")
    provider.configure(script=["wrong_json"] * 3)
    for _ in range(3):
        content = json.loads((await ask(provider))[2])["choices"][0]["message"]["content"]
        assert '"summary"' not in content


async def test_turns_of_messages(provider: FakeProvider) -> None:
    refusal = await completion(provider, "refusal", "messages")
    assert (refusal["stop_reason"], refusal["content"]) == ("refusal", [])
    assert (await completion(provider, "length", "messages"))["stop_reason"] == "max_tokens"
    assert (await completion(provider, "empty", "messages"))["content"] == []
    provider.configure(script=["content_filter"])
    status, _, body = await ask(provider, shape="messages")
    assert status == 400 and "content filter" in json.loads(body)["error"]["message"]


async def test_every_fault_twice_over_and_the_provider_lives(provider: FakeProvider) -> None:
    script = sorted(KINDS) * 2
    provider.configure(script=script, hang=0.05, drip=0.0)
    before = len(provider.hits())

    async def quietly(shape: str) -> None:
        with contextlib.suppress(aiohttp.ClientError, TimeoutError):
            await ask(provider, shape=shape, timeout=20)

    await asyncio.gather(*(quietly("chat" if n % 2 else "messages") for n in range(len(script))))
    hits = provider.hits()[before:]
    assert sorted(hit["fault"] for hit in hits) == sorted(script)
    statuses = {hit["fault"]: hit["status"] for hit in hits}
    assert {kind for kind, status in statuses.items() if status is None} == NO_STATUS
    assert (await ask(provider))[0] == 200
