"""`mashq plan` against what is played: expected calls are the protocol's identity, and no match exceeds the bound."""

import json
from pathlib import Path
from typing import Any, cast

import pytest

import mashq
from mashq.arena import endpoints, plan
from mashq.cli.plan import planned as documented
from mashq.config import check
from mashq.gateway.backends.simulated import SimulatedBackend
from mashq.gateway.types import Call, Completion, Outcome, Request
from mashq.gateway.types import Usage as Tokens
from mashq.players.base import Workload
from mashq.players.registry import BUILT_IN
from mashq.protocol.resources import Unknown
from mashq.report.text.plan import bounds
from tests.arena.helpers import mashq as shell

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


def planned(document: dict[str, Any]) -> plan.Plan:
    """The plan of the only player."""
    _, (only,) = plan.plan(check(document), Path())
    return only


def calls(cost: plan.Cost) -> float:
    assert not isinstance(cost.calls, Unknown)
    return cost.calls


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
    assert (made.expected.calls, made.worst.calls) == (expected, worst)


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
    assert played["calls"] <= calls(planned(document).worst)
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
    assert played["calls"] == worst.calls
    assert not isinstance(worst.tokens, Unknown) and played["tokens_in"] + played["tokens_out"] <= worst.tokens


def test_reviews_of_a_stronger_model_cost_what_that_model_does() -> None:
    document = config("escalate", items=10)
    document["models"]["simulated/weak"] |= {"price": {"input": 0.0, "output": 0.0}}
    document["models"]["simulated/strong"] |= {"price": {"input": 1e6, "output": 0.0}, "timeout": 7.0}
    document["models"]["simulated/strong"]["retry"] = {"attempts": 1}
    made, free = planned(document), planned(config("plain", items=10))
    assert made.worst.calls == 2 * (10 * ATTEMPTS + 10 * 1)
    assert made.worst.seconds == 2 * (10 * ATTEMPTS * 120 + 10 * 7)
    assert isinstance(made.expected.dollars, float) and made.expected.dollars > 1000
    assert made.attempts == ATTEMPTS and isinstance(free.expected.dollars, Unknown)


def test_a_program_of_its_own_is_not_guessed_at(tmp_path: Path) -> None:
    document = config("external", command="true")
    document["players"].append(config("react")["players"][0] | {"name": "B"})
    document["players"].append(config("plain")["players"][0] | {"name": "C"})
    _, plans = plan.plan(check(document), Path())
    assert plans[0].expected == plans[0].worst == plan.Cost()
    assert list(bounds(documented(plans[2:]))) == [
        "Each call is sent at most 6 times (asked for 2 times, 3 attempts each)."
    ]
    assert list(bounds(documented(plans))) == [
        "Each call of B is sent at most 3 times (never asked for again).",
        "Each call of C is sent at most 6 times (asked for 2 times, 3 attempts each).",
        "How often it calls is known only when it plays: A.",
    ]
    path = tmp_path / "match.yaml"
    path.write_text(json.dumps(document))
    done = shell("plan", path, "--json")
    players = json.loads(done.stdout)["players"]
    assert players[0]["worst"] == {"calls": None, "tokens": None, "dollars": None, "hours": None}
    assert [player["repeats"] for player in players] == [None, {"asks": 1, "attempts": 3}, {"asks": 2, "attempts": 3}]
    printed = shell("plan", path).stdout
    assert "? / ?" in printed and "at most 6 times" in " ".join(printed.split())
