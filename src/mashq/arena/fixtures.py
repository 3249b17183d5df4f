"""Which matches a season is made of.

A season is written down as a small document (`kind` and its settings) beside the configuration, and its matches
follow from the two: a run that stopped knows what is left. Matches come in batches; a later batch may depend on the
results of the earlier ones, as in a Swiss tournament.

    {"kind": "match", "trials": 100}
    {"kind": "sweep", "trials": 3, "over": [["rules.T", [0.8, 0.85]], ["rules.R", [2, 3]]]}
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from mashq.config import Config, changed
from mashq.errors import ConfigError
from mashq.protocol.score import PlayerResult

FREE = ("score.alpha", "score.beta", "score.weights", "score.normalise", "score.refusals")  # no player is told these
Results = Callable[[str], Sequence[PlayerResult]]


@dataclass(frozen=True, slots=True)
class Fixture:
    """One match of a season. `cell` says what sets it apart from its siblings, beside the trial."""

    id: str
    position: int
    config: Config
    trial: int = 0
    cell: tuple[tuple[str, Any], ...] = ()


def batches(config: Config, season: Mapping[str, Any], results: Results) -> Iterator[list[Fixture]]:
    """The matches of a season, those that can be played at the same time together."""
    trials: int = season.get("trials", 1)
    kind = season.get("kind", "match")
    if kind == "match":
        yield [Fixture(str(trial), trial, config, trial) for trial in range(trials)]
    elif kind == "sweep":
        yield list(_sweep(config, season["over"], trials))
    else:
        raise ConfigError(f"the run is a {kind!r}, which this version does not know: update mashq")


def _sweep(config: Config, over: Sequence[tuple[str, Sequence[Any]]], trials: int) -> Iterator[Fixture]:
    """Every combination of the values that need playing, each in every trial."""
    played = [(name, values) for name, values in over if not is_free(name)]
    for number, cell in enumerate(cells(played)):
        one = changed(config, cell)
        for trial in range(trials):
            yield Fixture(f"{number}.{trial}", number * trials + trial, one, trial, cell)


def cells(over: Sequence[tuple[str, Sequence[Any]]]) -> list[tuple[tuple[str, Any], ...]]:
    """Every combination of the values of some settings."""
    names = [name for name, _ in over]
    if len(set(names)) < len(names):
        raise ConfigError(f"--over names {max(names, key=names.count)!r} twice: give all its values in one --over")
    return [tuple(zip(names, values, strict=True)) for values in product(*(choices for _, choices in over))]


def is_free(name: str) -> bool:
    """Whether a setting only changes how a match is scored, so that sweeping it plays nothing."""
    return name.startswith(FREE)
