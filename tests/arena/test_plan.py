"""`mashq plan` against what is played: expected calls are the protocol's identity, and no match exceeds the bound."""

import json
import math
import re
from pathlib import Path
from typing import Any, cast

import pytest
from click.testing import CliRunner

import mashq
from mashq.arena import endpoints
from mashq.arena.plan_costs import NAMES, NOTHING, Cost, Planned
from mashq.arena.plan_document import documented
from mashq.arena.plan_season import PlayerPlan, SeasonPlan, plan
from mashq.cli import cli
from mashq.config import check
from mashq.errors import ConfigError
from mashq.gateway.backends.simulated import SimulatedBackend
from mashq.gateway.types import Call, Completion, Outcome, Request
from mashq.gateway.types import Usage as Tokens
from mashq.players import prompts
from mashq.players.base import AgentSpec, Calls, Workload
from mashq.players.registry import BUILT_IN
from mashq.protocol.resources import RESOURCES, UNKNOWN, Unknown
from mashq.report.text.plan import bounds, text
from mashq.runs.setup import items_of

ITEMS, R, N, ATTEMPTS = 3, 2, 2, 3
AGENTS = [name for name, spec in BUILT_IN.items() if not spec.external]
KINDS = [
    (agent, policy)
    for agent in AGENTS
    for policy in (("llm", "rule", "bayes") if BUILT_IN[agent].asks_policy else ("llm",))
    if (agent, policy) != ("best-of-n", "bayes")
]


def config(agent: str, policy: str = "llm", turn: str = "cycle", items: int = ITEMS, **player: Any) -> dict[str, Any]:
    """One player alone."""
    retry = {"attempts": player.pop("attempts", ATTEMPTS), "base": 0.0, "cap": 0.0}
    model = {"retry": retry, "simulate": {"h": 0.7, "h_spread": 0.2, "seconds": 1.0}}
    to = {"to": "simulated/strong"} if agent == "escalate" else {}
    one = {"name": "A", "agent": agent, "model": "simulated/weak", "policy": policy, "n": N, **to, **player}
    models = {"simulated/weak": dict(model), "simulated/strong": dict(model)}
    return {"task": {"limit": items}, "players": [one], "rules": {"turn": turn}, "models": models}


def said(*words: object) -> str:
    """What a command prints, here."""
    done = CliRunner().invoke(cli, list(map(str, words)), standalone_mode=False)
    if done.exception is not None:
        raise done.exception
    return done.stdout


def season_of(document: dict[str, Any], **season: Any) -> SeasonPlan:
    """The plan of a season."""
    return plan(check(document), Path(), {"kind": "match", "trials": 1, **season})


def planned(document: dict[str, Any]) -> PlayerPlan:
    """The plan of the only player."""
    (only,) = season_of(document).players
    return only


def known(amount: Planned) -> float:
    assert not isinstance(amount, Unknown)
    return amount


def figures(cost: Cost, *names: str) -> list[float]:
    return [known(cost[name]) for name in names]


@pytest.mark.parametrize(
    ("agent", "policy", "turn", "expected", "worst"),
    [
        ("plain", "llm", "cycle", 10, 100),
        ("plain", "llm", "single", 10, 100),
        ("q-agent", "llm", "cycle", 29, 500),
        ("q-agent", "rule", "cycle", 19, 400),
        ("q-agent", "bayes", "cycle", 19, 400),
        ("q-agent", "llm", "single", 39, 800),
        ("q-agent", "rule", "single", 19, 400),
        ("retry", "llm", "single", 19, 400),
        ("escalate", "llm", "cycle", 19, 200),
        ("best-of-n", "llm", "cycle", 58, 1000),
        ("best-of-n", "llm", "single", 58, 1000),
        ("best-of-n", "rule", "single", 38, 800),
        ("react", "llm", "cycle", 19, 250),
    ],
)
def test_calls_of_ten_items(agent: str, policy: str, turn: str, expected: int, worst: int) -> None:
    made = planned(config(agent, policy, turn, items=10, attempts=5))
    assert (made.expected["calls"], made.worst["calls"]) == (expected, worst)


