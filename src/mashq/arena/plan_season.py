"""What a season would cost: the sum over its matches, each planned with its own configuration.

The matches are those that `runs.seasons` says a run is made of. Who meets whom in a Swiss tournament is known only
when it is played: a player is expected to meet all others alike, and at worst it always meets the dearest to meet.
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
    """A player in all its matches, of which there are so many at most; asks and attempts as in PlayerInMatch."""

    name: str
    model: str
    matches: int
    expected: Cost
    worst: Cost
    repeats: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class PartPlan:
    """The matches of a season that are alike but for the trial and who sits where: those of a variation, a vision, a
    condition, a pairing."""

    name: str
    matches: int
    expected: Cost
    worst: Cost


@dataclass(frozen=True, slots=True)
class SeasonPlan:
    """What all of it takes, the judge's calls included, and how long: as expected and at worst. `paired_later`: who
    meets whom depends on the results."""

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
    """A match of a season that is played so many times."""

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
    said = {**season, "items": len(items), "trials": trials if done else 1}
    each = 1 if done else trials
    found = [
        planner.match(fixture, each)
        for batch in batches(config, said, _unplayed)
        for fixture in batch
        if fixture.id not in done
    ]
    return planner.season(str(season["kind"]), trials, found)


class _Planner:
    """Plans matches, each player once in each setting."""

    def __init__(self, config: Config, items: Sequence[Item]) -> None:
        self._config, self._items = config, items
        self._players: dict[tuple[object, ...], PlayerInMatch] = {}

    def match(self, fixture: Fixture, count: float) -> _Planned:
        """One match, as often as it is played."""
        config = fixture.config
        players = [self._player(fixture, seat) for seat in range(len(config.players))]
        return _Planned(fixture, plan_match(config, players), count)

    def _player(self, fixture: Fixture, seat: int) -> PlayerInMatch:
        """A player in its seat: of its rivals it matters how many they are and how long their names."""
        config = fixture.config
        player = config.players[seat]
        key = _settings(fixture.cell), player.name, len(config.players), _bytes(config.players)
        if key not in self._players:
            self._players[key] = plan_player(config, player, self._items)
        return self._players[key]

    def season(self, kind: str, trials: int, found: Sequence[_Planned]) -> SeasonPlan:
        """The sums over the matches of a season."""
        expected = worst = NOTHING
        parts: dict[str, list[_Planned]] = {}
        for one in found:
            expected, worst = expected + one.match.expected.times(one.count), worst + one.match.worst.times(one.count)
            parts.setdefault(self._part(kind, one.fixture), []).append(one)
        return SeasonPlan(
            kind,
            len(self._items),
            trials,
            round(sum(one.count for one in found)),
            tuple(self._by_player(found)),
            _referee(found),
            tuple(_part_plan(name, own) for name, own in parts.items()) if len(parts) > 1 else (),
            expected,
            worst,
            (_lasts(found), worst[CLOCK]),
        )

    def _part(self, kind: str, fixture: Fixture) -> str:
        """Which part of a season a match belongs to: its pairing, whoever sits first, or its settings."""
        if kind == "tournament":
            return ", ".join(self._config.players[at].name for at in sorted(_seats(fixture)))
        return " ".join(f"{name}={value}" for name, value in fixture.cell if name != "seats")

    def _by_player(self, found: Sequence[_Planned]) -> Iterator[PlayerPlan]:
        """Each player over the matches in which it sits; one that plays against itself sits there twice."""
        names: dict[str, list[tuple[PlayerInMatch, str, float]]] = {}
        for one in found:
            fixture = one.fixture
            seats = _seats(fixture)
            for at, player in enumerate(fixture.config.players):
                name = self._config.players[seats[at]].name if seats else player.name
                names.setdefault(name, []).append((one.match.players[at], player.model, one.count))
        order = {player.name: at for at, player in enumerate(self._config.players)}
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
        """Rounds of pairs, each in both orders; with an odd number one sits out, at worst always the cheapest."""
        count = len(self._config.players)
        share = 2 * (count // 2) * trials / (count * (count - 1))
        a_round = [self.match(self._seated(seats), share) for seats in permutations(range(count), 2)]
        usual = self.season("tournament", trials, [replace(one, count=share * rounds) for one in a_round])
        matches, players, bills, judged = 2 * rounds * trials, list[PlayerPlan](), list[Cost](), NOTHING
        for at, own in enumerate(usual.players):
            mine = [one.match.players[_seats(one.fixture).index(at)] for one in a_round if at in _seats(one.fixture)]
            dearest = largest(seat.worst for seat in mine).times(matches)
            verdicts = largest(seat.verdicts.worst for seat in mine).times(matches)
            players.append(replace(own, matches=matches, worst=dearest))
            bills.append(dearest + verdicts)
            judged += verdicts
        worst = reduce(Cost.__add__, bills if count % 2 == 0 else [*bills, smallest(bills).times(-1)])
        return replace(
            usual,
            players=tuple(players),
            referee=None if usual.referee is None else (usual.referee[0], judged),
            parts=(),
            worst=worst,
            lasts=(times(_lasts(a_round), rounds), worst[CLOCK]),
            paired_later=True,
        )

    def _seated(self, seats: tuple[int, ...]) -> Fixture:
        players = [self._config.players[at] for at in seats]
        return Fixture("", 0, self._config.model_copy(update={"players": players}), cell=(("seats", seats),))


def _bytes(players: Sequence[PlayerConfig]) -> int:
    return sum(len(player.name.encode("utf-8", "replace")) for player in players)


def _unplayed(match: str) -> NoReturn:
    raise StoreError(f"the match {match!r} has not been played: play it first")


def _seats(fixture: Fixture) -> tuple[int, ...]:
    """Which players of the season sit in a match; nothing where it is all of them."""
    return dict(fixture.cell).get("seats", ())


def _settings(cell: Cell) -> Cell:
    """What sets a match apart but for who sits where."""
    return tuple((name, _hashable(value)) for name, value in cell if name != "seats")


def _hashable(value: object) -> object:
    return value if isinstance(value, Hashable) else repr(value)


def _part_plan(name: str, found: Sequence[_Planned]) -> PartPlan:
    expected = worst = NOTHING
    for one in found:
        expected, worst = expected + one.match.expected.times(one.count), worst + one.match.worst.times(one.count)
    return PartPlan(name, round(sum(one.count for one in found)), expected, worst)


def _referee(found: Sequence[_Planned]) -> tuple[Cost, Cost] | None:
    """What judges and guides that are models take, where there are any."""
    if not any(model_of(name) for one in found for name in (one.fixture.config.judge, one.fixture.config.guided_by)):
        return None
    expected = worst = NOTHING
    for one in found:
        for own in one.match.players:
            expected += own.verdicts.expected.times(one.count)
            worst += own.verdicts.worst.times(one.count)
    return expected, worst


def _repeats(players: Sequence[PlayerInMatch]) -> tuple[int, int] | None:
    """How often a call is sent at most; None where that is known only when it plays."""
    if not all(own.known for own in players):
        return None
    return max(own.asks for own in players), max(own.attempts for own in players)


def _lasts(found: Sequence[_Planned]) -> Planned:
    """How long matches are expected to last that are played side by side here: as the longest, as all of them so many
    at a time, or as the busiest place that they ask."""
    lengths: list[tuple[float, float]] = []
    for one in found:
        if isinstance(one.match.lasts, Unknown):
            return UNKNOWN
        lengths.append((one.match.lasts, one.count))
    at_once = most_at_once([one.fixture for one in found])
    places = loaded({place: load.times(one.count) for place, load in one.match.loads.items()} for one in found)
    together = sum(length * count for length, count in lengths) / at_once
    return max(
        [max((length for length, _ in lengths), default=0.0), together, *(load.lasts for load in places.values())]
    )
