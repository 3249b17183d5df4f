"""A plan against what is played: random configurations, on simulated players with faults and on a model that takes
all that it may, spend no more than the plan's worst, and what is expected is within it."""

import asyncio
import json
import math
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, event, example, given, settings
from hypothesis import strategies as st

from mashq.arena import context, endpoints, match
from mashq.arena.plan import workload
from mashq.arena.plan_costs import NAMES, Cost
from mashq.arena.plan_prompts import sizes_of
from mashq.arena.plan_season import SeasonPlan, plan
from mashq.config import check
from mashq.gateway.types import Call, Completion, Outcome, Request, Usage
from mashq.players.registry import spec_of
from mashq.protocol.resources import TABLE, Unknown
from mashq.runs.seasons import TWIN
from mashq.runs.setup import items_of
from tests.arena.helpers import rows

COUNTED = ("calls", "reviews", "tokens", "seconds", "dollars")
AGENTS = ["q-agent", "plain", "retry", "escalate", "best-of-n", "react"]
rate = st.sampled_from([0.0, 0.0, 0.3, 0.9, 1.0])
table = st.lists(st.floats(0, 2000), min_size=1, max_size=4).map(sorted)
call_tables: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {}, optional={"tokens_in": table, "tokens_out": table, "seconds": table, "again": rate}
)
drawn_model: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {
        "price": st.sampled_from([{"input": 3.0, "output": 7.0}, {"input": 1.0, "output": 2.0, "cached": 5.0}, None]),
        "retry": st.integers(1, 3).map(lambda n: {"attempts": n, "base": 0.0, "cap": 0.0}),
        "simulate": st.fixed_dictionaries(
            {
                "h": st.sampled_from([0.0, 0.5, 0.9]),
                "h_spread": st.sampled_from([0.0, 0.3]),
                "review_rate": rate,
                "review_anyway": rate,
                "retry_rate": st.sampled_from([0.0, 0.5, 1.0]),
                "failure_rate": st.sampled_from([0.0, 0.0, 0.2]),
                "refusal_rate": st.sampled_from([0.0, 0.0, 0.2]),
                "end_rate": rate,
                "tokens_spread": st.sampled_from([0.0, 0.25, 3.0]),
                "seconds_spread": st.sampled_from([0.0, 2.0]),
                "scale": st.sampled_from([0.01, 1.0, 3.7]),
                "calls": st.dictionaries(st.sampled_from(["answer", "decision", "review", "failed"]), call_tables),
            }
        ),
    }
)
budget: st.SearchStrategy[dict[str, float]] = st.one_of(
    st.just(dict[str, float]()),
    st.fixed_dictionaries(
        {},
        optional={
            "calls": st.integers(0, 30).map(float),
            "reviews": st.integers(0, 6).map(float),
            "tokens": st.floats(0, 60_000),
            "seconds": st.floats(0, 3000),
        },
    ),
)
season: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [
        {"kind": "match", "trials": 1},
        {"kind": "match", "trials": 2},
        {"kind": "sweep", "over": [["rules.R", [0, 2]], ["rules.T", [0.5, 1.0]]], "trials": 1},
        {"kind": "tournament", "system": "round-robin", "seats": 2, "trials": 1},
        {"kind": "tournament", "system": "swiss", "seats": 2, "rounds": 2, "trials": 1},
        {"kind": "game", "vision": ["never", "review"], "trials": 1},
        {"kind": "vision", "when": "always", "trials": 1},
    ]
)


@st.composite
def configurations(draw: st.DrawFn, model: st.SearchStrategy[Any], names: list[str]) -> dict[str, Any]:
    """Two or three players of any built-in kind under any rules."""
    players: list[dict[str, Any]] = []
    for number in range(draw(st.integers(2, 3))):
        agent = draw(st.sampled_from(AGENTS))
        policies = ["llm", "rule"] if agent == "best-of-n" else ["llm", "rule", "bayes"]
        player: dict[str, Any] = {
            "name": f"p{number}" + "ü" * draw(st.sampled_from([0, 30])),
            "agent": agent,
            "model": draw(st.sampled_from(names)),
            "policy": draw(st.sampled_from(policies)),
            "n": draw(st.integers(1, 3)),
            "R": draw(st.sampled_from([None, 0, 1, 3])),
        }
        if agent == "escalate":
            player["to"] = draw(st.sampled_from(names))
        if own := draw(budget):
            player["budget"] = own
        players.append(player)
    return {
        "task": {"limit": draw(st.integers(1, 3))},
        "players": players,
        "rules": {
            "turn": draw(st.sampled_from(["cycle", "single"])),
            "T": draw(st.sampled_from([0.0, 0.85, 1.0])),
            "R": draw(st.integers(0, 3)),
            "keep": draw(st.sampled_from(["latest", "better"])),
            "vision": {"when": draw(st.sampled_from(["never", "review", "always"]))},
            "budget": draw(budget),
            "shared_budget": draw(budget),
        },
        "models": {name: draw(model) for name in names},
        "seed": draw(st.integers(0, 1000)),
        "ahead": draw(st.sampled_from([0, 2])),
    }


