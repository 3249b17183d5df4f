"""What a season would cost: the sum over its matches, each planned with its own configuration.

The matches are those that `runs.seasons` lists for a run. The pairings of a Swiss tournament are known only when it
is played: a player is expected to meet all others equally often, and in the worst case always meets the most
expensive one.
"""

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import permutations
from pathlib import Path
from typing import Any, NoReturn

from mashq.arena.endpoints import located
from mashq.arena.executors.local import most_at_once
from mashq.arena.external_agents import check_isolation
from mashq.arena.plan import MatchPlan, PlayerInMatch, plan_match, plan_player
from mashq.arena.plan_costs import CLOCK, NOTHING, Cost, Planned, largest, loaded, smallest, times
from mashq.config import Config, PlayerConfig
from mashq.detectors.llm_judge import model_of
from mashq.errors import StoreError
from mashq.protocol.items import Item
from mashq.protocol.resources import UNKNOWN, Unknown
from mashq.runs.seasons import Cell, Fixture, batches
from mashq.runs.setup import items_of

ALONE: Mapping[str, Any] = {"kind": "match", "trials": 1}


@dataclass(frozen=True, slots=True)
class PlayerPlan:
    """A player in all its matches (`matches` is the maximum number); asks and attempts as in PlayerInMatch."""

    name: str
    model: str
    matches: int
    expected: Cost
    worst: Cost
    repeats: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class PartPlan:
    """The matches of a season that differ only in the trial and the seating: those of a variation, a vision, a
    condition or a pairing."""

    name: str
    matches: int
    expected: Cost
    worst: Cost


@dataclass(frozen=True, slots=True)
class SeasonPlan:
    """The total cost, including the judge's calls, and the duration: expected and worst case. `paired_later`: the
    pairings depend on the results."""

    kind: str
    items: int
    trials: int
    matches: int
    players: tuple[PlayerPlan, ...]
    referee: tuple[Cost, Cost] | None
    parts: tuple[PartPlan, ...]
    expected: Cost
    worst: Cost
    lasts: tuple[Planned, Planned]
    paired_later: bool = False


@dataclass(frozen=True, slots=True)
class _Planned:
    """A match of a season and how many times it is played."""

    fixture: Fixture
    match: MatchPlan
    count: float


def plan(
    config: Config, base: Path, season: Mapping[str, Any] = ALONE, done: Collection[str] = frozenset()
) -> SeasonPlan:
    """What a season would cost, without the matches that are done. Needs no key and no server."""
    config = located(config, base.resolve())
    check_isolation(config)
    items = items_of(config)
    trials: int = season.get("trials", 1)
    planner = _Planner(config, items)
    if season.get("system") == "swiss":
        return planner.swiss(season["rounds"], trials)
    described = {**season, "items": len(items), "trials": trials if done else 1}
    repeats = 1 if done else trials
    matches = [
        planner.match(fixture, repeats)
        for batch in batches(config, described, _unplayed)
        for fixture in batch
        if fixture.id not in done
    ]
    return planner.season(str(season["kind"]), trials, matches)


