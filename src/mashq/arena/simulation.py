"""From a recorded run to simulated ones: what was recorded, a configuration of players like those, and matches of it.

Nothing here asks a model: a simulated match draws its scores, costs and times, and everything it shows says so.
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import product, zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mashq.analysis.calibration.fit import Fitted, fit
from mashq.analysis.calibration.recorded_moves import Recorded, Seen, recorded_moves
from mashq.arena.match import run
from mashq.config import Config, PlayerConfig, check, nearest
from mashq.errors import ConfigError, DataError
from mashq.players.external.spec import EXTERNAL
from mashq.players.registry import spec_of
from mashq.protocol.resources import FREE, MEASURES, NOTHING, Spend
from mashq.protocol.results import ItemResult, PlayerResult, Results, from_match, from_matches
from mashq.protocol.score import ScoreRules, view, with_known
from mashq.runs.file import connect
from mashq.runs.ledger import entries
from mashq.runs.open import Played, Season, load_season
from mashq.runs.reading import DATABASE
from mashq.runs.setup import score_rules_of

REAL = {"name", "agent", "model", "to", "prompts"} | EXTERNAL.settings
RESERVED = ("max_tokens", "timeout")
CHANGES: dict[str, tuple[float, ...]] = {"R": (0, 1, 2, 3, 5), "T": (0.7, 0.8, 0.9, 0.95), "scale": (0.5, 2.0)}


@dataclass(frozen=True, slots=True)
class Record:
    """A recorded match with its trials: the players as they were (`config` names those kept), and their results."""

    season: Season
    config: Config
    players: tuple[Recorded, ...]
    trials: tuple[tuple[PlayerResult, ...], ...]
    lengths: tuple[int, ...]

    @property
    def results(self) -> Results:
        """The results by item and trial; a cost that no attempt of a player told is unknown, not its charge."""
        untold = {
            (player.name, measure)
            for trial in self.trials
            for player in trial
            for measure in MEASURES
            if not any(row.spend.measured(measure).known for own in self.trials for row in _rows(own, player.name))
        }
        return from_matches(tuple(_told(player, untold) for player in trial) for trial in self.trials)

    @property
    def rules(self) -> ScoreRules:
        """How the match was scored."""
        return replace(score_rules_of(self.config), h="faithful")  # drawn answers carry nothing

    @property
    def items(self) -> int:
        """How many items it had."""
        return len(self.lengths)


def _rows(trial: Sequence[PlayerResult], name: str) -> Sequence[ItemResult]:
    return next(player.items for player in trial if player.name == name)


def _told(player: PlayerResult, untold: Collection[tuple[str, str]]) -> PlayerResult:
    """A player's results without the charges for what it never told."""
    measures = [measure for name, measure in untold if name == player.name]

    def charge(spend: Spend) -> Spend:
        for measure in measures if spend is not FREE else ():
            spend = spend.put(measure, NOTHING)
        return spend

    items = tuple(replace(row, charge=charge(row.charge)) for row in player.items)
    return replace(player, items=items, shared_charge=charge(player.shared_charge))


def recorded(path: Path, without: Sequence[str] = ()) -> Record:
    """What a run holds of each player, but for some; one that is not a match, or is only begun, is an error."""
    season = load_season(path)
    if season.kind != "match":
        raise ConfigError(f"{path} is a {season.kind}, not one match: calibrate from a run of one match")
    config = _kept(season.config, without)
    names = {player.name for player in config.players}
    played = list(season.fixtures_played())
    trials = tuple(tuple(result for result in match.results if result.name in names) for match in played)
    if not played or all(row.status in ("unanswered", "pending") for player in trials[0] for row in player.items):
        raise DataError(f"{path} has no answers yet: play the match first")
    rule = score_rules_of(config).refusals
    scored = [frozenset(view(from_match(trial), rule, ()).items) for trial in trials]
    seen = [
        [one for one in _seen(path, match, own) if one.result.name in names]
        for match, own in zip(played, scored, strict=True)
    ]
    players = tuple(
        _recorded(config, player, [one[seat] for one in seen], trials[0][seat])
        for seat, player in enumerate(config.players)
    )
    lengths = tuple(len(item.shown.encode()) for item in played[0].state.items)
    return Record(season, config, players, trials, lengths)