@pytest.mark.parametrize("own", [0, R])
@pytest.mark.parametrize("turn", ["cycle", "single"])
@pytest.mark.parametrize(("agent", "policy"), KINDS)
def test_what_is_played_is_as_the_spec_counts_it(
    agent: str, policy: str, turn: str, own: int, tmp_path: Path
) -> None:
    document = config(agent, policy, turn, items=6, R=own)
    (played,) = mashq.play(document, tmp_path / "run")["players"]
    plays = N if agent == "best-of-n" else 1
    reviews = played["reviews"] / 6 / plays
    work = Workload(6, reviews, own, "single" if turn == "single" else "cycle", policy, N)
    count = BUILT_IN[agent].calls
    assert count is not None and count(work).total == pytest.approx(played["calls"])
    assert played["calls"] <= known(planned(document).worst["calls"])
    if own and BUILT_IN[agent].reviews != "never" and policy != "bayes":
        assert played["reviews"] > 0, "the identity is tried with reviews"


class Stubborn(SimulatedBackend):
    """The worst there is: all attempts but the last fail, first replies are unusable, and no H is good enough."""

    async def attempt(self, request: Request, call: Call) -> Outcome:
        self._tried[call] = self._tried.get(call, 0) + 1
        if self._tried[call] < ATTEMPTS:
            return Outcome("http", usage=Tokens(0, 0, 0, 0), seconds=1.0, status=503, error="busy")
        text = "no JSON" if len(request.messages) == 1 else json.dumps(self._reply(request))
        return Outcome("ok", Completion(text, "stop", h=0.1), Tokens(9, 9, 0, 0), 1.0)

    def _reply(self, request: Request) -> dict[str, Any]:
        names = cast("dict[str, Any]", request.schema)["properties"]
        choice = "review" if request.facts.get("recommended") else "continue"
        return {name: {"choice": choice, "action": "answer"}.get(name, "text") for name in names}


@pytest.mark.parametrize("own", [0, 1, R])
@pytest.mark.parametrize("turn", ["cycle", "single"])
@pytest.mark.parametrize(("agent", "policy"), [kind for kind in KINDS if kind[1] != "bayes"])
def test_the_worst_case_is_reached_and_never_exceeded(
    agent: str, policy: str, turn: str, own: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoints, "SimulatedBackend", Stubborn)
    document = config(agent, policy, turn, R=own)
    (played,) = mashq.play(document, tmp_path / "run")["players"]
    worst = planned(document).worst
    reviews = 0 if BUILT_IN[agent].reviews == "never" else own * ITEMS * (N if agent == "best-of-n" else 1)
    assert (played["calls"], played["reviews"]) == (worst["calls"], worst["reviews"]) == (worst["calls"], reviews)
    assert played["tokens_in"] + played["tokens_out"] <= known(worst["tokens"])


def test_tokens_at_worst_by_hand() -> None:
    """A token a byte of the prompt and of its frame; asked again, the reply and what is said about it come on top."""
    document = config("plain", items=2, attempts=3)
    document["players"][0] |= {"model": "openai/gpt-4o-mini"}
    document["models"]["openai/gpt-4o-mini"] = {"max_tokens": 100, "retry": {"attempts": 3}}
    items = items_of(check(document))
    texts = prompts.load()
    first = [len(texts.fill("answer", {"passage": item.text}).encode()) + 500 for item in items]
    again = len(texts.fill("again", {"keys": "." * 100}).encode()) + 16
    by_hand = sum(3 * (size + 100) + 3 * (size + 100 + again + 100) for size in first)
    made = planned(document)
    assert made.worst["tokens"] == by_hand
    mean = sum(size - 500 for size in first) / 4.5 + 2 * 90
    assert known(made.expected["tokens"]) == pytest.approx(mean)


def test_reviews_of_a_stronger_model_cost_what_that_model_does() -> None:
    document = config("escalate", items=10)
    price = {"price": {"input": 2e6, "output": 3e6}}
    document["models"]["simulated/weak"] |= {"price": {"input": 0.0, "output": 0.0}}
    strong = {"tokens_in": 10.0, "tokens_out": 20.0, "tokens_spread": 0.0, "seconds": 7.0, "seconds_spread": 0.0}
    document["models"]["simulated/strong"] |= {**price, "retry": {"attempts": 1}, "simulate": strong}
    made, free = planned(document), planned(config("plain", items=10))
    assert made.worst["calls"] == 2 * (10 * ATTEMPTS + 10 * 1)
    assert made.expected["dollars"] == pytest.approx(0.9 * 10 * (10 * 2 + 20 * 3))
    assert made.worst["dollars"] == pytest.approx(2 * 10 * (10 * 2 + 20 * 3))
    assert made.repeats == (2, ATTEMPTS) and isinstance(free.expected["dollars"], Unknown)


