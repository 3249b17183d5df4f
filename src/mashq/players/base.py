"""What a player is: one method that makes the move its observation asks for, and a spec of what it may do.

The arena scores the answer and adds what it cost; a player cannot state either. What an agent may do is declared
once, in the class attribute `spec`: plans, configuration checks, calibration and the documentation read it there. A
class without one is taken to be UNDECLARED. One that has a class method `configured(player, prompter)` is made by it,
any other without arguments.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from mashq.config import PlayerConfig
from mashq.errors import ConfigError
from mashq.gateway.model import Model
from mashq.protocol.moves import Answer, Decision, Rewrite
from mashq.protocol.rules import Turn
from mashq.protocol.state import Observation

Draft = Answer | Decision | Rewrite
Reviewing = Literal["never", "by decision", "in plays", "in a loop", "unseen"]


@dataclass(frozen=True, slots=True)
class Workload:
    """What a player has to do in a match and how it is set up; `reviews` is how many it makes per item."""

    items: int
    reviews: float
    max_reviews: int
    turn: Turn = "cycle"
    policy: str = "llm"
    n: int = 1

    @property
    def decisions(self) -> float:
        """How many decisions the rules ask for; in `single` the last one is `end`, if any review is left to end."""
        if self.turn == "cycle":
            return self.items
        return self.items * (1 + self.reviews) + (self.reviews < self.max_reviews)


@dataclass(frozen=True, slots=True)
class Calls:
    """Calls of a player in a match, by purpose."""

    answers: float
    decisions: float = 0
    reviews: float = 0

    @property
    def total(self) -> float:
        """All of them."""
        return self.answers + self.decisions + self.reviews

    def times(self, factor: float) -> "Calls":
        """So many times as many."""
        return Calls(self.answers * factor, self.decisions * factor, self.reviews * factor)


def answers_and_reviews(work: Workload) -> Calls:
    """The calls of an agent that asks once for each answer and each review, and decides for free."""
    return Calls(work.items, reviews=work.items * work.reviews)


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """What an agent declares about itself.

    about            one line for the documentation
    calls_per_item   the same of its calls
    calls            its calls when nothing goes wrong; None: its own affair, not known beforehand
    at_most          its calls when every item is reviewed R times and every reply is unusable; None: `calls` at R,
                     twice where it asks again. Attempts repeated by the retry policy come on top of either
    reviews          how it reviews: `by decision`, as the rules have it; within its own step, `in plays` that start
                     afresh or `in a loop` that goes on; `never`; or `unseen`, within a program that does not say
    asks_policy      whether `policy: llm` makes its decisions calls
    asks_again       whether a reply that is not the JSON asked for is asked for once more
    answers_alone    whether an answer depends on its item alone, so that under `ahead` it may be asked for early
    max_reviews      its own R where the player sets none; None: the R of the match
    settings         which settings of a player it uses, besides those that every player has; without `prompts` among
                     them its prompts are its own, and what they cost on a real model is not known beforehand
    answer_prompt    which of the prompts an answer is asked for with
    review_prompt    the same of a review
    check            raises ConfigError when a player's settings do not fit it
    simulated_as     the built-in agent that plays like it when a record is simulated; None: its steps are not those
                     of the protocol, and it is simulated as a plain player whose calls cost what its turns did
    external         whether it is a program of its own, on this machine, behind the metering endpoint
    """

    about: str
    calls_per_item: str = "its own"
    calls: Callable[[Workload], Calls] | None = None
    at_most: Callable[[Workload], Calls] | None = None
    reviews: Reviewing = "by decision"
    asks_policy: bool = False
    asks_again: bool = False
    answers_alone: bool = False
    max_reviews: int | None = None
    settings: frozenset[str] = frozenset()
    answer_prompt: str = "answer"
    review_prompt: str = "review"
    check: Callable[[PlayerConfig], None] | None = None
    simulated_as: str | None = None
    external: bool = False

    @property
    def asks(self) -> int:
        """How often one question is put at most."""
        return 2 if self.asks_again else 1

    def most(self, work: Workload, reviews: float | None = None) -> Calls | None:
        """The most calls it makes before the retry policy repeats any, with so many reviews per item, or R."""
        if self.at_most is not None:
            return self.at_most(work)
        if self.calls is None:
            return None
        return self.calls(replace(work, reviews=work.max_reviews if reviews is None else reviews)).times(self.asks)


UNDECLARED = AgentSpec("an agent of an installed package")
UNDECLARED_ALONE = replace(UNDECLARED, answers_alone=True)


class Player(Protocol):
    """A contestant."""

    async def move(self, seen: Observation, model: Model) -> Draft:
        """An Answer, a Decision or a Rewrite, as `seen.step` asks; `model` is the way to a model, and metered."""
        ...


def declared(agent: object) -> AgentSpec:
    """The spec of an agent, a class or one of its players. `answers_alone = True` may also stand by itself."""
    spec: object = getattr(agent, "spec", None)
    if isinstance(spec, AgentSpec):
        return spec
    if spec is not None:
        name = getattr(agent, "__name__", type(agent).__name__)
        raise ConfigError(f"the spec of the agent {name} is {type(spec).__name__}: make it a players.base.AgentSpec")
    return UNDECLARED_ALONE if getattr(agent, "answers_alone", False) else UNDECLARED


def rewrite(new: Answer) -> Rewrite:
    """An answer as the rewrite of an earlier one."""
    return Rewrite(
        new.status,
        new.text,
        new.h,
        new.plain,
        new.error,
        new.simulated,
        new.confidence,
        cut=new.cut,
        abstained=new.abstained,
    )


def on(seen: Observation, why: str) -> Decision:
    """Go on without asking anyone, or end when nothing is left."""
    return Decision("end" if seen.handled == seen.total else "continue", source="rule", reason=why)
