"""Frozen values with some fields changed."""

from dataclasses import dataclass, fields, replace

import pytest

from mashq.protocol.frozen import changed
from mashq.protocol.moves import Answer
from mashq.protocol.resources import Amount, Spend
from mashq.protocol.state import ItemState


@dataclass(frozen=True)
class Loose:
    """One that keeps its fields in a dictionary."""

    a: int = 0


@dataclass(frozen=True, slots=True)
class Particular:
    """One that checks its fields."""

    a: int = 0

    def __post_init__(self) -> None:
        assert self.a >= 0


def test_it_does_what_the_library_does() -> None:
    answer = Answer("ok", "text", 0.5, spend=Spend.of(calls=2, seconds=Amount(1.5, 2)))
    assert changed(answer) == answer and changed(answer) is not answer
    for field in fields(answer):
        assert changed(answer, **{field.name: "other"}) == replace(answer, **{field.name: "other"})
    assert changed(ItemState(), h=0.25, reviews=3) == ItemState(h=0.25, reviews=3)
    assert answer == Answer("ok", "text", 0.5, spend=Spend.of(calls=2, seconds=Amount(1.5, 2)))


def test_what_it_cannot_do_it_refuses() -> None:
    with pytest.raises(KeyError):
        changed(ItemState(), nothing=1)
    with pytest.raises(TypeError, match="Loose is not a plain slotted"):
        changed(Loose(), a=1)
    with pytest.raises(TypeError, match="Particular"):
        changed(Particular(), a=-1)
