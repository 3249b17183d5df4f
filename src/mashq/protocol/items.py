"""Items: the units of work every player of a match answers."""

import hashlib
from dataclasses import dataclass, replace
from typing import Literal

PassageOrder = Literal["given", "reverse", "shuffle"]


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a document that was retrieved for a question; its id is what an answer cites."""

    id: str
    text: str
    title: str = ""

    @property
    def whole(self) -> str:
        """Its title and its text."""
        return f"{self.title}\n{self.text}" if self.title else self.text


@dataclass(frozen=True, slots=True)
class Item:
    """A passage to summarise, a question with its reference answer, or a question with passages to answer it from.

    `answerable` says whether the passages hold the answer (None: nobody knows) and `evidence` names those that do.
    """

    id: str
    text: str
    reference: str | None = None
    passages: tuple[Passage, ...] = ()
    answerable: bool | None = None
    evidence: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        """What an answer has to rest on."""
        return "\n\n".join(passage.whole for passage in self.passages) if self.passages else self.text

    @property
    def shown(self) -> str:
        """All that there is to read: a question comes with its passages."""
        return "\n\n".join([self.text, *(f"[{passage.id}] {passage.whole}" for passage in self.passages)])


def known_score(item: Item, *, abstained: bool, abstention: float) -> float | None:
    """What the judge says of an answer without reading it: of an abstention, and of an answer where there is none.

    An abstention is worth 1 where the passages do not hold the answer, else (nobody knows included) `abstention`.
    """
    if not item.passages:
        return None
    if abstained:
        return 1.0 if item.answerable is False else abstention
    return 0.0 if item.answerable is False else None


@dataclass(frozen=True, slots=True)
class Selection:
    """Which passages of an item a player is shown: the first `limit`, as many as `length` characters hold (one at
    least), in an order."""

    limit: int | None = None
    length: int | None = None
    order: PassageOrder = "given"

    def of(self, item: Item, seed: int = 0) -> Item:
        """The item as a player sees it: nothing in it tells whether there is an answer, or which."""
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
