"""The checks for extension authors accept what is right and name what is wrong."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from mashq.arena.context import RunContext
from mashq.arena.executors.base import Shown
from mashq.arena.executors.local import LocalExecutor
from mashq.config import PlayerConfig
from mashq.detectors.base import Pair, load
from mashq.export.base import Options as ExportOptions
from mashq.export.rows import Csv
from mashq.extensions import EXECUTORS, EXPORTS, PLAYERS, WIRES
from mashq.gateway.model import Failure, Model
from mashq.gateway.types import Message, Request, Usage
from mashq.gateway.wire.anthropic_messages import AnthropicMessages, AnthropicMessagesServed
from mashq.gateway.wire.base import Answered, Asked, Decoded, Options
from mashq.gateway.wire.openai_chat import ChunkReader, OpenAIChat, OpenAIChatServed
from mashq.players import prompts
from mashq.players.base import Draft
from mashq.players.registry import agent
from mashq.protocol import Answer, Decision, Observation, Rewrite
from mashq.runs.seasons import Fixture
from mashq.runs.writer import Run
from mashq.testing import check_detector, check_executor, check_export, check_player, check_wire


@pytest.mark.parametrize("name", PLAYERS.built_in)
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


@pytest.mark.parametrize("name", WIRES.built_in)
def test_our_own_wires_conform(name: str) -> None:
    check_wire(WIRES.create(name))


class Limitless(OpenAIChat):
    def encode(self, model: str, request: Request, options: Options) -> dict[str, object]:
        return {**super().encode(model, request, options), "max_tokens": 16}


class Raising(AnthropicMessages):
    def decode(self, document: object) -> Decoded:
        return super().decode({"content": document["content"]})  # pyright: ignore


class Free(OpenAIChat):
    def usage(self, document: object) -> Usage:
        found = super().usage(document)
        return found if found.raw else Usage(0, 0)


class Keyless(AnthropicMessages):
    def headers(self, key: str | None) -> dict[str, str]:
        return super().headers(None)


class Stubborn(OpenAIChatServed):
    def upstream(self, asked: Asked, model: str, limit: int | None, options: Options) -> bytes:
        return super().upstream(asked, asked.model, limit, options)


class Credulous(OpenAIChatServed):
    def reader(self, asked: Asked) -> ChunkReader:
        reader = super().reader(asked)
        reader.take(b"data: [DONE]\n\n")
        return reader


class Forgetful(AnthropicMessagesServed):
    def reply(self, answered: Answered) -> dict[str, object]:
        return {**super().reply(answered), "usage": {"input_tokens": 0, "output_tokens": 0}}


class Serving(OpenAIChat):
    def __init__(self, served: Any) -> None:
        self.served = served


class ServingMessages(AnthropicMessages):
    def __init__(self, served: Any) -> None:
        self.served = served


@pytest.mark.parametrize(
    ("wire", "sentence"),
    [
        (Limitless(), "output limit"),
        (Raising(), "decode of .* raised"),
        (Free(), "they are unknown, not 0"),
        (Keyless(), "do not hold the key"),
        (Serving(None), "needs an example"),
        (Serving(Stubborn()), "not to the configured one"),
        (Serving(Credulous()), "a stream that broke off"),
        (ServingMessages(Forgetful()), "the tokens in are not read"),
        (Serving(AnthropicMessagesServed()), "no route serves /chat/completions"),
    ],
)
def test_what_is_wrong_with_a_wire_is_named(wire: object, sentence: str) -> None:
    with pytest.raises(AssertionError, match=sentence):
        check_wire(wire)


def test_a_wire_that_is_not_served_is_checked_on_an_example() -> None:
    reply = {"choices": [{"message": {"content": "Yes."}, "finish_reason": "stop"}]}
    check_wire(Serving(None), reply, "Yes.")
    with pytest.raises(AssertionError, match=r"says 'No\.', and 'Yes\.' was read"):
        check_wire(Serving(None), reply, "No.")


@pytest.mark.parametrize("name", EXPORTS.built_in)
def test_our_own_exports_conform(name: str) -> None:
    check_export(EXPORTS.create(name))


class Lazy(Csv):
    def write(self, run: Path, out: Path | None, options: ExportOptions) -> list[str]:
        return []


class Changing(Csv):
    def write(self, run: Path, out: Path | None, options: ExportOptions) -> list[str]:
        notes = super().write(run, out, options)
        if out is not None:
            out.write_text(out.read_text() + out.name)
        return notes


class Careless(Csv):
    def write(self, run: Path, out: Path | None, options: ExportOptions) -> list[str]:
        return super().write(run, out, ExportOptions(options.what))


class Leaving(Csv):
    def write(self, run: Path, out: Path | None, options: ExportOptions) -> list[str]:
        if out is not None and out.parent.is_dir():
            out.write_text("begun")
        return super().write(run, out, options)


class Meddling(Csv):
    def write(self, run: Path, out: Path | None, options: ExportOptions) -> list[str]:
        (run / "exported").touch()
        return super().write(run, out, options)


@pytest.mark.parametrize(
    ("export", "sentence"),
    [
        (Lazy(), "made no results-1.csv"),
        (Changing(), "different bytes"),
        (Careless(), "a match that the run does not have must be a MashqError"),
        (Leaving(), "left a file behind"),
        (Meddling(), "changed the run"),
    ],
)
def test_what_is_wrong_with_an_export_is_named(export: object, sentence: str) -> None:
    with pytest.raises(AssertionError, match=sentence):
        check_export(export)


@pytest.mark.parametrize("name", ["local", "processes"])
async def test_our_own_executors_conform(name: str) -> None:
    await check_executor(EXECUTORS.create(name))


class Half(LocalExecutor):
    async def play(
        self,
        context: RunContext,
        stored: Run,
        fixtures: Sequence[Fixture],
        prompts: Mapping[str, Any],
        show: Shown | None,
    ) -> None:
        await super().play(context, stored, fixtures[:1], prompts, show)


class Silent(LocalExecutor):
    async def play(
        self,
        context: RunContext,
        stored: Run,
        fixtures: Sequence[Fixture],
        prompts: Mapping[str, Any],
        show: Shown | None,
    ) -> None:
        await super().play(context, stored, fixtures, prompts, None)


class Alike(LocalExecutor):
    async def play(
        self,
        context: RunContext,
        stored: Run,
        fixtures: Sequence[Fixture],
        prompts: Mapping[str, Any],
        show: Shown | None,
    ) -> None:
        same = [Fixture(fixture.id, fixture.position, fixture.config, 0) for fixture in fixtures]
        await super().play(context, stored, same, prompts, show)


@pytest.mark.parametrize(
    ("executor", "sentence"),
    [(Half(), "not played to their end"), (Silent(), "once for each match"), (Alike(), "results differ")],
)
async def test_what_is_wrong_with_an_executor_is_named(executor: object, sentence: str) -> None:
    with pytest.raises(AssertionError, match=sentence):
        await check_executor(executor)
