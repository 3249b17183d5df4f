"""The provider as a process: how it starts, stops, restarts and ends with its parent."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

import mashq.testing
from mashq.testing import FakeProvider

SOURCE = str(Path(mashq.testing.__file__).parents[2])
BODY = b'{"model": "m", "messages": [{"role": "user", "content": "Hello."}]}'
REQUEST = b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: %d\r\n\r\n%s" % (len(BODY), BODY)


def connect(provider: FakeProvider) -> socket.socket:
    return socket.create_connection(("127.0.0.1", provider.port), timeout=5)


def test_latency_delays_the_answer_not_the_log(tmp_path: Path) -> None:
    with FakeProvider(latency=0.3, log=tmp_path / "deep" / "log.jsonl") as slow:
        start = time.monotonic()
        with connect(slow) as raw:
            raw.sendall(REQUEST)
            time.sleep(0.1)
            assert len(slow.hits()) == 1
            assert raw.recv(100).startswith(b"HTTP/1.1 200")
        assert time.monotonic() - start >= 0.3
    assert len(slow.hits()) == 1
    assert len((tmp_path / "deep" / "log.jsonl").read_text().splitlines()) == 1


def test_stop_logs_what_had_arrived_and_a_restart_keeps_the_port() -> None:
    provider = FakeProvider(faults={"script": ["hang"]})
    with provider, connect(provider) as half, connect(provider) as whole:
        port, url = provider.port, provider.base_url
        half.sendall(b"POST /v1/chat")
        whole.sendall(REQUEST)
        while not provider.hits():
            time.sleep(0.01)
        start = time.monotonic()
        provider.stop()
        assert time.monotonic() - start < 3
    assert sorted(hit["partial"] for hit in provider.hits()) == [False, True]
    with pytest.raises(ConnectionRefusedError):
        connect(provider)
    with provider:
        assert (provider.port, provider.base_url) == (port, url)
        with pytest.raises(RuntimeError, match="already"):
            provider.start()
    provider.stop()


def test_a_provider_that_cannot_start_says_so(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RuntimeError, match="did not start"):
        FakeProvider(faults={"script": ["nope"]}).start()
    assert "unknown fault 'nope'" in capfd.readouterr().err
    with FakeProvider() as first, pytest.raises(RuntimeError, match="did not start"):
        FakeProvider(port=first.port).start()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_command_line(tmp_path: Path, number: signal.Signals) -> None:
    faults = tmp_path / "faults.json"
    faults.write_text('{"script": ["429"]}')
    command = [sys.executable, "-m", "mashq.testing.provider", "--port", "0", "--log", "requests.jsonl"]
    with subprocess.Popen(
        [*command, "--faults", str(faults), "--seed", "7", "--latency", "0.0"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": SOURCE},
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        ready = json.loads(process.stdout.readline())
        assert ready["pid"] == process.pid
        with socket.create_connection(("127.0.0.1", ready["port"]), timeout=5) as raw:
            raw.sendall(REQUEST)
            assert b" 429 " in raw.recv(1000)
        process.send_signal(number)
        assert process.wait(timeout=5) == 0
        assert (process.stdout.read(), process.stderr.read()) == (b"", b"")
    assert len((tmp_path / "requests.jsonl").read_text().splitlines()) == 1


def test_the_provider_ends_with_its_parent() -> None:
    program = (
        "from mashq.testing import FakeProvider; import os, signal; p = FakeProvider().start(); "
        "print(p.port, flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )
    environment = {**os.environ, "PYTHONPATH": SOURCE}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, stdout=subprocess.PIPE, env=environment, timeout=30)
    port, deadline = int(done.stdout), time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            return
        time.sleep(0.05)
    pytest.fail("the provider is still there")
