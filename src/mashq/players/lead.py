"""`lead`: the first sentences of the source, or all of it, without any model: a baseline that every summariser should
beat."""

from typing import Self

from mashq.config import PlayerConfig
from mashq.gateway.model import Model
from mashq.players.base import AgentSpec, Calls, Draft, on
from mashq.players.prompting import Prompter
from mashq.protocol.moves import Answer
from mashq.protocol.state import Observation
from mashq.protocol.texts import first_sentences


class Lead:
    """Repeats the first `n` sentences of its source; `None` means all of it."""

    spec = AgentSpec(
        "the first `n` sentences of the source (3 unless set, or `all`); calls no model and needs no `model`",
        "0",
        calls=lambda work: Calls(0),
        reviews="never",
        answers_alone=True,
        max_reviews=0,
        settings=frozenset({"n"}),
        takes_all=True,
    )

    def __init__(self, sentences: int | None) -> None:
        self._sentences = sentences

    @classmethod
    def configured(cls, player: PlayerConfig, _prompter: Prompter) -> Self:
        """Create it from a player's settings."""
        return cls(player.n if isinstance(player.n, int) else None)

    async def move(self, seen: Observation, model: Model) -> Draft:
        """Return the beginning of the source, or continue."""
        if seen.step == "decide" or seen.item is None:
            return on(seen, "it repeats its source and never reviews")
        text = seen.item.text if self._sentences is None else first_sentences(seen.item.text, self._sentences)
        return Answer("ok", text) if text.strip() else Answer("refused", error="the source has no sentence")