def test_a_program_of_its_own_is_not_guessed_at(tmp_path: Path) -> None:
    document = config("external", command="true", turn_timeout=10.0)
    document["players"][0]["model"] = "local/model.gguf"
    document["players"].append(config("react")["players"][0] | {"name": "B"})
    document["players"].append(config("plain")["players"][0] | {"name": "C"})
    made = season_of(document)
    alone, *_ = made.players
    assert {alone.expected[name] for name in NAMES} == {UNKNOWN}
    bound = {name: alone.worst[name] for name in ("calls", "tokens", "dollars", "reviews", "seconds")}
    assert bound == {"calls": UNKNOWN, "tokens": UNKNOWN, "dollars": UNKNOWN, "reviews": 0, "seconds": 3 * (10 + 5)}
    assert isinstance(made.expected["calls"], Unknown) and isinstance(made.lasts[0], Unknown)
    players = documented(made).players
    assert list(bounds(players[2:])) == ["Each call is sent at most 6 times (asked for 2 times, 3 attempts each)."]
    assert list(bounds(players)) == [
        "Each call of B is sent at most 3 times (never asked for again).",
        "Each call of C is sent at most 6 times (asked for 2 times, 3 attempts each).",
        "How often it calls is known only when it plays: A.",
    ]
    path = tmp_path / "match.yaml"
    path.write_text(json.dumps(document))
    found = json.loads(said("plan", path, "--json"))["players"]
    assert found[0]["expected"] == dict.fromkeys([*RESOURCES, "service_hours"])
    assert (found[0]["worst"]["calls"], found[0]["worst"]["service_hours"]) == (None, 45 / 3600)
    assert [player["repeats"] for player in found] == [None, {"asks": 1, "attempts": 3}, {"asks": 2, "attempts": 3}]
    printed = said("plan", path).splitlines()
    rows = [line.split() for line in printed if line.strip().startswith("expected")]
    assert rows[0] == ["expected", "?", "?", "?", "?", "?"]


def test_a_budget_bounds_what_is_not_known() -> None:
    document = config("external", command="true", budget={"calls": 7, "tokens": 5000, "dollars": 0.5})
    document["players"][0]["model"] = "openai/gpt-4o-mini"
    alone = planned(document)
    assert figures(alone.worst, "calls", "tokens", "dollars") == [7, 5000, 0.5]
    assert {alone.expected[name] for name in NAMES} == {UNKNOWN}


def test_budgets_bound_the_worst_and_the_expected() -> None:
    document = config("plain", items=10, budget={"calls": 4})
    document["players"][0]["model"] = "openai/gpt-4o-mini"
    made, free = planned(document), planned(config("plain", items=10))
    assert (made.expected["calls"], made.worst["calls"]) == (4, 4)
    assert known(made.worst["seconds"]) == 4 * 120
    assert (free.expected["calls"], free.worst["calls"]) == (10, 10 * 2 * ATTEMPTS)
    few = planned(config("q-agent", items=10, R=3, budget={"reviews": 2}))
    assert (few.expected["reviews"], few.worst["reviews"]) == (2, 2)
    assert figures(few.worst, "calls") == [2 * ATTEMPTS * (10 + 10 + 2)]
    within = planned(config("best-of-n", items=10, R=3, budget={"reviews": 2}))
    assert within.worst["reviews"] == N * 10 * 3, "the budget of reviews is a rule of decisions, not of steps"


def test_a_shared_budget_bounds_each_and_all() -> None:
    document = config("plain", items=10)
    document["players"].append(document["players"][0] | {"name": "B"})
    document["rules"]["shared_budget"] = {"calls": 12}
    made = season_of(document)
    assert [own.worst["calls"] for own in made.players] == [12, 12] and made.worst["calls"] == 12
    assert (made.expected["calls"], [own.expected["calls"] for own in made.players]) == (12, [10, 10])


def test_an_agent_with_prompts_of_its_own_has_unknown_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = AgentSpec("its own prompts", calls=lambda work: Calls(work.items), reviews="never")

    def declared(_agent: str) -> AgentSpec:
        return spec

    monkeypatch.setattr("mashq.arena.plan.spec_of", declared)
    document = config("plain", items=10)
    drawn = planned(document)
    assert figures(drawn.expected, "calls", "tokens") == [10, pytest.approx(10 * (600 + 120) * math.exp(0.25**2 / 2))]
    document["players"][0]["model"] = "openai/gpt-4o-mini"
    real = planned(document)
    assert (real.expected["calls"], real.expected["tokens"], real.expected["dollars"]) == (10, UNKNOWN, UNKNOWN)
    assert (real.worst["calls"], real.worst["tokens"]) == (50, UNKNOWN)


