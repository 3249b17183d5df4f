"""The command line: one small file per command, imported on first use; heavy modules only when it runs."""

import gc
import os
import signal
import sys
from collections.abc import Iterator, MutableMapping
from importlib import import_module
from types import FrameType

import click

from mashq.cli.groups import Group
from mashq.errors import MashqError, Stopped
from mashq.version import __version__

BAD_INPUT, STOPPED = 2, 3
YOUNG = 50_000  # objects between garbage collections: what imports create stays alive
WINDOWS = "mashq needs Linux, macOS or WSL: on Windows, install WSL (wsl --install) and run it there"


# What --help lists, in groups.
GROUPS: dict[str, tuple[str, ...]] = {
    "Start": ("demo", "init", "plan", "doctor", "weights"),
    "Play": ("run", "resume", "sweep", "tournament", "game", "vision", "gateway"),
    "Look": ("show", "view", "report", "site", "compare"),
    "Score and check": ("score", "rescore", "detect", "detectors", "verify", "power", "validate", "calibrate"),
    "Exchange": ("export", "import", "schema", "paper"),
}
# The location of commands that are not in the module of their name.
PLACES = {"import": "import_.import_", **{name: f"seasons.{name}" for name in ("tournament", "game", "vision")}}


class Commands(MutableMapping[str, click.Command]):
    """The commands by name, each imported on first use."""

    def __init__(self) -> None:
        self._commands: dict[str, click.Command | None] = {name: None for names in GROUPS.values() for name in names}

    def __getitem__(self, name: str) -> click.Command:
        command = self._commands[name]
        if command is None:
            module, _, attribute = PLACES.get(name, f"{name}.{name}").partition(".")
            command = self._commands[name] = getattr(import_module(f"mashq.cli.{module}"), attribute)
        assert command is not None
        return command

    def __setitem__(self, name: str, command: click.Command) -> None:
        self._commands[name] = command

    def __delitem__(self, name: str) -> None:
        del self._commands[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._commands)

    def __len__(self) -> int:
        return len(self._commands)


class Grouped(Group):
    """A group that lists its commands in sections."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands by section."""
        for title, names in GROUPS.items():
            self.format_section(formatter, title, names)


@click.group(
    cls=Grouped,
    commands=Commands(),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, package_name="mashq")
def cli() -> None:
    """What does a factual answer cost?

    Systems play a match over the same items; a detector scores the answers (H), every token, call, review and second
    is counted (P), and Q = alpha·H − beta·P says whose answers were worth their cost.

    \b
    mashq demo                    a real match on the embedded model
    mashq init                    a commented configuration to start from
    mashq plan mashq.yaml         what it would cost, before anything is paid
    mashq run mashq.yaml          play it
    mashq COMMAND --help          what a command takes, with examples
    """


def main() -> None:
    """Run a command; errors become one sentence and an exit code, never a traceback."""
    if sys.platform == "win32":
        click.echo(f"mashq: {WINDOWS}", err=True)
        sys.exit(BAD_INPUT)
    signal.signal(signal.SIGTERM, _interrupt)
    gc.set_threshold(YOUNG)
    try:
        code: object = cli.main(prog_name="mashq", standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except MashqError as error:
        click.echo(f"mashq: {_one_line(str(error))}", err=True)
        sys.exit(BAD_INPUT)
    except Stopped as stopped:
        click.echo(f"mashq: {_one_line(str(stopped))}", err=True)
        sys.exit(STOPPED)
    except click.ClickException as error:
        error.show()
        sys.exit(BAD_INPUT)
    except (click.Abort, KeyboardInterrupt):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # already stopping: ignore a second interrupt
        click.echo("mashq: stopped", err=True)
        sys.exit(STOPPED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    finally:
        gc.freeze()  # skip the final garbage collection: the process is ending


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _one_line(text: str) -> str:
    from mashq.report.text.formatting import safe

    return safe(" ".join(text.split()), 1000)
