"""Items: the units of work every player of a match answers."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Item:
    """A passage to summarise, or a question with its reference answer."""

    id: str
    text: str
    reference: str | None = None