def _kept(config: Config, without: Sequence[str]) -> Config:
    names = [player.name for player in config.players]
    for name in without:
        if name not in names:
            raise ConfigError(f"--without {name!r}: there is no such player{nearest(name, names)}")
    kept = [player for player in config.players if player.name not in without]
    if not kept:
        raise ConfigError("--without leaves no player: keep one of them")
    return config.model_copy(update={"players": kept})


def _seen(path: Path, match: Played, scored: frozenset[str]) -> list[Seen]:
    """What each player did in one match."""
    with closing(connect(path / DATABASE, readonly=True)) as connection:
        attempts = entries(connection, "match = ?", (match.fixture.id,))
    players = recorded_moves([player.name for player in match.config.players], match.replay())
    return [
        Seen(own, [(call, entry) for call, entry in attempts if call.player == result.name], result, scored)
        for own, result in zip(players, match.results, strict=True)
    ]


def _recorded(config: Config, player: PlayerConfig, seen: Sequence[Seen], result: PlayerResult) -> Recorded:
    spec = spec_of(player.agent)
    return Recorded(
        player.name,
        player.agent,
        spec,
        spec.asks_policy and player.policy == "llm",
        result.threshold,
        result.max_reviews,
        config.rules.keep == "better",
        _guided_apart(config),
        seen,
    )


def _guided_apart(config: Config) -> bool:
    """Whether players are told other scores than the judge's, as they always are over documents."""
    return config.guided_by != "judge" or config.task.kind == "rag"


def settings(record: Record, fitted: Sequence[Fitted], data: str, items: int) -> dict[str, Any]:
    """The configuration of a match like the recorded one, as plain data; `data` names the file of its items."""
    config = record.config
    document: dict[str, Any] = {"task": {"kind": config.task.kind, "data": data, "limit": items}}
    document["players"] = [_player(config, p, own) for p, own in zip(config.players, fitted, strict=True)]
    document["guide"] = "confidence" if _guided_apart(config) else "judge"
    rules = config.rules.model_dump(mode="json", exclude_defaults=True)
    if rules:
        document["rules"] = rules
    document["score"] = _score(record)
    document["seed"] = config.seed
    document["models"] = {}
    for player, own in zip(config.players, fitted, strict=True):
        for name, real in _models(config, player):
            document["models"][name] = _model(config, player, own, real)
    return document


def _player(config: Config, player: PlayerConfig, own: Fitted) -> dict[str, Any]:
    said = player.model_dump(mode="json", exclude_defaults=True)
    names = [name for name, _ in _models(config, player)]
    document = {"name": player.name, "agent": own.agent, "model": names[0]}
    if own.agent == spec_of(player.agent).simulated_as:
        document |= {key: value for key, value in said.items() if key not in REAL}
        document |= {"to": names[1]} if len(names) > 1 else {}
    return document


def _models(config: Config, player: PlayerConfig) -> list[tuple[str, str]]:
    """The simulated models of a player, each with the real one it stands for; no other player's has such a name."""
    found = [(f"simulated/{player.name}", player.model)]
    if player.to is not None:
        stronger = f"simulated/{player.name}, stronger"
        while any(stronger == f"simulated/{other.name}" for other in config.players):
            stronger += "'"
        found.append((stronger, player.to))
    return found


def _model(config: Config, player: PlayerConfig, own: Fitted, real: str) -> dict[str, Any]:
    """One model: what budgets reserve for its calls, its price, and what it draws from."""
    document: dict[str, Any] = {}
    if _budgets(config):
        document |= {name: getattr(config.model(real), name) for name in RESERVED}
    if own.simulate.get("retry_rate"):
        attempts = config.model(real).retry.attempts
        document["retry"] = {"attempts": attempts, "base": 0.0, "cap": 0.0}
    if real in own.prices:
        dollars_in, dollars_out = own.prices[real]
        document["price"] = {"input": dollars_in, "output": dollars_out}
    return document | {"simulate": dict(own.simulate)}


def _score(record: Record) -> dict[str, Any]:
    """The score's settings, with the resources that were known of every player."""
    said = record.config.score.model_dump(mode="json", exclude_defaults=True)
    known = tuple(with_known(record.results, record.rules, []).weights)
    if known != tuple(record.rules.weights):
        said["resources"] = list(known)
        if "weights" in said:
            said["weights"] = {name: weight for name, weight in said["weights"].items() if name in known}
    return said | {"beta": record.rules.beta}


