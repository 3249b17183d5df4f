"""The embedded model: the real engine on the real weights where they are, a stand-in for its failures."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from mashq.errors import ConfigError
from mashq.gateway.backends import weights
from mashq.gateway.backends.llama import Llama, LlamaError, PromptTooLong

WEIGHTS = weights.find()
real = pytest.mark.skipif(WEIGHTS is None, reason="the weights of the embedded model are not on this machine")

QUESTION = {"role": "user", "content": "Name three colours of the rainbow."}
PASSAGE = (
    "The council of Harwick voted on Tuesday to close the town's only swimming pool. "
    "The pool, built in 1968, needs repairs of 4.2 million pounds. "
    "Seven councillors voted for closure and five against."
)


def request(**more: object) -> dict[str, object]:
    return {"messages": [QUESTION], "temperature": 0, "max_tokens": 24, **more}


def text(reply: dict[str, object]) -> str:
    return cast(Any, reply)["choices"][0]["message"]["content"]


@pytest.fixture(scope="module")
def llama() -> Iterator[Llama]:
    assert WEIGHTS is not None
    model = Llama(WEIGHTS, threads=1, n_ctx=1024)
    yield model
    model.close()


def in_another_process(code: str) -> subprocess.Popen[str]:
    script = f"from pathlib import Path\nfrom mashq.gateway.backends.llama import Llama\n{code}"
    return subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@real
def test_a_reply_has_text_and_usage_and_timings(llama: Llama) -> None:
    reply = cast(Any, llama.complete(request()))
    assert reply["choices"][0]["finish_reason"] == "length"
    assert reply["usage"]["completion_tokens"] == 24
    assert reply["usage"]["total_tokens"] == reply["usage"]["prompt_tokens"] + 24
    assert reply["timings"]["predicted_ms"] > 0


@real
def test_the_same_request_gets_the_same_text_whatever_the_seed_and_what_came_before(llama: Llama) -> None:
    first = llama.complete(request(seed=1, cache_prompt=True))
    llama.complete({"messages": [{"role": "user", "content": "Something else."}], "max_tokens": 4})
    again = llama.complete(request(seed=2, cache_prompt=True))
    assert text(first) == text(again)
    assert cast(Any, again)["usage"]["prompt_tokens_details"]["cached_tokens"] == 0


@real
def test_another_process_says_the_same_and_leaves_the_terminal_clean(llama: Llama) -> None:
    code = f"""
import json
model = Llama(Path({str(WEIGHTS)!r}), threads=1, n_ctx=1024)
print(json.dumps(model.complete({request()!r})))
"""
    child = in_another_process(code)
    out, err = child.communicate(timeout=60)
    assert (child.returncode, err) == (0, "")
    assert text(json.loads(out)) == text(llama.complete(request()))


@real
def test_threads_share_one_model_and_each_gets_its_own_reply(llama: Llama) -> None:
    replies: dict[int, dict[str, object]] = {}

    def ask(tokens: int) -> None:
        replies[tokens] = llama.complete(request(max_tokens=tokens))

    askers = [threading.Thread(target=ask, args=(tokens,)) for tokens in (3, 6, 9)]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join()
    assert {tokens: cast(Any, reply)["usage"]["completion_tokens"] for tokens, reply in replies.items()} == {
        3: 3,
        6: 6,
        9: 9,
    }


@real
def test_a_schema_with_a_longest_length_is_respected(llama: Llama) -> None:
    schema = {
        "type": "object",
        "properties": {"summary": {"type": "string", "maxLength": 80}},
        "required": ["summary"],
        "additionalProperties": False,
    }
    body = request(
        messages=[{"role": "user", "content": f"Write one short sentence that summarises this text.\n\n{PASSAGE}"}],
        max_tokens=160,
        response_format={"type": "json_schema", "json_schema": {"name": "summary", "schema": schema}},
    )
    reply = llama.complete(body)
    assert 0 < len(json.loads(text(reply))["summary"]) <= 80


@real
def test_a_prompt_longer_than_the_context_is_recognisable_and_the_model_lives_on(llama: Llama) -> None:
    with pytest.raises(PromptTooLong, match="the context holds 1024") as caught:
        llama.complete(request(messages=[{"role": "user", "content": "word " * 2000}]))
    assert caught.value.n_ctx == 1024
    assert caught.value.prompt_tokens > 2000
    assert caught.value.status == 400
    assert text(llama.complete(request()))


@real
@pytest.mark.parametrize(
    "wrong",
    [
        {"messages": "not a list"},
        {"max_tokens": "many"},
        {"n": 2},
        {"stream": True},
        {"response_format": {"type": "json_schema", "json_schema": {"schema": {"type": "banana"}}}},
        {"temperature": {1, 2}},
        {"temperature": float("nan")},
        {"messages": [{"role": "user", "content": "half a pair \ud800"}]},
    ],
)
def test_a_request_the_engine_cannot_take_is_a_refusal(llama: Llama, wrong: dict[str, object]) -> None:
    with pytest.raises(LlamaError) as caught:
        llama.complete(request(**wrong))
    assert caught.value.status == 400
    assert text(llama.complete(request()))


@real
def test_a_closed_model_loads_again() -> None:
    assert WEIGHTS is not None
    model = Llama(WEIGHTS, threads=1, n_ctx=512)
    before = model.complete(request())
    model.close()
    model.close()
    assert text(model.complete(request())) == text(before)
    model.close()


@real
def test_the_port_of_the_engine_answers_no_stranger() -> None:
    assert WEIGHTS is not None
    model = Llama(WEIGHTS, threads=1, n_ctx=512)
    model.complete(request())
    address = cast(Any, model)._engine.listening_address
    assert address.startswith("http://127.0.0.1:")
    ask = urllib.request.Request(
        f"{address}/v1/chat/completions", json.dumps(request()).encode(), {"Content-Type": "application/json"}
    )
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(ask, timeout=10)
    caught.value.close()
    assert caught.value.code == 401
    model.close()


@real
def test_an_interpreter_that_ends_under_a_call_does_so_in_order() -> None:
    code = f"""
