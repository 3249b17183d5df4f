"""Dollars: from the configuration, from genai-prices, or unknown; never a guess."""

import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mashq.gateway.prices import Rate, fixed, listed
from mashq.gateway.providers import PROVIDERS
from mashq.gateway.types import Count
from mashq.protocol.resources import UNKNOWN

tokens = st.integers(0, 10**7)


def test_a_fixed_price_counts_each_million() -> None:
    price = fixed(3.0, 15.0)
    assert price.cost(1_000_000, 0, 0) == 3.0
    assert price.cost(0, 1_000_000, 0) == 15.0
    assert price.cost(2000, 100, UNKNOWN) == pytest.approx(0.0075)
    assert price.label == "config: $3 in, $15 out per million tokens"


def test_cached_tokens_cost_their_own_rate_and_no_other() -> None:
    price = fixed(3.0, 15.0, 0.3)
    assert price.cost(1_000_000, 0, 400_000) == pytest.approx(0.6 * 3 + 0.4 * 0.3)
    assert price.cost(1_000_000, 0, UNKNOWN) == 3.0
    assert price.label == "config: $3 in, $15 out, $0.3 cached per million tokens"


def test_a_free_cache_is_not_a_cache_without_a_price() -> None:
    assert fixed(3.0, 15.0, 0.0).cost(10, 0, 10) == 0.0
    assert fixed(3.0, 15.0).cost(1_000_000, 0, 1_000_000) == 3.0


def test_more_cached_than_read_is_at_most_all_of_it() -> None:
    assert fixed(3.0, 15.0, 0.3).cost(1_000_000, 0, 9_000_000) == pytest.approx(0.3)


@pytest.mark.parametrize(("tokens_in", "tokens_out"), [(UNKNOWN, 5), (5, UNKNOWN), (UNKNOWN, UNKNOWN)])
def test_unknown_tokens_have_an_unknown_price(tokens_in: Count, tokens_out: Count) -> None:
    assert fixed(3.0, 15.0).cost(tokens_in, tokens_out, 0) is UNKNOWN
    free = Rate("free", lambda i, o, c: 0.0)
    assert free.cost(tokens_in, tokens_out, 0) is UNKNOWN


@given(tokens, tokens, tokens)
def test_a_price_lies_between_nothing_and_no_cache_at_all(tokens_in: int, tokens_out: int, cached: int) -> None:
    price = fixed(3.0, 15.0, 0.3)
    cost, most = price.of(tokens_in, tokens_out, min(cached, tokens_in)), price.of(tokens_in, tokens_out, 0)
    assert cost == price.cost(tokens_in, tokens_out, cached)
    assert 0 <= cost <= most + 1e-9


def test_a_listed_price_is_that_of_the_table() -> None:
    price = listed("openai", "gpt-4o-mini")
    assert price is not None
    assert price.label.startswith("genai-prices ")
    assert "$0.15/input MTok" in price.label
    assert price.cost(1_000_000, 0, 0) == pytest.approx(0.15)
    assert price.cost(0, 1_000_000, 0) == pytest.approx(0.60)
    assert price.cost(1_000_000, 0, 400_000) == pytest.approx(0.6 * 0.15 + 0.4 * 0.075)
    assert price.cost(1000, 0, 5000) == pytest.approx(1000 * 0.075e-6)
    assert price.cost(0, 0, 0) == 0.0


@pytest.mark.parametrize(
    ("provider", "model"),
    [
        ("anthropic", "claude-3-5-haiku-latest"),
        ("gemini", "gemini-2.0-flash"),
        ("deepseek", "deepseek-chat"),
        ("xai", "grok-3"),
        ("mistral", "mistral-small-latest"),
        ("groq", "llama-3.3-70b-versatile"),
        ("openrouter", "openai/gpt-4o-mini"),
        ("together", "meta-llama/Llama-3.3-70B-Instruct-Turbo"),
    ],
)
def test_our_names_of_providers_are_found_in_the_table(provider: str, model: str) -> None:
    assert provider in PROVIDERS
    price = listed(provider, model)
    assert price is not None
    dollars = price.cost(1000, 1000, 0)
    assert isinstance(dollars, float)
    assert dollars > 0


@pytest.mark.parametrize(
    ("provider", "model"),
    [("openai", "no-such-model"), ("mine", "gpt-4o-mini"), ("ollama", "gpt-4o-mini"), ("vllm", "m")],
)
def test_what_is_not_listed_has_no_price(provider: str, model: str) -> None:
    assert listed(provider, model) is None


def test_pricing_an_attempt_warns_nobody() -> None:
    price = listed("groq", "llama-3.3-70b-versatile")
    assert price is not None
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        price.of(1000, 10, 500)
    assert heard == []
