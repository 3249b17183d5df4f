"""A contestant that tries every way out it is told of, and says what came of each: `prober.py JSON`."""

import http.client
import json
import os
import socket
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

BASE, TOKEN = urlsplit(os.environ["OPENAI_BASE_URL"]), os.environ["OPENAI_API_KEY"]
CHAT = json.dumps({"model": "any", "messages": [{"role": "user", "content": "hello"}]})


def ask(path: str, token: str | list[str], port: int | None = None) -> str:
    """A chat request; the status of the reply. A token in parts is no secret that a configuration could tell."""
    whole = "".join(token)
    connection = http.client.HTTPConnection("127.0.0.1", port or BASE.port, timeout=5)
    connection.request("POST", path + "/chat/completions", CHAT, {"Authorization": f"Bearer {whole}"})
    return str(connection.getresponse().status)


def connect(host: str, port: int) -> str:
    socket.create_connection((host, port), timeout=2).close()
    return "reached"


def datagram(host: str, port: int) -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        out.sendto(b"hello", (host, port))
    return "sent"


def unix(name: str) -> str:
    with socket.socket(socket.AF_UNIX) as out:
        out.connect("\0" + name[1:] if name.startswith("@") else name)
    return "reached"


def read(path: str) -> str:
    place = Path(path)
    return f"read {sorted(os.listdir(path))}" if place.is_dir() else f"read {place.read_bytes()[:200]!r}"


def write(path: str) -> str:
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT))
    return "written"


def signalled(pid: int) -> str:
    os.kill(pid, 0)
    return "signalled"


def rival(path: str) -> str:
    """Ask with the token that a rival left in a file, at its own address and at ours."""
    theirs = json.loads(Path(path).read_text())
    return " ".join(ask(at, theirs["token"]) for at in (theirs["path"], BASE.path))


def tried(way: Any, *arguments: Any) -> str:
    try:
        return way(*arguments)
    except (OSError, http.client.HTTPException) as error:
        return type(error).__name__


def leave_a_trace(path: str) -> str:
    """Start something that outlives its parent in a session of its own, as a daemon does."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.execvp("sleep", ["sleep", path])
        os._exit(0)
    os.wait()
    return "left"


def own() -> dict[str, Any]:
    """What it has: variables, open files, interfaces, processes, capabilities."""
    status = Path("/proc/self/status").read_text()
    return {
        "variables": sorted(os.environ),
        "home": os.environ["HOME"],
        "files": sorted(int(name) for name in os.listdir("/proc/self/fd") if int(name) < 100)[:8],
        "interfaces": [name for _, name in socket.if_nameindex()],
        "processes": len([name for name in os.listdir("/proc") if name.isdigit()]),
        "capabilities": next(line.split()[1] for line in status.splitlines() if line.startswith("CapEff")),
    }


WAYS = {
    "ask": ask, "connect": connect, "datagram": datagram, "unix": unix, "read": read, "write": write,
    "signalled": signalled, "rival": rival, "leave_a_trace": leave_a_trace,
}  # fmt: skip

for _ in sys.stdin:
    asked = [ask(BASE.path, TOKEN)]
    ways = json.loads(sys.argv[1])
    found = {" ".join(map(str, way)): tried(WAYS[way[0]], *way[1:]) for way in ways}
    sys.stdout.write(json.dumps({"answer": json.dumps({"asked": asked, "found": found, "own": own()})}) + "\n")
    sys.stdout.flush()
