"""From a recorded run to simulated ones: the record, a configuration of similar players, and simulated matches.

Nothing here asks a model: a simulated match draws its scores, costs and times, and everything it displays says so.
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
from mashq.config import Config, PlayerConfig, RulesConfig, check, nearest
from mashq.errors import ConfigError, DataError
from mashq.players.external.spec import EXTERNAL
from mashq.players.registry import spec_of
from mashq.protocol.resources import FREE, MEASURES, NOTHING, Spend
from mashq.protocol.results import PlayerResult, Results, from_match, from_matches
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
    """A recorded match with its trials: the players as recorded (`config` lists those kept), and their results."""

    season: Season
    config: Config
    players: tuple[Recorded, ...]
    trials: tuple[tuple[PlayerResult, ...], ...]
    lengths: tuple[int, ...]

    @property
    def results(self) -> Results:
        """The results by item and trial; a cost that no attempt of a player reported is unknown, rather than
        charged."""
        reported = {
            (player.name, measure)
            for trial in self.trials
            for player in trial
            for row in player.items
            for measure in MEASURES
            if row.spend.measured(measure).known
        }
        names = {player.name for trial in self.trials for player in trial}
        unreported = set(product(names, MEASURES)) - reported
        return from_matches(tuple(_without_charges(player, unreported) for player in trial) for trial in self.trials)

    @property
    def rules(self) -> ScoreRules:
        """How the match was scored."""
        return replace(score_rules_of(self.config), h="faithful")  # drawn answers have no content

    @property
    def items(self) -> int:
        """The number of items."""
        return len(self.lengths)


def _without_charges(player: PlayerResult, unreported: Collection[tuple[str, str]]) -> PlayerResult:
    """A player's results without charges for the measures it never reported."""
    measures = [measure for name, measure in unreported if name == player.name]

    def charge(spend: Spend) -> Spend:
        for measure in measures if spend is not FREE else ():
            spend = spend.put(measure, NOTHING)
        return spend

    items = tuple(replace(row, charge=charge(row.charge)) for row in player.items)
    return replace(player, items=items, shared_charge=charge(player.shared_charge))


def recorded(path: Path, without: Sequence[str] = ()) -> Record:
    """The record of a run, without some players; raises an error if it is not a match or has no answers yet."""
    season = load_season(path)
    if season.kind != "match":
        raise ConfigError(f"{path} is a {season.label}, not a single match: calibrate from a run of one match")
    config = _without_players(season.config, without)
    names = {player.name for player in config.players}
    played = list(season.fixtures_played())
    trials = tuple(tuple(result for result in match.results if result.name in names) for match in played)
    if not played or all(row.status in ("unanswered", "pending") for player in trials[0] for row in player.items):
        raise DataError(f"{path} has no answers yet: play the match first")
    rule = score_rules_of(config).refusals
    scored = [frozenset(view(from_match(trial), rule, ()).items) for trial in trials]
    observed = [
        [entry for entry in _observed(path, match, items) if entry.result.name in names]
        for match, items in zip(played, scored, strict=True)
    ]
    players = tuple(
        _recorded(config, player, [entry[seat] for entry in observed], trials[0][seat])
        for seat, player in enumerate(config.players)
    )
    lengths = tuple(len(item.shown.encode()) for item in played[0].state.items)
    return Record(season, config, players, trials, lengths)


def _without_players(config: Config, without: Sequence[str]) -> Config:
    names = [player.name for player in config.players]
    for name in without:
        if name not in names:
            raise ConfigError(f"--without {name!r}: there is no such player{nearest(name, names)}")
    kept = [player for player in config.players if player.name not in without]
    if not kept:
        raise ConfigError("--without leaves no player: keep one of them")
    return config.model_copy(update={"players": kept})


def _observed(path: Path, match: Played, scored: frozenset[str]) -> list[Seen]:
    """What each player did in one match."""
    with closing(connect(path / DATABASE, readonly=True)) as connection:
        attempts = entries(connection, "match = ?", (match.fixture.id,))
    players = recorded_moves([player.name for player in match.config.players], match.replay())
    return [
        Seen(moves, [(call, entry) for call, entry in attempts if call.player == result.name], result, scored)
        for moves, result in zip(players, match.results, strict=True)
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
        _has_separate_guide(config),
        seen,
    )


