"""`mashq score`: results from a run or from anywhere, with intervals, flips and views."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from mashq.errors import ConfigError

if TYPE_CHECKING:
    from mashq.analysis.results import Results
    from mashq.protocol.score import ScoreRules
    from mashq.runs.open import Played

FAILED = 1
RESAMPLES = 10_000  # as everywhere: `analysis.intervals`, which is too slow to load for --help
DEFAULTS: dict[str, float] = {"tokens": 1.0, "calls": 1.0, "reviews": 1.0, "seconds": 1.0}


@click.command()
@click.argument("source", type=click.Path(path_type=Path))
@click.option(
    "--map", "renames", multiple=True, metavar="OURS=THEIRS", help="Which column is which, e.g. h=hhem_score."
)
@click.option("--alpha", type=click.FloatRange(0, min_open=True), help="Weight of H; the run's, or 1.")
@click.option("--beta", type=click.FloatRange(0), help="Weight of P; the run's, or 0.1.")
@click.option("--weights", metavar="NAME=W,…", help="Weights of single resources, e.g. tokens=1,dollars=2.")
@click.option(
    "--resources", metavar="NAME,…", help="Which resources P counts; the run's, or tokens,calls,reviews,seconds."
)
@click.option(
    "--normalise",
    metavar="match|reference:FILE",
    help="Costs relative to the largest, or to a file's totals or costs per item.",
)
@click.option("--refusals", type=click.Choice(["intersection", "penalised", "answered"]), help="Refused items.")
@click.option(
    "--h",
    "h",
    type=click.Choice(["faithful", "adequate"]),
    help="What H means: the judge's as it is, or times how far an answer carries what matters.",
)
@click.option("--without", multiple=True, metavar="PLAYER", help="Leave a player out.")
@click.option("--seed", default=0, show_default=True, help="Seed of the resampling.")
@click.option("--resamples", default=RESAMPLES, show_default=True, type=click.IntRange(100, 1_000_000))
@click.option(
    "--fail-if", "conditions", multiple=True, metavar="CONDITION", help="Exit with 1 if true: 'q(A) < q(B)'."
)
@click.option("--format", "form", type=click.Choice(["table", "md", "latex"]), default="table", show_default=True)
@click.option("--best-set", "best_set", is_flag=True, help="Only the players that cannot be told from the best.")
@click.option("--all", "everyone", is_flag=True, help="Show every player, not only the first 40.")
@click.option("--json", "as_json", is_flag=True, help="Print the document and nothing else.")
def score(
    source: Path,
    renames: tuple[str, ...],
    without: tuple[str, ...],
    seed: int,
    resamples: int,
    conditions: tuple[str, ...],
    form: Literal["table", "md", "latex"],
    best_set: bool,
    everyone: bool,
    as_json: bool,
    **rules: Any,
) -> None:
    """Score SOURCE: a run directory, or a CSV, TSV, JSONL or Parquet file of results from anywhere.

    Rows hold player, item, h and any of trial, tokens (or tokens_in and tokens_out), calls, reviews, seconds, dollars
    and status; without an item column, one row of totals a player. What is missing is unknown, not 0.

    \b
    Examples:
      mashq score runs/first --beta 0.05
      mashq score results.csv --map h=hhem_score --map player=model --resources tokens
      mashq score runs/first --fail-if 'q(mine) < q(baseline)' --fail-if 'p_win(mine) < 0.9'
    """
    from mashq.analysis.conditions import holds, parse
    from mashq.analysis.score_report import Options, judge
    from mashq.report.documents.base import as_json as json_of
    from mashq.report.text.score import score_text

    wanted = [parse(text) for text in conditions]
    given = read_source(source, pairs("--map", renames))
    results = given.results
    from mashq.config import nearest

    for name in without:
        if name not in results.players:
            raise ConfigError(f"--without {name!r}: there is no such player{nearest(name, results.players)}")
    if without:
        results = results.only([name for name in results.players if name not in without])
    options = Options(rules_said(given.rules, rules), resamples, seed, given.finished)
    document = judge(results, options, given.notes)
    if given.trials:
        from mashq.report.documents.passages import passage_views

        document = replace(document, passages=passage_views(given.trials, document.players, options.rules.refusals))
    click.echo(json_of(document) if as_json else score_text(document, form, everyone=everyone, best_set=best_set))
    true = [condition.text for condition in wanted if holds(condition, document.players)]
    if true:
        click.echo(f"mashq: failed: {'; '.join(true)}", err=True)
        sys.exit(FAILED)


@dataclass(frozen=True, slots=True)
class Source:
    """Results, the rules they came with, notes on them, and whether their run is over."""

    results: "Results"
    rules: "ScoreRules"
    notes: list[str]
    finished: bool = True
    trials: "Sequence[Played]" = ()


def read_source(source: Path, renames: dict[str, str]) -> Source:
    """The results of a run or of a file."""
    from mashq.protocol.score import ScoreRules
    from mashq.runs.result_files import read

    if not source.is_dir():
        results, notes = read(source, renames)
        return Source(results, ScoreRules(weights=dict(DEFAULTS)), notes)
    from mashq.report.documents import earlier
    from mashq.report.documents.columns import season_results, trials_of
    from mashq.runs.open import load_season
    from mashq.runs.setup import score_rules_of

    season = load_season(source)
    if season.kind != "match":
        raise ConfigError(f"{source} is a {season.kind}, not one match: 'mashq show {source}' has its tables")
    notes: list[str] = []
    if season.manifest["simulated"]:
        notes.append("SIMULATED: no real model answered some of this; those scores, costs and times are drawn.")
    notes += earlier.note(season.path, season.manifest)
    trials = trials_of(season)
    return Source(season_results(trials), score_rules_of(season.config), notes, season.finished, trials)


def rules_said(given: "ScoreRules", said: dict[str, Any]) -> "ScoreRules":
    """The rules with what the command line says in their place."""
    weights = dict(given.weights)
    if said["resources"] is not None:
        names = [name.strip() for name in said["resources"].split(",") if name.strip()]
        weights = {_resource(name): given.weights.get(name, 1.0) for name in names}
    for name, text in pairs("--weights", (said["weights"] or "").split(",") if said["weights"] else ()).items():
        weights[_resource(name)] = _positive(name, text)
    reference, per_item = given.reference, given.per_item
    if said["normalise"] is not None:
        reference, per_item = _reference(said["normalise"])
    changed = {name: said[name] for name in ("alpha", "beta", "refusals", "h") if said.get(name) is not None}
    return replace(given, weights=weights, reference=reference, per_item=per_item, **changed)


def _resource(name: str) -> str:
    from mashq.config import nearest
    from mashq.protocol.resources import RESOURCES

    if name not in RESOURCES:
        raise ConfigError(f"{name!r} is not a resource{nearest(name, RESOURCES)}")
    return name


def _positive(name: str, text: str) -> float:
    import math

    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise ConfigError(f"the value of {name} is {text!r}, must be a positive number")
    return value


def _reference(text: str) -> tuple[dict[str, float] | None, bool]:
    """What costs are relative to, and whether per item."""
    if text == "match":
        return None, False
    kind, _, name = text.partition(":")
    if kind != "reference" or not name:
        raise ConfigError(f"--normalise {text!r}: write match, or reference:FILE")
    try:
        document: dict[str, Any] = dict(json.loads(Path(name).read_text("utf-8")))
        per_item = "per_item" in document
        pairs: dict[str, Any] = dict(document["per_item"]) if per_item else document
        if per_item and len(document) > 1:
            raise ValueError("per_item stands beside totals")
    except (OSError, ValueError, TypeError) as error:
        raise ConfigError(
            f'the reference {name} cannot be read ({error}): it is JSON such as {{"tokens": 1e6}} for totals, or '
            '{"per_item": {"tokens": 600}}'
        ) from None
    return {_resource(key): _positive(key, str(value)) for key, value in pairs.items()}, per_item


def pairs(option: str, texts: Sequence[str]) -> dict[str, str]:
    """Texts such as name=value by their names."""
    found: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.strip() or not value.strip():
            raise ConfigError(f"{option} {text!r}: write it as name=value")
        found[key.strip()] = value.strip()
    return found
