"""What an isolated command sees, and how it is started afresh: each time in other namespaces, at the same address."""

import os
import socket
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from mashq.players.external import inside
from mashq.players.external.agent import Agent, External
from mashq.players.external.sandbox import Sandbox
from mashq.testing import FakeProvider
from tests.arena.test_isolation import isolating
from tests.gateway.proxy.metered import table
from tests.players.external.test_external import PROGRAM, play


def made(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def seen(
    tmp_path: Path, program: Path | str, search: Path | str = "/nowhere", directory: Path | None = None
) -> set[str]:
    """What of a folder a command would see."""
    places = Sandbox((str(program),), {"PATH": str(search)}, directory).places
    assert len(set(places)) == len(places)
    return {str(place.relative_to(tmp_path)) for place in places if place.is_relative_to(tmp_path)}


def test_a_virtual_environment_is_seen_with_the_one_it_was_made_from(tmp_path: Path) -> None:
    for name in ("bin/python3.9", "lib/python3.9/os.py", "etc/secret"):
        made(tmp_path / "base" / name)
    (tmp_path / "base" / "bin" / "python3").symlink_to("python3.9")
    made(tmp_path / "env" / "pyvenv.cfg", f"home = {tmp_path / 'base' / 'bin'}\nversion = 3.9\n")
    (tmp_path / "env" / "bin").mkdir()
    (tmp_path / "env" / "bin" / "python").symlink_to(tmp_path / "base" / "bin" / "python3")
    script = made(tmp_path / "env" / "bin" / "tool", f"#!{tmp_path / 'env' / 'bin' / 'python'} -I\n")
    expected = {"env", "base/bin", "base/lib"}
    assert seen(tmp_path, script) == seen(tmp_path, tmp_path / "env" / "bin" / "python") == expected
    assert seen(tmp_path, "tool", tmp_path / "env" / "bin") == expected
    outside = made(tmp_path / "elsewhere" / "run", "#!/usr/bin/env -S tool --fast\n")
    assert seen(tmp_path, outside, tmp_path / "env" / "bin") == {*expected, "elsewhere/run"}
    assert seen(tmp_path, outside, tmp_path / "env" / "bin", tmp_path / "elsewhere") == {*expected, "elsewhere"}


def test_what_lies_in_its_own_folder_brings_nothing_else_into_view(tmp_path: Path) -> None:
    own, tool = tmp_path / "own", made(tmp_path / "tools" / "bin" / "tool")
    made(tmp_path / "keys" / "bin" / "key")
    link = own / "link"
    own.mkdir()
    link.symlink_to(tmp_path / "keys" / "bin" / "key")
    made(own / "env" / "pyvenv.cfg", f"home = {tmp_path / 'keys' / 'bin'}\n")
    crafted = [
        link,
        made(own / "script", f"#!{tmp_path / 'keys' / 'bin' / 'key'}\n"),
        made(own / "env" / "bin" / "python"),
    ]
    (tmp_path / "way").symlink_to(own)
    os.mkfifo(own / "pipe", 0o700)
    crafted.append(own / "pipe")
    for program in (*crafted, tmp_path / "way" / "link"):
        assert seen(tmp_path, program, tool.parent, own) == {"own"}, program
    script = made(own / "plain", "#!/usr/bin/env tool\n")
    assert seen(tmp_path, script, tool.parent, own) == {"own", "tools/bin"}, "by the user's own PATH"


def test_other_environments_are_seen_as_far_as_they_are_needed(tmp_path: Path) -> None:
    made(tmp_path / "conda" / "conda-meta" / "history")
    assert seen(tmp_path, made(tmp_path / "conda" / "bin" / "python")) == {"conda"}
    made(tmp_path / "node" / "lib" / "node_modules" / "x.js")
    made(tmp_path / "node" / "secret")
    assert seen(tmp_path, made(tmp_path / "node" / "bin" / "node")) == {"node/bin", "node/lib"}
    assert seen(tmp_path, "no-such-program", directory=tmp_path / "node") == {"node"}
    assert seen(tmp_path, "./bin/node", directory=tmp_path / "node") == {"node"}, "a path from its directory"
    endless = made(tmp_path / "one", f"#!{tmp_path / 'two'}\n")
    made(tmp_path / "two", f"#!{endless}\n")
    assert seen(tmp_path, endless) == {"one", "two"}


@pytest.mark.parametrize(
    ("directory", "covers"),
    [("/", True), ("/tmp", True), ("/proc/1", True), ("/dev/shm", True), ("/tmp/x", False), ("/home/x", False)],
)
def test_its_private_folders_are_not_covered(directory: str, covers: bool) -> None:
    assert Sandbox(("true",), {}, Path(directory)).covers is covers


def test_a_link_to_a_secret_is_no_way_to_it_and_a_linked_folder_is(tmp_path: Path) -> None:
    secret = made(tmp_path / "keys" / "key")
    (tmp_path / "programs").mkdir()
    (tmp_path / "programs" / "key").symlink_to(secret)
    (tmp_path / "same").symlink_to(tmp_path / "keys")
    assert Sandbox(("true",), {}, tmp_path / "programs").exposed(secret) is None
    assert Sandbox(("true",), {}, tmp_path / "same").exposed(secret) == tmp_path / "same"


def test_what_runs_first_looks_around_and_hands_out_where_it_listens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside.look("sh", str(tmp_path))
    for words in (("no-such-program",), ("sh", str(tmp_path / "missing"))):
        with pytest.raises(SystemExit, match="is not in what it sees"):
            inside.look(*words)
    ours, theirs = socket.socketpair()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with ours, pytest.raises(SystemExit, match="no-such-program: No such file"):
        inside.start(str(theirs.detach()), str(port), "no-such-program")
    ours, theirs = socket.socketpair()
    became: list[tuple[str, ...]] = []

    def become(program: str, words: Sequence[str]) -> None:
        became.append((program, *words))

    monkeypatch.setattr(os, "execvp", become)
    with ours:
        inside.start(str(theirs.detach()), str(port), "agent", "one")
        _, (handed,), _, _ = socket.recv_fds(ours, 9, 9)
        with socket.socket(fileno=handed) as listening, socket.create_connection(("127.0.0.1", port)) as asking:
            accepted, address = listening.accept()
            accepted.close()
            assert address == asking.getsockname()
        assert not ours.recv(1), "its end is closed"
    assert became == [("agent", "agent", "one")]


@pytest.fixture(scope="module")
def provider() -> Iterator[FakeProvider]:
    with FakeProvider() as provider:
        yield provider


@isolating
@pytest.mark.parametrize(("character", "errors"), [("die", ["", "exit code 3", ""]), ("told", ["", "", ""])])
async def test_it_is_started_afresh_and_metered(provider: FakeProvider, character: str, errors: list[str]) -> None:
    before = len(provider.hits())
    agent = Agent(
        (sys.executable, "-I", PROGRAM, character),
        environment={"PATH": os.environ["PATH"]},
        directory=str(Path(PROGRAM).parent),
        isolate=True,
    )
    async with table(provider.base_url) as at:
        player = External("A", agent, at.server)
        await player.start()
        try:
            for item, error in enumerate(errors):
                draft, model = await play(player, at, item)
                assert (draft.status == "failed") == bool(error) and error in draft.error
                assert model.spend.calls == (character == "told")
                if character == "told" and item == 1:
                    await player.close()
        finally:
            await player.close()
        assert len(provider.hits()) - before == len(at.ledger.opened) == (3 if character == "told" else 0)
