"""Whether the words of an answer have the same neighbours as in the source.

Contract: a fact (number, name, date) is `astray` by the weight of its neighbours in the answer that are not near it
in the source, and `usurped` by the weight of those that the best source sentence contains without the fact nearby:
a sign that it replaced another fact. Time is linear in the answer.
"""

from __future__ import annotations

import math

from mashq.detectors.grounding.evidence import Source
from mashq.detectors.grounding.reading import Token

__all__ = ["STRAYS", "Count", "Fact", "context", "strays"]

Count = tuple[float, float]
Fact = tuple[str, float, float]  # kind, share astray, share usurped

STRAYS = (
    "astray_1", "astray_2", "astray_3", "usurped_1", "usurped_2", "number_astray", "numbers_astray", "name_astray",
    "astray_many", "number_usurped",
)  # fmt: skip


def context(
    source: Source, content: list[Token], facts: list[str], weights: dict[str, float], best: int
) -> tuple[list[Count], list[Fact]]:
    """Compare the neighbours of each word and fact with its neighbours in the source."""
    rated_facts: list[Fact] = []
    word_astray, fact_adrift, plain_count = 0.0, 0.0, 0
    for i, (token, kind) in enumerate(zip(content, facts, strict=True)):
        near = content[max(0, i - 3) : i + 4]
        neighbour_weights = {t.key: weights[t.key] for t in near if t.key != token.key}
        if not neighbour_weights:
            continue
        total = sum(neighbour_weights.values())
        supported_weight = source.context(token.key, neighbour_weights, 6) if source.supports(token) else 0.0
        if not kind:
            word_astray += 1.0 - supported_weight / total
            plain_count += 1
            continue
        next_to = {t.key: 1.0 for t in content[max(0, i - 1) : i + 2] if t.key != token.key}
        fact_adrift += 1.0 - source.context(token.key, next_to, 2) / (len(next_to) or 1)
        sentence_weight = sum(
            w for key, w in neighbour_weights.items() if best >= 0 and best in source.places.get(key, ())
        )
        rated_facts.append(
            (kind, 1.0 - supported_weight / total, max(0.0, sentence_weight - supported_weight) / total)
        )
    n = len(rated_facts)
    return [
        (sum(f[1] for f in rated_facts), n),
        (sum(f[2] for f in rated_facts), n),
        (word_astray, plain_count),
        (fact_adrift, n),
    ], rated_facts


def strays(facts: list[Fact]) -> list[float]:
    """Return the STRAYS features: the facts that deviate most from the source, over the whole answer."""
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
