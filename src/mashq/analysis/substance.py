"""What answers carry beside the score: the floors under it, and the sentences that a reader must not miss.

A floor is a text that takes no model: the first sentence of the source, the first three, all of it, or nothing. It
stands outside of the match and of its normaliser, and costs nothing, so that its Q is alpha times its H.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mashq.protocol.content import SILENCE
from mashq.protocol.results import Floats, Results
from mashq.protocol.score import HEIGHTS, TIE, PlayerScore, Score, ScoreRules, score, scored_units, some, under

FACTOR = 2.0  # a difference in length that the headline tells
SAID = {
    "lead-1": "The first sentence alone",
    "lead-3": "The first three sentences alone",
    "copy": "A copy of the source",
    SILENCE: "Saying nothing",
}


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
    """The floors under some results; none where there is nothing to summarise, or nothing is known of the texts."""
    known = results.content
    kept = np.asarray(scored_units(results, rules.refusals)[0].any(axis=0))
    if known is None or not known.floors or not kept.any():
        return []
    found: list[Floor] = []
    for name, own in known.floors.items():
        h = own["h"]
        if rules.h == "adequate":
            h = h * known.adequacy(own["words"], own["coverage"], rules.target, rules.longest)
        height = _mean(results, h, kept)
        coverage, words = (_mean(results, own[of], kept) for of in ("coverage", "words"))
        worth = None if np.isnan(height) else rules.alpha * height
        found.append(
            Floor(name=name, h=None if np.isnan(height) else height, coverage=coverage, words=words, q=worth)
        )
    return [*found, Floor(name=SILENCE, h=0.0, coverage=0.0, words=0.0, q=0.0)]


def _mean(results: Results, values: Floats, kept: NDArray[np.bool_]) -> float:
    """The mean over items of their means over trials."""
    at = results.item_of[kept]
    counts = np.bincount(at, minlength=len(results.items))
    sums = np.bincount(at, values[kept], len(results.items))
    return float((sums[counts > 0] / counts[counts > 0]).mean())


def beaten(floors: Sequence[Floor], players: Sequence[PlayerScore], rules: ScoreRules) -> list[str]:
    """One sentence where a floor has no less than the best player, or more than some."""
    known = [(row.q, row.name) for row in players if row.q is not None]
    if not known:
        return []
    best = max(q for q, _ in known)
    high = [(floor.q, floor.name) for floor in floors if floor.q is not None]
    top, name = max(high, key=lambda pair: pair[0], default=(None, ""))
    if top is None:
        return []
    if top > best - TIE:
        first = next(pair for pair in high if pair[0] > best - TIE)  # the least that would do
        cannot = "faithfulness cannot tell these players apart"
        end = cannot if rules.h == "faithful" else "no player is worth more than a text that takes no model"
        return [f"{SAID[first[1]]} would have Q {first[0]:.4f}, and the best player has {best:.4f}: {end}."]
    under_it = [f"{player} ({q:.4f})" for q, player in known if q < top - TIE]
    return [f"{SAID[name]} would have Q {top:.4f}, more than {some(under_it)}."] if under_it else []


def headline_more(result: Score, leader: str, second: str, *, questions: bool) -> str:
    """What the headline says of a leader who carries least, or whose answers are much longer or shorter."""
    rows = {row.name: row for row in result.players}
    first, said = rows[leader], ""
    others = [row.coverage for row in result.players if row.name != leader and row.coverage is not None]
    if first.coverage is not None and others and first.coverage < min(others) - TIE:
        least = "attempts fewest questions" if questions else "carries least of what matters"
        what = f"{first.coverage:.1%}" if questions else f"coverage {first.coverage:.3f}"
        rest = f"{min(others):.1%}" if questions else f"{min(others):.3f}"
        said = f" {leader} {least}: {what}, the others {rest} or more."
    a, b = first.words, rows[second].words
    if a is not None and b is not None and max(a, b) > FACTOR * min(a, b):
        said += f" Its answers have {a:.0f} words on average, those of {second} {b:.0f}."
    return said


def other_height(results: Results, rules: ScoreRules) -> Score | None:
    """The score with the other meaning of H; None where the texts do not tell."""
    known = results.content
    if known is None or (results.answered & np.isnan(known.answers["coverage"])).any():
        return None
    other = replace(rules, h=HEIGHTS[1 - HEIGHTS.index(rules.h)])
    return score(under(results, other), other)
