"""What a player is: one method that makes the move its observation asks for.

The arena scores the answer and adds what it cost; a player cannot state either. A player whose answers depend on
nothing but the item may say so with a class attribute `answers_alone = True`: under `ahead` its next answers are then
asked for before their rounds.
"""

from typing import Protocol

from mashq.gateway.model import Model
from mashq.protocol.moves import Answer, Decision, Rewrite
from mashq.protocol.state import Observation

Draft = Answer | Decision | Rewrite


class Player(Protocol):
    """A contestant."""

    async def move(self, seen: Observation, model: Model) -> Draft:
        """An Answer, a Decision or a Rewrite, as `seen.step` asks; `model` is the way to a model, and metered."""
        ...


def rewrite(new: Answer) -> Rewrite:
    """An answer as the rewrite of an earlier one."""
    return Rewrite(new.status, new.text, new.h, new.plain, new.error, new.simulated, new.confidence)


def on(seen: Observation, why: str) -> Decision:
    """Go on without asking anyone, or end when nothing is left."""
    return Decision("end" if seen.handled == seen.total else "continue", source="rule", reason=why)
