"""Whether the words of an answer keep the company they keep in the source.

Contract: a fact (number, name, date) is astray by the weight of its neighbours in the answer that are not near it
in the source, and usurped by the weight of those that the best source sentence holds without it being near:
the mark of a fact put in another's place. Time is linear in the answer.
"""

from __future__ import annotations

import math

from mashq.detectors.grounding.evidence import Source
from mashq.detectors.grounding.reading import Token

__all__ = ["STRAYS", "Count", "Fact", "context", "strays"]

Count = tuple[float, float]
Fact = tuple[str, float, float]  # its kind, how far astray, how far usurped

STRAYS = (
    "astray_1", "astray_2", "astray_3", "usurped_1", "usurped_2", "number_astray", "numbers_astray", "name_astray",
    "astray_many", "number_usurped",
)  # fmt: skip


def context(
    source: Source, content: list[Token], facts: list[str], weights: dict[str, float], best: int
) -> tuple[list[Count], list[Fact]]:
    """Whether each word and fact stands among the words it stands among in the source."""
    judged: list[Fact] = []
    stray, adrift, plain = 0.0, 0.0, 0
    for i, (token, kind) in enumerate(zip(content, facts, strict=True)):
        near = content[max(0, i - 3) : i + 4]
        around = {t.key: weights[t.key] for t in near if t.key != token.key}
        if not around:
            continue
        total = sum(around.values())
        agreed = source.context(token.key, around, 6) if source.supports(token) else 0.0
        if not kind:
            stray += 1.0 - agreed / total
            plain += 1
            continue
        next_to = {t.key: 1.0 for t in content[max(0, i - 1) : i + 2] if t.key != token.key}
        adrift += 1.0 - source.context(token.key, next_to, 2) / (len(next_to) or 1)
        here = sum(w for key, w in around.items() if best >= 0 and best in source.places.get(key, ()))
        judged.append((kind, 1.0 - agreed / total, max(0.0, here - agreed) / total))
    n = len(judged)
    return [(sum(f[1] for f in judged), n), (sum(f[2] for f in judged), n), (stray, plain), (adrift, n)], judged


def strays(facts: list[Fact]) -> list[float]:
    """The facts that stand out most from the source, over the whole answer."""
    astray = [*sorted((f[1] for f in facts), reverse=True), 0.0, 0.0, 0.0]
    usurped = [*sorted((f[2] for f in facts), reverse=True), 0.0, 0.0]
    numbers = [f[1] for f in facts if f[0] == "number"]
    names = [f[1] for f in facts if f[0] == "name"]
    return [
        astray[0],
        astray[1],
        astray[2],
        usurped[0],
        usurped[1],
        max(numbers, default=0.0),
        sum(numbers) / (len(numbers) or 1),
        max(names, default=0.0),
        math.log1p(sum(f[1] > 0.7 for f in facts)),
        max((f[2] for f in facts if f[0] == "number"), default=0.0),
    ]
