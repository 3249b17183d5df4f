"""A GGUF model in this process, by way of llama.cpp.

Contract:

- `Llama` answers OpenAI-shaped chat requests, one at a time and in the caller's thread: `complete` blocks.
  The model is loaded by the first call, not by the constructor, which only looks at the file.
- The same request at temperature 0 gets the same text: one slot, a fixed number of threads, no prompt cache.
- The engine prints nothing, and the interpreter waits at exit for a call under way. The engine insists on a
  loopback port of its own; that port answers no question, because it asks for a key told to no one.
- A request that the engine refuses is a `LlamaError` (`PromptTooLong` when the prompt does not fit in the
  context). A path that is no GGUF file, or a missing engine, is a `ConfigError`.
"""

from __future__ import annotations

import importlib
import json
import secrets
import weakref
from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import Any, Protocol, cast

from mashq.bounds import file_at
from mashq.errors import ConfigError

__all__ = ["Llama", "LlamaError", "PromptTooLong"]

_MAGIC = b"GGUF"
_QUIET = -1
_NO_CACHE: Mapping[str, object] = {"cache_prompt": False}


class LlamaError(Exception):
    """The engine would not answer; `status` is what an HTTP server would have said (4xx: the request)."""

    def __init__(self, message: str, status: int = 500) -> None:
        super().__init__(message)
        self.status = status


class PromptTooLong(LlamaError):
    """The prompt has more tokens than the context has room for."""

    def __init__(self, prompt_tokens: int, n_ctx: int) -> None:
        super().__init__(f"the prompt has {prompt_tokens} tokens and the context holds {n_ctx}", status=400)
        self.prompt_tokens = prompt_tokens
        self.n_ctx = n_ctx


class Llama:
    """One model, one slot. Safe to call from several threads, which then wait for each other."""

    def __init__(self, path: Path, *, threads: int, n_ctx: int = 4096) -> None:
        if threads < 1 or n_ctx < 1:
            raise ConfigError(f"threads and n_ctx must be at least 1, not {threads} and {n_ctx}")
        _check_file(path)
        self._path = path
        self._threads = threads
        self._n_ctx = n_ctx
        self._lock = Lock()
        self._engine: _Engine | None = None
        # The engine crashes when the interpreter ends under a running call, as a daemon thread lets it:
        # at exit, let that call finish and start no other.
        weakref.finalize(self, self._lock.acquire)

    def complete(self, body: Mapping[str, object]) -> dict[str, object]:
        """The reply to an OpenAI-shaped chat request, with `usage` and `timings`."""
        if body.get("stream"):
            raise LlamaError("the embedded model does not stream; ask for the whole reply", status=400)
        with self._lock:
            return _ask(self._loaded(), {**body, **_NO_CACHE})

    def load(self) -> None:
        """Load the model now, so that a file it cannot read is known before the first call."""
        with self._lock:
            self._loaded()

    def _loaded(self) -> _Engine:
        if self._engine is None:
            self._engine = _load(self._path, threads=self._threads, n_ctx=self._n_ctx)
        return self._engine

    def close(self) -> None:
        """Give the memory back; a later call loads the model again."""
        with self._lock:
            self._engine = None


class _Engine(Protocol):
    """The one method of xllamacpp's `Server` that is used here."""

    def handle_chat_completions(self, body: dict[str, object], /) -> object: ...


def _check_file(path: Path) -> None:
    try:
        with file_at(path) as file:
            magic = file.read(len(_MAGIC))
    except OSError as error:
        raise ConfigError(f"cannot read the model {path} ({error.strerror}); give a GGUF file") from error
    if magic != _MAGIC:
        raise ConfigError(f"{path} is not a GGUF file; llama.cpp reads no other format")


def _load(path: Path, *, threads: int, n_ctx: int) -> _Engine:
    """The only place that knows xllamacpp, which has no types."""
    try:
        xllamacpp: Any = importlib.import_module("xllamacpp")
    except ImportError as error:
        raise ConfigError("the embedded model needs the extra: pip install 'mashq[local]'") from error
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.verbosity = _QUIET
    params.n_ctx = n_ctx
    # Same text every time: one slot, fixed threads, processor only, nothing kept from earlier prompts,
    # and no shrinking of the context to the memory that happens to be free.
    params.n_parallel = 1
    params.cpuparams.n_threads = threads
    params.cpuparams_batch.n_threads = threads
    params.n_gpu_layers = 0
    params.cache_prompt = False
    params.cache_ram_mib = 0
    params.fit_params = False
    # The port cannot be turned off, so nobody gets the key to it.
    params.api_keys = [secrets.token_urlsafe(32)]
    params.n_threads_http = 1
    params.ui = False
    try:
        return cast(_Engine, xllamacpp.Server(params))
    except (RuntimeError, ValueError) as error:
        raise LlamaError(f"llama.cpp cannot load {path}: the file is damaged or of an unknown kind") from error


def _ask(engine: _Engine, body: dict[str, object]) -> dict[str, object]:
    try:
        # The engine calls broken Unicode and NaN a failure of its own; they are the caller's.
        json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
        reply = engine.handle_chat_completions(body)
    except (ValueError, TypeError) as error:
        raise LlamaError(f"llama.cpp refused the request: {error}", status=400) from error
    except RuntimeError as error:
        raise LlamaError(f"llama.cpp failed: {error}") from error
    if not isinstance(reply, dict):
        raise LlamaError(f"llama.cpp gave no reply but {reply!r}")
    answer = cast(dict[str, object], reply)
    if "error" in answer:
        raise _refusal(answer["error"])
    return answer


def _refusal(error: object) -> LlamaError:
    """The engine's error object, as an exception."""
    fields = cast(dict[str, object], error) if isinstance(error, dict) else {"message": error}
    if fields.get("type") == "exceed_context_size_error":
        return PromptTooLong(_integer(fields.get("n_prompt_tokens")), _integer(fields.get("n_ctx")))
    return LlamaError(
        f"llama.cpp refused the request: {fields.get('message')}", status=_integer(fields.get("code"), 500)
    )


def _integer(value: object, otherwise: int = 0) -> int:
    return value if isinstance(value, int) else otherwise
