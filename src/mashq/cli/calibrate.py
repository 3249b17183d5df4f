"""`mashq calibrate`: simulated players like those of a run."""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from mashq import outputs
from mashq.errors import ConfigError

if TYPE_CHECKING:
    from mashq.analysis.calibration.fit import Fitted
    from mashq.arena.simulation import Record

UNLIKE = 1
AT_HAND = 2000


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("-o", "--out", metavar="FILE.yaml", type=click.Path(path_type=Path), help="The configuration to write.")
@click.option("--items", type=click.IntRange(1, 1_000_000), help="Items of the simulated match; as many as recorded.")
@click.option("--more", default=0, type=click.IntRange(0), metavar="N", help="Add N variants of the players.")
@click.option("--without", multiple=True, metavar="PLAYER", help="Leave a player out.")
@click.option("--check", "checked", is_flag=True, help="Simulate the match and compare; exit with 1 if they differ.")
@click.option("--matches", default=10, show_default=True, type=click.IntRange(2, 1000), help="How many, for --check.")
@click.option("--format", "form", type=click.Choice(["table", "md", "latex"]), default="table", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print what was checked as JSON and nothing else.")
def calibrate(
    run: Path,
    out: Path | None,
    items: int | None,
    more: int,
    without: tuple[str, ...],
    checked: bool,
    matches: int,
    form: Literal["table", "md", "latex"],
    as_json: bool,
) -> None:
    """Write a configuration of simulated players like those of RUN: scores, reviews, tokens and seconds as recorded.

    It costs nothing to play, with as many items and players as you like, and everything it shows says SIMULATED.
    --check simulates the match now and compares it with the recorded one; the exit code is 1 if a figure is outside
    its interval.

    \b
    Examples:
      mashq calibrate runs/first --check
      mashq calibrate runs/first -o like-first.yaml --items 1000 && mashq run like-first.yaml
      mashq calibrate runs/first -o many.yaml --more 20
    """
    from mashq.analysis.calibration.fit import fit
    from mashq.arena.simulation import recorded

    if out is None and not checked:
        raise ConfigError("there is nothing to do: name a file to write with -o, or compare with --check")
    record = recorded(run, without)
    fitted = fit(record.players)
    if out is not None:
        data = _write(record, fitted, out, items or record.items, more)
        click.echo(f"{out} and {data} are written: 'mashq run {out}' plays the simulated match", err=as_json)
    if checked and not _compare(record, fitted, matches, form, as_json):
        sys.exit(UNLIKE)


def _write(record: "Record", fitted: "Sequence[Fitted]", out: Path, items: int, more: int) -> Path:
    """Write the configuration and, beside it, the placeholder items."""
    from mashq.arena.simulation import placeholders, settings, with_more
    from mashq.config import parse
    from mashq.report.text.calibrated_config import calibrated_yaml

    data = out.with_name(f"{out.stem}.items.jsonl")
    document = with_more(settings(record, fitted, data.name, items), more)
    notes = {f"simulated/{player.name}": player.notes for player in fitted}
    text = calibrated_yaml(document, _header(record, out, data, items), notes)
    parse(text, str(out))
    for path, body in ((out, text), (data, placeholders(record, max(items, AT_HAND)))):
        try:
            outputs.check_folder(path)
            with path.open("x", encoding="utf-8") as file:
                file.write(body)
        except FileExistsError:
            raise ConfigError(f"{path} is already there: name another file with -o") from None
        except OSError as error:
            raise ConfigError(f"{path} cannot be written ({error.strerror}): choose another -o") from None
    return data


def _header(record: "Record", out: Path, data: Path, items: int) -> list[str]:
    manifest = record.season.manifest
    source = f"{record.season.path}," + (" which was itself simulated," if manifest["simulated"] else "")
    return [
        "SIMULATED: no real model answers here. Every score, cost and time is drawn, and whatever is shown says so.",
        f"Written by 'mashq calibrate' from the run {source} of {len(record.players)} players on "
        f"{record.items} items (configuration {manifest['digests']['config'][:12]}, items "
        f"{manifest['digests']['items'][:12]}): each model below draws from what that player did there.",
        f"To play it: mashq run {out.name}",
        f"More items: raise task.limit, up to the {max(items, AT_HAND):,} lines of {data.name}.",
        "More players: copy a line of players and change its name, T, R or policy; for one whose calls cost twice as "
        "much, copy its model as well: {simulate: {<<: *m1, scale: 2}}.",
        "How far it can be trusted: mashq calibrate --check.",
    ]


def _compare(
    record: "Record", fitted: "Sequence[Fitted]", matches: int, form: Literal["table", "md", "latex"], as_json: bool
) -> bool:
    """Simulate, print the comparison, and return whether no figure is outside its interval."""
    from mashq.analysis.calibration.fit_check import likeness
    from mashq.arena.simulation import simulated
    from mashq.report.documents.base import as_json as json_of
    from mashq.report.documents.calibrate import Calibration
    from mashq.report.text.calibrate import likeness_text

    drawn = asyncio.run(simulated(record, items=record.items, trials=matches))
    comparison = likeness(record.results, drawn, record.rules, {player.name: player.unfitted for player in fitted})
    notes = {player.name: list(player.notes) for player in fitted if player.notes}
    document = Calibration(found=comparison, notes=notes, run=str(record.season.path))
    click.echo(json_of(document) if as_json else likeness_text(document, form))
    return comparison.like is not False