def played(document: dict[str, Any], season: Mapping[str, Any], out: Path) -> dict[str, dict[str, float]]:
    """What each player spent in all matches of a season, by its attempts and moves."""
    asyncio.run(match.run(check(document), out, season=season))
    nothing: dict[str, float] = dict.fromkeys(list[str](COUNTED), 0.0)
    spent: dict[str, dict[str, float]] = {player["name"]: dict(nothing) for player in document["players"]}
    priced = ", ".join(name for name, row in TABLE.items() if row.rated)
    for player, way_in, way_out, seconds, *rated in rows(
        out, f"SELECT player, tokens_in, tokens_out, seconds, {priced} FROM attempts"
    ):
        own = spent[player.removesuffix(TWIN)]
        own["calls"] += 1
        own["tokens"] += way_in + way_out
        own["seconds"] += seconds
        own["dollars"] += rated[0] or 0.0
    counted = "SELECT player, kind, coalesce(json_extract(move, '$.spend.reviews'), 0) FROM events"
    for player, kind, within in rows(out, counted):
        spent[player.removesuffix(TWIN)]["reviews"] += within + (kind == "rewrite")
    return spent


def check_bounds(made: SeasonPlan, spent: dict[str, dict[str, float]]) -> None:
    """Nobody spent more than at worst, nor did all together; what is expected is no more than that either."""
    for own in made.players:
        for name in COUNTED:
            assert_within(spent[own.name][name], own.worst, name, own.name)
        assert_sane(own.expected, own.worst)
    for name in COUNTED:
        assert_within(sum(own[name] for own in spent.values()), made.worst, name, "all")
    assert_sane(made.expected, made.worst)


def assert_within(spent: float, worst: Cost, name: str, who: str) -> None:
    bound = worst[name]
    assert isinstance(bound, Unknown) or spent <= bound * (1 + 1e-9) + 1e-9, (who, name, spent, bound)


def assert_sane(expected: Cost, worst: Cost) -> None:
    for name in NAMES:
        usual, bound = expected[name], worst[name]
        if not isinstance(usual, Unknown):
            assert math.isfinite(usual) and usual >= 0
            assert isinstance(bound, Unknown) or usual <= bound * (1 + 1e-9)


@given(document=configurations(drawn_model, ["simulated/a", "simulated/b"]), season=season)
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_no_season_of_simulated_players_exceeds_its_plan(document: dict[str, Any], season: dict[str, Any]) -> None:
    made = plan(check(document), Path(), season)
    with tempfile.TemporaryDirectory() as folder:
        spent = played(document, season, Path(folder) / "run")
    event(f"{season['kind']}, {'reviews' if any(own['reviews'] for own in spent.values()) else 'no reviews'}")
    check_bounds(made, spent)
    for own in made.players:
        for name in ("calls", "reviews", "tokens", "seconds"):
            assert not isinstance(own.worst[name], Unknown), "of built-in agents on drawn models all is bounded"


faultless: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {"simulate": st.fixed_dictionaries({"h": st.sampled_from([0.2, 0.9]), "tokens_spread": st.just(0.0)})}
)


@given(document=configurations(faultless, ["simulated/a"]), season=season)
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
def test_what_is_expected_of_a_plain_player_is_what_it_makes(
    document: dict[str, Any], season: dict[str, Any]
) -> None:
    for player in document["players"]:
        player.pop("budget", None)
        player |= {"agent": "plain", "to": None}
    document["rules"] |= {"budget": {}, "shared_budget": {}}
    if season.get("system") == "swiss" and len(document["players"]) % 2:
        document["players"].pop()
    made = plan(check(document), Path(), season)
    with tempfile.TemporaryDirectory() as folder:
        spent = played(document, season, Path(folder) / "run")
    for own in made.players:
        assert own.expected["calls"] == pytest.approx(spent[own.name]["calls"])
        assert own.expected["tokens"] == pytest.approx(spent[own.name]["tokens"])
        assert own.expected["reviews"] == spent[own.name]["reviews"] == 0


