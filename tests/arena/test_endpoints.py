"""Models ready to be asked: keys, limits and prices from the configuration."""

from typing import Any

import pytest

from mashq.arena.endpoints import Endpoints, Facilities
from mashq.config import check
from mashq.gateway.clock import RealClock


def endpoints(models: dict[str, Any], **environment: str) -> Endpoints:
    players = [{"name": name, "model": name} for name in models]
    return Endpoints(check({"players": players, "models": models}), RealClock(), 0, Facilities(environment))


def key(made: Endpoints, name: str) -> str | None:
    """What a request of this model would carry as its key."""
    backend: Any = made[name].backend
    return backend._own.headers.get("Authorization")


def test_a_providers_key_is_never_sent_to_another_base_url() -> None:
    models: dict[str, Any] = {
        "openai/a": {},
        "openai/b": {"base_url": "http://elsewhere.test/v1"},
        "openai/c": {"base_url": "http://elsewhere.test/v1", "api_key_env": "MINE"},
    }
    made = endpoints(models, OPENAI_API_KEY="sk-theirs", MINE="sk-mine")
    assert [key(made, name) for name in models] == ["Bearer sk-theirs", None, "Bearer sk-mine"]


def test_models_at_one_base_url_share_the_smallest_limits() -> None:
    models: dict[str, Any] = {
        "my/a": {"base_url": "http://here.test/v1", "concurrency": 8},
        "my/b": {"base_url": "http://here.test/v1/", "concurrency": 2, "requests_per_minute": 6},
        "my/c": {"base_url": "http://there.test/v1", "concurrency": 5},
    }
    made = endpoints(models)
    one, two, three = (made[name].limiter for name in models)
    assert one is two and one is not three
    assert (one._slots._value, one._gap) == (2, 10.0)  # pyright: ignore[reportPrivateUsage]
    assert three._slots._value == 5  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize(
    ("model", "settings", "temperature"),
    [
        ("my/a", {}, 0.0),
        ("my/a", {"temperature": None}, None),
        ("openai/gpt-5", {}, None),
        ("openai/o3", {"temperature": 1.0}, 1.0),
    ],
)
def test_temperature_is_0_unless_said_or_refused(
    model: str, settings: dict[str, Any], temperature: float | None
) -> None:
    made = endpoints({model: {"base_url": "http://here.test/v1", **settings}})
    assert made[model].temperature == temperature


def test_prices_come_from_the_configuration_first() -> None:
    made = endpoints(
        {"openai/gpt-4o-mini": {"price": {"input": 7, "output": 9}}, "openai/gpt-4o": {}}, OPENAI_API_KEY="k"
    )
    assert "config: $7" in made.described()["openai/gpt-4o-mini"]["price"]
    assert "genai-prices" in made.described()["openai/gpt-4o"]["price"]
