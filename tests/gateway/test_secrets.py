"""No part of a key stays, wherever in a reply it stands and however it is written."""

import asyncio
import base64
import json
import re
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import astuple
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

import pytest
from pydantic import ValidationError

import mashq
from mashq.config import check
from mashq.config.schema import ModelConfig, PlayerConfig
from mashq.gateway.backends.http import HttpBackend, Pool
from mashq.gateway.clock import RealClock
from mashq.gateway.types import Call, Message, Outcome, Request
from mashq.gateway.wire.openai_chat import OpenAIChat, Options
from tests.arena.helpers import http_config, write_items
from tests.arena.helpers import mashq as command

KEY = "Zx9QwEr7TyUi5OpAs3DfGh1JkL0mNbVc2XzLqWe4RtYu6IoPaSd8"
WINDOW = 8
CALL = Call("0", 0, "A", "item", "answer")
SPELT: dict[str, Callable[[str], str]] = {
    "plain": str,
    "json": lambda key: "".join(f"\\u{ord(c):04x}" for c in key),
    "percent": lambda key: "".join(f"%{ord(c):02X}" for c in key),
    "percent where it must be": quote,
    "base64": lambda key: base64.b64encode(key.encode()).decode(),
}
CUTS = (100, 300, 2000, 3000)


def parts_of(key: str) -> set[str]:
    """All that must not stay: every eight characters of it, and of its base64."""
    written = [key, base64.b64encode(key.encode()).decode()[:-4]]
    return {text[at : at + WINDOW] for text in written for at in range(len(text) - WINDOW + 1)}


PARTS = parts_of(KEY)


def clean(text: str) -> bool:
    plain = re.sub(r"\\+u00([0-9a-f]{2})", lambda found: chr(int(found[1], 16)), text)
    return not any(part in text or part in plain for part in PARTS)


def chat(text: str, **more: object) -> dict[str, object]:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 5, "completion_tokens": 5, "total_tokens": 10}
    return {"id": "x", "choices": [choice], "usage": usage, **more}


def body(document: object, spelt: str) -> bytes:
    """JSON in which the word KEY stands for the key as it is spelt."""
    return json.dumps(document).replace("KEY", SPELT[spelt](KEY)).encode()


def whole(status: str, data: bytes, *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(data)}", "Connection: close", *headers]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + data


def replies() -> Iterator[tuple[str, bytes]]:
    """A key in every part of a reply, and at every offset where something is cut."""
    for spelt in SPELT:
        yield f"{spelt} answer", whole("200 OK", body(chat("It is KEY."), spelt))
        yield f"{spelt} finish", whole("200 OK", body({**chat("x"), "model": "KEY", "id": "KEY"}, spelt))
        yield f"{spelt} usage", whole("200 OK", body(chat("x", usage={"prompt_tokens": 1, "note": "KEY"}), spelt))
        yield f"{spelt} error", whole("500 No", body({"error": {"message": "bad KEY", "code": "KEY"}}, spelt))
        yield f"{spelt} no JSON", whole("200 OK", b"<html>" + SPELT[spelt](KEY).encode())
        yield f"{spelt} no completion", whole("200 OK", body({"choices": "KEY"}, spelt))
        written = SPELT[spelt](KEY)
        for cut in CUTS:
            for at in range(max(cut - len(written) - 2, 0), cut + 2, 19):
                padded = {"error": {"message": "." * at + "KEY"}}
                yield f"{spelt} error at {at}", whole("500 No", body(padded, spelt))
                noted = {"prompt_tokens": 1, "a": "." * at + "KEY"}
                yield f"{spelt} usage at {at}", whole("200 OK", body(chat("x", usage=noted), spelt))
    yield "reason", whole(f"500 {KEY}", b"{}")
    yield "header", whole("500 No", b"{}", f"Retry-After: {KEY}", f"X-Key: {KEY}")
    yield "header name", whole("500 No", b"{}", f"{KEY}: 1", f"{KEY} : 1")
    yield "status line", f"HTTP/1.1 {KEY}\r\n\r\n".encode()
    yield "no HTTP", f"{KEY}\r\n\r\n".encode()
    for size in (*range(8160, 8195, 3), 8300, 70_000):
        yield f"long header of {size}", whole("200 OK", b"{}", f"X-Long: {'.' * (size - 60)}{KEY}")
        yield f"long reason of {size}", whole(f"500 {'.' * (size - 60)}{KEY}", b"{}")
    yield "broken length", b"HTTP/1.1 200 OK\r\nContent-Length: " + KEY.encode() + b"\r\n\r\n"
    yield "broken chunk", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + KEY.encode() + b"\r\n"
    yield "encoding", whole("200 OK", b"{}", f"Content-Encoding: {KEY}")


