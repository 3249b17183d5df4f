# ruff: noqa: T201
"""Foreign agents of all characters, as a program: `python agents.py CHARACTER`. It knows nothing of this project."""

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from typing import Any


def ask(base: str, token: str, text: str) -> str:
    """One chat request with nothing but the standard library."""
    body = json.dumps({"model": "any", "messages": [{"role": "user", "content": text}]}).encode()
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    request = urllib.request.Request(base + "/chat/completions", body, headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as reply:
            return str(json.load(reply)["choices"][0]["message"]["content"])
    except urllib.error.HTTPError as error:
        return f"HTTP {error.code}: {error.read().decode()}"


def honest(task: dict[str, Any]) -> object:
    """Asks with what its environment holds."""
    said = ask(os.environ["OPENAI_BASE_URL"], os.environ["OPENAI_API_KEY"], task["text"])
    return {"answer": said, "confidence": 75}  # per cent


def told(task: dict[str, Any]) -> object:
    """Asks with what the line holds."""
    return {"answer": ask(task["base_url"], task["token"], task["text"])}


def spy(task: dict[str, Any]) -> object:
    """Reads its own environment and its parent's."""
    own = dict(os.environ)
    try:
        with open(f"/proc/{os.getppid()}/environ", "rb") as file:
            parent = file.read().decode("utf-8", "replace")
    except OSError as error:
        parent = f"{type(error).__name__}"
    return {"answer": json.dumps({"own": own, "parent": parent})}


def late(task: dict[str, Any]) -> object:
    """Leaves a fork behind that asks again and again, also after its turn."""
    if task["round"] == 0:
        subprocess.Popen([sys.executable, "-I", __file__, "haunt", task["base_url"], task["token"]])
        return {"answer": "I am done."}
    time.sleep(0.2)
    return {"answer": "I am done again."}


def haunt(base: str, token: str) -> None:
    """What is left behind."""
    end = time.time() + 60
    while time.time() < end:
        ask(base, token, "still here")
        time.sleep(0.02)


def flood(_: dict[str, Any]) -> object:
    while True:
        sys.stdout.write("x" * 65536)


def lines(_: dict[str, Any]) -> object:
    sys.stdout.write("{}\n" * 2_000_000)
    return {"answer": "after the flood"}


def hang(task: dict[str, Any]) -> object:
    time.sleep(60 if task["item"] == "item-1" else 0)
    return {"answer": "awake"}


def die(task: dict[str, Any]) -> object:
    if task["item"] == "item-1":
        print("out of luck", file=sys.stderr)
        os._exit(3)
    return {"answer": "alive"}


def last_words(_: dict[str, Any]) -> object:
    print(json.dumps({"answer": "my last words"}), flush=True)
    os._exit(0)


def junk(task: dict[str, Any]) -> object:
    return [1, 2] if task["item"] == "item-1" else {"answer": "sense"}


def silent(_: dict[str, Any]) -> object:
    return {"answer": "  "}


def spender(task: dict[str, Any]) -> object:
    """Asks until it is told to stop, and then does not stop."""
    while True:
        said = ask(task["base_url"], task["token"], task["text"])
        if said.startswith("HTTP 402"):
            time.sleep(60)


def chatty(_: dict[str, Any]) -> object:
    """Two lines for one."""
    print(json.dumps({"answer": "first"}), flush=True)
    return {"answer": "second"}


if __name__ == "__main__":
    if sys.argv[1] == "haunt":
        haunt(*sys.argv[2:])
    elif sys.argv[1] == "noise":
        print("Starting up...", flush=True)
        time.sleep(0.3)
    for line in sys.stdin:
        act = globals()["told" if sys.argv[1] == "noise" else sys.argv[1]]
        print(json.dumps(act(json.loads(line))), flush=True)
