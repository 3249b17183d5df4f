"""Whatever stands in a configuration or an override: a Config or one sentence, never another exception."""

import json
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mashq import config
from mashq.config import Config
from mashq.errors import ConfigError

CALM = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture]
SMALL = settings(max_examples=120, deadline=None, derandomize=True, database=None, suppress_health_check=CALM)
VALID: dict[str, Any] = {
    "task": {"kind": "summarise", "data": "x.jsonl", "limit": 3},
    "players": [
        {"name": "A", "model": "openai/gpt-4o-mini", "T": 0.5, "budget": {"dollars": 2.0}},
        {"name": "B", "model": "my/x", "agent": "external", "command": ["true"], "order": "rotate 2"},
    ],
    "detector": "grounding",
    "rules": {"T": 0.85, "R": 3, "vision": {"when": "review", "show": ["tokens"]}, "budget": {"calls": 9}},
    "score": {"alpha": 1.0, "beta": 0.1, "resources": ["tokens", "calls"], "weights": {"tokens": 2.0}},
    "models": {
        "my/x": {"base_url": "http://h/v1", "extra": {"a": [1]}, "headers": {"X-A": "b"}, "retry": {"base": 1}}
    },
    "seed": 1,
}
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats()
    | st.text(max_size=12)
    | st.sampled_from(
        ["\ud800", "http://[", "http://u:p@h", "rotate 99999999999999999999", "\x00", "1e999", "é" * 90]
    )
)
KEYS = st.sampled_from([*Config.model_fields, "T", "R", "name", "model", "my/x", "base_url", "0", "", "a.b"])
ANY = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS | st.text(max_size=6), inner, max_size=4),
    max_leaves=15,
)
YAML = st.text(
    st.sampled_from(list("{}[]:,-&*!?|>'\"%@`#\n\t ax01.é\ud800\x00\u2028")) | st.characters(), max_size=60
)


def clear(error: ConfigError, named: str) -> None:
    """The sentence is one, and says where."""
    assert len(str(error)) > 8 and named in str(error), str(error)


def read(text: str, *overrides: str) -> Config | None:
    """The configuration, or None when it is refused in one sentence."""
    try:
        found = config.parse(text, "x.yaml", overrides)
    except ConfigError as error:
        clear(error, "")
        return None
    assert config.check(found.model_dump(mode="json")) == found
    json.dumps(found.model_dump(mode="json"), allow_nan=False, ensure_ascii=False).encode()  # as a manifest keeps it
    return found


@SMALL
@given(YAML)
def test_any_text(text: str) -> None:
    read(text)


@SMALL
@given(st.binary(max_size=80))
def test_any_bytes(tmp_path_factory: Any, data: bytes) -> None:
    path: Path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_bytes(data)
    try:
        config.load(path)
    except ConfigError as error:
        clear(error, str(path))


@SMALL
@given(ANY)
def test_any_document(document: object) -> None:
    read(json.dumps(document))


@SMALL
@given(st.data())
def test_a_valid_one_with_something_else_in_it(data: st.DataObject) -> None:
    document = json.loads(json.dumps(VALID))
    here: Any = document
    while True:
        keys: list[Any] = sorted(here) if hasattr(here, "keys") else list(range(len(here)))
        key = data.draw(st.sampled_from(keys))
        inner: Any = here[key]
        if not hasattr(inner, "__len__") or isinstance(inner, str) or not inner or data.draw(st.booleans()):
            here[key] = data.draw(ANY)
            break
        here = inner
    read(json.dumps(document))


@SMALL
@given(
    st.sampled_from(
        ["rules.T", "players", "players.0", "players.9.name", "models.my/x.extra", "a..b", ".", "seed", ""]
    )
    | st.text(max_size=10),
    YAML | ANY.map(json.dumps),
)
def test_any_override(path: str, value: str) -> None:
    read(json.dumps(VALID), f"{path}={value}", f"{path}.x={value}")
    try:
        config.values_of(f"{path}={value}")
    except ConfigError as error:
        clear(error, "--over")


def test_the_valid_one_is_valid() -> None:
    assert read(json.dumps(VALID)) is not None


def test_aliases_cannot_blow_up() -> None:
    """Ten levels of ten aliases each would be ten thousand million values."""
    levels = [f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 10 if n else ['x'] * 10)}]" for n in range(10)]
    assert read("\n".join(levels)) is None


def test_depth_is_no_crash() -> None:
    for text in ("[" * 1500, "{a: " * 500, "- " * 500, "? " * 500, "!!x " * 500, "a: " + "'" * 9999):
        assert read(text) is None
