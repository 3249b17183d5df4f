"""What the story says that reviews took is what the ledger's attempts add up to, wherever the reviews were made."""

import re
from pathlib import Path
from typing import Any

import pytest

from mashq.report.html.events import course_of
from mashq.runs.open import load_season
from mashq.web.library import Library
from mashq.web.replay_cache import ReplayCache
from tests.arena.helpers import rows
from tests.report.runs import play

MODEL = {"simulate": {"h": 0.6, "h_spread": 0.2, "review_rate": 1.0, "retry_rate": 0.2, "end_rate": 0.2}}
PLAYERS: list[dict[str, Any]] = [
    {"name": "best4", "agent": "best-of-n", "n": 4, "policy": "rule"},
    {"name": "loop", "agent": "react"},
    {"name": "decides", "agent": "q-agent", "policy": "llm"},
    {"name": "once", "agent": "plain"},
]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    said = {
        "task": {"limit": 10},
        "players": [{"model": "simulated/default", **player} for player in PLAYERS],
        "models": {"simulated/default": {**MODEL, "retry": {"base": 0.0, "cap": 0.0}}},
    }
    return play(said, tmp_path_factory.mktemp("story") / "run")


def by_attempts(run: Path) -> dict[str, tuple[int, int]]:
    """By player: the reviews that its moves count, and the tokens of every attempt at one, added up one by one."""
    found: dict[str, tuple[int, int]] = {}
    reviews = {player["name"]: 0 for player in PLAYERS}
    query = "SELECT player, kind, coalesce(json_extract(move, '$.spend.reviews'), 0) FROM events"
    for player, kind, within in rows(run, query):
        reviews[player] += within + (kind == "rewrite")
    for player, count in reviews.items():
        tokens = 0
        for way_in, way_out in rows(
            run, f"SELECT tokens_in, tokens_out FROM attempts WHERE player = '{player}' AND purpose = 'review'"
        ):
            tokens += way_in + way_out
        found[player] = count, tokens
    return found


def told(sentences: list[str]) -> dict[str, tuple[int, int]]:
    """The same as the story has it."""
    found: dict[str, tuple[int, int]] = {}
    for sentence in sentences:
        said = re.fullmatch(r"(\w+)'s (\d+) reviews raised .*; the rewrites took ([\d,]+) tokens\.", sentence)
        assert said is not None, sentence
        found[said[1]] = int(said[2]), int(said[3].replace(",", ""))
    return found


def test_reviews_within_a_step_and_by_decision_cost_what_their_attempts_did(run: Path) -> None:
    (played,) = load_season(run).fixtures_played()
    course = course_of(played)
    truth = by_attempts(run)
    assert truth.pop("once") == (0, 0)
    assert truth["best4"][0] > 40 and truth["best4"][1] > 20_000, "the case that once said 0 tokens"
    assert truth["loop"][0] > 5 and truth["loop"][1] > 3_000
    assert told([one.sentence for one in course.highlights if one.kind == "reviews"]) == truth
    ((retried,),) = rows(run, "SELECT count(*) FROM attempts WHERE purpose = 'review' AND outcome = 'http'")
    assert retried > 0, "attempts that failed and were repeated are among them"


def test_the_dashboard_tells_the_same(run: Path) -> None:
    live = ReplayCache(Library(run.parent)).match("run", "0")
    assert live.advance(60)
    every = live.replay.story.highlights(ended=True, review_tokens=live.review_tokens())
    truth = by_attempts(run)
    del truth["once"]
    assert told([one.sentence for one in every if one.kind == "reviews"]) == truth