def test_a_model_in_this_process_or_on_record_has_unknown_costs(tmp_path: Path) -> None:
    document = config("plain", items=10)
    document["players"][0]["model"] = "local/model.gguf"
    local = planned(document)
    assert local.expected["seconds"] == 10 * 4.5 and local.worst["seconds"] is UNKNOWN, "it knows no time-out"
    assert known(local.worst["tokens"]) > known(local.expected["tokens"])
    document["players"][0]["model"] = "recorded/rows.jsonl"
    recorded = planned(document)
    assert {recorded.worst[name] for name in ("tokens", "seconds", "dollars")} == {UNKNOWN}
    assert recorded.expected["calls"] == 10


def test_a_judge_that_is_a_model_is_planned_and_charged_to_nobody() -> None:
    document = config("q-agent", items=10, attempts=5, R=3)
    document["players"][0]["model"] = "openai/gpt-4o-mini"
    document["players"].append(
        config("best-of-n", "rule", R=1)["players"][0] | {"name": "B", "model": "openai/gpt-4o"}
    )
    document["players"].append(config("plain")["players"][0] | {"name": "C"})
    document["detector"] = "llm-judge:openai/gpt-4o-mini"
    made = season_of(document)
    assert made.referee is not None
    expected, worst = made.referee
    assert expected["calls"] == pytest.approx((10 + 9) + (N * (10 + 9) + 20)), "C is drawn with its score"
    assert worst["calls"] == 2 * 5 * ((10 + 30) + (N * (10 + 10) + 20))
    assert known(made.worst["calls"]) == sum(known(own.worst["calls"]) for own in made.players) + known(
        worst["calls"]
    )
    document["guide"] = "llm-judge:openai/gpt-4o"
    assert known((season_of(document).referee or (NOTHING,))[0]["calls"]) == pytest.approx(
        2 * known(expected["calls"])
    )


FIELD: dict[str, Any] = {
    "task": {"limit": 4},
    "players": [
        {"name": "A", "model": "simulated/a", "agent": "plain"},
        {"name": "B", "model": "simulated/a", "policy": "rule", "R": 2},
        {"name": "C", "model": "simulated/a", "agent": "retry", "R": 1},
    ],
}
AT_WORST = {"A": 4 * 10, "B": 10 * (4 + 8), "C": 10 * (4 + 4)}  # calls in one match
EXPECTED = {"A": 4, "B": 4 + 3.6, "C": 4 + 3.6}


@pytest.mark.parametrize(
    ("season", "matches", "times"),
    [
        ({"kind": "match", "trials": 7}, 7, [7, 7, 7]),
        ({"kind": "tournament", "system": "round-robin", "seats": 2, "trials": 2}, 12, [8, 8, 8]),
        ({"kind": "tournament", "system": "round-robin", "seats": 3, "trials": 2}, 6, [6, 6, 6]),
        ({"kind": "game", "vision": ["never", "review"], "trials": 3}, 54, [36, 36, 36]),
        ({"kind": "vision", "when": "review", "trials": 2}, 10, [6, 6, 6]),
    ],
)
def test_a_season_is_the_sum_of_its_matches(season: dict[str, Any], matches: int, times: list[int]) -> None:
    made = plan(check(FIELD), Path(), season)
    assert made.matches == matches and [own.matches for own in made.players] == times
    for own, count in zip(made.players, times, strict=True):
        assert known(own.expected["calls"]) == pytest.approx(count * EXPECTED[own.name])
        assert own.worst["calls"] == count * AT_WORST[own.name]
    for name in ("calls", "tokens", "reviews", "seconds"):
        for all_of_it, each in ((made.expected, "expected"), (made.worst, "worst")):
            players = sum(known(getattr(own, each)[name]) for own in made.players)
            parts = sum(known(getattr(part, each)[name]) for part in made.parts)
            assert known(all_of_it[name]) == pytest.approx(players)
            assert not made.parts or parts == pytest.approx(players)


