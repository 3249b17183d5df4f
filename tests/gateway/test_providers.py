"""The table of providers: complete, consistent, and nothing secret in it."""

from urllib.parse import urlsplit

import pytest

from mashq.gateway.profiles import profile_of
from mashq.gateway.providers import IN_PROCESS, PROVIDERS, UNLISTED


@pytest.mark.parametrize("name", PROVIDERS)
def test_a_row_can_be_used_as_it_is(name: str) -> None:
    row = PROVIDERS[name]
    parts = urlsplit(row.base_url)
    at_home = parts.hostname == "127.0.0.1"
    assert parts.scheme == ("http" if at_home else "https")
    assert not row.base_url.endswith("/")
    assert (row.key_env is None) == at_home
    assert row.key_env is None or row.key_env.endswith("_API_KEY")


def test_names_do_not_clash() -> None:
    assert not set(PROVIDERS) & set(IN_PROCESS)
    assert all("/" not in name and name == name.lower() for name in PROVIDERS)
    keys = [row.key_env for row in PROVIDERS.values() if row.key_env]
    assert len(set(keys)) == len(keys)


def test_an_unlisted_provider_gets_no_key_and_plain_requests() -> None:
    assert (UNLISTED.key_env, UNLISTED.wire) == (None, "openai")
    profile = profile_of("mine/some-model", "openai")
    assert (profile.json, profile.limit_field, profile.sent_limit, profile.seed) == ("none", "max_tokens", None, True)


def test_the_one_with_a_format_of_its_own() -> None:
    assert [name for name, row in PROVIDERS.items() if row.wire == "anthropic"] == ["anthropic"]
    assert profile_of("openai/gpt-4o", "openai").limit_field == "max_completion_tokens"


@pytest.mark.parametrize(
    ("provider", "model", "fixed"),
    [
        ("openai", "o1", True),
        ("openai", "o3-mini", True),
        ("openai", "o4-mini", True),
        ("openai", "gpt-5-nano", True),
        ("openai", "gpt-4o-mini", False),
        ("openai", "omni", False),
        ("openrouter", "o3-mini", False),
        ("anthropic", "claude-opus-4-6", False),
        ("anthropic", "claude-opus-4-7", True),
        ("anthropic", "claude-opus-5", True),
        ("anthropic", "claude-sonnet-4-5", False),
        ("anthropic", "claude-3-5-sonnet-20240620", False),
        ("anthropic", "claude-sonnet-5", True),
        ("anthropic", "claude-fable-5", True),
        ("openai", "gpt-5-chat-latest", False),
    ],
)
def test_models_that_take_no_temperature(provider: str, model: str, fixed: bool) -> None:
    assert profile_of(f"{provider}/{model}", "openai").temperature is not fixed
