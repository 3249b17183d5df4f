"""`mashq validate`: compare the detector with human ratings."""

import json
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from mashq import outputs
from mashq.cli import checks
from mashq.cli.groups import Group
from mashq.errors import ConfigError, DataError

if TYPE_CHECKING:
    from mashq.analysis.validation.agreement import Validation
    from mashq.protocol.items import Item
    from mashq.report.annotation_sheet import SheetRow
    from mashq.runs.open import Played, Season


@click.group(cls=Group)
def validate() -> None:
    """Does the detector agree with people? A blind sheet to rate, and a report on the ratings.

    \b
    Example:
      mashq validate sample runs/first -n 100 -o sheet
      mashq validate report sheet/key.json anna.csv ben.csv
    """


@validate.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("-n", "number", default=100, show_default=True, type=click.IntRange(1), help="How many answers.")
@click.option(
    "--seed", default=0, show_default=True, type=click.IntRange(0), help="Seed of the sample, its order and its ids."
)
@click.option("-o", "--out", required=True, type=click.Path(path_type=Path), help="A new folder for the sheet.")
def sample(run: Path, number: int, seed: int, out: Path) -> None:
    """Make a blind sheet of answers of RUN: sheet.csv, sheet.html (a form that works offline) and key.json.

    Answers are spread over the players and over the range of scores; player and score are hidden, the order is
    shuffled. key.json says which row is which: keep it from the annotators.

    \b
    Example:
      mashq validate sample runs/first -n 100 -o sheet
    """
    from mashq.report.annotation_sheet import sheet_csv, sheet_html
    from mashq.runs.open import load_season

    if os.path.exists(out):
        raise ConfigError(f"{out} exists already: choose a new folder with -o")
    season = load_season(run)
    rows, key = _sample(season, number, seed)
    files = {
        "sheet.csv": "\ufeff" + sheet_csv(rows),
        "sheet.html": sheet_html(rows, season.config.task.kind),
        "key.json": json.dumps(key, indent=1, ensure_ascii=False) + "\n",
    }
    try:
        outputs.make_folder(out)
        for name, text in files.items():
            (out / name).write_bytes(text.encode("utf-8", "replace"))
    except OSError as error:
        raise ConfigError(f"{out} cannot be written ({error.strerror}): choose another folder with -o") from None
    few = "" if len(rows) == number else f" (all that {run} has)"
    click.echo(f"{len(rows)} answers{few} in {out}: give sheet.html or sheet.csv to the annotators, keep key.json.")
    click.echo(f"Then: mashq validate report {out / 'key.json'} RATINGS.csv …")


