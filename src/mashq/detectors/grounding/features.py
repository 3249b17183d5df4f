"""The features that the grounding detector measures in an answer.

Contract: `features` gives one number for each name in FEATURES, in time linear in the answer. The units are
counted sentence by sentence and enter as their share of the answer (`_all`) and of its weakest sentence
(`_worst`); all of those are 0 when nothing is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby, pairwise

from mashq.detectors.grounding.align import align
from mashq.detectors.grounding.context import STRAYS, Count, Fact, context, strays
from mashq.detectors.grounding.evidence import Source
from mashq.detectors.grounding.passage import PASSAGE
from mashq.detectors.grounding.reading import Token
from mashq.detectors.grounding.wording import WORDING, wording
from mashq.detectors.grounding.words import PRONOUNS

__all__ = ["FEATURES", "best_sentence", "features", "sentences"]

UNITS = (
    "word",  # content words the source does not have
    "form",  # of those, words with no source word that begins the same
    "heavy",  # missing words, weighted by how rare they are
    "pair",  # neighbouring content words that are not neighbours in the source
    "triple",
    "together",  # neighbouring content words that share no source sentence
    "order",  # neighbours that the source has only in reverse order
    "number",
    "name",
    "date",
    "scatter",  # weight of words outside the best source sentence
    "fused",  # ... outside the two best
    "unmatched",  # tokens outside the alignment
    "broken",  # runs of the alignment
    "short",  # tokens beyond the longest run
    "substituted",
    "replaced",
    "flipped",
    "moved",
    "astray",  # facts whose neighbours are not the source's neighbours of that fact
    "usurped",  # facts whose neighbours the source has together, without that fact
    "stray",  # plain words whose neighbours are not the source's neighbours of that word
    "adrift",  # facts that are next to other words than in the source
    "window",  # weight outside the best source sentence and its two neighbours
)
COUNTED = ("form", "pair", "number", "name", "substituted", "flipped", "usurped")
SHAPE = (
    "tokens", "sentences", "length", "source", "ratio", "facts", "numbers", "early", "spread", "repeated", "lines",
    "open", "meta", "pronoun", "link", "first_pair", "last_pair", "first_usurped", "last_usurped",
    *PASSAGE, *WORDING, "copied",
)  # fmt: skip
FEATURES = (
    *(f"{unit}_{share}" for unit in UNITS for share in ("all", "worst")),
    *(f"{unit}_count" for unit in COUNTED),
    *STRAYS,
    *SHAPE,
)


_LONGEST = 80  # tokens; a longer sentence is read in pieces
_META_WORDS = """
passag article articl summary text author provid describ discuss highlight mention
"""
_META = frozenset(_META_WORDS.split())
_LINKS_WORDS = """
because despite although after before while due led caus result following amid however
"""
_LINKS = frozenset(_LINKS_WORDS.split())


def sentences(tokens: Sequence[Token]) -> list[list[Token]]:
    """Return the sentences of an answer, long ones in pieces."""
    pieces: list[list[Token]] = []
    for _, group in groupby(tokens, key=lambda t: t.sentence):
        sentence = list(group)
        pieces += [sentence[i : i + _LONGEST] for i in range(0, len(sentence), _LONGEST)]
    return pieces


def features(source: Source, text: str, answer: Sequence[Token]) -> list[float]:
    """Return the answer's features in the order of FEATURES; the answer must have at least one token."""
    parts = sentences(answer)
    measured = [_sentence(source, part) for part in parts]
    values: list[float] = []
    counted: list[float] = []
    for unit, counts in zip(UNITS, zip(*(part[0] for part in measured), strict=True), strict=True):
        missing = sum(m for m, _ in counts)
        total = sum(t for _, t in counts)
        values += [missing / total if total else 0.0, max(m / t if t else 0.0 for m, t in counts)]
        if unit in COUNTED:
            counted.append(math.log1p(missing))
    copied = sum(source.copies(part) for part in parts) / len(parts)
    ends = [m / t if t else 0.0 for unit in ("pair", "usurped") for m, t in _ends(measured, UNITS.index(unit))]
    best = [place for _, place, _ in measured]
    shape = [*_shape(source, text, answer, best), *ends, *source.shape, *wording(source, text, answer, parts, best)]
    facts = [fact for _, _, judged in measured for fact in judged]
    return [*values, *counted, *strays(facts), *shape, copied]


def _ends(measured: list[tuple[list[Count], int, list[Fact]]], unit: int) -> list[Count]:
    """Return a unit's counts in the first and in the last sentence."""
    return [measured[0][0][unit], measured[-1][0][unit]]


