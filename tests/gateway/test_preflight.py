"""Whether servers can be reached: found out with a connection and no request, told in one sentence."""

import asyncio
import os
import re
import socket
import ssl

import pytest

from mashq.errors import ConfigError
from mashq.gateway import preflight
from mashq.gateway.preflight import reach


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)


class Listener:
    """A server that keeps what it is told."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        self.ended = asyncio.Event()

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.heard.append(await reader.read())
        writer.close()
        self.ended.set()


def closed_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


async def test_a_server_that_listens_is_reached_and_sent_nothing() -> None:
    listener = Listener()
    server = await asyncio.start_server(listener, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    await reach({"p/m": f"http://127.0.0.1:{port}/v1"})
    async with asyncio.timeout(5):
        await listener.ended.wait()
    assert listener.heard == [b""]
    server.close()


async def test_nothing_to_reach_is_fine() -> None:
    await reach({})


async def test_the_sentence_names_the_model_the_url_and_the_remedy() -> None:
    url = f"http://127.0.0.1:{closed_port()}/v1"
    with pytest.raises(ConfigError) as caught:
        await reach({"p/m": url})
    assert re.fullmatch(
        rf"the server of p/m at {re.escape(url)} cannot be reached \(.+\): start it, or fix its base_url",
        str(caught.value),
    )


async def test_one_that_is_missing_is_enough_and_the_first_by_name_is_told() -> None:
    server = await asyncio.start_server(Listener(), "127.0.0.1", 0)
    good = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    bad = f"http://127.0.0.1:{closed_port()}"
    with pytest.raises(ConfigError, match="the server of b/m "):
        await reach({"d/m": bad, "a/m": good, "b/m": bad})
    server.close()


@pytest.mark.parametrize(
    "url",
    [
        "http://[::1",
        "http://127.0.0.1:99999/v1",
        "http://127.0.0.1:port/v1",
        "http:///v1",
        f"http://{'a' * 70}.invalid/v1",
        "http://no-such-host.invalid/v1",
    ],
)
async def test_an_address_that_is_none_is_told_and_not_raised(url: str) -> None:
    with pytest.raises(ConfigError, match="cannot be reached"):
        await reach({"p/m": url})


async def test_a_server_without_tls_behind_https_cannot_be_reached() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(10)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    with pytest.raises(ConfigError, match="cannot be reached"):
        await reach({"p/m": f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"})
    server.close()


@pytest.mark.parametrize(("url", "port"), [("https://h.invalid/v1", 443), ("http://h.invalid/v1", 80)])
async def test_the_usual_port_and_tls_follow_the_scheme(url: str, port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[tuple[object, ...]] = []

    async def refuse(host: str, port: int, ssl: ssl.SSLContext | None) -> None:
        tried.append((host, port, ssl is not None))
        raise OSError("no")

    monkeypatch.setattr(asyncio, "open_connection", refuse)
    with pytest.raises(ConfigError):
        await reach({"p/m": url})
    assert tried == [("h.invalid", port, port == 443)]


async def test_patience_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(host: str, port: int, ssl: object) -> None:
        await asyncio.sleep(60)

    monkeypatch.setattr(asyncio, "open_connection", never)
    monkeypatch.setattr(preflight, "PATIENCE", 0.05)
    with pytest.raises(ConfigError, match=r"no connection within 0\.05 s"):
        await reach({"p/m": "http://127.0.0.1:9/v1"})


async def test_behind_a_proxy_nothing_is_tried_unless_the_host_is_excepted(monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"http://127.0.0.1:{closed_port()}/v1"
    monkeypatch.setenv("http_proxy", "http://proxy.invalid:3128")
    await reach({"p/m": url})
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with pytest.raises(ConfigError):
        await reach({"p/m": url})
    monkeypatch.delenv("no_proxy")
    with pytest.raises(ConfigError):
        await reach({"p/m": url.replace("http:", "https:")})
