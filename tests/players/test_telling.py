"""What players are told of the score, of reviews and of each other, and what rivals see of reviews inside a step."""

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import mashq
from mashq.players.policies import bayes as bayes_policy
from mashq.players.policies.bayes_belief import believe, own, review_rate
from mashq.players.prompting import policy_fields
from mashq.players.telling import told_rules, told_sections, told_state
from mashq.protocol.game import initial, observe
from mashq.protocol.items import Item
from mashq.protocol.moves import Answer, Decision
from mashq.protocol.resources import DISCLOSED, Amount, Spend
from mashq.protocol.rules import LABELS, SHOWABLE, Payoff, Rules, Seat, Vision
from mashq.protocol.state import Memory, Observation, Snapshot
from mashq.runs.manifest import manifest_digest
from mashq.runs.open import load_season
from tests.players.policies.test_bayes import SEEN as BELIEVING

TASK = {"limit": 6}
LOW = {"simulated/m": {"simulate": {"h": 0.5, "h_spread": 0.05, "review_gain": 0.1, "review_rate": 1.0}}}


def seen(rules: Rules, **changes: Any) -> Observation:
    """What a player sees before its first move."""
    seats = [Seat("A", (0, 1)), Seat("B", (1, 0))]
    state = initial((Item("one", "The first."), Item("two", "The second.")), rules, seats)
    return replace(observe(state, 0), **changes)


def test_the_formula_is_told_with_its_numbers() -> None:
    payoff = Payoff(2.0, 0.03, (("tokens", 1.0), ("calls", 0.5)))
    said = told_sections(seen(Rules(payoff=payoff)), "summarise")["goal_section"]
    assert "Q = 2 x (average H) - 0.03 x P" in said
    assert "tokens, calls (weight 0.5)" in said and "largest total of any player in the match" in said
    fixed = Rules(payoff=replace(payoff, reference=(("tokens", 600.0), ("calls", 3.0)), per_item=True))
    said = told_sections(seen(fixed), "summarise")["goal_section"]
    assert "a fixed one (tokens 600, calls 3 per item)" in said and "largest" not in said


def test_each_part_can_be_left_untold() -> None:
    silent = told_sections(seen(Rules(tell=())), "summarise")
    assert silent["review_section"] == silent["disclosure_section"] == ""
    assert "Q =" not in silent["goal_section"] and "tokens, calls, reviews, seconds" in silent["goal_section"]
    costs = told_sections(seen(Rules(tell=("costs",)), review_cost=0.02), "summarise")["review_section"]
    assert "at least 0.85 or it has been rewritten 3 times" in costs and "cost 0.02 of that one text's H" in costs
    once = told_sections(seen(Rules(tell=("costs",), turn="single")), "qa")["review_section"]
    assert "rewrites the answer once" in once and "question's H" in once
    better = told_sections(seen(Rules(tell=("costs",), keep="better")), "qa")["review_section"]
    assert "is kept if its H is higher" in better


@pytest.mark.parametrize(
    ("vision", "said"),
    [
        (Vision("never"), "rivals see nothing of you"),
        (
            Vision("review", ("worst_h", "tokens")),
            "if you review in this round, each rival is shown your worst H, tokens",
        ),
        (Vision("always", ("items_done",)), "after every round each rival is shown your items done"),
    ],
)
def test_disclosure_is_told_as_vision_has_it(vision: Vision, said: str) -> None:
    assert said in told_sections(seen(Rules(vision=vision)), "summarise")["disclosure_section"]
    assert told_sections(seen(Rules(vision=vision), rivals=0), "summarise")["disclosure_section"] == ""


def test_what_h_is_depends_on_the_guide() -> None:
    assert "confidence it was given with" in told_sections(seen(Rules(confidence=True)), "qa")["h_section"]
    assert "A detector gives each summary" in told_sections(seen(Rules()), "summarise")["h_section"]
    assert "right or fully supported" in told_sections(seen(Rules()), "qa")["h_section"]