def _has_separate_guide(config: Config) -> bool:
    """Whether players see other scores than the judge's, as they always do over documents."""
    return config.guided_by != "judge" or config.task.kind == "rag"


def settings(record: Record, fitted: Sequence[Fitted], data: str, items: int) -> dict[str, Any]:
    """The configuration of a match like the recorded one, as plain data; `data` names the file of its items."""
    config = record.config
    document: dict[str, Any] = {"task": {"kind": config.task.kind, "data": data, "limit": items}}
    document["players"] = [
        _player(config, p, fit_of_player) for p, fit_of_player in zip(config.players, fitted, strict=True)
    ]
    document["guide"] = "confidence" if _has_separate_guide(config) else "judge"
    rules = config.rules.model_dump(mode="json", exclude_defaults=True)
    if rules:
        document["rules"] = rules
    document["score"] = _score(record)
    document["seed"] = config.seed
    document["models"] = {}
    for player, fit_of_player in zip(config.players, fitted, strict=True):
        for name, real in _models(config, player):
            document["models"][name] = _model(config, fit_of_player, real)
    return document


def _player(config: Config, player: PlayerConfig, fitted: Fitted) -> dict[str, Any]:
    given = player.model_dump(mode="json", exclude_defaults=True)
    names = [name for name, _ in _models(config, player)]
    document = {"name": player.name, "agent": fitted.agent, "model": names[0]}
    if fitted.agent == spec_of(player.agent).simulated_as:
        document |= {key: value for key, value in given.items() if key not in REAL}
        document |= {"to": names[1]} if len(names) > 1 else {}
    return document


def _models(config: Config, player: PlayerConfig) -> list[tuple[str, str]]:
    """The simulated models of a player, each with the real one it replaces; names are unique among players."""
    models = [(f"simulated/{player.name}", player.model)]
    if player.to is not None:
        stronger = f"simulated/{player.name}, stronger"
        while any(stronger == f"simulated/{other.name}" for other in config.players):
            stronger += "'"
        models.append((stronger, player.to))
    return models


def _model(config: Config, fitted: Fitted, real: str) -> dict[str, Any]:
    """One model: what budgets reserve for its calls, its price, and the parameters it draws from."""
    document: dict[str, Any] = {}
    if _has_budgets(config):
        document |= {name: getattr(config.model(real), name) for name in RESERVED}
    if fitted.simulate.get("retry_rate"):
        attempts = config.model(real).retry.attempts
        document["retry"] = {"attempts": attempts, "base": 0.0, "cap": 0.0}
    if real in fitted.prices:
        dollars_in, dollars_out = fitted.prices[real]
        document["price"] = {"input": dollars_in, "output": dollars_out}
    return document | {"simulate": dict(fitted.simulate)}


def _score(record: Record) -> dict[str, Any]:
    """The score settings, with the resources that are known for every player."""
    score_settings = record.config.score.model_dump(mode="json", exclude_defaults=True)
    known = tuple(with_known(record.results, record.rules, []).weights)
    if known != tuple(record.rules.weights):
        score_settings["resources"] = list(known)
        if "weights" in score_settings:
            score_settings["weights"] = {
                name: weight for name, weight in score_settings["weights"].items() if name in known
            }
    return score_settings | {"beta": record.rules.beta}


def with_more(document: Mapping[str, Any], number: int) -> dict[str, Any]:
    """The same match with `number` more players: variants of the existing ones in R, T and the cost of their calls.

    Variants with one change come first, then two, then all three, taken from each player in turn. R and T vary only
    if rewrites were recorded: otherwise their gain is unknown.
    """
    extended = deepcopy(dict(document))
    taken = {player["name"] for player in document["players"]}
    variants = [
        [(player, change) for change in _variants(player, document) if _variant_name(player, change) not in taken]
        for player in document["players"]
    ]
    count = sum(map(len, variants))
    if number > count:
        raise ConfigError(f"--more {number}: there are {count} variants of these players: write further ones by hand")
    ordered = [variant for round_ in zip_longest(*variants) for variant in round_ if variant is not None]
    for player, change in ordered[:number]:
        _add(extended, player, change)
    return extended


