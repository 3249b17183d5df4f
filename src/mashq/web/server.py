"""The dashboard's server: uvicorn on its own socket, until it is interrupted."""

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
    """Serve the runs under `root`; `ready` is called with the address, which includes the token if one is needed."""
    library = checked(root)
    listener = _listening_socket(host, port)
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
    bound_port: int = listener.getsockname()[1]
    name = socket.gethostname() if host in ("0.0.0.0", "::") else host
    address = f"http://[{name}]:{bound_port}/" if ":" in name else f"http://{name}:{bound_port}/"
    ready(address + (f"?token={policy.token}" if policy.token else ""))
    try:
        uvicorn.Server(config).run(sockets=[listener])
    finally:
        listener.close()


def _listening_socket(host: str, port: int | None) -> socket.socket:
    """Open a socket on the requested port, or by default on the first free port from DEFAULT_PORT."""
    ports = range(DEFAULT_PORT, DEFAULT_PORT + TRIED) if port is None else (port,)
    error: OSError | None = None
    for number in ports:
        try:
            family = socket.getaddrinfo(host, number, type=socket.SOCK_STREAM)[0][0]
            candidate = socket.socket(family, socket.SOCK_STREAM)
        except OSError as lookup_error:
            raise ConfigError(f"--host {host!r} is no address of this machine ({lookup_error})") from None
        try:
            candidate.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            candidate.bind((host, number))
            candidate.listen(128)
        except OSError as bind_error:
            candidate.close()
            error = bind_error
        else:
            return candidate
    raise ConfigError(f"{host} port {ports[0]} cannot be used ({error}): choose another with --port")
