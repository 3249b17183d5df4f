"""Who may ask, and what cannot be reached."""

import os
import re
import shutil
from pathlib import Path

import pytest

from mashq.web.library import Library, checked
from mashq.web.security import POLICY, is_loopback, policy_for
from tests.arena.helpers import mashq
from tests.web.client import Dashboard, dashboard


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8450", "127.0.0.1.evil.example", "192.168.1.7", "", "["]
)
def test_a_foreign_host_is_refused(view: Dashboard, host: str) -> None:
    for path in ("/", "/api/runs", "/static/base.css", "/api/live?run=real&match=0"):
        status, body, headers = view.get(path, {"Host": host})
        assert status in (400, 403) and b"<" not in body, host
        assert status == 400 or headers["content-security-policy"] == POLICY


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "[::1]", "LOCALHOST", "localhost:9999"])
def test_this_machines_names_are_answered(view: Dashboard, name: str) -> None:
    assert view.get("/api/runs", {"Host": name})[0] == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://localhost.evil.example", "file://"])
def test_a_foreign_origin_is_refused(view: Dashboard, origin: str) -> None:
    assert view.get("/api/runs", {"Origin": origin})[0] == 403


def test_the_pages_own_origin_is_answered(view: Dashboard) -> None:
    own = f"{view.host}:{view.port}"
    assert view.get("/api/runs", {"Origin": f"http://{own}", "Sec-Fetch-Site": "same-origin"})[0] == 200
    assert view.get("/api/runs", {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"})[0] == 403
    assert view.get("/", {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"})[0] == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_it_only_shows(view: Dashboard, method: str) -> None:
    assert view.get("/api/runs", method=method)[0] == 405


def test_every_answer_carries_the_policy(view: Dashboard) -> None:
    for path in ("/", "/match", "/item", "/compare", "/static/common.js", "/api/runs", "/nothing", "/api/frame"):
        headers = view.get(path)[2]
        assert headers["content-security-policy"] == POLICY and headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer" and headers["cache-control"] == "no-store"
        assert "server" not in headers
    assert POLICY.startswith("default-src 'none'; script-src 'self';") and "unsafe" not in POLICY
    for path in ("/", "/match", "/item", "/compare"):
        page = view.get(path)[1]
        assert not re.search(
            rb"<script(?! type=\"module\" src=\"/static/)|style=|<style|\son\w+=|javascript:|//", page
        )


def test_nothing_outside_of_the_runs_can_be_read(runs: Path, tmp_path: Path) -> None:
    root, secret = tmp_path / "runs", tmp_path / "secret"
    shutil.copytree(runs / "real", root / "here")
    shutil.copytree(runs / "real", secret)
    (root / "linked").symlink_to(secret)
    (root / "half").mkdir()
    (root / "half" / "manifest.json").symlink_to(secret / "manifest.json")
    (root / "half" / "run.db").symlink_to(secret / "run.db")
    assert [found.id for found in Library(root).runs()] == ["here"]
    with dashboard(root) as found:
        names = ["linked", "half", "../secret", "here/../../secret", str(secret), "%2e%2e/secret", "", ".", "here/"]
        for name in [*names, "here\0", "..\\secret", os.fspath(root / "here")]:
            assert found.refused("frame", run=name, match="0") == (404, "there is no such run here"), name
        (root / "here" / "run.db").unlink()
        (root / "here" / "run.db").symlink_to(secret / "run.db")
        assert found.refused("frame", run="here", match="0")[0] == 404
        for path in ("/static/..%2fapp.py", "/static/%2e%2e/app.py", "//etc/passwd", "/static//etc/passwd"):
            assert found.get(path)[0] == 404


def test_another_address_needs_the_token(runs: Path) -> None:
    with dashboard(runs, "--host", "0.0.0.0") as found:
        token = found.address.partition("token=")[2]
        assert len(token) >= 32
        local = {"Host": f"127.0.0.1:{found.port}"}
        for path in ("/", "/api/runs", "/static/base.css", "/api/runs?token=wrong", "/api/live?run=real&match=0"):
            assert found.get(path, local)[0] == 401
        assert found.get("/api/runs", {**local, "Cookie": "mashq_view=wrong"})[0] == 401
        assert found.get("/api/runs", {**local, "Authorization": f"Bearer {token}"})[0] == 200
        status, _, headers = found.get(f"/match?run=real&token={token}", local)
        assert status == 303 and headers["location"] == "/match?run=real"
        cookie = headers["set-cookie"]
        assert "HttpOnly" in cookie and "samesite=strict" in cookie.lower()
        assert found.get("/api/runs", {**local, "Cookie": f"x=1; {cookie.partition(';')[0]}"})[0] == 200
        assert found.get("/api/runs", {"Host": "evil.example", "Authorization": f"Bearer {token}"})[0] == 403
        status, _, headers = found.get(f"//evil.example?token={token}", local)
        assert status == 303 and headers["location"] == "/evil.example", "no way to another site"


def test_which_addresses_are_this_machines() -> None:
    assert all(is_loopback(host) for host in ("127.0.0.1", "127.8.9.1", "::1", "localhost", "[::1]"))
    assert not any(is_loopback(host) for host in ("0.0.0.0", "::", "192.168.0.1", "example.org"))
    assert policy_for("localhost").token is None and policy_for("::").token is not None
    assert policy_for("0.0.0.0").token != policy_for("0.0.0.0").token


def test_wrong_directories_are_one_sentence(tmp_path: Path, runs: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("x")
    for name, words in (("nowhere", "does not exist"), ("empty", "holds no runs"), ("file", "not a directory")):
        told = mashq("view", tmp_path / name)
        assert told.returncode == 2 and words in told.stderr and len(told.stderr.strip().splitlines()) == 1
    told = mashq("view", runs, "--host", "no.such.host.example")
    assert told.returncode == 2 and "no address of this machine" in told.stderr
    with dashboard(runs) as found:
        told = mashq("view", runs, "--port", found.port)
        assert told.returncode == 2 and "choose another with --port" in told.stderr


def test_without_the_extra_it_names_the_command(tmp_path: Path, runs: Path) -> None:
    (tmp_path / "starlette.py").write_text("raise ImportError('no', name='starlette')")
    told = mashq("view", runs, PYTHONPATH=str(tmp_path))
    assert told.returncode == 2
    assert told.stderr == (
        "mashq: The dashboard needs the extra: pip install 'mashq[web]' (starlette is not installed).\n"
    )


def test_one_run_can_be_looked_at_alone(runs: Path) -> None:
    assert [found.id for found in checked(runs / "real").runs()] == ["real"]
