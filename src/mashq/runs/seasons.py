"""The matches of a season.

A season is stored as a small document (`kind` and its settings) beside the configuration, and its matches follow from
the two, so a run that stopped knows what is left. Matches come in batches; a later batch may depend on the results of
earlier ones, as in a Swiss tournament.

    {"kind": "match", "trials": 100}
    {"kind": "sweep", "trials": 3, "over": [["rules.T", [0.8, 0.85]], ["rules.R", [2, 3]]]}
    {"kind": "sweep", "trials": 1, "over": [["players.0.model,players.1.model", [["a", "a"], ["b", "b"]]]]}
    {"kind": "tournament", "trials": 1, "system": "round-robin", "seats": 2}
    {"kind": "tournament", "trials": 1, "system": "swiss", "rounds": 5, "seats": 2}
    {"kind": "game", "trials": 5, "vision": ["never", "review"]}
    {"kind": "vision", "trials": 5, "when": "review", "items": 800}

The position of a match never changes: a player who joins a tournament later adds matches after the others.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any, cast

import numpy as np

from mashq.analysis.pairings import swiss
from mashq.config import Config, changed
from mashq.errors import ConfigError
from mashq.players.registry import heeds_the_formula
from mashq.protocol.results import PlayerResult
from mashq.protocol.rules import default_order
from mashq.protocol.score import score
from mashq.runs.setup import score_rules_of

# The formula that players are told, where `rules.tell` says so.
FORMULA = ("score.alpha", "score.beta", "score.weights", "score.normalise")
FREE = (*FORMULA, "score.refusals")
TWIN = " (2)"  # appended to a player's name for its second seat, when it plays against itself
MAX_COST = 10_000_000  # trials, seats or rounds
Results = Callable[[str], Sequence[PlayerResult]]
Cell = tuple[tuple[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Fixture:
    """One match of a season. `cell` holds the settings that set it apart from the others, besides the trial."""

    id: str
    position: int
    config: Config
    trial: int = 0
    cell: Cell = ()

    @property
    def number(self) -> int:
        """A number shared by the matches that differ in the trial only, and by no others."""
        return self.position - self.trial


def batches(config: Config, season: Mapping[str, Any], results: Results) -> Iterator[list[Fixture]]:
    """The matches of a season, in batches of those that can be played at the same time."""
    kind = season.get("kind", "match")
    trials: int = season.get("trials", 1)
    if kind == "match":
        yield [Fixture(str(trial), trial, config, trial) for trial in range(trials)]
    elif kind == "sweep":
        yield list(_sweep(config, season["over"], trials))
    elif kind == "tournament" and season["system"] == "swiss":
        yield from _swiss(config, season["rounds"], trials, results)
    elif kind == "tournament":
        yield list(_round_robin(config, season["seats"], trials))
    elif kind == "game":
        yield list(_game(config, season["vision"], trials))
    elif kind == "vision":
        yield list(_vision(config, season["when"], season["items"], trials))
    else:
        raise ConfigError(f"the run is a {kind!r}, which this version does not know: update mashq")


def checked(season: object) -> Mapping[str, Any]:
    """The season of a manifest; raises ConfigError unless it is what `batches` needs."""
    settings = cast(Mapping[str, Any], season) if isinstance(season, Mapping) else {"kind": season}
    kind = settings.get("kind", "match")
    if not isinstance(kind, str) or kind not in NEEDS:
        raise ConfigError(f"the run is a {kind!r}, which this version does not know: update mashq")
    for name, is_valid in {"trials": _is_count, "items": _is_count, **NEEDS[kind]}.items():
        optional = name == "trials" or (name == "items" and name not in NEEDS[kind])
        optional = optional or (name == "rounds" and settings.get("system") != "swiss")
        if not is_valid(settings.get(name, 1 if optional else None)):
            raise ConfigError(f"the run is a {kind} and its {name!r} is wrong: restore its manifest from a copy")
    return settings


def _is_count(value: object) -> bool:
    return type(value) is int and 1 <= value <= MAX_COST


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_list_of_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(word, str) for word in cast(list[object], value))


def _is_list_of_settings(value: object) -> bool:
    """Whether a value is a list of [name, values]."""
    pairs = cast(list[Any], value) if isinstance(value, list) else [None]
    return all(isinstance(p, list | tuple) and len(cast(Any, p)) == 2 and isinstance(p[1], list) for p in pairs)


NEEDS: dict[str, dict[str, Callable[[object], bool]]] = {
    "match": {},
    "sweep": {"over": _is_list_of_settings},
    "tournament": {"system": _is_text, "seats": _is_count, "rounds": _is_count},
    "game": {"vision": _is_list_of_texts},
    "vision": {"when": _is_text, "items": _is_count},
}


def _sweep(config: Config, over: Sequence[tuple[str, Sequence[Any]]], trials: int) -> Iterator[Fixture]:
    """Every combination of the values that need playing, each in every trial."""
    free = free_settings(config, over)
    played = [(name, values) for name, values in over if name not in free]
    for number, cell in enumerate(cells(played)):
        yield from _trials(changed(config, each_setting(cell)), str(number), number, trials, cell)


def cells(over: Sequence[tuple[str, Sequence[Any]]]) -> list[Cell]:
    """Every combination of the settings' values; settings that change together share one joined name and value."""
    all_names = [name for joined, _ in over for name in joined.split(",")]
    if len(set(all_names)) < len(all_names):
        repeated = max(all_names, key=all_names.count)
        raise ConfigError(f"--over and --with name {repeated!r} twice: give all its values in one of them")
    names = [name for name, _ in over]
    choices = [[tuple(value) if "," in name else value for value in values] for name, values in over]
    return [tuple(zip(names, values, strict=True)) for values in product(*choices)]


