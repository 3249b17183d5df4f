"""A contestant that breaks every rule it can think of, and says what came of it."""

import http.client
import json
import os
import socket
import sys
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

BASE = urlsplit(os.environ["OPENAI_BASE_URL"])
TOKEN = os.environ["OPENAI_API_KEY"]
CHAT = json.dumps({"model": "any", "messages": [{"role": "user", "content": "hello"}]})


def post(path: str, token: str, body: str = CHAT, headers: dict[str, str] | None = None) -> str:
    connection = http.client.HTTPConnection(str(BASE.hostname), BASE.port or 80, timeout=20)
    try:
        connection.request("POST", path, body, {"Authorization": f"Bearer {token}", **(headers or {})})
        reply = connection.getresponse()
        return f"{reply.status} {reply.read().decode('utf-8', 'replace')}"
    except OSError as error:
        return f"{type(error).__name__}"
    finally:
        connection.close()


def lie(length: int) -> str:
    """Announce a huge body, and send what is taken of it."""
    with socket.create_connection((str(BASE.hostname), BASE.port or 80), timeout=20) as raw:
        head = f"POST {BASE.path}/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n"
        raw.sendall(f"{head}Content-Length: {length}\r\n\r\n".encode())
        try:
            for _ in range(200):
                raw.sendall(b"x" * 65536)
        except OSError:
            pass
        try:
            return raw.recv(100).decode("latin-1")
        except OSError as error:
            return type(error).__name__


def after_the_turn() -> None:
    for _ in range(100):
        time.sleep(0.05)
        post(f"{BASE.path}/chat/completions", TOKEN)


def secrets() -> str:
    found = [json.dumps(dict(os.environ))]
    for place in (f"/proc/{os.getppid()}/environ", f"/proc/{os.getppid()}/cmdline"):
        try:
            found.append(Path(place).read_bytes().decode("utf-8", "replace"))
        except OSError as error:
            found.append(type(error).__name__)
    return "\n".join(found)


for line in sys.stdin:
    task = json.loads(line)
    chat = f"{BASE.path}/chat/completions"
    seen = [
        post(chat, TOKEN),
        post(chat, "mashq-guess"),
        post(chat, sys.argv[1]),
        post("/1/v1/chat/completions", TOKEN),
        post(f"{BASE.path}/../../__control", TOKEN, "{}"),
        post("http://127.0.0.1:1/v1/chat/completions", TOKEN),
        post(f"{BASE.path}/files", TOKEN),
        lie(1_000_000_000),
        secrets(),
    ]
    threading.Thread(target=after_the_turn, daemon=True).start()
    sys.stdout.write(json.dumps({"answer": "\n".join(seen)}) + "\n")
    sys.stdout.flush()
    time.sleep(0.4)