def test_each_variation_of_a_sweep_is_planned_with_its_own_settings() -> None:
    over = [["players.1.R", [0, 3]], ["players.0.agent", ["plain", "retry"]], ["score.beta", [0.1, 0.2]]]
    made = plan(check(FIELD), Path(), {"kind": "sweep", "over": over, "trials": 2})
    assert made.matches == 8 and len(made.parts) == 4, "a setting of the score plays nothing"
    rest = AT_WORST["C"]
    assert [known(part.worst["calls"]) for part in made.parts] == [
        2 * (10 * 4 + 10 * 4 + rest),
        2 * (10 * (4 + 12) + 10 * 4 + rest),
        2 * (10 * 4 + 10 * (4 + 12) + rest),
        2 * (10 * (4 + 12) + 10 * (4 + 12) + rest),
    ]
    labels = [part.name for part in documented(made).parts]
    assert labels[:2] == ["players.1.R=0 players.0.agent=plain", "players.1.R=0 players.0.agent=retry"]


@pytest.mark.parametrize(("count", "rounds"), [(2, 1), (3, 3), (4, 2), (5, 3)])
def test_a_swiss_tournament_is_rounds_of_pairs(count: int, rounds: int) -> None:
    players = [{"name": f"p{n}", "model": "simulated/a", "agent": "plain"} for n in range(count)]
    season = {"kind": "tournament", "system": "swiss", "rounds": rounds, "seats": 2, "trials": 2}
    made = plan(check({"task": {"limit": 4}, "players": players}), Path(), season)
    pairs = count // 2
    assert made.matches == rounds * pairs * 2 * 2 and made.paired_later
    assert known(made.expected["calls"]) == pytest.approx(made.matches * 2 * 4)
    assert known(made.worst["calls"]) == made.matches * 2 * 40
    for own in made.players:
        assert (own.matches, own.worst["calls"]) == (rounds * 4, rounds * 4 * 40)
        assert known(own.expected["calls"]) == pytest.approx(made.matches * 2 * 4 / count)


def test_the_wall_time_is_that_of_the_busiest() -> None:
    document = config("plain", items=10, attempts=5)
    document["players"] = [{"name": n, "agent": "plain", "model": f"openai/{n}"} for n in ("gpt-4o", "gpt-4o-mini")]
    made = season_of(document)
    assert made.lasts[0] == 10 * 3, "both at once"
    assert made.lasts[1] == 2 * 100 * (120 + 60), "everything timing out one after the other, with every wait"
    assert season_of(document, trials=16).lasts[0] == 16 * 2 * 30 / 8, "eight at once at one place"
    document["models"] = {"openai/gpt-4o": {"requests_per_minute": 1.0}}
    assert season_of(document).lasts[0] == 20 * 60, "one a minute for all models there"
    document["rules"]["shared_budget"] = {"tokens": 1e9}
    document["models"] = {}
    assert season_of(document).lasts[0] == 2 * 30, "a shared budget is drawn on in turn"
    assert season_of(config("plain")).lasts[0] == 0, "what is simulated takes no time"


def test_plan_takes_what_the_playing_commands_take(tmp_path: Path) -> None:
    path = tmp_path / "field.yaml"
    path.write_text(json.dumps(FIELD))
    for words, matches in (
        ([path], 1),
        (["run", path, "--trials", 3], 3),
        ([path, "--trials", 3, "--set", "task.limit=2"], 3),
        (["sweep", path, "--over", "rules.T=0.7,0.8", "--trials", 2], 4),
        (["tournament", path], 6),
        (["tournament", path, "--system", "swiss", "--rounds", 2], 4),
        (["tournament", path, "--seats", 3], 3),
        (["game", path, "--policies", "frugal,rule", "--vision", "never"], 4),
        (["vision", path, "--when", "always"], 5),
    ):
        assert json.loads(said("plan", *words, "--json"))["matches"] == matches, words
    with pytest.raises(ConfigError, match="leave --seats at 2"):
        said("plan", "tournament", path, "--system", "swiss", "--seats", 3)
    assert not list(tmp_path.glob("runs*")), "nothing was played"


def test_a_plan_of_players_who_join_is_that_of_their_own_matches(tmp_path: Path) -> None:
    path, more, league = tmp_path / "field.yaml", tmp_path / "more.yaml", tmp_path / "league"
    path.write_text(json.dumps(FIELD))
    new = FIELD["players"][0] | {"name": "D"}
    more.write_text(json.dumps(FIELD | {"players": [*FIELD["players"], new]}))
    said("tournament", path, "--out", league, "--trials", 2, "--json")
    made = json.loads(said("plan", "tournament", more, "--join", league, "--json"))
    assert (made["matches"], made["trials"]) == (3 * 2 * 2, 2)
    assert {own["name"]: own["matches"] for own in made["players"]} == {"A": 4, "B": 4, "C": 4, "D": 12}
    assert [own["worst"]["calls"] for own in made["players"]] == [160, 480, 320, 480]
    assert {part["name"]: part["matches"] for part in made["parts"]} == {"A, D": 4, "B, D": 4, "C, D": 4}


