"""Shared by `run` and `score` for use in CI: conditions that fail the command, JUnit XML and a Markdown summary."""

import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mashq import outputs
from mashq.errors import StoreError

if TYPE_CHECKING:
    from mashq.analysis.conditions import Condition
    from mashq.analysis.score_types import ScoreReport

FAILED = 1
_OPTIONS = (
    click.option(
        "--fail-if",
        "conditions",
        multiple=True,
        metavar="CONDITION",
        help="Exit with 1 if true, e.g. 'q(A) < q(B) + 0.02', 'dollars(A) > 1', 'not clear(A, B)'; may be repeated.",
    ),
    click.option(
        "--junit",
        type=click.Path(path_type=Path, dir_okay=False),
        help="Write the conditions here as JUnit XML.",
    ),
    click.option(
        "--summary",
        type=click.Path(path_type=Path, dir_okay=False),
        help="Add the result and the conditions to this Markdown file.",
    ),
)


@dataclass(frozen=True, slots=True)
class Checks:
    """The conditions of a command line, and the files they are reported in."""

    conditions: tuple[str, ...] = ()
    junit: Path | None = None
    summary: Path | None = None

    def __bool__(self) -> bool:
        """Whether any check is requested."""
        return bool(self.conditions or self.junit or self.summary)

    def read(self) -> "list[Condition]":
        """The parsed conditions; raises an error at the first that cannot be parsed, or a file that has no folder."""
        from mashq.analysis.conditions import parse

        for path in (self.junit, self.summary):
            if path is not None:
                check_folder(path)

        return [parse(text) for text in self.conditions]

    def decide(self, conditions: "Sequence[Condition]", score: "ScoreReport", source: str) -> None:
        """Report the basis of each condition, write the files, and exit with 1 if one is true."""
        if not self:
            return
        from mashq.analysis.conditions import check
        from mashq.report.text.checks import junit, said, summary

        outcomes = [check(condition, score) for condition in conditions]
        for outcome in outcomes:
            click.echo(said(outcome), err=True)
        if self.junit is not None:
            write(self.junit, junit(score, outcomes, source))
        if self.summary is not None:
            write(self.summary, summary(score, outcomes, source), append=True)
        if any(outcome.true for outcome in outcomes):
            sys.exit(FAILED)


def check_options(command: "Callable[..., None]") -> "Callable[..., None]":
    """Add these options to a command, passed as one `checks`."""

    @wraps(command)
    def with_checks(*arguments: Any, **options: Any) -> None:
        values = {name: options.pop(name) for name in Checks.__slots__ if name in options}
        return command(*arguments, checks=Checks(**values), **options)

    wrapped: Callable[..., None] = with_checks
    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped


def check_folder(path: Path) -> None:
    """Raise StoreError if `path` lies in no folder, before any work is done for it."""
    with _one_sentence(path):
        outputs.check_folder(path)


def write(path: Path, content: bytes | str, *, append: bool = False) -> None:
    """Write a file that an option names; raises StoreError if that cannot be done."""
    with _one_sentence(path):
        outputs.write(path, content, append=append)


@contextmanager
def _one_sentence(path: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(f"{path} cannot be written ({error.strerror}): choose another place") from None
