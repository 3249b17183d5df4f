"""The dashboard's server: a socket of its own, and uvicorn on it until it is interrupted."""

import socket
from collections.abc import Callable
from pathlib import Path

import uvicorn

from mashq.errors import ConfigError
from mashq.web.app import build
from mashq.web.library import checked
from mashq.web.security import policy_for

DEFAULT_PORT, TRIED = 8450, 20


def serve(root: Path, host: str, port: int | None, ready: Callable[[str], None]) -> None:
    """Serve the runs under `root`; `ready` is told the address, with its token where one is needed."""
    library = checked(root)
    listening = _listening(host, port)
    policy = policy_for(host, frozenset({socket.gethostname()}))
    config = uvicorn.Config(
        build(library, policy),
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        lifespan="off",
        ws="none",
        timeout_graceful_shutdown=1,
    )
    at: int = listening.getsockname()[1]
    name = socket.gethostname() if host in ("0.0.0.0", "::") else host
    address = f"http://[{name}]:{at}/" if ":" in name else f"http://{name}:{at}/"
    ready(address + (f"?token={policy.token}" if policy.token else ""))
    try:
        uvicorn.Server(config).run(sockets=[listening])
    finally:
        listening.close()


def _listening(host: str, port: int | None) -> socket.socket:
    """A socket on the port asked for, or on the first free one from the usual."""
    ports = range(DEFAULT_PORT, DEFAULT_PORT + TRIED) if port is None else (port,)
    error: OSError | None = None
    for number in ports:
        try:
            family = socket.getaddrinfo(host, number, type=socket.SOCK_STREAM)[0][0]
            made = socket.socket(family, socket.SOCK_STREAM)
        except OSError as unknown:
            raise ConfigError(f"--host {host!r} is no address of this machine ({unknown})") from None
        try:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.bind((host, number))
            made.listen(128)
        except OSError as taken:
            made.close()
            error = taken
        else:
            return made
    raise ConfigError(f"{host} port {ports[0]} cannot be used ({error}): choose another with --port")
