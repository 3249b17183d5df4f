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

Results = Callable[[str], Sequence[PlayerResult]]
FREE = ("score.alpha", "score.beta", "score.weights", "score.resources", "score.normalise", "score.refusals")


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
    """Every combination of the values, each in every trial."""
    names = [name for name, _ in over]
    for number, values in enumerate(product(*(choices for _, choices in over))):
        cell = tuple(zip(names, values, strict=True))
        one = changed(config, cell)
        for trial in range(trials):
            yield Fixture(f"{number}.{trial}", number * trials + trial, one, trial, cell)