def test_a_program_is_told_the_same_as_data() -> None:
    shot = Snapshot("B", 3, (("tokens", 12.0), ("worst_h", None)))
    now = seen(Rules(), snapshots=(shot,), handled=1, average_h=0.5, worst=("one", 0.5))
    rules, state = told_rules(now), told_state(now)
    assert (rules["alpha"], rules["beta"], rules["review_cost"], rules["relative_to"]) == (1.0, 0.1, 0.01, "match")
    assert rules["weights"] == {"tokens": 1.0, "calls": 1.0, "reviews": 1.0, "seconds": 1.0}
    assert state["worst"] == {"item": "one", "h": 0.5} and state["done"] == 1
    assert state["rivals"] == [{"name": "B", "round": 3, "stopped": False, "tokens": 12.0, "worst_h": None}]
    assert {"alpha", "review_cost", "vision"}.isdisjoint(told_rules(seen(Rules(tell=()))))
    assert "seconds" not in told_state(seen(Rules(show_seconds=False)))["spent"]  # type: ignore[operator]


@pytest.mark.parametrize("show_seconds", [True, False])
def test_what_is_told_to_be_shown_is_what_is_shown(show_seconds: bool) -> None:
    rules = Rules(vision=Vision("always"), show_seconds=show_seconds)
    assert rules.shown == tuple(name for name in SHOWABLE if name != "seconds" or show_seconds)
    vision = told_rules(seen(rules))["vision"]
    assert vision == {"when": "always", "show": list(rules.shown), "keep": "fresh"}
    shot = Snapshot("B", 0, tuple((name, 1.0) for name in rules.shown))
    told = policy_fields(seen(rules, snapshots=(shot,)), "qa")
    labels = [LABELS[name] for name in rules.shown]
    assert f"each rival is shown your {', '.join(labels)}\n" in told["disclosure_section"]
    assert f": {', '.join(f'{label} 1' for label in labels)}\n" in told["rivals_section"]
    assert set(LABELS) >= set(DISCLOSED)


def match(agent: str, **changes: Any) -> dict[str, Any]:
    players = [
        {"name": "A", "model": "simulated/m", "policy": "rule"},
        {"name": "B", "agent": agent, "model": "simulated/m", "n": 2},
    ]
    return {"task": TASK, "players": players, "models": LOW, **changes}


def shown_rounds(run: Path) -> list[int]:
    """The rounds after which a snapshot of B was taken."""
    played = next(load_season(run).fixtures_played())
    return [delta.round for delta in played.replay() for seat, _ in delta.snapshots if seat == 1]


@pytest.mark.parametrize("agent", ["react", "best-of-n"])
def test_reviews_inside_a_step_are_shown_in_the_next_round(tmp_path: Path, agent: str) -> None:
    result = mashq.play(match(agent), tmp_path / "run")
    assert result["players"][1]["reviews"] > 6
    assert shown_rounds(tmp_path / "run") == list(range(6)), "B reviewed in every round"
    unseen = mashq.play(match(agent, rules={"vision": {"when": "never"}}), tmp_path / "unseen")
    assert unseen["players"][1]["reviews"] == result["players"][1]["reviews"]
    assert shown_rounds(tmp_path / "unseen") == []


def test_a_run_begun_by_the_first_rules_shows_none_of_them_and_tells_nothing(tmp_path: Path) -> None:
    mashq.play(match("react"), tmp_path / "run")
    path = tmp_path / "run" / "manifest.json"
    manifest = json.loads(path.read_text())
    del manifest["rules_of_play"], manifest["config"]["rules"]["tell"]
    path.write_text(json.dumps(manifest | {"digest": manifest_digest(manifest)}))
    assert shown_rounds(tmp_path / "run") == []
    season = load_season(tmp_path / "run")
    assert season.config.rules.tell == [] and next(season.fixtures_played()).first.rules.version == 1


def prompts(run: Path, player: str, purpose: str = "%") -> list[str]:
    """The last messages a player was asked with, in order."""
    query = """SELECT messages FROM attempts JOIN prompts ON digest = prompt
      WHERE player = ? AND purpose LIKE ? ORDER BY attempts.rowid"""
    with closing(sqlite3.connect(run / "run.db")) as database:
        found = database.execute(query, (player, purpose)).fetchall()
    return [json.loads(messages)[-1][1] for (messages,) in found]


