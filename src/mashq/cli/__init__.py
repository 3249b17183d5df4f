"""The command line: one small file a command. Heavy modules are imported when a command runs, not before."""

import os
import signal
import sys
from types import FrameType

import click

from mashq.cli.calibrate import calibrate
from mashq.cli.compare import compare
from mashq.cli.demo import demo
from mashq.cli.detect import detect
from mashq.cli.detectors import detectors
from mashq.cli.doctor import doctor
from mashq.cli.export import export
from mashq.cli.gateway import gateway
from mashq.cli.import_ import import_
from mashq.cli.init import init
from mashq.cli.paper import paper
from mashq.cli.plan import plan
from mashq.cli.power import power
from mashq.cli.report import report
from mashq.cli.rescore import rescore
from mashq.cli.resume import resume
from mashq.cli.run import run
from mashq.cli.schema import schema
from mashq.cli.score import score
from mashq.cli.seasons import game, tournament, vision
from mashq.cli.show import show
from mashq.cli.site import site
from mashq.cli.sweep import sweep
from mashq.cli.validate import validate
from mashq.cli.verify import verify
from mashq.cli.view import view
from mashq.cli.weights import weights
from mashq.errors import MashqError, Stopped
from mashq.version import __version__

BAD_INPUT, STOPPED = 2, 3
WINDOWS = "mashq needs Linux, macOS or WSL: on Windows, install WSL (wsl --install) and run it there"


# What --help lists, in groups.
GROUPS: dict[str, tuple[click.Command, ...]] = {
    "Start": (demo, init, plan, doctor, weights),
    "Play": (run, resume, sweep, tournament, game, vision, gateway),
    "Look": (show, view, report, site, compare),
    "Score and check": (score, rescore, detect, detectors, verify, power, validate, calibrate),
    "Exchange": (export, import_, schema, paper),
}


class Grouped(click.Group):
    """Commands in groups, each with its whole first sentence."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands by group."""
        width = max(map(len, self.commands))
        for title, commands in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(f"{own.name:<{width}}", own.get_short_help_str(1000)) for own in commands])


@click.group(cls=Grouped, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, package_name="mashq")
def cli() -> None:
    """What does a factual answer cost?

    Systems play a match over the same items; a detector scores the answers (H), every token, call, review and second
    is counted (P), and Q = alpha·H − beta·P says which answer was worth its price.

    \b
    mashq demo                    a real match on the embedded model
    mashq init                    a commented configuration to start from
    mashq plan mashq.yaml         what it would cost, before anything is paid
    mashq run mashq.yaml          play it
    mashq COMMAND --help          what a command takes, with examples
    """


for _command in (command for commands in GROUPS.values() for command in commands):
    cli.add_command(_command)


def main() -> None:
    """Run a command; errors are one sentence and an exit code, never a traceback."""
    if sys.platform == "win32":
        click.echo(f"mashq: {WINDOWS}", err=True)
        sys.exit(BAD_INPUT)
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        code: object = cli.main(prog_name="mashq", standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except MashqError as error:
        click.echo(f"mashq: {_shown(str(error))}", err=True)
        sys.exit(BAD_INPUT)
    except Stopped as stopped:
        click.echo(f"mashq: {_shown(str(stopped))}", err=True)
        sys.exit(STOPPED)
    except click.ClickException as error:
        error.show()
        sys.exit(BAD_INPUT)
    except (click.Abort, KeyboardInterrupt):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # it stops already: a second one changes nothing
        click.echo("mashq: stopped", err=True)
        sys.exit(STOPPED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _shown(text: str) -> str:
    from mashq.report.text.formatting import safe

    return safe(" ".join(text.split()), 1000)
