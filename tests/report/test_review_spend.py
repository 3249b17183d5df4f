"""What reviews cost and bought, against a loop of this test's own over the ledger."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mashq.protocol.resources import MEASURES
from mashq.report.documents.match import document, review_spend
from mashq.report.html.facts import Facts, facts
from mashq.report.text.match import text
from mashq.runs.open import load_season
from mashq.runs.reading import read_review_spend
from tests.report.runs import play

RATES = {"price": {"input": 150.0, "output": 600.0}, "energy": {"input": 200_000.0, "output": 2_000_000.0}}
FLAWED = {"h": 0.6, "refusal_rate": 0.1, "failure_rate": 0.05, "seconds": 2}
PLAYERS = [
    {"name": "llm", "model": "simulated/a"},
    {"name": "best", "model": "simulated/a", "agent": "best-of-n", "n": 3, "policy": "rule"},
    {"name": "react", "model": "simulated/b", "agent": "react"},
    {"name": "plain", "model": "simulated/b", "agent": "plain"},
]
CONFIG: dict[str, Any] = {
    "task": {"limit": 10},
    "players": PLAYERS,
    "models": {"simulated/a": {**RATES, "simulate": FLAWED}, "simulated/b": {**RATES, "simulate": {"h": 0.7}}},
    "score": {"resources": ["tokens", "calls", "reviews", "seconds", "joules", "dollars"]},
    "seed": 5,
}


def rows(run: Path, query: str) -> list[dict[str, Any]]:
    with closing(sqlite3.connect(run / "run.db")) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute(query)]


def value(attempt: dict[str, Any], resource: str) -> float:
    if resource == "tokens":
        return attempt["tokens_in"] + attempt["tokens_out"]
    return 1 if resource == "calls" else attempt[resource]


def by_hand(run: Path) -> dict[str, tuple[float, float]]:
    """H and P of each player if it alone had not reviewed, over the units that everyone answered."""
    results = rows(
        run,
        "SELECT r.*, i.id AS item, s.player AS player FROM results r JOIN items i ON i.position = r.position "
        "JOIN seats s ON s.match = r.match AND s.seat = r.seat",
    )
    attempts = rows(run, "SELECT * FROM attempts")
    names = [str(player["name"]) for player in PLAYERS]
    units = {(row["match"], row["item"]) for row in results}
    units -= {(row["match"], row["item"]) for row in results if row["status"] != "ok"}
    assert 0 < len(units) < 30, "some units are refused, and some are scored"
    trials = {item: [unit for unit in units if unit[1] == item] for _, item in units}
    first = {(row["match"], row["item"], row["player"]): row["h_first"] for row in results}
    reviews = {(row["match"], row["item"], row["player"]): row["reviews"] for row in results}

    def mean(of: dict[tuple[str, str], float]) -> float:
        """Trials of an item first, then items."""
        return sum(sum(of[unit] for unit in own) / len(own) for own in trials.values()) / len(trials)

    def cost(player: str, resource: str, *, reviewed: bool) -> float:
        if resource == "reviews":
            return mean({unit: reviews[*unit, player] if reviewed else 0 for unit in units})
        totals = dict.fromkeys(units, 0.0)
        for attempt in attempts:
            unit = attempt["match"], attempt["item"]
            if unit in units and attempt["player"] == player and (reviewed or attempt["purpose"] != "review"):
                totals[unit] += value(attempt, resource)
        return mean(totals)

    found: dict[str, tuple[float, float]] = {}
    for player in names:
        penalty = 0.0
        for resource in CONFIG["score"]["resources"]:
            largest = max(cost(name, resource, reviewed=True) for name in names)
            penalty += cost(player, resource, reviewed=False) / largest
        found[player] = mean({unit: first[*unit, player] for unit in units}), penalty
    return found


@pytest.fixture(scope="module")
def trials(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return play(CONFIG, tmp_path_factory.mktemp("trials") / "run", trials=3)


def without(figures: Facts) -> dict[str, tuple[float, float]]:
    return {effect.player: (effect.h_without, effect.penalty_without) for effect in figures.review_effects}


def test_with_trials_refusals_and_joules_each_unit_loses_what_its_own_reviews_cost(trials: Path) -> None:
    shown = without(facts(load_season(trials)))
    expected = by_hand(trials)
    assert list(shown) == list(expected)
    for name, figures in shown.items():
        assert figures == pytest.approx(expected[name]), name


def test_the_readers_sums_are_the_ledgers(trials: Path) -> None:
    attempts = [row for row in rows(trials, "SELECT * FROM attempts") if row["purpose"] == "review"]
    assert attempts
    for match in {row["match"] for row in attempts}:
        spend = read_review_spend(trials, match)
        assert set(spend) == {(row["player"], row["item"]) for row in attempts if row["match"] == match}
        for (player, item), cost in spend.items():
            own = [row for row in attempts if (row["match"], row["player"], row["item"]) == (match, player, item)]
            for name in (*MEASURES, "tokens", "calls"):
                assert cost.cost(name) == pytest.approx(sum(value(row, name) for row in own)), name
                assert not cost.charged(name)
    assert not read_review_spend(trials, "no such match")


@pytest.fixture
def unknown(tmp_path: Path) -> Path:
    """Three items, each reviewed once by A; the second review's usage is not known, nor is anything's energy."""
    texts = [{"id": f"i{n}", "text": f"The mill of town {n} burned on 3 May {1900 + n}."} for n in range(3)]
    replies: list[dict[str, Any]] = []
    for n in range(3):
        replies.append(
            {"item": f"i{n}", "text": "Nothing of it.", "tokens_in": 100, "tokens_out": 10, "seconds": 1.0}
        )
        review = {"item": f"i{n}", "purpose": "review", "text": f"The mill of town {n} burned.", "seconds": 2.0}
        replies.append(review if n == 1 else review | {"tokens_in": 200 + 100 * n, "tokens_out": 20})
    for name, lines in (("items", texts), ("replies", replies)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    model = f"recorded/{tmp_path / 'replies.jsonl'}"
    players = [
        {"name": "A", "model": model, "policy": "rule", "T": 0.9999, "R": 1},
        {"name": "B", "model": model, "agent": "plain"},
    ]
    config = {"task": {"data": str(tmp_path / "items.jsonl")}, "players": players}
    return play(config, tmp_path / "run")


def test_the_charge_for_a_review_of_unknown_cost_is_a_cost_of_the_reviews(unknown: Path) -> None:
    season = load_season(unknown)
    played = next(season.fixtures_played())
    spend = review_spend(played)["A"]
    mean = ((200 + 20) + (400 + 20)) / 2
    assert spend.cost("tokens") == pytest.approx(220 + 420 + mean) and spend.charged("tokens") == pytest.approx(mean)
    assert spend.is_whole("tokens") and not spend.is_whole("joules") and spend.cost("calls") == 3
    figures = facts(season)
    assert figures.before.costs["tokens"].value.tolist() == [[110.0] * 3] * 2
    answers, total = 330.0, 330.0 + 220 + 420 + mean
    expected = answers / total + 3 / 6 + 0.0 + 3 / 9  # tokens, calls, reviews, seconds
    assert without(figures)["A"][1] == pytest.approx(expected)
    assert "for ~960 tokens and 6.0 s." in text(document(played), review_spend(played)).replace("\n", " ")
