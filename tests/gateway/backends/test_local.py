"""The embedded model behind the gateway: one at a time, its own seconds, and a schema that fits in the tokens."""

import asyncio
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mashq.gateway.backends.llama import Llama, LlamaError, PromptTooLong
from mashq.gateway.backends.local import LocalBackend, bounded
from mashq.gateway.types import Completion, Outcome, Usage
from mashq.protocol.resources import UNKNOWN
from tests.gateway.fakes import CALL, FakeClock, asked

GOOD: dict[str, object] = {
    "choices": [{"message": {"content": "yes"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11},
}


class Engine:
    """Answers with what it was given, two seconds later."""

    def __init__(self, answer: dict[str, object] | Exception, clock: FakeClock) -> None:
        self.answer, self.clock = answer, clock
        self.bodies: list[Mapping[str, object]] = []
        self.threads: set[str] = set()
        self.alone = threading.Lock()
        self.closed = False

    def complete(self, body: Mapping[str, object]) -> dict[str, object]:
        assert self.alone.acquire(blocking=False), "two requests at once"
        self.bodies.append(body)
        self.threads.add(threading.current_thread().name)
        time.sleep(0.005)
        self.clock.time += 2.0
        self.alone.release()
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def close(self) -> None:
        self.closed = True


def made(answer: dict[str, object] | Exception = GOOD) -> tuple[LocalBackend, Engine]:
    clock = FakeClock()
    engine = Engine(answer, clock)
    return LocalBackend(cast(Llama, engine), clock), engine


async def test_a_reply_has_its_text_its_tokens_and_its_own_seconds() -> None:
    backend, engine = made()
    outcome = await backend.attempt(asked("Hi"), CALL)
    assert (outcome.kind, outcome.completion, outcome.seconds) == ("ok", Completion("yes", "stop"), 2.0)
    assert (outcome.usage.tokens_in, outcome.usage.tokens_out) == (9, 2)
    (body,) = engine.bodies
    assert body["messages"] == [{"role": "user", "content": "Hi"}]
    assert (body["cache_prompt"], body["seed"], "response_format" in body) == (False, 11, False)
    assert (backend.durable, backend.simulated) == (False, False)
    await backend.close()


async def test_requests_wait_for_one_thread_and_the_wait_is_nobodys_service() -> None:
    backend, engine = made()
    outcomes = await asyncio.gather(*(backend.attempt(asked(), CALL) for _ in range(8)))
    assert [outcome.seconds for outcome in outcomes] == [2.0] * 8
    assert len(engine.threads) == 1
    assert threading.current_thread().name not in engine.threads
    await backend.close()


async def test_a_schema_is_sent_with_bounded_strings() -> None:
    backend, engine = made()
    schema = {"type": "object", "properties": {"summary": {"type": "string"}}}
    await backend.attempt(asked(schema=schema), CALL)
    sent = cast(Any, engine.bodies[0])["response_format"]["json_schema"]["schema"]
    assert sent["properties"]["summary"] == {"type": "string", "maxLength": int(64 * 2.4)}
    assert schema["properties"] == {"summary": {"type": "string"}}
    await backend.close()


async def test_an_engine_that_refuses_is_a_failure_that_cost_no_tokens() -> None:
    for error in (LlamaError("out of luck"), PromptTooLong(5000, 4096)):
        backend, _ = made(error)
        outcome = await backend.attempt(asked(), CALL)
        assert outcome == Outcome("missing", usage=Usage(0, 0, 0, 0), seconds=2.0, error=str(error))
        await backend.close()


async def test_a_reply_that_is_none_is_a_failure_of_unknown_cost() -> None:
    backend, _ = made({"choices": []})
    outcome = await backend.attempt(asked(), CALL)
    assert (outcome.kind, outcome.usage, outcome.seconds) == ("missing", Usage(), 2.0)
    assert outcome.error == 'the reply has no choices: {"choices": []}'
    await backend.close()


async def test_an_empty_reply_is_a_refusal() -> None:
    backend, _ = made({"choices": [{"message": {"content": ""}, "finish_reason": "stop"}]})
    outcome = await backend.attempt(asked(), CALL)
    assert (outcome.kind, outcome.usage.tokens_in) == ("refused", UNKNOWN)
    await backend.close()


async def test_closing_frees_the_model() -> None:
    backend, engine = made()
    await backend.close()
    assert engine.closed


def test_a_model_is_loaded_when_told_and_only_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loads: list[object] = []

    class Server:
        def __init__(self, params: object) -> None:
            loads.append(params)

        def handle_chat_completions(self, body: dict[str, object]) -> object:
            return GOOD

    def params() -> SimpleNamespace:
        return SimpleNamespace(
            model=SimpleNamespace(), cpuparams=SimpleNamespace(), cpuparams_batch=SimpleNamespace()
        )

    monkeypatch.setitem(sys.modules, "xllamacpp", SimpleNamespace(CommonParams=params, Server=Server))
    file = tmp_path / "stub.gguf"
    file.write_bytes(b"GGUF")
    llama = Llama(file, threads=1)
    assert loads == []
    llama.load()
    llama.load()
    assert llama.complete({"messages": []}) == GOOD
    assert len(loads) == 1


def test_only_free_strings_are_bounded_and_the_rest_is_kept() -> None:
    schema: dict[str, object] = {
        "type": "object",
        "properties": {
            "summary": {"type": "string", "description": "short", "maxLength": 9},
            "choice": {"type": "string", "enum": ["a", "b"]},
            "score": {"type": "number"},
            "id": {"type": ["string", "null"]},
        },
        "required": ["summary"],
    }
    assert bounded(schema, 20) == {
        "type": "object",
        "properties": {
            "summary": {"type": "string", "description": "short", "maxLength": 20},
            "choice": {"type": "string", "enum": ["a", "b"]},
            "score": {"type": "number"},
            "id": {"type": ["string", "null"]},
        },
        "required": ["summary"],
    }
    assert bounded({"type": "object"}, 5) == {"type": "object", "properties": {}}


@given(st.dictionaries(st.text(max_size=5), st.fixed_dictionaries({"type": st.sampled_from(["string", "integer"])})))
def test_bounding_changes_no_schema_in_place(properties: dict[str, dict[str, str]]) -> None:
    before = {name: dict(rule) for name, rule in properties.items()}
    found = cast(Any, bounded({"properties": properties}, 7))["properties"]
    assert properties == before
    assert {name for name, rule in found.items() if rule.get("maxLength") == 7} == {
        name for name, rule in before.items() if rule["type"] == "string"
    }