import threading, time
model = Llama(Path({str(WEIGHTS)!r}), threads=1, n_ctx=1024)
model.complete({request(max_tokens=1)!r})
for _ in range(2):
    threading.Thread(target=model.complete, args=({request(max_tokens=60)!r},), daemon=True).start()
time.sleep(0.1)
"""
    child = in_another_process(code)
    _, err = child.communicate(timeout=60)
    assert (child.returncode, err) == (0, "")


@real
def test_a_killed_process_leaves_nothing_that_stops_the_next() -> None:
    code = f"""
model = Llama(Path({str(WEIGHTS)!r}), threads=1, n_ctx=1024)
model.complete({request(max_tokens=1)!r})
print("ready", flush=True)
model.complete({request(max_tokens=900)!r})
"""
    child = in_another_process(code)
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    os.kill(child.pid, signal.SIGKILL)
    child.communicate(timeout=30)
    assert child.returncode == -signal.SIGKILL
    after = in_another_process(code.split("print")[0])
    _, err = after.communicate(timeout=60)
    assert (after.returncode, err) == (0, "")


@real
def test_a_damaged_file_is_a_clear_error(tmp_path: Path) -> None:
    assert WEIGHTS is not None
    damaged = tmp_path / "damaged.gguf"
    with WEIGHTS.open("rb") as whole:
        damaged.write_bytes(whole.read(1 << 20))
    with pytest.raises(LlamaError, match=r"cannot load .*damaged\.gguf"):
        Llama(damaged, threads=1).complete(request())


def test_a_file_that_is_no_gguf_is_refused_before_anything_is_loaded(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read the model"):
        Llama(tmp_path / "missing.gguf", threads=1)
    other = tmp_path / "other.gguf"
    other.write_text("hello")
    with pytest.raises(ConfigError, match="is not a GGUF file"):
        Llama(other, threads=1)


@pytest.fixture
def stub_file(tmp_path: Path) -> Path:
    path = tmp_path / "stub.gguf"
    path.write_bytes(b"GGUF")
    return path


@pytest.mark.parametrize(("threads", "n_ctx"), [(0, 4096), (1, 0)])
def test_numbers_below_one_are_refused(stub_file: Path, threads: int, n_ctx: int) -> None:
    with pytest.raises(ConfigError, match="at least 1"):
        Llama(stub_file, threads=threads, n_ctx=n_ctx)


def test_a_missing_engine_names_the_extra(stub_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(ConfigError, match=r"pip install 'mashq\[local\]'"):
        Llama(stub_file, threads=1).complete(request())


def engine_that_answers(answer: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """An xllamacpp whose server returns the answer, or raises it."""

    class Server:
        def __init__(self, params: object) -> None:
            self.params = params

        def handle_chat_completions(self, body: dict[str, object]) -> object:
            assert body["cache_prompt"] is False
            if isinstance(answer, Exception):
                raise answer
            return answer

    def params() -> SimpleNamespace:
        return SimpleNamespace(
            model=SimpleNamespace(), cpuparams=SimpleNamespace(), cpuparams_batch=SimpleNamespace()
        )

    monkeypatch.setitem(sys.modules, "xllamacpp", SimpleNamespace(CommonParams=params, Server=Server))


@pytest.mark.parametrize(
    ("answer", "says", "status"),
    [
        (RuntimeError("out of luck"), "llama.cpp failed: out of luck", 500),
        (ValueError("no such role"), "refused the request: no such role", 400),
        (None, "gave no reply", 500),
        ({"error": {"code": 503, "message": "busy"}}, "refused the request: busy", 503),
        ({"error": "plain words"}, "refused the request: plain words", 500),
        ({"error": {"type": "exceed_context_size_error"}}, "0 tokens", 400),
    ],
)
def test_every_way_to_fail_is_a_llama_error(
    answer: object, says: str, status: int, stub_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine_that_answers(answer, monkeypatch)
    with pytest.raises(LlamaError, match=says) as caught:
        Llama(stub_file, threads=1).complete(request())
    assert caught.value.status == status