def test_the_table_fits_80_columns_and_cuts_no_number(tmp_path: Path) -> None:
    document = config("q-agent", items=10)
    document["players"] = [
        {
            "name": "a player with a name that is rather long, of eighty characters, as it may be!!",
            "model": "openai/gpt-4o",
        },
        {"name": "B", "model": "simulated/weak", "agent": "plain"},
    ]
    document["models"] |= {"openai/gpt-4o": {"energy": {"input": 1.0, "output": 2.0}}}
    path = tmp_path / "match.yaml"
    path.write_text(json.dumps(document))
    first, last = ["calls", "tokens", "reviews"], ["service hours", "dollars", "joules (J)"]
    for words, stacked in (([], [first + last]), (["--trials", 1000], [first, last])):
        lines = said("plan", path, *words).splitlines()
        found = json.loads(said("plan", path, *words, "--json"))
        assert max(map(len, lines)) <= 80
        rules = [at for at, line in enumerate(lines) if line.startswith("──")]
        assert [re.split(r"  +", lines[at - 1].strip()) for at in rules] == stacked, "too wide, so under each other"
        table = [line for line in lines if line.startswith(("  expected ", "  at worst "))]
        own = [(own, which) for own in (*found["players"], found) for which in ("expected", "worst")]
        assert len(table) == len(own) * len(stacked)
        for part, at in enumerate(rules):
            rows = table[part * len(own) : (part + 1) * len(own)]
            assert {len(line) for line in rows} == {len(lines[at - 1])}, "numbers stand under each other"
        for number, (one, which) in enumerate(own):
            both = table[number :: len(own)]
            assert {line[2:10] for line in both} == {{"expected": "expected", "worst": "at worst"}[which]}
            calls, tokens, reviews, hours, dollars, joules = (cell for line in both for cell in line[10:].split())
            row = one[which]
            assert [calls, tokens, reviews] == [f"{row[name]:,}" for name in ("calls", "tokens", "reviews")]
            assert {type(row[name]) for name in ("calls", "tokens", "reviews")} == {int}
            assert float(hours.replace(",", "")) == pytest.approx(row["service_hours"], abs=0.051)
            for shown, name in ((dollars, "dollars"), (joules, "joules")):
                assert (shown == "?") == (row[name] is None)
                assert shown == "?" or float(shown.replace(",", "")) == pytest.approx(row[name], abs=0.051)


def test_a_part_of_a_call_is_shown_as_one_so_that_sums_are_sums() -> None:
    document = config("retry", items=5)
    document["players"].append(document["players"][0] | {"name": "B"})
    made = documented(season_of(document))
    assert [own.expected.costs["calls"] for own in made.players] == [9.5, 9.5] and made.expected.costs["calls"] == 19
    rows = [line.split() for line in text(made).splitlines() if line.startswith("  expected ")]
    assert [(row[1], row[3]) for row in rows] == [("9.5", "4.5"), ("9.5", "4.5"), ("19", "9")]


def test_small_sums_of_dollars_are_not_nothing() -> None:
    document = config("plain", items=1)
    document["players"][0]["model"] = "simulated/weak"
    document["models"]["simulated/weak"] |= {"price": {"input": 0.01, "output": 0.02}}
    made = documented(season_of(document))
    (expected, *_) = [line.split() for line in text(made).splitlines() if line.startswith("  expected ")]
    assert 0 < float(expected[-1]) < 0.001
    assert float(expected[-1]) == pytest.approx(made.expected.costs["dollars"], abs=1e-7)


def test_thousands_of_pairings_are_planned_at_once() -> None:
    players = [{"name": f"player {n:03}", "model": f"openai/gpt-{n}", "agent": "plain"} for n in range(100)]
    season = {"kind": "tournament", "system": "round-robin", "seats": 2, "trials": 50}
    made = plan(check({"players": players, "task": {"limit": 5}}), Path(), season)
    assert made.matches == 100 * 99 * 50 and made.players[0].expected["calls"] == 99 * 2 * 50 * 5
