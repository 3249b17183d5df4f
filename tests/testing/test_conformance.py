"""The checks for extension authors accept what is right and name what is wrong."""

from collections.abc import Sequence

import pytest

from mashq.config import PlayerConfig
from mashq.detectors.base import Pair, load
from mashq.gateway.model import Failure, Model
from mashq.gateway.types import Message
from mashq.players import prompts
from mashq.players.base import Draft
from mashq.players.registry import OURS, agent
from mashq.protocol import Answer, Decision, Observation, Rewrite
from mashq.testing import check_detector, check_player


@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize("task", ["summarise", "qa"])
async def test_our_own_players_conform(name: str, task: str) -> None:
    config = PlayerConfig.model_validate(
        {"name": "x", "model": "m/x", "agent": name, "to": "m/y" if name == "escalate" else None}
    )
    await check_player(agent(config, prompts.load(task=task)))


class FirstSentence:
    """The player of the documentation."""

    async def move(self, seen: Observation, model: Model) -> Draft:
        if seen.step == "decide" or seen.item is None:
            return Decision("continue", source="rule")
        reply = await model.ask([Message("user", f"In one sentence: {seen.item.text}")])
        kind = Answer if seen.step == "answer" else Rewrite
        if isinstance(reply, Failure):
            return kind("failed", error=reply.error)
        return kind("refused" if reply.refused else "ok", reply.text)


async def test_the_documented_player_conforms() -> None:
    await check_player(FirstSentence())


class Deaf(FirstSentence):
    async def move(self, seen: Observation, model: Model) -> Draft:
        return Answer("ok", "always the same")


class Mute(FirstSentence):
    async def move(self, seen: Observation, model: Model) -> Draft:
        return Answer("ok", "") if seen.step == "answer" else await super().move(seen, model)


@pytest.mark.parametrize(
    ("player", "sentence"), [(Deaf(), "asked to decide"), (Mute(), "needs text"), (3, "async method")]
)
async def test_what_is_wrong_with_a_player_is_named(player: object, sentence: str) -> None:
    with pytest.raises(AssertionError, match=sentence):
        await check_player(player)


class Fixed:
    name, version = "fixed", "1"

    def __init__(self, h: float) -> None:
        self.h = h

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        return [self.h] * len(pairs)


class Ordered(Fixed):
    def score(self, pairs: Sequence[Pair]) -> list[float]:
        return [at / 100 for at in range(len(pairs))]


@pytest.mark.parametrize("name", ["grounding", "exact-match", "simpleqa"])
def test_our_own_detectors_conform(name: str) -> None:
    check_detector(load(name))


@pytest.mark.parametrize(("detector", "sentence"), [(Fixed(1.5), "not a score"), (Ordered(0), "order of the pairs")])
def test_what_is_wrong_with_a_detector_is_named(detector: object, sentence: str) -> None:
    with pytest.raises(AssertionError, match=sentence):
        check_detector(detector)
