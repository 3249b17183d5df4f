"""An agent's command under bubblewrap: of this machine it sees the system and its own folder, of any network nothing
but its endpoint.

Its namespaces are its own (user, process, network, IPC, host name, files). It sees the system's programs and
libraries, a few files of /etc, the environment that its program lies in and its directory, all read-only; its home
and its temporary folder are private and gone with it; of capabilities it has none. The endpoint comes to it: `inside`
listens on the loopback interface of the new network and hands the listening socket back over a pair of sockets, on
which the metering server then serves. When bubblewrap dies, everything in it dies.
"""

import asyncio
import os
import shutil
import socket
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from mashq.players.external.process import Program

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store")
ETC = (
    *("alternatives", "group", "hosts", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "nsswitch.conf"),
    *("passwd", "pki/ca-trust", "pki/tls/certs", "ssl/certs", "ssl/openssl.cnf"),
)
TEMPORARY, HOME = "/tmp", "/tmp/home"  # its own, not ours
OWN = (TEMPORARY, "/proc", "/dev")
NAMESPACES = ("--unshare-all", "--unshare-user", "--cap-drop", "ALL", "--hostname", "agent", "--die-with-parent")
INSTALL = "apt-get install bubblewrap"
STARTING = 30.0
MAX_LINKS = 40


def bubblewrap() -> str | None:
    """Where bubblewrap is, if it is here."""
    return shutil.which("bwrap") if sys.platform == "linux" else None


@dataclass(frozen=True, slots=True)
class Sandbox:
    """A command with its environment, and the only folder of the user's that it sees."""

    command: tuple[str, ...]
    environment: Mapping[str, str]
    directory: Path | None = None

    @property
    def places(self) -> list[Path]:
        """Every file and folder that it sees; none lies in another."""
        search = self.environment.get("PATH", os.defpath)
        found = [*map(Path, SYSTEM), *(Path("/etc") / name for name in ETC)]
        found += _around(Path(os.path.realpath(sys.executable)))  # for `inside`
        if program := shutil.which(self._at(self.command[0]), path=search):
            found += _needed(Path(os.path.abspath(program)), search, self.directory)
        if self.directory is not None:
            found.append(self.directory)
        return [place for place in dict.fromkeys(found) if not any(other in place.parents for other in found)]

    @property
    def covers(self) -> bool:
        """Whether its directory would lie over folders that are to be its own."""
        here = self.directory
        return here is not None and any(
            here == Path(own) or here in Path(own).parents or (own != TEMPORARY and Path(own) in here.parents)
            for own in OWN
        )

    def exposed(self, path: Path) -> Path | None:
        """The place in which it would see a file or folder; None when it does not see it."""
        path = path.resolve()
        return next((place for place in self.places if path.is_relative_to(place.resolve())), None)

    async def look(self) -> str | None:
        """Try it without the command: what bubblewrap, or the look around in it, has to say against it."""
        there = [
            word for word in self.command[1:] if word and os.path.exists(os.path.join(self.directory or "", word))
        ]
        words = self._words("look", self.command[0], *there)
        trial = await asyncio.create_subprocess_exec(
            *words, env=self._private({}), stdin=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
        )
        _, said = await trial.communicate()
        if trial.returncode == 0:
            return None
        return " ".join(said.decode("utf-8", "replace").split())[-300:] or f"exit code {trial.returncode}"

    async def start(self, variables: Mapping[str, str], port: int) -> tuple[Program, socket.socket]:
        """Start the command; the program, and the socket that listens where it reaches it: `port` of its loopback.
        OSError when it cannot be started."""
        ours, theirs = socket.socketpair()
        with closing(ours):
            with closing(theirs):
                words = self._words("start", str(theirs.fileno()), str(port), *self.command)
                program = await Program.start(words, self._private(variables), None, [theirs.fileno()])
            try:
                return program, await _handed(ours)
            except BaseException:
                await program.kill()
                raise

    def _private(self, variables: Mapping[str, str]) -> dict[str, str]:
        return {"PYTHONUNBUFFERED": "1", **self.environment, "HOME": HOME, **variables}

    def _at(self, word: str) -> str:
        """A word of the command as a path from here; a bare name of a program stays one."""
        return os.path.join(self.directory or "", word) if os.sep in word else word

    def _words(self, *inside: str) -> list[str]:
        found = bubblewrap()
        if found is None:
            raise FileNotFoundError("bubblewrap is not installed")
        words = [found, *NAMESPACES, "--proc", "/proc", "--dev", "/dev", "--tmpfs", TEMPORARY, "--dir", HOME]
        words += ["--ro-bind", "/proc/sys", "/proc/sys"]  # whoever is root outside could write it
        for place in self.places:
            words += ["--ro-bind-try", str(place), str(place)]
        source = Path(__file__).with_name("inside.py").read_text("utf-8")
        words += ["--remount-ro", "/", "--chdir", str(self.directory or TEMPORARY), "--"]
        return [*words, os.path.realpath(sys.executable), "-I", "-S", "-c", source, *inside]


