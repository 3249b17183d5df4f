"""What a player is: one method that makes the move its observation asks for, and a spec that declares what it may do.

The arena scores the answer and adds its cost; a player cannot state either. What an agent may do is declared once, in
the class attribute `spec`, which plans, configuration checks, calibration and the documentation read. A class without
one is treated as UNDECLARED. A class with a class method `configured(player, prompter)` is created by it, any other
without arguments.
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
    """What a player has to do in a match and how it is configured; `reviews` is the number it makes per item."""

    items: int
    reviews: float
    max_reviews: int
    turn: Turn = "cycle"
    policy: str = "llm"
    n: int = 1

    @property
    def decisions(self) -> float:
        """How many decisions the rules ask for; with turn `single` the last one is `end`, if reviews are left."""
        if self.turn == "cycle":
            return self.items
        return self.items * (1 + self.reviews) + (self.reviews < self.max_reviews)


@dataclass(frozen=True, slots=True)
class Calls:
    """A player's calls in a match, by purpose."""

    answers: float
    decisions: float = 0
    reviews: float = 0

    @property
    def total(self) -> float:
        """All calls."""
        return self.answers + self.decisions + self.reviews

    def times(self, factor: float) -> "Calls":
        """The calls multiplied by a factor."""
        return Calls(self.answers * factor, self.decisions * factor, self.reviews * factor)


def answers_and_reviews(work: Workload) -> Calls:
    """The calls of an agent that asks once for each answer and each review, and decides for free."""
    return Calls(work.items, reviews=work.items * work.reviews)


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """What an agent declares about itself.

    about            one line for the documentation
    calls_per_item   the number of calls per item, for the documentation
    calls            its calls when nothing goes wrong; None: not known in advance
    at_most          its calls when every item is reviewed R times and every reply is unusable; None: `calls` at R,
                     doubled if it asks again. Attempts repeated by the retry policy are not included in either
    reviews          how it reviews: `by decision`, as the rules define it; within its own step, `in plays` that start
                     afresh or `in a loop` that continues; `never`; or `unseen`, in a program that does not report it
    asks_policy      whether `policy: llm` turns its decisions into calls
    asks_again       whether it asks once more when a reply is not the JSON asked for
    answers_alone    whether an answer depends on its item alone, so that it may be requested early under `ahead`
    max_reviews      its own R if the player sets none; None: the R of the match
    settings         the player settings it uses, besides those that every player has; without `prompts` among them it
                     uses its own prompts, whose cost on a real model is not known in advance
    takes_all        whether its `n` may be `all`
    answer_prompt    the name of the prompt that asks for an answer
    review_prompt    the name of the prompt that asks for a review
    check            raises ConfigError if a player's settings do not fit it
    simulated_as     the built-in agent that plays like it when a record is simulated; None: its steps are not those
                     of the protocol, and it is simulated as a plain player whose calls cost what its turns did
    external         whether it is a separate program on this machine, behind the metering endpoint
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
    takes_all: bool = False
    answer_prompt: str = "answer"
    review_prompt: str = "review"
    check: Callable[[PlayerConfig], None] | None = None
    simulated_as: str | None = None
    external: bool = False

    @property
    def asks(self) -> int:
        """How many times one question is asked at most."""
        return 2 if self.asks_again else 1

    def most(self, work: Workload, reviews: float | None = None) -> Calls | None:
        """The maximum number of calls before any retries, with the given number of reviews per item, or R."""
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
        """Return an Answer, a Decision or a Rewrite, as `seen.step` asks; `model` gives metered access to a model."""
        ...


def declared(agent: object) -> AgentSpec:
    """The spec of an agent class or instance. `answers_alone = True` may also be declared without a spec."""
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
    """Continue without asking a model, or end when nothing is left."""
    return Decision("end" if seen.handled == seen.total else "continue", source="rule", reason=why)