@asynccontextmanager
async def serving(reply: list[bytes]) -> AsyncGenerator[str]:
    """A server that sends these bytes, whatever it is asked."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(reply[0])
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1") as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"


async def test_no_part_of_a_key_is_left_of_any_reply() -> None:
    reply, left, pool = [b""], dict[str, Outcome](), Pool()
    async with serving(reply) as url:
        backend = HttpBackend(
            pool, RealClock(), OpenAIChat(), base_url=url, model="m", key=KEY, options=Options(), timeout=5.0
        )
        for name, data in replies():
            reply[0] = data
            outcome = await backend.attempt(Request((Message("user", "x"),), 5), CALL)
            if not clean(repr(astuple(outcome))):
                left[name] = outcome
        await pool.close()
    assert not left


@pytest.mark.parametrize("name", ["plain", "json", "percent", "base64"])
def test_no_file_and_no_page_of_a_run_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """The model says the key itself, and states it in its usage: the run is grepped whole, and what is made of it."""
    monkeypatch.setenv("THE_KEY", KEY)
    answers = [f"The ferry sails. {SPELT[name](KEY)}", "The council agreed."]
    document = chat(json.dumps({"summary": answers[0], "choice": "continue"}), usage={"prompt_tokens": 3, "k": "KEY"})
    run = tmp_path / "run"

    async def play() -> None:
        async with serving([whole("200 OK", body(document, name))]) as url:
            config = http_config(url, write_items(tmp_path / "items.jsonl", 2))
            for model in config["models"].values():
                model["api_key_env"] = "THE_KEY"
            await asyncio.to_thread(mashq.play, config, run)

    asyncio.run(play())
    texts = [path.read_bytes().decode("latin-1") for path in run.iterdir()]
    if name == "json":
        page = ("report", run, "-o", tmp_path / "report.html")
        for arguments in (("show", run, "--json"), ("verify", run), *([page] if find_spec("vl_convert") else [])):
            done = command(*arguments)
            texts += [done.stdout, done.stderr]
        texts += [path.read_text() for path in tmp_path.glob("report.html")]
    assert all(map(clean, texts))


@pytest.mark.parametrize(
    "settings",
    [
        {"base_url": "https://x.example/v1?api_key=S3cr3tS3cr3t"},
        {"base_url": "https://x.example/v1?key=S3cr3tS3cr3t"},
        {"base_url": "https://user:S3cr3tS3cr3t@x.example/v1"},
        {"extra": {"api_key": "S3cr3tS3cr3t"}},
        {"extra": {"a": [{"access_token": "S3cr3tS3cr3t"}]}},
        {"extra": {"anything": "sk-proj-S3cr3tS3cr3tS3cr3t"}},
        {"headers": {"X": "Bearer S3cr3tS3cr3t"}},
        {"headers": {"X-Auth": "S3cr3tS3cr3t"}},
        {"headers": {"Cookie": "S3cr3tS3cr3t"}},
        {"headers": {"X-Pass": "S3cr3tS3cr3t"}},
        {"extra": {"clientSecret": "S3cr3tS3cr3t"}},
        {"extra": {"apiKey": "S3cr3tS3cr3t"}},
        {"extra": {"credentials_json": "S3cr3tS3cr3t"}},
        {"extra": {"api_key_1": "S3cr3tS3cr3t"}},
        {"extra": {"tools": [{"type": "mcp", "headers": {"X-Token": "S3cr3tS3cr3t"}}]}},
        {"extra": {"tools": [{"type": "mcp", "server_url": "https://u:S3cr3t@x.example"}]}},
        {"extra": {"callback": "send it to https://x.example/?api_key=S3cr3tS3cr3t"}},
        {"base_url": "https://x.example/v1;api_key=S3cr3tS3cr3t"},
        {"base_url": "https://x.example/v1?access_token%3DS3cr3tS3cr3t"},
        {"base_url": "https://x.example/v1?code=S3cr3tS3cr3t"},
        {"base_url": "https://x.example/v1#key=S3cr3tS3cr3t"},
        {"base_url": "https://x.example/sk-S3cr3tS3cr3t/v1"},
    ],
)
def test_a_key_in_a_configuration_is_refused(settings: dict[str, object]) -> None:
    with pytest.raises(ValidationError, match="header_env"):
        ModelConfig.model_validate(settings)


def test_what_is_no_key_is_not_refused() -> None:
    extra = {"max_tokens": 5, "prompt_cache_key": "matches", "provider": {"order": ["a"]}, "user": "me"}
    ModelConfig.model_validate({"extra": extra, "headers": {"X-Title": "mashq", "HTTP-Referer": "https://x.example"}})
    ModelConfig.model_validate({"base_url": "https://x.example/v1?api-version=2024-06-01"})
    with pytest.raises(ValidationError, match="url holds a user or password"):
        PlayerConfig.model_validate({"name": "A", "model": "a/b", "url": "http://user:S3cr3t@x.example"})


@pytest.mark.parametrize(
    "command",
    [
        "python agent.py --api-key S3cr3tS3cr3t",
        "python agent.py --password=S3cr3t",
        "env OPENAI_API_KEY=S3cr3tS3cr3t python agent.py",
        ["python", "agent.py", "--clientSecret", "S3cr3tS3cr3t"],
        ["sh", "-c", "API_TOKEN=S3cr3tS3cr3t exec python agent.py"],
        "python agent.py sk-S3cr3tS3cr3tS3cr3t",
        "python agent.py --db postgres://u:S3cr3t@x.example/db",
        "python agent.py --token S3cr3tS3cr3tS3cr3t",
    ],
)
def test_a_secret_in_a_command_is_refused(command: str | list[str]) -> None:
    with pytest.raises(ValidationError, match="command holds a secret") as caught:
        PlayerConfig.model_validate({"name": "A", "model": "a/b", "command": command})
    assert "S3cr3t" not in caught.value.errors()[0]["msg"]


@pytest.mark.parametrize(
    "command",
    [
        "python agent.py --max-tokens 500 --tokens 500 --key id --api-key-env MY_KEY --token-file token.txt",
        "sh -c 'exec agent --api-key $MY_KEY'",
        "python agent.py --url https://x.example/v1?api-version=2024-06-01 --password",
        "agent 'an unclosed quote",
    ],
)
def test_a_command_without_a_secret_is_not_refused(command: str) -> None:
    PlayerConfig.model_validate({"name": "A", "model": "a/b", "command": command})


def test_a_run_that_stores_a_secret_can_still_be_read() -> None:
    player = {"name": "A", "model": "a/b", "command": "agent --api-key S3cr3tS3cr3t"}
    document = {"players": [player], "models": {"a/b": {"headers": {"X-Pass": "S3cr3t"}}}}
    assert check(document, stored=True).players[0].command == player["command"]
    with pytest.raises(mashq.ConfigError, match="would store"):
        check(document)


async def test_a_header_from_the_environment_is_sent_and_kept_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THE_HEADER", f"Bearer {KEY}")
    asked: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        asked.append(head)
        writer.write(whole("200 OK", body(chat(json.dumps({"summary": "x KEY", "choice": "continue"})), "plain")))
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1") as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        config = http_config(url, write_items(tmp_path / "items.jsonl", 1))
        for model in config["models"].values():
            model["header_env"] = {"X-Auth": "THE_HEADER"}
        await asyncio.to_thread(mashq.play, config, tmp_path / "run")
    assert asked and all(f"X-Auth: Bearer {KEY}".encode() in head for head in asked if head.startswith(b"POST"))
    assert all(clean(path.read_bytes().decode("latin-1")) for path in (tmp_path / "run").iterdir())
