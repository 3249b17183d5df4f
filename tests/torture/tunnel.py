"""A TLS tunnel to the loopback provider that breaks: invalid handshakes, and connections cut after any byte."""

import contextlib
import random
import shutil
import socket
import ssl
import subprocess
import threading
from collections import Counter
from pathlib import Path
from types import TracebackType
from typing import Self

REQUEST = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=127.0.0.1"


def certificate(folder: Path) -> tuple[Path, Path] | None:
    """Make an untrusted certificate for 127.0.0.1, and its key; None without openssl."""
    openssl = shutil.which("openssl")
    if openssl is None:
        return None
    cert, key = folder / "cert.pem", folder / "key.pem"
    options = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(cert)]
    subprocess.run([openssl, *REQUEST.split(), *options], check=True, capture_output=True)
    return cert, key


class Tunnel:
    """Listens with TLS on 127.0.0.1 and forwards to `port`; the first `calm` connections have no faults."""

    def __init__(self, port: int, cert: Path, key: Path, seed: int, calm: int) -> None:
        self._to, self._rng, self._calm = port, random.Random(seed), calm
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(cert, key)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.met: Counter[str] = Counter()

    def __enter__(self) -> Self:
        threading.Thread(target=self._listen, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.close()

    def rest(self, calm: int) -> None:
        """Let the next `calm` connections pass without faults."""
        self._calm = calm

    def _listen(self) -> None:
        with contextlib.suppress(OSError):  # the listener was closed
            while True:
                client, _ = self._listener.accept()
                self._calm -= 1
                fault = "none" if self._calm >= 0 else self._rng.choice(("garbage", "closed", "cut", "cut", "cut"))
                after = self._rng.randrange(3000)
                self.met[f"fault tls {fault}"] += 1
                threading.Thread(target=self._serve, args=(client, fault, after), daemon=True).start()

    def _serve(self, client: socket.socket, fault: str, after: int) -> None:
        with contextlib.suppress(OSError), client:
            if fault == "garbage":
                client.sendall(b"HTTP/1.0 400 Bad Request\r\n\r\n")
            if fault in ("garbage", "closed"):
                return
            client.settimeout(60)
            with (
                self._context.wrap_socket(client, server_side=True) as secure,
                socket.create_connection(("127.0.0.1", self._to)) as provider,
            ):
                threading.Thread(target=_pump, args=(secure, provider, None), daemon=True).start()
                _pump(provider, secure, after if fault == "cut" else None)


def _pump(source: socket.socket, target: socket.socket, limit: int | None) -> None:
    """Forward bytes until one side ends, or `limit` of them; then end both."""
    with contextlib.suppress(OSError):
        while data := source.recv(4096 if limit is None else min(4096, limit)):
            target.sendall(data)
            if limit is not None:
                limit -= len(data)
                if limit <= 0:
                    break
    for side in (source, target):
        with contextlib.suppress(OSError):
            side.shutdown(socket.SHUT_RDWR)
