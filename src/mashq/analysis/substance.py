"""The content of answers beside the score: floors, and the notes that a reader must not miss.

A floor is a text that takes no model: the first sentence of the source, the first three, all of it, or nothing. It is
not part of the match or of its normaliser, and costs nothing, so that its Q is alpha times its H.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mashq.protocol.content import SILENCE
from mashq.protocol.results import Floats, Results
from mashq.protocol.score import HEIGHTS, TIE, PlayerScore, Score, ScoreRules, score, scored_units, some, under

FACTOR = 2.0  # a ratio of lengths that the headline mentions
SAID = {
    "lead-1": "The first sentence alone",
    "lead-3": "The first three sentences alone",
    "copy": "A copy of the source",
    SILENCE: "Saying nothing",
}
UNSEEN = {  # why no player has a higher Q
    "lead-1": "it costs nothing, and H does not see what it leaves out",
    "lead-3": "it costs nothing, and H does not see what it leaves out",
    "copy": "it costs nothing, and H does not see how long it is",
    SILENCE: "no player's H is worth what it costs",
}
ADEQUATE = "no player is worth more than a text that takes no model"


@dataclass(frozen=True, slots=True, kw_only=True)
class Floor:
    """What a text that takes no model would have, over the scored items; null where no free detector judges."""

    name: str
    """lead-1, lead-3, copy or silence."""
    h: float | None
    """Its mean H."""
    coverage: float
    """Its mean coverage."""
    words: float
    """Its mean length."""
    q: float | None
    """alpha * H: it costs nothing."""


def floors_under(results: Results, rules: ScoreRules) -> list[Floor]:
    """The floors for some results; empty if there is nothing to summarise or the texts are unknown."""
    content = results.content
    kept = np.asarray(scored_units(results, rules.refusals)[0].any(axis=0))
    if content is None or not content.floors or not kept.any():
        return []
    floors: list[Floor] = []
    for name, figures in content.floors.items():
        h = figures["h"]
        if rules.h == "adequate":
            h = h * content.adequacy(figures["words"], figures["coverage"], rules.target, rules.longest)
        mean_h = _mean(results, h, kept)
        coverage, words = (_mean(results, figures[key], kept) for key in ("coverage", "words"))
        q = None if np.isnan(mean_h) else rules.alpha * mean_h
        floors.append(Floor(name=name, h=None if np.isnan(mean_h) else mean_h, coverage=coverage, words=words, q=q))
    return [*floors, Floor(name=SILENCE, h=0.0, coverage=0.0, words=0.0, q=0.0)]


def _mean(results: Results, values: Floats, kept: NDArray[np.bool_]) -> float:
    """The mean over items of their means over trials."""
    item_of = results.item_of[kept]
    counts = np.bincount(item_of, minlength=len(results.items))
    sums = np.bincount(item_of, values[kept], len(results.items))
    return float((sums[counts > 0] / counts[counts > 0]).mean())


def beaten(floors: Sequence[Floor], players: Sequence[PlayerScore], rules: ScoreRules) -> list[str]:
    """One sentence if a floor scores at least as high as the best player, or higher than some players."""
    known = [(row.q, row.name) for row in players if row.q is not None]
    floor_scores = [(floor.q, floor.name) for floor in floors if floor.q is not None]
    if not known or not floor_scores:
        return []
    best = max(q for q, _ in known)
    best_floor, name = max(floor_scores, key=lambda pair: pair[0])
    if best_floor > best - TIE:
        enough, name = next(pair for pair in floor_scores if pair[0] > best - TIE)  # the first floor that is enough
        more = "as much as" if enough < best + TIE else "more than"
        unseen = ADEQUATE if rules.h == "adequate" and name != SILENCE else UNSEEN[name]
        return [f"{SAID[name]} would have Q {enough:.4f}, {more} any player (the best has {best:.4f}): {unseen}."]
    lower = [f"{player} ({q:.4f})" for q, player in known if q < best_floor - TIE]
    return [f"{SAID[name]} would have Q {best_floor:.4f}, more than {some(lower)}."] if lower else []


def headline_more(result: Score, leader: str, second: str, *, questions: bool) -> str:
    """Headline text about a leader with the lowest coverage, or with much longer or shorter answers."""
    rows = {row.name: row for row in result.players}
    leader_row, text = rows[leader], ""
    others = [row.coverage for row in result.players if row.name != leader and row.coverage is not None]
    if leader_row.coverage is not None and others and leader_row.coverage < min(others) - TIE:
        least = "attempts fewest questions" if questions else "covers least of what matters"
        what = f"{leader_row.coverage:.1%}" if questions else f"coverage {leader_row.coverage:.3f}"
        lowest_other = f"{min(others):.1%}" if questions else f"{min(others):.3f}"
        text = f" {leader} {least}: {what}, the others {lowest_other} or more."
    a, b = leader_row.words, rows[second].words
    if a is not None and b is not None and max(a, b) > FACTOR * min(a, b):
        text += f" Its answers have {a:.0f} words on average, those of {second} {b:.0f}."
    return text


def other_height(results: Results, rules: ScoreRules) -> Score | None:
    """The score with the other meaning of H; None if coverage is unknown."""
    content = results.content
    if content is None or (results.answered & np.isnan(content.answers["coverage"])).any():
        return None
    other = replace(rules, h=HEIGHTS[1 - HEIGHTS.index(rules.h)])
    return score(under(results, other), other)
