"""`local/…`: a model in this process through llama.cpp, in a thread of its own."""

import asyncio
import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import cast

from mashq.gateway.backends.llama import Llama, LlamaError
from mashq.gateway.providers import LIMIT
from mashq.gateway.types import Call, Clock, Outcome, Request, Usage
from mashq.gateway.wire.openai_chat import OpenAIChat, Options

WIRE = OpenAIChat()
OPTIONS = Options(json="schema", extra={"cache_prompt": False})
CHARACTERS_A_TOKEN = 2.4


class LocalBackend:
    """One llama.cpp model; it answers one request at a time, always the same way at temperature 0."""

    durable = False
    simulated = False

    def __init__(self, llama: Llama, clock: Clock) -> None:
        self._llama, self._clock = llama, clock
        self._thread = ThreadPoolExecutor(1, "mashq-local")

    async def attempt(self, request: Request, call: Call) -> Outcome:
        """Run the model once; seconds are its own, not the wait for the thread."""
        if request.schema is not None:
            limit = LIMIT if request.max_tokens is None else request.max_tokens
            request = replace(request, schema=bounded(request.schema, int(limit * CHARACTERS_A_TOKEN)))
        body = WIRE.encode("local", request, OPTIONS)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._run, body)

    def _run(self, body: dict[str, object]) -> Outcome:
        started = self._clock.tick()
        try:
            reply = self._llama.complete(body)
        except LlamaError as error:
            seconds = self._clock.tick() - started
            return Outcome("missing", usage=Usage(0, 0, 0, 0), seconds=seconds, error=str(error))
        seconds = self._clock.tick() - started
        decoded = WIRE.decode(reply)
        if isinstance(decoded, str):
            return Outcome("missing", seconds=seconds, error=f"{decoded}: {json.dumps(reply)[:200]}")
        completion, usage = decoded
        return Outcome("refused" if completion.refused else "ok", completion, usage, seconds)

    async def close(self) -> None:
        """Let the thread end and free the model."""
        self._thread.shutdown(wait=True, cancel_futures=True)
        self._llama.close()


def bounded(schema: Mapping[str, object], longest: int) -> dict[str, object]:
    """The schema with its free strings limited, so that the object is closed before the tokens run out."""
    properties = cast(Mapping[str, Mapping[str, object]], schema.get("properties", {}))
    limited = {
        name: {**rule, "maxLength": longest} if rule.get("type") == "string" and "enum" not in rule else dict(rule)
        for name, rule in properties.items()
    }
    return {**schema, "properties": limited}