class _Planner:
    """Plans matches, computing each player once per setting."""

    def __init__(self, config: Config, items: Sequence[Item]) -> None:
        self._config, self._items = config, items
        self._players: dict[tuple[object, ...], PlayerInMatch] = {}

    def match(self, fixture: Fixture, count: float) -> _Planned:
        """One match, repeated `count` times."""
        config = fixture.config
        players = [self._player(fixture, seat) for seat in range(len(config.players))]
        return _Planned(fixture, plan_match(config, players), count)

    def _player(self, fixture: Fixture, seat: int) -> PlayerInMatch:
        """A player in its seat: only the number of its rivals and the length of their names matter."""
        config = fixture.config
        player = config.players[seat]
        key = _settings(fixture.cell), player.name, len(config.players), _name_bytes(config.players)
        if key not in self._players:
            self._players[key] = plan_player(config, player, self._items)
        return self._players[key]

    def season(self, kind: str, trials: int, planned: Sequence[_Planned]) -> SeasonPlan:
        """The sums over the matches of a season."""
        expected = worst = NOTHING
        parts: dict[str, list[_Planned]] = {}
        for entry in planned:
            expected, worst = (
                expected + entry.match.expected.times(entry.count),
                worst + entry.match.worst.times(entry.count),
            )
            parts.setdefault(self._part(kind, entry.fixture), []).append(entry)
        return SeasonPlan(
            kind,
            len(self._items),
            trials,
            round(sum(entry.count for entry in planned)),
            tuple(self._by_player(planned)),
            _referee(planned),
            tuple(_part_plan(name, entries) for name, entries in parts.items()) if len(parts) > 1 else (),
            expected,
            worst,
            (_duration(planned), worst[CLOCK]),
        )

    def _part(self, kind: str, fixture: Fixture) -> str:
        """The part of a season a match belongs to: its pairing in any order, or its settings."""
        if kind == "tournament":
            return ", ".join(self._config.players[seat].name for seat in sorted(_seats(fixture)))
        return " ".join(f"{name}={value}" for name, value in fixture.cell if name != "seats")

    def _by_player(self, planned: Sequence[_Planned]) -> Iterator[PlayerPlan]:
        """Each player over the matches it plays in; a player that plays against itself counts twice."""
        names: dict[str, list[tuple[PlayerInMatch, str, float]]] = {}
        for entry in planned:
            fixture = entry.fixture
            seats = _seats(fixture)
            for index, player in enumerate(fixture.config.players):
                name = self._config.players[seats[index]].name if seats else player.name
                names.setdefault(name, []).append((entry.match.players[index], player.model, entry.count))
        order = {player.name: index for index, player in enumerate(self._config.players)}
        for name, rows in sorted(names.items(), key=lambda own: order.get(own[0], len(order))):
            expected = worst = NOTHING
            for own, _, count in rows:
                expected, worst = expected + own.expected.times(count), worst + own.worst.times(count)
            yield PlayerPlan(
                name,
                ", ".join(dict.fromkeys(model for _, model, _ in rows)),
                round(sum(count for *_, count in rows)),
                expected,
                worst,
                _repeats([own for own, *_ in rows]),
            )

    def swiss(self, rounds: int, trials: int) -> SeasonPlan:
        """Rounds of pairs, each in both orders; with an odd number one player sits out, in the worst case always the
        cheapest."""
        count = len(self._config.players)
        share = 2 * (count // 2) * trials / (count * (count - 1))
        pairings = [self.match(self._fixture_of(seats), share) for seats in permutations(range(count), 2)]
        expected = self.season("tournament", trials, [replace(pairing, count=share * rounds) for pairing in pairings])
        matches, players, worst_costs, judging = 2 * rounds * trials, list[PlayerPlan](), list[Cost](), NOTHING
        for index, player in enumerate(expected.players):
            appearances = [
                pairing.match.players[_seats(pairing.fixture).index(index)]
                for pairing in pairings
                if index in _seats(pairing.fixture)
            ]
            dearest = largest(seat.worst for seat in appearances).times(matches)
            verdicts = largest(seat.verdicts.worst for seat in appearances).times(matches)
            players.append(replace(player, matches=matches, worst=dearest))
            worst_costs.append(dearest + verdicts)
            judging += verdicts
        worst = reduce(
            Cost.__add__, worst_costs if count % 2 == 0 else [*worst_costs, smallest(worst_costs).times(-1)]
        )
        return replace(
            expected,
            players=tuple(players),
            referee=None if expected.referee is None else (expected.referee[0], judging),
            parts=(),
            worst=worst,
            lasts=(times(_duration(pairings), rounds), worst[CLOCK]),
            paired_later=True,
        )

    def _fixture_of(self, seats: tuple[int, ...]) -> Fixture:
        players = [self._config.players[seat] for seat in seats]
        return Fixture("", 0, self._config.model_copy(update={"players": players}), cell=(("seats", seats),))


def _name_bytes(players: Sequence[PlayerConfig]) -> int:
    return sum(len(player.name.encode("utf-8", "replace")) for player in players)


def _unplayed(match: str) -> NoReturn:
    raise StoreError(f"the match {match!r} has not been played: play it first")


def _seats(fixture: Fixture) -> tuple[int, ...]:
    """The indices of the season's players in a match; empty if all of them play."""
    return dict(fixture.cell).get("seats", ())


def _settings(cell: Cell) -> Cell:
    """What distinguishes a match apart from the seating."""
    return tuple((name, _hashable(value)) for name, value in cell if name != "seats")


def _hashable(value: object) -> object:
    return value if isinstance(value, Hashable) else repr(value)


def _part_plan(name: str, planned: Sequence[_Planned]) -> PartPlan:
    expected = worst = NOTHING
    for entry in planned:
        expected, worst = (
            expected + entry.match.expected.times(entry.count),
            worst + entry.match.worst.times(entry.count),
        )
    return PartPlan(name, round(sum(entry.count for entry in planned)), expected, worst)


def _referee(planned: Sequence[_Planned]) -> tuple[Cost, Cost] | None:
    """The cost of judges and guides that are models, if any."""
    if not any(
        model_of(name) for entry in planned for name in (entry.fixture.config.judge, entry.fixture.config.guided_by)
    ):
        return None
    expected = worst = NOTHING
    for entry in planned:
        for player in entry.match.players:
            expected += player.verdicts.expected.times(entry.count)
            worst += player.verdicts.worst.times(entry.count)
    return expected, worst


def _repeats(players: Sequence[PlayerInMatch]) -> tuple[int, int] | None:
    """How often a call is sent at most; None if that is not known in advance."""
    if not all(player.known for player in players):
        return None
    return max(player.asks for player in players), max(player.attempts for player in players)


def _duration(planned: Sequence[_Planned]) -> Planned:
    """The expected duration of matches that are played concurrently here: the maximum of the longest match, the total
    divided by the concurrency, and the busiest place."""
    lengths: list[tuple[float, float]] = []
    for entry in planned:
        if isinstance(entry.match.lasts, Unknown):
            return UNKNOWN
        lengths.append((entry.match.lasts, entry.count))
    at_once = most_at_once([entry.fixture for entry in planned])
    places = loaded(
        {place: load.times(entry.count) for place, load in entry.match.loads.items()} for entry in planned
    )
    together = sum(length * count for length, count in lengths) / at_once
    return max(
        [max((length for length, _ in lengths), default=0.0), together, *(load.lasts for load in places.values())]
    )
