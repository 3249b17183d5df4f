"""Figures of a match from its moves, beyond its results: its course, its story, the texts of an item."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from mashq.analysis.story.highlights import Highlight
from mashq.analysis.story.story import Story, most_important
from mashq.players.registry import answers_are_drawn
from mashq.protocol.resources import Spend
from mashq.runs.open import Played
from mashq.runs.reading import read_review_spend
from mashq.runs.setup import score_rules_of

MAX_POINTS = 120
MAX_HIGHLIGHTS = 14


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
        for (player, _), spend in read_review_spend(played.path, played.fixture.id).items():
            tokens[player] = tokens.get(player, 0.0) + spend.known.tokens.total
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
