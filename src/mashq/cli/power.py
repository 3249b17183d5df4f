"""`mashq power`: how many items it takes to tell two players apart."""

import asyncio
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from mashq.errors import ConfigError

if TYPE_CHECKING:
    from mashq.analysis.results import Results

POOL = 1000


@click.command()
@click.argument("source", metavar="RUN", type=click.Path(path_type=Path))
@click.option("--players", metavar="A,B", help="Which two; the best two by default.")
@click.option("--level", default=0.95, show_default=True, type=click.FloatRange(0.5, 0.999), help="Confidence level.")
@click.option(
    "--power", "wanted", default=0.8, show_default=True, type=click.FloatRange(0.05, 0.99), help="Power wanted."
)
@click.option("--simulate", is_flag=True, help="Use simulated players calibrated on RUN, not its items alone.")
@click.option(
    "--map", "renames", multiple=True, metavar="OURS=THEIRS", help="Which column is which, e.g. h=hhem_score."
)
@click.option("--beta", type=click.FloatRange(0), help="Weight of P; the run's, or 0.1.")
@click.option("--resources", metavar="NAME,…", help="Which resources P counts.")
@click.option(
    "--refusals", type=click.Choice(["intersection", "penalised", "answered"]), help="How refused items count."
)
@click.option("--without", multiple=True, metavar="PLAYER", help="Leave a player out of the match.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Seed of the resampling.")
@click.option("--format", "form", type=click.Choice(["table", "md", "latex"]), default="table", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print the document and nothing else.")
def power(
    source: Path,
    players: str | None,
    level: float,
    wanted: float,
    simulate: bool,
    renames: tuple[str, ...],
    without: tuple[str, ...],
    seed: int,
    form: Literal["table", "md", "latex"],
    as_json: bool,
    **rules: Any,
) -> None:
    """How many items it takes to tell two players of RUN apart (a run, or a file that 'mashq score' reads).

    Recorded items are drawn with replacement, as many as there could be; the power is how often the interval of the
    difference in Q then excludes 0. The recorded difference is itself uncertain: look at the range that is given.

    \b
    Examples:
      mashq power runs/first
      mashq power runs/first --players careful,frugal --level 0.99 --power 0.9
      mashq power results.csv --map player=model --map h=hhem_score --resources tokens
    """
    from mashq.analysis.power import Effect, Options
    from mashq.analysis.power import power as analysed
    from mashq.cli.score import pairs, rules_said
    from mashq.report.documents.base import as_json as json_of
    from mashq.report.documents.power import Power
    from mashq.report.documents.source import read_source
    from mashq.report.text.power import power_text

    options = Options(level=level, power=wanted, seed=seed)
    given = read_source(source, pairs("--map", renames)).without(without)
    results, notes = given.results, given.notes
    drawn_already = any(note.startswith("SIMULATED") for note in notes)
    notes = [note for note in notes if not note.startswith("SIMULATED")]
    config = rules_said(given.rules, {"alpha": None, "weights": None, "normalise": None} | rules)
    pair = None if players is None else _pair(players, results.players)
    result = analysed(results, config, pair, options, notes)
    document = Power(found=result, simulated=drawn_already, drawn=False, recorded_needed=None, source=str(source))
    if simulate:
        effect, best = Effect(result.dq, result.low, result.high), (result.players[0], result.players[1])
        drawn = analysed(_simulated(source, without), config, best, options, notes, effect)
        document = replace(document, found=drawn, simulated=True, drawn=True, recorded_needed=result.needed)
    click.echo(json_of(document) if as_json else power_text(document, form))


def _pair(text: str, players: tuple[str, ...]) -> tuple[str, str]:
    """Split two names at a comma; names may contain commas themselves."""
    from mashq.config import nearest

    parts = text.split(",")
    splits = [(",".join(parts[:index]).strip(), ",".join(parts[index:]).strip()) for index in range(1, len(parts))]
    for a, b in splits:
        if a in players and b in players and a != b:
            return a, b
    if len(splits) != 1:
        raise ConfigError(f"--players {text!r}: write two of {', '.join(players)} with a comma between them")
    unknown = next((name for name in splits[0] if name not in players), None)
    if unknown is None:
        raise ConfigError(f"--players {text!r}: name two different players")
    raise ConfigError(f"--players {text!r}: there is no player {unknown!r}{nearest(unknown, players)}")


def _simulated(source: Path, without: tuple[str, ...]) -> "Results":
    """A large simulated match of players like the recorded ones."""
    from mashq.arena.simulation import recorded, simulated

    if not os.path.isdir(source):
        raise ConfigError(f"--simulate needs a run directory, and {source} is a file: leave --simulate out")
    record = recorded(source, without)
    return asyncio.run(simulated(record, items=max(POOL, record.items), trials=1))[0]
