"""`mashq score`: score a run or results from other sources, with intervals, flips and views."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import click

from mashq.cli.checks import Checks, check_options
from mashq.errors import ConfigError

if TYPE_CHECKING:
    from mashq.protocol.score import ScoreRules

RESAMPLES = 10_000  # same as in `analysis.intervals`, which is too slow to import for --help


@click.command()
@click.argument("source", type=click.Path(path_type=Path))
@click.option(
    "--map", "renames", multiple=True, metavar="OURS=THEIRS", help="Which column is which, e.g. h=hhem_score."
)
@click.option(
    "--alpha", type=click.FloatRange(0, min_open=True), help="Weight of H; by default the run's own, else 1."
)
@click.option("--beta", type=click.FloatRange(0), help="Weight of P; by default the run's own, else 0.1.")
@click.option("--weights", metavar="NAME=W,…", help="Weights of single resources, e.g. tokens=1,dollars=2.")
@click.option(
    "--resources",
    metavar="NAME,…",
    help="Which resources P counts; by default the run's own, else tokens,calls,reviews,seconds.",
)
@click.option(
    "--normalise",
    metavar="match|reference:FILE",
    help="Costs relative to the largest, or to a file's totals or costs per item.",
)
@click.option(
    "--refusals", type=click.Choice(["intersection", "penalised", "answered"]), help="How refused items count."
)
@click.option(
    "--h",
    "h",
    type=click.Choice(["faithful", "adequate"]),
    help="What H means: the judge's score, or that score times coverage.",
)
@click.option("--without", multiple=True, metavar="PLAYER", help="Leave a player out.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Seed of the resampling.")
@click.option("--resamples", default=RESAMPLES, show_default=True, type=click.IntRange(100, 1_000_000))
@click.option("--format", "form", type=click.Choice(["table", "md", "latex"]), default="table", show_default=True)
@click.option("--best-set", "best_set", is_flag=True, help="Only the players not clearly worse than the best.")
@click.option("--all", "everyone", is_flag=True, help="Show every player, not only the first 40.")
@check_options
@click.option("--json", "as_json", is_flag=True, help="Print the document and nothing else.")
def score(
    source: Path,
    renames: tuple[str, ...],
    without: tuple[str, ...],
    seed: int,
    resamples: int,
    checks: Checks,
    form: Literal["table", "md", "latex"],
    best_set: bool,
    everyone: bool,
    as_json: bool,
    **rules: Any,
) -> None:
    """Score SOURCE: a run directory, or a CSV, TSV, JSONL or Parquet file of results from anywhere.

    Rows hold player, item, h and any of trial, tokens (or tokens_in and tokens_out), calls, reviews, seconds, dollars
    and status; without an item column, one row of totals per player. What is missing is unknown, not 0.

    \b
    Examples:
      mashq score runs/first --beta 0.05
      mashq score results.csv --map h=hhem_score --map player=model --resources tokens
      mashq score runs/first --fail-if 'q(mine) < q(baseline) - 0.02' --fail-if 'clear(baseline, mine)'
    """
    from mashq.cli.playing import say
    from mashq.report.documents.base import as_json as json_of
    from mashq.report.documents.source import read_source
    from mashq.report.text.score import score_text

    wanted = checks.read()
    given = read_source(source, pairs("--map", renames)).without(without)
    document = given.scored(rules_said(given.rules, rules), resamples, seed)
    if as_json:
        click.echo(json_of(document))
    else:
        say(score_text(document, form, everyone=everyone, best_set=best_set))
    checks.decide(wanted, document, str(source))


def rules_said(given: "ScoreRules", said: dict[str, Any]) -> "ScoreRules":
    """The rules with the settings of the command line applied."""
    from mashq.report.documents.source import changed_rules

    weights = pairs("--weights", said["weights"].split(",") if said["weights"] else ())
    names = said["resources"]
    return changed_rules(
        given,
        **{name: said.get(name) for name in ("alpha", "beta", "refusals", "h")},
        resources=None if names is None else [name.strip() for name in names.split(",") if name.strip()],
        weights={name: _number(text) for name, text in weights.items()},
        normalise=None if said["normalise"] is None else _reference(said["normalise"]),
    )


def _number(text: str) -> Any:
    """The text as a number, or unchanged if it is none: the rules then reject it."""
    try:
        return float(text)
    except ValueError:
        return text


def _reference(text: str) -> tuple[dict[str, float] | None, bool]:
    """What costs are relative to, and whether per item."""
    from mashq.bounds import read_json

    if text == "match":
        return None, False
    kind, _, name = text.partition(":")
    if kind != "reference" or not name:
        raise ConfigError(f"--normalise {text!r}: write match, or reference:FILE")
    try:
        document = totals = _mapping(read_json(Path(name)))
        per_item = "per_item" in document
        if per_item:
            totals = _mapping(document["per_item"])
            if len(document) > 1:
                raise ValueError("per_item stands beside totals")
    except (OSError, ValueError) as error:
        raise ConfigError(
            f'the reference {name} cannot be read ({error}): it is JSON such as {{"tokens": 1e6}} for totals, or '
            '{"per_item": {"tokens": 600}}'
        ) from None
    return totals, per_item


def _mapping(document: object) -> dict[str, Any]:
    if not isinstance(document, dict):
        raise ValueError("it is no mapping")
    return cast(dict[str, Any], document)


def pairs(option: str, texts: Sequence[str]) -> dict[str, str]:
    """Parse texts of the form name=value into a mapping."""
    values_by_name: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.strip() or not value.strip():
            raise ConfigError(f"{option} {text!r}: write it as name=value")
        if key.strip() in values_by_name:
            raise ConfigError(f"{option} names {key.strip()} twice: keep one")
        values_by_name[key.strip()] = value.strip()
    return values_by_name