def with_more(document: Mapping[str, Any], number: int) -> dict[str, Any]:
    """The same match with `number` more players: variants of those there, in R, T and the cost of their calls.

    One change first, then two, then all three, taken from each player in turn. R and T change only where rewrites
    were recorded: what another's would gain is not known.
    """
    whole = deepcopy(dict(document))
    taken = {player["name"] for player in document["players"]}
    ways = [
        [(player, change) for change in _variants(player, document) if _named(player, change) not in taken]
        for player in document["players"]
    ]
    most = sum(map(len, ways))
    if number > most:
        raise ConfigError(f"--more {number}: there are {most} variants of these players: write further ones by hand")
    in_turn = [one for round_ in zip_longest(*ways) for one in round_ if one is not None]
    for player, change in in_turn[:number]:
        _add(whole, player, change)
    return whole


def _variants(player: Mapping[str, Any], document: Mapping[str, Any]) -> Iterator[dict[str, float]]:
    """The ways in which a player could be another, fewest changes first."""
    rules = document.get("rules", {})
    reviews = "rewrites" in document["models"][player["model"]]["simulate"]
    own = {"R": player.get("R", rules.get("R", 3)), "T": player.get("T", rules.get("T", 0.85)), "scale": 1.0}
    names = [name for name in CHANGES if reviews or name == "scale"]
    choices = [[None, *(value for value in CHANGES[name] if value != own[name])] for name in names]
    found = [dict(zip(names, values, strict=True)) for values in product(*choices)]
    changes = [{name: value for name, value in one.items() if value is not None} for one in found]
    useful = [one for one in changes if one and not (one.get("R", own["R"]) == 0 and "T" in one)]
    order = list(CHANGES)
    yield from sorted(useful, key=lambda one: (len(one), [order.index(name) for name in one]))


def _named(player: Mapping[str, Any], change: Mapping[str, float]) -> str:
    label = " ".join(f"{'cost x' if name == 'scale' else name}{value:g}" for name, value in change.items())
    return f"{player['name'][: 79 - len(label)]} {label}"


def _add(document: dict[str, Any], player: Mapping[str, Any], change: Mapping[str, float]) -> None:
    other = dict(player) | {name: value for name, value in change.items() if name != "scale"}
    other["name"] = _named(player, change)
    if "R" in change:
        other["R"] = int(change["R"])
    if "scale" in change:
        for key in ("model", "to"):
            if key in player:
                own = dict(document["models"][player[key]])
                model = own | {"simulate": own["simulate"] | {"scale": change["scale"]}}
                name = f"{player[key]} x{change['scale']:g}"
                while document["models"].get(name, model) != model:
                    name += "'"
                other[key] = name
                document["models"][name] = model
    document["players"].append(other)


def _budgets(config: Config) -> bool:
    """Whether anyone has a budget, for which calls reserve what they could cost."""
    limits = [config.rules.budget, config.rules.shared_budget, *(p.budget for p in config.players if p.budget)]
    return any(limit.model_dump(exclude_none=True) for limit in limits)


def placeholders(record: Record, count: int) -> str:
    """Items that stand for any, as JSON lines: a simulated player draws what an item is like from its id.

    With budgets they are as long as the recorded ones, because a call reserves a token a byte of its prompt.
    """
    kind = record.config.task.kind
    text = "text" if kind == "summarise" else "question"
    padded = _budgets(record.config)
    rows: list[str] = []
    for number in range(1, count + 1):
        said = f"[simulated item {number}]"
        length = record.lengths[(number - 1) % record.items] if padded else 0
        row = {"id": f"simulated-{number}", text: said.ljust(length, "."), "answer": "[none]"}
        documents = {"passages": ["[none]"]} if kind == "rag" else {}
        rows.append(json.dumps(row | documents) + "\n")
    return "".join(rows)


async def simulated(record: Record, *, items: int, trials: int) -> list[Results]:
    """The results of simulated matches like the recorded one, in a directory that is gone afterwards."""
    with TemporaryDirectory(prefix="mashq-") as folder:
        data = Path(folder) / "items.jsonl"
        data.write_text(placeholders(record, items), "utf-8")
        config = check(settings(record, fit(record.players), str(data), items), "the calibrated configuration")
        season = await run(config, Path(folder) / "run", season={"kind": "match", "trials": trials})
        return [from_matches([match.results]) for match in season.fixtures_played()]