@validate.command()
@click.argument("key", type=click.Path(path_type=Path))
@click.argument("ratings", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--positive",
    default=0.5,
    show_default=True,
    type=click.FloatRange(0, 1, min_open=True),
    help="The lowest rating that counts as good.",
)
@click.option("--partial", is_flag=True, help="Allow rows without a rating.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Seed of the resampling.")
@click.option("--resamples", default=10_000, show_default=True, type=click.IntRange(100, 1_000_000))
@click.option("--plot", type=click.Path(path_type=Path), help="Write the calibration plot to this HTML file.")
@click.option("--format", "form", type=click.Choice(["table", "md", "latex"]), default="table", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print the document and nothing else.")
def report(
    key: Path,
    ratings: tuple[Path, ...],
    positive: float,
    partial: bool,
    seed: int,
    resamples: int,
    plot: Path | None,
    form: Literal["table", "md", "latex"],
    as_json: bool,
) -> None:
    """Compare the detector's scores with RATINGS, one CSV file per annotator: columns id and rating (0 to 1).

    \b
    Example:
      mashq validate report sheet/key.json anna.csv ben.csv --plot calibration.html
    """
    import numpy as np

    from mashq.analysis.validation.agreement import Resampling, validate
    from mashq.report.documents.base import DetectorVersion
    from mashq.report.documents.base import as_json as json_of
    from mashq.report.documents.validate import ValidationReport
    from mashq.report.html.calibration_plot import plot as drawn
    from mashq.report.text.validate import validation_text
    from mashq.runs.annotations import read_key, read_ratings

    if plot is not None:
        checks.check_folder(plot)
    key_document = read_key(key)
    rows: dict[str, dict[str, Any]] = key_document["rows"]
    ratings_by_annotator = {
        name: read_ratings(path, rows, key, partial) for name, path in _annotators(ratings).items()
    }
    columns = {
        name: np.array([scores.get(row, math.nan) for row in rows]) for name, scores in ratings_by_annotator.items()
    }
    base = np.array([float(row["weight"]) for row in rows.values()])
    resampling = Resampling([row["item"] for row in rows.values()], resamples, seed, base)
    result = validate(np.array([float(row["h"]) for row in rows.values()]), columns, resampling, positive)
    detector = DetectorVersion(**key_document["detector"])
    notes = _notes(result, len(rows), simulated=bool(key_document.get("simulated")))
    document = ValidationReport(run=key_document["run"], detector=detector, rows=len(rows), found=result, notes=notes)
    if plot is not None:
        checks.write(plot, drawn(document))
    click.echo(json_of(document) if as_json else validation_text(document, form))


def _sample(season: "Season", number: int, seed: int) -> "tuple[list[SheetRow], dict[str, Any]]":
    """The rows of the sheet in order, and the key to them: answers of all matches of the run."""
    import numpy as np

    from mashq.analysis.validation.sampling import spread
    from mashq.report.annotation_sheet import SheetRow, opaque
    from mashq.runs.annotations import FORMAT, KIND

    played = list(season.fixtures_played())
    answers = [(match_played.fixture.id, *answer) for match_played in played for answer in _answers(match_played)]
    if not answers:
        raise DataError(f"{season.path} has no answer with a score: play it, or sample another run")
    players, items, scores = (
        [entry[1] for entry in answers],
        [entry[2].id for entry in answers],
        [entry[4] for entry in answers],
    )
    digest = json.dumps([season.manifest["started"], season.manifest["digests"]["items"]])
    rows: list[SheetRow] = []
    key: dict[str, Any] = {}
    for picked in spread(players, items, scores, number, np.random.default_rng(seed)):
        match, player, item, answer, h = answers[picked.at]
        name = opaque(seed, digest, item.id, player if len(played) == 1 else json.dumps([match, player]))
        rows.append(SheetRow(name, item.shown, answer, None if item.passages else item.reference))
        key[name] = {"match": match, "item": item.id, "player": player, "h": h, "weight": picked.weight}
    details = {name: season.manifest[name] for name in ("detector", "simulated")}
    document = {"kind": KIND, "format": FORMAT, "run": str(season.path), "seed": seed, "answers": len(answers)}
    return rows, document | details | {"rows": key}


def _answers(played: "Played") -> "Iterator[tuple[str, Item, str, float]]":
    """Every answer with a score: player, item, text, and the judge's score."""
    for player in played.state.players:
        for index, work in zip(player.order, player.items, strict=True):
            h = work.judge_h
            if work.status == "ok" and h is not None:
                yield player.name, played.state.items[index], work.text, h


def _annotators(paths: tuple[Path, ...]) -> dict[str, Path]:
    """The files by a unique annotator name."""
    if len({os.path.realpath(path) for path in paths}) < len(paths):
        raise ConfigError("the same ratings file is given twice: each file is one annotator")
    stems = [path.stem for path in paths]
    return {path.stem if stems.count(path.stem) == 1 else str(path): path for path in paths}


def _notes(result: "Validation", rows: int, *, simulated: bool) -> list[str]:
    notes: list[str] = []
    if simulated:
        notes.append("SIMULATED: some answers are not from a real model; their scores are random draws.")
    if result.n < rows:
        notes.append(f"{rows - result.n} of {rows} rows have no rating.")
    if result.sources < 30:
        notes.append(f"With only {result.sources} sources the intervals are wide: rate more to narrow them.")
    if result.mean.good in (0, result.mean.n):
        notes.append("All ratings fall on one side of --positive: there is no AUC.")
    return notes
