"""Items: the units of work that every player of a match answers."""

import hashlib
from dataclasses import dataclass, replace
from typing import Literal

PassageOrder = Literal["given", "reverse", "shuffle"]


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a document retrieved for a question; answers cite it by its id."""

    id: str
    text: str
    title: str = ""

    @property
    def whole(self) -> str:
        """Title and text together."""
        return f"{self.title}\n{self.text}" if self.title else self.text


@dataclass(frozen=True, slots=True)
class Item:
    """A passage to summarise, a question with its reference answer, or a question with passages to answer it from.

    `answerable` says whether the passages contain the answer (None: unknown) and `evidence` lists the ids of those
    that do.
    """

    id: str
    text: str
    reference: str | None = None
    passages: tuple[Passage, ...] = ()
    answerable: bool | None = None
    evidence: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        """The text an answer must be based on."""
        return "\n\n".join(passage.whole for passage in self.passages) if self.passages else self.text

    @property
    def shown(self) -> str:
        """The full text to read: a question together with its passages."""
        return "\n\n".join([self.text, *(f"[{passage.id}] {passage.whole}" for passage in self.passages)])


def known_score(item: Item, *, abstained: bool, abstention: float) -> float | None:
    """The judge's score where it does not depend on the text: for abstentions and for answers to unanswerable
    questions.

    An abstention scores 1 if the passages do not contain the answer, otherwise (including unknown) `abstention`.
    """
    if not item.passages:
        return None
    if abstained:
        return 1.0 if item.answerable is False else abstention
    return 0.0 if item.answerable is False else None


def attempts(item: Item, *, abstained: bool) -> bool | None:
    """Whether an answer deals with its question: it is no abstention, or one where the passages do not contain the
    answer. None for an item without passages, where abstentions are not recorded."""
    return (not abstained or item.answerable is False) if item.passages else None


@dataclass(frozen=True, slots=True)
class Selection:
    """Which passages of an item a player is shown, and in which order: the first `limit`, as many as fit in `length`
    characters (at least one)."""

    limit: int | None = None
    length: int | None = None
    order: PassageOrder = "given"

    def of(self, item: Item, seed: int = 0) -> Item:
        """The item as a player sees it: nothing in it reveals whether there is an answer, or which."""
        if not item.passages:
            return item
        kept = list(item.passages[: self.limit])
        if self.length is not None:
            while len(kept) > 1 and sum(len(passage.whole) for passage in kept) > self.length:
                kept.pop()
        if self.order == "reverse":
            kept.reverse()
        elif self.order == "shuffle":
            kept.sort(key=lambda passage: hashlib.sha256(f"{seed}/{item.id}/{passage.id}".encode()).digest())
        return replace(item, passages=tuple(kept), reference=None, answerable=None, evidence=())
