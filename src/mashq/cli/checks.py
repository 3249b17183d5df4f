"""What `run` and `score` share for use in CI: conditions that fail the command, JUnit XML and a Markdown summary."""

import sys
from collections.abc import Callable, Sequence
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
    """The conditions of a command line, and where they are told."""

    conditions: tuple[str, ...] = ()
    junit: Path | None = None
    summary: Path | None = None

    def __bool__(self) -> bool:
        """Whether anything is asked for."""
        return bool(self.conditions or self.junit or self.summary)

    def read(self) -> "list[Condition]":
        """The conditions; ConfigError at the first that cannot be read."""
        from mashq.analysis.conditions import parse

        return [parse(text) for text in self.conditions]

    def decide(self, conditions: "Sequence[Condition]", score: "ScoreReport", source: str) -> None:
        """Say of each condition what it was decided by, write the files, and exit with 1 if one is true."""
        if not self:
            return
        from mashq.analysis.conditions import check
        from mashq.report.text.checks import junit, said, summary

        found = [check(condition, score) for condition in conditions]
        for one in found:
            click.echo(said(one), err=True)
        if self.junit is not None:
            _write(self.junit, junit(score, found, source))
        if self.summary is not None:
            _write(self.summary, summary(score, found, source), append=True)
        if any(one.true for one in found):
            sys.exit(FAILED)


def check_options(command: "Callable[..., None]") -> "Callable[..., None]":
    """Give a command these options, handed over as one `checks`."""

    @wraps(command)
    def gathered(*arguments: Any, **options: Any) -> None:
        own = {name: options.pop(name) for name in Checks.__slots__ if name in options}
        return command(*arguments, checks=Checks(**own), **options)

    wrapped: Callable[..., None] = gathered
    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped


def _write(path: Path, text: str, *, append: bool = False) -> None:
    try:
        outputs.write(path, text, append=append)
    except OSError as error:
        raise StoreError(f"{path} cannot be written ({error.strerror}): choose another place") from None