class Greedy:
    """A model that takes all it may: every attempt but the last fails and is billed in full, a token is a byte, every
    reply is as long as its limit and takes as long as its time-out, and the first reply to a question is not JSON."""

    durable, simulated = False, False

    def __init__(self, *_: object, timeout: float, model: str, **__: object) -> None:
        self._timeout, self._attempts = timeout, ATTEMPTS[model]
        self._tried: dict[Call, int] = {}

    async def attempt(self, request: Request, call: Call) -> Outcome:
        self._tried[call] = self._tried.get(call, 0) + 1
        limit = request.max_tokens
        assert limit is not None, "its model has one"
        billed = Usage(request.prompt_bytes, limit, 0, 0)
        if self._tried[call] < self._attempts:
            return Outcome("http", None, billed, self._timeout, status=503, error="busy")
        body = json.dumps(self._reply(request, limit))
        text = "x" * limit if len(request.messages) == 1 else body.ljust(limit)
        return Outcome("ok", Completion(text[:limit], "stop"), billed, self._timeout)

    def _reply(self, request: Request, limit: int) -> dict[str, Any]:
        names = cast("dict[str, Any]", request.schema)["properties"]
        answer = "y" * max(1, limit - 120)
        fixed = {"choice": "review", "action": "answer", "thought": "", "question_id": "", "previous_id": ""}
        return {name: fixed.get(name, 0.1 if name == "confidence" else answer) for name in names}

    async def close(self) -> None:
        pass


ATTEMPTS = {"few": 2, "many": 3}
REAL = ["my/few", "my/many"]


def greedy_model(attempts: int) -> dict[str, Any]:
    return {
        "base_url": "http://127.0.0.1:9",
        "max_tokens": 400,
        "timeout": 11.0,
        "price": {"input": 3.0, "output": 7.0},
        "retry": {"attempts": attempts, "base": 0.0, "cap": 0.0},
    }


@pytest.fixture
def greedy(monkeypatch: pytest.MonkeyPatch) -> None:
    async def reached(_urls: object) -> None:
        pass

    monkeypatch.setattr(endpoints, "HttpBackend", Greedy)
    monkeypatch.setattr(context, "reach", reached)


def one(agent: str, **player: Any) -> dict[str, Any]:
    to = {"to": "my/many"} if agent == "escalate" else {}
    return {"name": agent, "agent": agent, "model": "my/few", "n": 2, "R": 2, **to, **player}


EACH: dict[str, Any] = {
    "task": {"limit": 2},
    "players": [one(agent) for agent in AGENTS],
    "rules": {"T": 1.0, "vision": {"when": "always"}},
}


@pytest.mark.slow
@pytest.mark.usefixtures("greedy")
@given(document=configurations(st.just(dict[str, Any]()), REAL), season=season)
@example(document=EACH, season={"kind": "match", "trials": 1})
@example(document=EACH | {"rules": EACH["rules"] | {"turn": "single"}}, season={"kind": "match", "trials": 1})
@settings(
    max_examples=20,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large],
)
def test_no_season_of_a_model_that_takes_all_it_may_exceeds_its_plan(
    document: dict[str, Any], season: dict[str, Any]
) -> None:
    document = document | {"models": {f"my/{name}": greedy_model(count) for name, count in ATTEMPTS.items()}}
    made = plan(check(document), Path(), season)
    with tempfile.TemporaryDirectory() as folder:
        spent = played(document, season, Path(folder) / "run")
    check_bounds(made, spent)
    for own in made.players:
        assert not any(isinstance(own.worst[name], Unknown) for name in COUNTED)
    if document["players"] == EACH["players"]:
        for own in made.players:
            reached = {name: spent[own.name][name] / max(1e-9, cast(float, own.worst[name])) for name in COUNTED}
            assert reached["calls"] == 1, "the bound is reached, not just kept"
            assert reached["seconds"] == pytest.approx(1)
            assert reached["tokens"] > 0.6 and reached["dollars"] > 0.6, (own.name, reached)


@pytest.mark.usefixtures("greedy")
@pytest.mark.parametrize("when", ["never", "always"])
def test_no_decision_is_asked_for_with_a_longer_prompt_than_planned(when: str, tmp_path: Path) -> None:
    players = [one("q-agent", name=f"{n} with a name of some length, seen by its rivals") for n in range(3)]
    document = EACH | {"players": players, "rules": {"T": 1.0, "vision": {"when": when}}}
    document["models"] = {f"my/{name}": greedy_model(count) for name, count in ATTEMPTS.items()}
    config = check(document)
    asyncio.run(match.run(config, tmp_path / "run"))
    query = "SELECT p.messages FROM attempts a JOIN prompts p ON p.digest = a.prompt WHERE purpose = 'decision'"
    longest = max(len(json.loads(messages)[0][1].encode()) for (messages,) in rows(tmp_path / "run", query))
    player = config.players[0]
    sizes = sizes_of(config, player, spec_of("q-agent"), items_of(config), workload(config, player, 2))
    assert sizes.decision <= longest <= sizes.longest_decision
    assert longest > sizes.decision + 100 * (when == "always"), "what rivals show is part of it"
    assert sizes.longest_decision < longest + 600, "and the bound is near"