async def _handed(ours: socket.socket) -> socket.socket:
    """The listening socket that comes from inside."""
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(ours, ready.set)
    try:
        async with asyncio.timeout(STARTING):
            await ready.wait()
    except TimeoutError:
        raise OSError(f"bubblewrap did not start it within {STARTING:g} s") from None
    finally:
        loop.remove_reader(ours)
    _, handed, _, _ = socket.recv_fds(ours, 1, 1)
    if not handed:
        raise OSError("bubblewrap ended before it was started")
    return socket.socket(fileno=handed[0])


def _needed(program: Path, search: str, own: Path | None, deep: int = 3) -> Iterator[Path]:
    """Where a program lies, link by link, and what it is interpreted by.

    What lies in the agent's own folder brings nothing else into view, lest a link or a first line there open a file
    of the user's; only an interpreter that it names without a path is looked for, in the user's PATH.
    """
    for _ in range(MAX_LINKS):
        foreign = own is not None and (program.parent.resolve() / program.name).is_relative_to(own.resolve())
        if foreign:
            break
        yield from _around(program)
        if not program.is_symlink():
            break
        program = Path(os.path.normpath(program.parent / os.readlink(program)))
    else:
        return
    named = _interpreter(program)
    found = None if foreign and os.sep in named else shutil.which(named, path=search)
    if found is not None and deep:
        yield from _needed(Path(os.path.abspath(found)), search, own, deep - 1)


def _around(program: Path) -> Iterator[Path]:
    """What a program lies in: a virtual or conda environment, or `bin` and the libraries beside it."""
    prefix = program.parent.parent
    if program.parent.name != "bin":
        yield program
    elif (prefix / "pyvenv.cfg").is_file():
        yield prefix
        for home in map(Path, _settings(prefix / "pyvenv.cfg", "home")):
            if home != program.parent:
                yield from _around(home / "python")
    elif (prefix / "conda-meta").is_dir():
        yield prefix
    else:
        yield from (place for name in ("bin", "lib", "lib64") if (place := prefix / name).is_dir())


def _settings(path: Path, name: str) -> Iterable[str]:
    """The values of a name in a file of `name = value`."""
    pairs = (line.partition("=") for line in path.read_text("utf-8", "replace").splitlines())
    return [value.strip() for key, _, value in pairs if key.strip() == name]


def _interpreter(script: Path) -> str:
    """What the first line of a script names, a path or (by way of `env`) a program; nothing where it names none."""
    try:
        with script.open("rb") if os.path.isfile(script) else BytesIO() as file:  # a pipe would be waited for
            head = file.readline(256)
    except OSError:  # one that can be run and not read is no script
        return ""
    words = head[2:].decode("utf-8", "replace").split() if head.startswith(b"#!") else []
    if words and Path(words[0]).name == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    return words[0] if words else ""
