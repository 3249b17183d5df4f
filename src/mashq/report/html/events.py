"""Figures of a match from its moves and attempts, beyond its results: its course, its story, the cost of reviews."""

import math
import re
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mashq.analysis.story.highlights import Highlight
from mashq.analysis.story.story import Story, most_important
from mashq.players.registry import answers_are_drawn
from mashq.protocol.resources import RESOURCES, Spend
from mashq.protocol.results import Floats
from mashq.runs.file import connect
from mashq.runs.open import Played
from mashq.runs.reading import DATABASE
from mashq.runs.setup import score_rules_of

REVIEWS = """SELECT player, item, count(*), sum(coalesce(tokens_in, 0) + coalesce(tokens_out, 0)),
  sum(coalesce(seconds, 0)), sum(coalesce(dollars, 0)) FROM attempts WHERE match = ? AND purpose = 'review'
  AND item IS NOT NULL GROUP BY player, item"""
MAX_POINTS = 120
MAX_HIGHLIGHTS = 14
RUN_OF_WORDS = 4
WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Point:
    """A player's state after some rounds: its known costs so far, and its reviews since the previous point."""

    player: str
    round: int
    tokens: float
    seconds: float
    reviews: int


@dataclass(frozen=True, slots=True)
class Course:
    """The course of a match and its story."""

    points: Sequence[Point]
    highlights: Sequence[Highlight]
    rounds: int


def course_of(played: Played) -> Course:
    """Replay the course and the story of a match in its current state."""
    story = Story(played.first, score_rules_of(played.config))
    spent: list[tuple[Spend, ...]] = []
    for delta in played.replay():
        story.hear(delta)
        if delta.round == len(spent):
            spent.append(())
        spent[delta.round] = tuple(player.spend for player in delta.after.players)
    tokens: dict[str, float] = {}
    if story.reviewed_within_steps:
        tokens = {row["player"]: row["tokens"] for row in played.attempts if row["purpose"] == "review"}
    highlights = most_important(story.highlights(ended=played.finished, review_tokens=tokens), MAX_HIGHLIGHTS)
    return Course(_points([player.name for player in played.config.players], spent), highlights, len(spent))


def _points(players: Sequence[str], spent: Sequence[tuple[Spend, ...]]) -> list[Point]:
    """Sample at most MAX_POINTS rounds per player, so that a long match draws as fast as a short one."""
    step = max(1, math.ceil(len(spent) / MAX_POINTS))
    ends = [min(start + step, len(spent)) for start in range(0, len(spent), step)]
    points: list[Point] = []
    for seat, name in enumerate(players):
        before = 0
        for end in ends:
            spend = spent[end - 1][seat]
            points.append(Point(name, end, spend.tokens.total, spend.seconds.total, spend.reviews - before))
            before = spend.reviews
    return points


def review_costs(
    path: Path, matches: Sequence[str], players: Sequence[str], items: Sequence[str]
) -> dict[str, Floats]:
    """Return the known cost of the reviews by resource (players x items), averaged over the matches."""
    seats = {name: index for index, name in enumerate(players)}
    places = {item: index for index, item in enumerate(items)}
    totals = {name: np.zeros((len(players), len(items))) for name in RESOURCES}
    with closing(connect(path / DATABASE, readonly=True)) as connection:
        for match in matches:
            for player, item, calls, tokens, seconds, dollars in connection.execute(REVIEWS, (match,)):
                if player in seats and item in places:
                    cell = seats[player], places[item]
                    costs = (("calls", calls), ("tokens", tokens), ("seconds", seconds), ("dollars", dollars))
                    for name, value in costs:
                        totals[name][cell] += value / len(matches)
    return totals


def texts(played: Played, item: str) -> list[tuple[str, str]]:
    """Return an item's text and every player's answer to it, each with a heading; empty if some answers are drawn."""
    if any(answers_are_drawn(player.agent, player.model) for player in played.config.players):
        return []
    state = played.state
    position = next(index for index, item_state in enumerate(state.items) if item_state.id == item)
    labelled_texts = [("The text", state.items[position].shown)]
    if state.items[position].reference is not None:
        labelled_texts.append(("The reference answer", state.items[position].reference or ""))
    for player in state.players:
        work = player.items[player.order.index(position)]
        h = work.judged if work.judged is not None else work.h
        scored = "" if h is None else f", H {h:.3f}"
        if work.text_first and work.text_first != work.text:
            labelled_texts.append((f"{player.name}, before its reviews", work.text_first))
        labelled_texts.append((f"{player.name}{scored}", work.text if work.status == "ok" else f"({work.status})"))
    return labelled_texts
