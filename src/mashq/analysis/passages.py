"""What answers over documents came to: where the passages hold the answer and where not, citations, and costs."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from mashq.analysis.parts import OPTIONAL
from mashq.detectors.base import Detector, Pair
from mashq.detectors.citations import Cited, cited
from mashq.detectors.exact_match import normalise
from mashq.detectors.pairs import pair_of
from mashq.protocol.items import Item

SUPPORTED = 0.5  # H from which an answer, or a sentence, counts as supported
Place = Literal["first", "middle", "last", "not shown"]
K = TypeVar("K", int, Place)
PLACES: tuple[Place, ...] = ("first", "middle", "last", "not shown")


@dataclass(frozen=True, slots=True)
class Given:
    """An answer that counts: `item` as the data have it, `shown` as the player saw it; no text: it was drawn."""

    item: Item
    shown: Item
    h: float
    abstained: bool
    text: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Some of a player's answers."""

    answers: int
    """How many there are, each trial counted."""
    h: float | None
    """Their mean H."""
    abstained: int
    """How many of them are abstentions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ByCount(Part):
    """Answers by how many passages were shown."""

    passages: int
    """So many passages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ByPlace(Part):
    """Answers by where the first passage that holds the answer stood."""

    place: Place
    """First, last or in the middle of the passages that were shown, or not among them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Citations:
    """How well citations hold: a sentence is supported by what it cites at an H of 0.5 or more by `grounding`."""

    cited: int
    """How many citations there are."""
    precision: float | None
    """The share of citations whose passage supports the sentence."""
    sentences: int
    """How many sentences there are in answers that are no abstentions."""
    recall: float | None
    """The share of sentences that the passages they cite support, taken together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PassagePlayer:
    """A player's answers over documents."""

    name: str
    """Its name."""
    answerable: Part
    """Where the passages hold the answer."""
    unanswerable: Part
    """Where they do not: an abstention is right there, and an answer scores 0."""
    unknown: Part
    """Where nobody said."""
    supported: int
    """Answers with an H of 0.5 or more that are no abstentions."""
    cost_per_supported: Mapping[str, float | None]
    """By resource, all it spent on the scored items over the number of supported answers."""
    correct: int | None
    """Answers that hold the reference answer word for word, abstentions aside; null where answers were drawn."""
    referenced: int
    """Answers to items with a reference answer, abstentions counted."""
    citations: Citations | None
    """How well its citations hold; null where answers were drawn."""
    by_count: Sequence[ByCount]
    """By how many passages were shown."""
    by_place: Sequence[ByPlace]
    """By where the evidence stood, for items of which that is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageViews:
    """Answers over documents, seen from all sides."""

    players: Sequence[PassagePlayer]
    """The players, in their seats."""
    abstention: float
    """What an abstention is worth where the passages hold the answer, or nobody knows."""
    read: int
    """How many abstentions were read from plain words by a rule; the others were stated."""
    stated: int
    """How many were stated."""
    note: str | None = field(default=None, metadata=OPTIONAL)
    """What must be said of them: the rule where it was used, or that the answers were drawn."""


RULE = (
    "{count} of {all} abstentions were not stated but read from words by a rule for English phrases: docs/rag.md "
    "says how often it errs."
)


def rule_note(read: int, stated: int) -> str | None:
    """What must be said where abstentions were read from words."""
    return RULE.format(count=read, all=read + stated) if read else None


def player_view(
    name: str, given: Sequence[Given], costs: Mapping[str, float | None], detector: Detector, trials: int = 1
) -> PassagePlayer:
    """All that is said of a player; `costs` are means over so many trials, `detector` checks citations."""
    supported = sum(one.h >= SUPPORTED and not one.abstained for one in given)
    referenced = [one for one in given if one.item.reference is not None and one.item.answerable is not False]
    drawn = any(one.text is None for one in given)
    return PassagePlayer(
        name=name,
        answerable=_part([one for one in given if one.item.answerable is True]),
        unanswerable=_part([one for one in given if one.item.answerable is False]),
        unknown=_part([one for one in given if one.item.answerable is None]),
        supported=supported,
        cost_per_supported={
            key: None if cost is None or not supported else trials * cost / supported for key, cost in costs.items()
        },
        correct=None if drawn else sum(_is_correct(one) for one in referenced),
        referenced=len(referenced),
        citations=None if drawn else _citations(given, detector),
        by_count=[
            ByCount(passages=count, answers=part.answers, h=part.h, abstained=part.abstained)
            for count, part in _parts(given, lambda one: len(one.shown.passages))
        ],
        by_place=[
            ByPlace(place=place, answers=part.answers, h=part.h, abstained=part.abstained)
            for place, part in _parts(
                (one for one in given if evidence(one.item)), lambda one: _place(one.item, one.shown)
            )
        ],
    )


def evidence(item: Item) -> tuple[str, ...]:
    """The passages that hold the answer: those the data name, else those with the reference answer in them."""
    if item.evidence or item.reference is None or item.answerable is False:
        return item.evidence
    wanted = f" {normalise(item.reference)} "
    return tuple(passage.id for passage in item.passages if wanted in f" {normalise(passage.whole)} ")


def _place(item: Item, shown: Item) -> Place:
    wanted = evidence(item)
    at = next((at for at, passage in enumerate(shown.passages) if passage.id in wanted), None)
    if at is None:
        return "not shown"
    return "first" if at == 0 else "last" if at == len(shown.passages) - 1 else "middle"


def _part(given: Sequence[Given]) -> Part:
    count = len(given)
    mean = sum(one.h for one in given) / count if count else None
    return Part(answers=count, h=mean, abstained=sum(one.abstained for one in given))


def _parts(given: Iterable[Given], key: Callable[[Given], K]) -> list[tuple[K, Part]]:
    found: dict[K, list[Given]] = {}
    for one in given:
        found.setdefault(key(one), []).append(one)
    order = sorted(found, key=lambda name: PLACES.index(name) if isinstance(name, str) else name)
    return [(name, _part(found[name])) for name in order]


def _is_correct(one: Given) -> bool:
    said = pair_of(one.item, one.text or "")
    return not one.abstained and f" {normalise(said.reference or '')} " in f" {normalise(said.answer)} "


def _citations(given: Sequence[Given], detector: Detector) -> Citations:
    pairs: list[Pair] = []
    told: list[
        tuple[bool, Pair | None]
    ] = []  # whether it is a sentence, and what is asked of it; None: not supported
    for one in given:
        texts = {passage.id: passage.whole for passage in one.shown.passages}
        for sentence in [] if one.abstained else cited(one.text or "", texts):
            told += _asked(sentence, texts)
    pairs = [pair for _, pair in told if pair is not None]
    scores = dict(zip(pairs, detector.score(pairs), strict=True))
    held = [(whole, pair is not None and scores[pair] >= SUPPORTED) for whole, pair in told]
    marks, sentences = [ok for whole, ok in held if not whole], [ok for whole, ok in held if whole]
    return Citations(
        cited=len(marks),
        precision=sum(marks) / len(marks) if marks else None,
        sentences=len(sentences),
        recall=sum(sentences) / len(sentences) if sentences else None,
    )


def _asked(sentence: Cited, texts: Mapping[str, str]) -> list[tuple[bool, Pair | None]]:
    known = [name for name in sentence.ids if name in texts]
    together = "\n\n".join(texts[name] for name in known)
    return [
        (True, Pair(together, sentence.text) if known else None),
        *((False, Pair(texts[name], sentence.text) if name in texts else None) for name in sentence.ids),
    ]
