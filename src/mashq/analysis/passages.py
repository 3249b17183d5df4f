"""Analysis of answers over documents: with and without the answer in the passages, citations, and costs."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from mashq.analysis.parts import OPTIONAL
from mashq.detectors.base import Detector, Pair
from mashq.detectors.citations import Cited, cited
from mashq.detectors.exact_match import normalise
from mashq.detectors.pairs import pair_of
from mashq.protocol.items import Item

SUPPORTED = 0.5  # minimum H at which an answer or a sentence counts as supported
Place = Literal["first", "middle", "last", "not shown"]
K = TypeVar("K", int, Place)
PLACES: tuple[Place, ...] = ("first", "middle", "last", "not shown")


@dataclass(frozen=True, slots=True)
class Given:
    """A scored answer: `item` as in the data, `shown` as the player saw it; `text` is None if it was simulated."""

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
    """The note about abstentions that were detected by the phrase rule, or None."""
    return RULE.format(count=read, all=read + stated) if read else None


def player_view(
    name: str, given: Sequence[Given], costs: Mapping[str, float | None], detector: Detector, trials: int = 1
) -> PassagePlayer:
    """All figures of one player; `costs` are means over `trials` trials, `detector` checks citations."""
    supported = sum(answer.h >= SUPPORTED and not answer.abstained for answer in given)
    referenced = [
        answer for answer in given if answer.item.reference is not None and answer.item.answerable is not False
    ]
    drawn = any(answer.text is None for answer in given)
    return PassagePlayer(
        name=name,
        answerable=_part([answer for answer in given if answer.item.answerable is True]),
        unanswerable=_part([answer for answer in given if answer.item.answerable is False]),
        unknown=_part([answer for answer in given if answer.item.answerable is None]),
        supported=supported,
        cost_per_supported={
            key: None if cost is None or not supported else trials * cost / supported for key, cost in costs.items()
        },
        correct=None if drawn else sum(_is_correct(answer) for answer in referenced),
        referenced=len(referenced),
        citations=None if drawn else _citations(given, detector),
        by_count=[
            ByCount(passages=count, answers=part.answers, h=part.h, abstained=part.abstained)
            for count, part in _parts(given, lambda answer: len(answer.shown.passages))
        ],
        by_place=[
            ByPlace(place=place, answers=part.answers, h=part.h, abstained=part.abstained)
            for place, part in _parts(
                (answer for answer in given if evidence(answer.item)),
                lambda answer: _place(answer.item, answer.shown),
            )
        ],
    )


def evidence(item: Item) -> tuple[str, ...]:
    """The ids of the passages that hold the answer: those named in the data, else those containing the reference
    answer."""
    if item.evidence or item.reference is None or item.answerable is False:
        return item.evidence
    reference = f" {normalise(item.reference)} "
    return tuple(passage.id for passage in item.passages if reference in f" {normalise(passage.whole)} ")


def _place(item: Item, shown: Item) -> Place:
    evidence_ids = evidence(item)
    index = next((index for index, passage in enumerate(shown.passages) if passage.id in evidence_ids), None)
    if index is None:
        return "not shown"
    return "first" if index == 0 else "last" if index == len(shown.passages) - 1 else "middle"


def _part(given: Sequence[Given]) -> Part:
    count = len(given)
    mean = sum(answer.h for answer in given) / count if count else None
    return Part(answers=count, h=mean, abstained=sum(answer.abstained for answer in given))


def _parts(given: Iterable[Given], key: Callable[[Given], K]) -> list[tuple[K, Part]]:
    groups: dict[K, list[Given]] = {}
    for answer in given:
        groups.setdefault(key(answer), []).append(answer)
    order = sorted(groups, key=lambda name: PLACES.index(name) if isinstance(name, str) else name)
    return [(name, _part(groups[name])) for name in order]


def _is_correct(answer: Given) -> bool:
    pair = pair_of(answer.item, answer.text or "")
    return not answer.abstained and f" {normalise(pair.reference or '')} " in f" {normalise(pair.answer)} "


def _citations(given: Sequence[Given], detector: Detector) -> Citations:
    checks: list[tuple[bool, Pair | None]] = []  # (is it a whole sentence, the pair to check); None: unsupported
    for answer in given:
        texts = {passage.id: passage.whole for passage in answer.shown.passages}
        for sentence in [] if answer.abstained else cited(answer.text or "", texts):
            checks += _checks(sentence, texts)
    pairs = [pair for _, pair in checks if pair is not None]
    scores = dict(zip(pairs, detector.score(pairs), strict=True))
    outcomes = [(is_sentence, pair is not None and scores[pair] >= SUPPORTED) for is_sentence, pair in checks]
    citations, sentences = (
        [ok for is_sentence, ok in outcomes if not is_sentence],
        [ok for is_sentence, ok in outcomes if is_sentence],
    )
    return Citations(
        cited=len(citations),
        precision=sum(citations) / len(citations) if citations else None,
        sentences=len(sentences),
        recall=sum(sentences) / len(sentences) if sentences else None,
    )


def _checks(sentence: Cited, texts: Mapping[str, str]) -> list[tuple[bool, Pair | None]]:
    known = [name for name in sentence.ids if name in texts]
    joined = "\n\n".join(texts[name] for name in known)
    return [
        (True, Pair(joined, sentence.text) if known else None),
        *((False, Pair(texts[name], sentence.text) if name in texts else None) for name in sentence.ids),
    ]
