"""A dashboard in a process of its own, and a plain HTTP client for it."""

import http.client
import json
import re
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit


class Dashboard:
    """The server, as a client sees it."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self.address, self.host, self.port = address, parts.hostname or "", parts.port or 0

    def get(self, path: str, headers: Mapping[str, str] | None = None, method: str = "GET") -> tuple[int, bytes, Any]:
        """Status, body and headers of one request; a header given as "" is left out."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            sent = {"Host": f"{self.host}:{self.port}", **(headers or {})}
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in sent.items():
                if value:
                    connection.putheader(name, value)
            connection.endheaders()
            reply = connection.getresponse()
            return reply.status, reply.read(), reply.headers
        finally:
            connection.close()

    def api(self, name: str, **values: object) -> Any:
        """The document of a question that is answered."""
        status, body, _ = self.get(f"/api/{name}?{urlencode({k: str(v) for k, v in values.items()})}")
        assert status == 200, (status, body[:300])
        return json.loads(body)

    def refused(self, name: str, **values: object) -> tuple[int, str]:
        """Status and sentence of a question that is not."""
        status, body, _ = self.get(f"/api/{name}?{urlencode({k: str(v) for k, v in values.items()})}")
        return status, json.loads(body)["error"]


@contextmanager
def dashboard(folder: Path, *options: str) -> Generator[Dashboard]:
    """`mashq view` on a free port."""
    command = [sys.executable, "-m", "mashq", "view", str(folder), "--port", "0", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.search(r"http://\S+", line)
        assert found, line
        yield Dashboard(found[0])
    finally:
        process.terminate()
        process.wait(10)
        if process.stdout is not None:
            process.stdout.close()