def _shape(source: Source, text: str, answer: Sequence[Token], best: list[int]) -> list[float]:
    """Return features of length, order and style."""
    n, size = len(answer), len(source.keys) + 1
    keys = [t.key for t in answer]
    known = [b for b in best if b >= 0]
    last = max(1, len(source.starts) - 2)
    facts = sum(bool(source.fact(t)) for t in answer)
    links = [k for k in keys if k in _LINKS]
    return [
        math.log(n),
        math.log(len(best)),
        n / len(best),
        math.log(size),
        math.log(n / size),
        facts / n,
        sum(t.kind == "number" for t in answer) / n,
        sum(known) / len(known) / last if known else 0.5,
        (max(known) - min(known)) / last if known else 0.0,
        1.0 - len(set(keys)) / n,
        math.log1p(text.count("\n")),
        float(text.rstrip()[-1:] not in {".", "!", "?", '"', "”", "'", ")"}),
        sum(k in _META for k in keys) / len(best),
        sum(k in PRONOUNS for k in keys) / n,
        sum(k not in source.places for k in links) / len(best),
    ]


def _sentence(source: Source, tokens: list[Token]) -> tuple[list[Count], int, list[Fact]]:
    """Return (missing, total) per unit for one answer sentence, its best source sentence, and its facts."""
    # A sentence of only function words ("It is.") is judged by those.
    content = [t for t in tokens if t.kind != "function"] or tokens
    supported = [source.supports(t) for t in content]
    facts = [source.fact(t) for t in content]
    weights = {t.key: source.weight(t.key) for t in content}
    held = source.holders(weights)
    best = _best(held)
    counts, rated_facts = context(source, content, facts, weights, best)
    return (
        [
            *_words(source, content, supported, weights),
            *_order(source, [t.key for t in content], supported),
            *_facts(content, facts, supported),
            *_scatter(source, weights, held, best),
            *_aligned(source, tokens, len(content), sum(map(bool, facts)), best),
            *counts,
            _window(source, weights, best),
        ],
        best,
        rated_facts,
    )


def best_sentence(source: Source, tokens: Sequence[Token]) -> int:
    """Return the source sentence that contains most of these tokens, -1 when none contains any."""
    content = [t for t in tokens if t.kind != "function"] or tokens
    return _best(source.holders({t.key: source.weight(t.key) for t in content}))


def _best(held: dict[int, float]) -> int:
    return max(held, key=lambda place: (held[place], -place)) if held else -1


def _words(source: Source, content: list[Token], supported: list[bool], weights: dict[str, float]) -> list[Count]:
    missing = [t.key for t, ok in zip(content, supported, strict=True) if not ok]
    heavy = sum(weights[key] for key in missing)
    n = len(content)
    return [
        (len(missing), n),
        (sum(not source.resembles(key) for key in missing), n),
        (heavy, sum(weights[t.key] for t in content)),
    ]


def _order(source: Source, keys: list[str], supported: list[bool]) -> list[Count]:
    if len(keys) == 1:  # a single word counts as the pair it cannot form
        return [(supported.count(False), 1), (0, 0), (0, 0), (0, 0)]
    pairs = list(pairwise(keys))
    absent = [pair for pair in pairs if pair not in source.pairs]
    triples = list(zip(keys, keys[1:], keys[2:]))
    return [
        (len(absent), len(pairs)),
        (sum(triple not in source.triples for triple in triples), len(triples)),
        (sum(not source.together(*pair) for pair in absent), len(pairs)),
        (sum((b, a) in source.pairs for a, b in absent), len(pairs)),
    ]


def _facts(content: list[Token], facts: list[str], supported: list[bool]) -> list[Count]:
    """Numbers, names (a run counts once and needs all of its words) and dates."""
    numbers = [ok for kind, ok in zip(facts, supported, strict=True) if kind == "number"]
    dates = [ok for kind, ok in zip(facts, supported, strict=True) if kind == "date"]
    marks = zip(facts, supported, strict=True)
    names = [all(ok for _, ok in run) for kind, run in groupby(marks, key=lambda mark: mark[0]) if kind == "name"]
    return [(oks.count(False), len(oks)) for oks in (numbers, names, dates)]


def _scatter(source: Source, weights: dict[str, float], held: dict[int, float], best: int) -> list[Count]:
    """Return the weight outside the best source sentence, and outside the best two."""
    total = sum(weights.values())
    if best < 0:
        return [(total, total), (total, total)]
    outside = {key: weight for key, weight in weights.items() if best not in source.places.get(key, ())}
    outside_weight = sum(outside.values())
    return [(outside_weight, total), (outside_weight - max(source.holders(outside).values(), default=0.0), total)]


def _window(source: Source, weights: dict[str, float], best: int) -> Count:
    near = {best - 1, best, best + 1} if best >= 0 else set[int]()
    outside = sum(w for key, w in weights.items() if near.isdisjoint(source.places.get(key, ())))
    return outside, sum(weights.values())


def _aligned(source: Source, tokens: list[Token], words: int, facts: int, best: int) -> list[Count]:
    n = len(tokens)
    if best < 0:
        return [(n, n), (n, n), (n, n), (0, facts), (0, words), (0, 1), (0, facts)]
    alignment = align(source, tokens, best)
    return [
        (n - alignment.matched, n),
        (alignment.runs - 1, n),
        (n - alignment.longest, n),
        (alignment.substituted, facts),
        (alignment.replaced, words),
        (alignment.flipped, 1),
        (alignment.moved, facts),
    ]