def each_setting(cell: Cell) -> list[tuple[str, Any]]:
    """The settings of a combination one by one, with joined ones split."""
    settings: list[tuple[str, Any]] = []
    for joined, value in cell:
        names = joined.split(",")
        settings += zip(names, value, strict=True) if len(names) > 1 else [(joined, value)]
    return settings


def free_settings(config: Config, over: Sequence[tuple[str, Sequence[Any]]]) -> set[str]:
    """The settings that only change how a match is scored, so that sweeping them needs no further matches.

    If some player is told the formula and may act on it, only `score.refusals` is one.
    """
    free = {key for key, _ in over if _all_start_with(FREE, key)}
    remaining = [(key, values) for key, values in over if key not in free]
    if not any(_acts_on_formula(changed(config, each_setting(cell))) for cell in cells(remaining)):
        return free
    return {key for key in free if _all_start_with(FREE[len(FORMULA) :], key)}


def _all_start_with(prefixes: tuple[str, ...], joined: str) -> bool:
    return all(name.startswith(prefixes) for name in joined.split(","))


def _acts_on_formula(config: Config) -> bool:
    """Whether some player is told the formula and may act on it."""
    return "formula" in config.rules.tell and any(map(heeds_the_formula, config.players))


def _round_robin(config: Config, seats: int, trials: int) -> Iterator[Fixture]:
    """All groups of `seats` players, each in every rotation of its seats; groups with the last player come last."""
    players = range(len(config.players))
    if not 2 <= seats <= len(players):
        raise ConfigError(
            f"a tournament of {len(players)} player(s) cannot have {seats} seats a match: use 2 up to as many as play"
        )
    groups = sorted(combinations(players, seats), key=lambda group: group[::-1])
    for number, group in enumerate(groups):
        for turn in range(seats):
            seated = group[turn:] + group[:turn]
            yield from _seated_trials(config, seated, number * seats + turn, trials)


def _swiss(config: Config, rounds: int, trials: int, results: Results) -> Iterator[list[Fixture]]:
    """Round after round, pair players with similar points; each pair plays in both orders."""
    points = [0.0] * len(config.players)
    pairs_so_far: list[tuple[int, int]] = []
    byes: list[int] = []
    for number in range(rounds):
        rng = np.random.default_rng([config.seed, number])
        pairing = swiss(points, pairs_so_far, rng, byes)
        batch: list[Fixture] = []
        for first, second in pairing.pairs:
            for seated in ((first, second), (second, first)):
                batch += _seated_trials(
                    config, seated, 2 * len(pairs_so_far) + (seated[0] != first), trials, f"r{number}:"
                )
            pairs_so_far.append((first, second))
        yield batch
        if pairing.bye is not None:
            byes.append(pairing.bye)
            points[pairing.bye] += 2 * trials
        for fixture in batch:
            _add_points(points, fixture, results(fixture.id))


def _add_points(points: list[float], fixture: Fixture, results: Sequence[PlayerResult]) -> None:
    """Add one point for a win, half a point for a tie."""
    outcome = score(results, score_rules_of(fixture.config))
    seats = dict(fixture.cell)["seats"]
    for seat, row in zip(seats, outcome.players, strict=True):
        points[seat] += 1.0 if row.name == outcome.winner else 0.5 if row.name in outcome.tied else 0.0


def _game(config: Config, vision: Sequence[str], trials: int) -> Iterator[Fixture]:
    """Every player against every other in both orders, and against itself, under each vision."""
    pairs = [(i, j) for j in range(len(config.players)) for i in range(j + 1)]
    number = 0
    for when in vision:
        match_config = changed(config, [("rules.vision.when", when)])
        for i, j in pairs:
            for seated in ((i, j), (j, i)) if i != j else ((i, i),):
                yield from _seated_trials(match_config, seated, number, trials, f"{when}:", (("vision", when),))
                number += 1


def _vision(config: Config, when: str, items: int, trials: int) -> Iterator[Fixture]:
    """Each player alone, all together unseen, and all together with vision; the order of items never changes."""
    seats = range(len(config.players))
    orders = [
        (f"players.{index}.order", config.players[index].order or default_order(index, len(seats), items))
        for index in seats
    ]
    for index in seats:
        yield from _seated_trials(
            changed(config, orders), (index,), index, trials, "alone:", (("condition", "alone"),)
        )
    for number, (name, vision) in enumerate((("unseen", "never"), ("seen", when)), start=len(seats)):
        match_config = changed(config, [*orders, ("rules.vision.when", vision)])
        yield from _seated_trials(match_config, tuple(seats), number, trials, f"{name}:", (("condition", name),))


def _seated_trials(
    config: Config, seats: Sequence[int], number: int, trials: int, prefix: str = "", cell: Cell = ()
) -> Iterator[Fixture]:
    """The trials of a match between some of the players."""
    players = [config.players[index] for index in seats]
    for index in range(1, len(players)):
        if any(players[index].name == other.name for other in players[:index]):
            players[index] = players[index].model_copy(update={"name": players[index].name + TWIN})
    match_config = config.model_copy(update={"players": players})
    name = prefix + "-".join(map(str, seats))
    yield from _trials(match_config, name, number, trials, (*cell, ("seats", tuple(seats))))


def _trials(config: Config, name: str, number: int, trials: int, cell: Cell) -> Iterator[Fixture]:
    for trial in range(trials):
        yield Fixture(f"{name}.{trial}", number * trials + trial, config, trial, cell)