def _variants(player: Mapping[str, Any], document: Mapping[str, Any]) -> Iterator[dict[str, float]]:
    """The possible variants of a player, fewest changes first."""
    defaults = RulesConfig()
    rules = {"R": defaults.R, "T": defaults.T} | document.get("rules", {})
    reviews = "rewrites" in document["models"][player["model"]]["simulate"]
    current = {"R": player.get("R", rules["R"]), "T": player.get("T", rules["T"]), "scale": 1.0}
    names = [name for name in CHANGES if reviews or name == "scale"]
    choices = [[None, *(value for value in CHANGES[name] if value != current[name])] for name in names]
    combinations = [dict(zip(names, values, strict=True)) for values in product(*choices)]
    changes = [{name: value for name, value in change.items() if value is not None} for change in combinations]
    useful = [change for change in changes if change and not (change.get("R", current["R"]) == 0 and "T" in change)]
    order = list(CHANGES)
    yield from sorted(useful, key=lambda change: (len(change), [order.index(name) for name in change]))


def _variant_name(player: Mapping[str, Any], change: Mapping[str, float]) -> str:
    label = " ".join(f"{'cost x' if name == 'scale' else name}{value:g}" for name, value in change.items())
    return f"{player['name'][: 79 - len(label)]} {label}"


def _add(document: dict[str, Any], player: Mapping[str, Any], change: Mapping[str, float]) -> None:
    variant = dict(player) | {name: value for name, value in change.items() if name != "scale"}
    variant["name"] = _variant_name(player, change)
    if "R" in change:
        variant["R"] = int(change["R"])
    if "scale" in change:
        for key in ("model", "to"):
            if key in player:
                original = dict(document["models"][player[key]])
                model = original | {"simulate": original["simulate"] | {"scale": change["scale"]}}
                name = f"{player[key]} x{change['scale']:g}"
                while document["models"].get(name, model) != model:
                    name += "'"
                variant[key] = name
                document["models"][name] = model
    document["players"].append(variant)


def _has_budgets(config: Config) -> bool:
    """Whether anyone has a budget, for which calls reserve their possible cost."""
    limits = [config.rules.budget, config.rules.shared_budget, *(p.budget for p in config.players if p.budget)]
    return any(limit.model_dump(exclude_none=True) for limit in limits)


def placeholders(record: Record, count: int) -> str:
    """Placeholder items as JSON lines: a simulated player draws an item's properties from its id.

    With budgets they are as long as the recorded ones, because a call reserves one token per byte of its prompt.
    """
    kind = record.config.task.kind
    text = "text" if kind == "summarise" else "question"
    padded = _has_budgets(record.config)
    rows: list[str] = []
    for number in range(1, count + 1):
        label = f"[simulated item {number}]"
        length = record.lengths[(number - 1) % record.items] if padded else 0
        row = {"id": f"simulated-{number}", text: label.ljust(length, "."), "answer": "[none]"}
        documents = {"passages": ["[none]"]} if kind == "rag" else {}
        rows.append(json.dumps(row | documents) + "\n")
    return "".join(rows)


async def simulated(record: Record, *, items: int, trials: int) -> list[Results]:
    """The results of simulated matches like the recorded one, played in a temporary directory."""
    with TemporaryDirectory(prefix="mashq-") as folder:
        data = Path(folder) / "items.jsonl"
        data.write_text(placeholders(record, items), "utf-8")
        config = check(settings(record, fit(record.players), str(data), items), "the calibrated configuration")
        season = await run(config, Path(folder) / "run", season={"kind": "match", "trials": trials})
        return [from_matches([match.results]) for match in season.fixtures_played()]
