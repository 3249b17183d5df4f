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


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
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
    """


for command in (
    demo,
    run,
    sweep,
    tournament,
    game,
    vision,
    resume,
    show,
    view,
    score,
    compare,
    rescore,
    report,
    site,
    export,
    import_,
    detect,
    detectors,
    plan,
    gateway,
    paper,
    init,
    doctor,
    weights,
    validate,
    verify,
    schema,
    calibrate,
    power,
):
    cli.add_command(command)


def main() -> None:
    """Run a command; errors are one sentence and an exit code, never a traceback."""
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        code: object = cli.main(standalone_mode=False)
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
