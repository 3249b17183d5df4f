"""Run an agent's command under bubblewrap: it sees only the system and its own folder, and on the network only its
endpoint.

It has its own namespaces (user, process, network, IPC, host name, files). It sees the system's programs and
libraries, a few files of /etc, the environment that its program is installed in and its directory, all read-only; its
home and its temporary folder are private and deleted afterwards; it has no capabilities. The endpoint is passed in:
`inside` listens on the loopback interface of the new network and sends the listening socket back over a socket pair,
and the metering server then serves on it. When bubblewrap dies, everything in it dies.
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
TEMPORARY, HOME = "/tmp", "/tmp/home"  # private to the sandbox
OWN = (TEMPORARY, "/proc", "/dev")
NAMESPACES = ("--unshare-all", "--unshare-user", "--cap-drop", "ALL", "--hostname", "agent", "--die-with-parent")
INSTALL = "apt-get install bubblewrap"
STARTING = 30.0
MAX_LINKS = 40


def bubblewrap() -> str | None:
    """The path of bubblewrap, if it is installed."""
    return shutil.which("bwrap") if sys.platform == "linux" else None


@dataclass(frozen=True, slots=True)
class Sandbox:
    """A command with its environment, and the only user folder that it sees."""

    command: tuple[str, ...]
    environment: Mapping[str, str]
    directory: Path | None = None

    @property
    def places(self) -> list[Path]:
        """Every file and folder that it sees; none lies inside another."""
        search = self.environment.get("PATH", os.defpath)
        paths = [*map(Path, SYSTEM), *(Path("/etc") / name for name in ETC)]
        paths += _install_paths(Path(os.path.realpath(sys.executable)))  # needed by `inside`
        if program := shutil.which(self._resolved(self.command[0]), path=search):
            paths += _required_paths(Path(os.path.abspath(program)), search, self.directory)
        if self.directory is not None:
            paths.append(self.directory)
        return [path for path in dict.fromkeys(paths) if not any(other in path.parents for other in paths)]

    @property
    def covers(self) -> bool:
        """Whether its directory would hide folders that must be private."""
        directory = self.directory
        return directory is not None and any(
            directory == Path(private)
            or directory in Path(private).parents
            or (private != TEMPORARY and Path(private) in directory.parents)
            for private in OWN
        )

    def exposed(self, path: Path) -> Path | None:
        """The visible place that contains a file or folder; None if it is not visible."""
        path = path.resolve()
        return next((place for place in self.places if path.is_relative_to(place.resolve())), None)

    async def look(self) -> str | None:
        """Try it without the command; returns the error of bubblewrap or of the check inside it, or None."""
        existing = [
            word for word in self.command[1:] if word and os.path.exists(os.path.join(self.directory or "", word))
        ]
        words = self._command_line("look", self.command[0], *existing)
        trial = await asyncio.create_subprocess_exec(
            *words,
            env=self._private_environment({}),
            stdin=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        _, errors = await trial.communicate()
        if trial.returncode == 0:
            return None
        return " ".join(errors.decode("utf-8", "replace").split())[-300:] or f"exit code {trial.returncode}"

    async def start(self, variables: Mapping[str, str], port: int) -> tuple[Program, socket.socket]:
        """Start the command; returns the program, and the socket that listens on `port` of its loopback interface.
        Raises OSError if it cannot be started."""
        ours, theirs = socket.socketpair()
        with closing(ours):
            with closing(theirs):
                words = self._command_line("start", str(theirs.fileno()), str(port), *self.command)
                program = await Program.start(words, self._private_environment(variables), None, [theirs.fileno()])
            try:
                return program, await _received_socket(ours)
            except BaseException:
                await program.kill()
                raise

    def _private_environment(self, variables: Mapping[str, str]) -> dict[str, str]:
        return {"PYTHONUNBUFFERED": "1", **self.environment, "HOME": HOME, **variables}

    def _resolved(self, word: str) -> str:
        """A word of the command as a path relative to the directory; a bare program name is unchanged."""
        return os.path.join(self.directory or "", word) if os.sep in word else word

    def _command_line(self, *inside: str) -> list[str]:
        program = bubblewrap()
        if program is None:
            raise FileNotFoundError("bubblewrap is not installed")
        words = [program, *NAMESPACES, "--proc", "/proc", "--dev", "/dev", "--tmpfs", TEMPORARY, "--dir", HOME]
        words += ["--ro-bind", "/proc/sys", "/proc/sys"]  # a user that is root outside could write to it
        for place in self.places:
            words += ["--ro-bind-try", str(place), str(place)]
        source = Path(__file__).with_name("inside.py").read_text("utf-8")
        words += ["--remount-ro", "/", "--chdir", str(self.directory or TEMPORARY), "--"]
        return [*words, os.path.realpath(sys.executable), "-I", "-S", "-c", source, *inside]


async def _received_socket(connection: socket.socket) -> socket.socket:
    """The listening socket sent from inside."""
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(connection, ready.set)
    try:
        async with asyncio.timeout(STARTING):
            await ready.wait()
    except TimeoutError:
        raise OSError(f"bubblewrap did not start it within {STARTING:g} s") from None
    finally:
        loop.remove_reader(connection)
    _, descriptors, _, _ = socket.recv_fds(connection, 1, 1)
    if not descriptors:
        raise OSError("bubblewrap ended before it was started")
    return socket.socket(fileno=descriptors[0])


def _required_paths(program: Path, search: str, own: Path | None, deep: int = 3) -> Iterator[Path]:
    """The paths a program needs: where it is installed, link by link, and its interpreter.

    Files in the agent's own folder make nothing else visible, so that a symlink or a shebang line there cannot expose
    a file of the user's; only an interpreter named without a path is looked up, in the user's PATH.
    """
    for _ in range(MAX_LINKS):
        in_own_folder = own is not None and (program.parent.resolve() / program.name).is_relative_to(own.resolve())
        if in_own_folder:
            break
        yield from _install_paths(program)
        if not program.is_symlink():
            break
        program = Path(os.path.normpath(program.parent / os.readlink(program)))
    else:
        return
    interpreter = _interpreter(program)
    path = None if in_own_folder and os.sep in interpreter else shutil.which(interpreter, path=search)
    if path is not None and deep:
        yield from _required_paths(Path(os.path.abspath(path)), search, own, deep - 1)


def _install_paths(program: Path) -> Iterator[Path]:
    """The paths a program is installed in: a virtual or conda environment, or `bin` and the libraries beside it."""
    prefix = program.parent.parent
    if program.parent.name != "bin":
        yield program
    elif (prefix / "pyvenv.cfg").is_file():
        yield prefix
        for home in map(Path, _values(prefix / "pyvenv.cfg", "home")):
            if home != program.parent:
                yield from _install_paths(home / "python")
    elif (prefix / "conda-meta").is_dir():
        yield prefix
    else:
        yield from (place for name in ("bin", "lib", "lib64") if (place := prefix / name).is_dir())


def _values(path: Path, name: str) -> Iterable[str]:
    """The values of a name in a file of `name = value` lines."""
    pairs = (line.partition("=") for line in path.read_text("utf-8", "replace").splitlines())
    return [value.strip() for key, _, value in pairs if key.strip() == name]


def _interpreter(script: Path) -> str:
    """The path or program name (with `env`) in a script's shebang line; empty if there is none."""
    try:
        with script.open("rb") if os.path.isfile(script) else BytesIO() as file:  # opening a pipe would block
            head = file.readline(256)
    except OSError:  # executable but not readable: not a script
        return ""
    words = head[2:].decode("utf-8", "replace").split() if head.startswith(b"#!") else []
    if words and Path(words[0]).name == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    return words[0] if words else ""