def test_react_is_told_its_state_the_score_and_its_rivals(tmp_path: Path) -> None:
    mashq.play(match("react", score={"beta": 0.07}, rules={"review_cost": 0.03}), tmp_path / "run")
    first, *_, last = prompts(tmp_path / "run", "B", "answer")
    assert "Q = 1 x (average H) - 0.07 x P" in first and "cost 0.03 of that one text's H" in first
    assert "texts done: 0 of 6" in first and "texts done: 5 of 6" in last
    assert "seen of rival A after round 5" in last and "seen of rival" not in first
    observed = prompts(tmp_path / "run", "B", "review")
    assert all("taken so far:" in told and "call(s)" in told for told in observed)


def test_later_plays_of_best_of_n_see_what_the_earlier_ones_cost(tmp_path: Path) -> None:
    mashq.play(match("best-of-n"), tmp_path / "run")
    first, second, *_ = prompts(tmp_path / "run", "B", "decision")
    calls = [int(said.split("model calls made: ")[1].split("\n")[0]) for said in (first, second)]
    assert calls[0] == 1 and calls[1] > 1


def test_untold_prompts_hold_no_formula(tmp_path: Path) -> None:
    mashq.play(match("q-agent", rules={"tell": []}), tmp_path / "run")
    for said in prompts(tmp_path / "run", "B", "decision"):
        assert "Q =" not in said and "weigh each rewrite" not in said and "is shown your" not in said


@pytest.mark.parametrize(("reviews", "rounds"), [(0, 0), (2, 1)])
def test_beliefs_about_a_rival_that_reviews_inside_its_step_are_right(reviews: int, rounds: int) -> None:
    """A rival seen to review in its own step is counted as one that did; one that was not, as one that did not."""
    from mashq.protocol.game import apply

    state = initial(
        tuple(Item(str(n), "x") for n in range(4)), Rules(), [Seat("A", (0, 1, 2, 3)), Seat("B", (0, 1, 2, 3))]
    )
    cost = Spend.of(calls=1, tokens_in=Amount(90, 1), tokens_out=Amount(10, 1), seconds=Amount(1.0, 1))
    state = apply(state, {0: Answer("ok", "a", 0.5, spend=cost)})
    state = apply(state, {1: Answer("ok", "b", 0.9, spend=replace(cost, calls=1 + reviews, reviews=reviews))})
    state = apply(state, {0: Decision("continue"), 1: Decision("continue")})
    state = apply(state, {0: Answer("ok", "a", 0.5, spend=cost)})
    now = observe(state, 0)
    (sighting,) = now.memory.rivals
    assert sighting.review_rounds == rounds and (sighting.last is not None) == bool(rounds)
    belief = believe(now, sighting, own(now))
    assert belief.totals["reviews"].least == reviews
    assert review_rate(now, rounds) > review_rate(now, 0) or not rounds


def test_bayes_plays_by_the_formula_it_is_told() -> None:
    def choice(payoff: Payoff, tell: tuple[str, ...] = ("formula",)) -> str:
        rules = Rules(tell=tell, payoff=payoff)
        return bayes_policy.decide(replace(BELIEVING, rules=rules, review_cost=0.0)).choice

    assert choice(Payoff(beta=0.0)) == "review"
    assert choice(Payoff(beta=5.0)) == "continue"
    assert choice(Payoff(beta=5.0, alpha=1e6)) == "review"
    assert choice(Payoff(beta=5.0), ()) == choice(Payoff(beta=0.0), ()), "untold, it assumes the protocol's"
    weightless = Payoff(beta=5.0, weights=(("tokens", 1e-9), ("calls", 1e-9), ("reviews", 1e-9), ("seconds", 1e-9)))
    assert choice(weightless) == "review"
    huge = tuple((name, 1e12) for name in ("tokens", "calls", "reviews", "seconds"))
    assert choice(Payoff(beta=5.0, reference=huge)) == "review"
    assert BELIEVING.memory != Memory()
