"""Dollars: from the configuration, from genai-prices, or unknown; never a guess."""

import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mashq.gateway.prices import Rate, context_of, fixed, listed
from mashq.gateway.providers import PROVIDERS
from mashq.gateway.types import Count, Details, Usage
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


def test_written_audio_and_searched_have_prices_of_their_own() -> None:
    claude = listed("anthropic", "claude-sonnet-4-5")
    assert claude is not None
    plain = claude.of_usage(Usage(10_000, 1000, 0))
    assert plain == pytest.approx(0.03 + 0.015) == claude.cost(10_000, 1000, 0)
    written = Usage(10_000, 1000, 2000, details=Details(written=4000, written_hour=1000))
    assert claude.of_usage(written) == pytest.approx((4000 * 3 + 2000 * 0.3 + 3000 * 3.75 + 1000 * 6) / 1e6 + 0.015)
    assert claude.of_usage(Usage(10_000, 1000, 0, details=Details(searches=3))) == pytest.approx(0.045 + 0.03)
    assert claude.of_usage(Usage(UNKNOWN, 1000, 0, details=Details(written=5))) is UNKNOWN
    audio = listed("gemini", "gemini-2.5-flash")
    assert audio is not None
    dear, cheap = audio.of_usage(Usage(1000, 0, details=Details(audio_in=1000))), audio.of_usage(Usage(1000, 0))
    assert isinstance(dear, float) and isinstance(cheap, float) and dear > 2 * cheap


def test_another_models_share_has_that_models_price() -> None:
    claude = listed("anthropic", "claude-sonnet-4-5")
    assert claude is not None
    advice = Usage(2000, 100, 0)
    opus = listed("anthropic", "claude-opus-4-5")
    assert opus is not None
    whole = Usage(5000, 300, 0, details=Details(elsewhere=(("claude-opus-4-5", advice),)))
    parts = opus.of_usage(advice), claude.of_usage(Usage(3000, 200, 0))
    assert isinstance(parts[0], float) and isinstance(parts[1], float)
    assert claude.of_usage(whole) == pytest.approx(parts[0] + parts[1])
    nobody = Usage(5000, 300, 0, details=Details(elsewhere=(("no-such-model-at-all", advice),)))
    assert claude.of_usage(nobody) == claude.of_usage(Usage(5000, 300, 0)), "at this model's price, then"


def test_long_contexts_cost_more() -> None:
    gemini = listed("gemini", "gemini-2.5-pro")
    assert gemini is not None
    assert gemini.cost(100_000, 1000, 0) == pytest.approx(0.135)
    assert gemini.cost(300_000, 1000, 0) == pytest.approx(0.765)


def test_the_worst_fills_a_cache_where_that_is_dearer() -> None:
    claude, mini = listed("anthropic", "claude-opus-4-5"), listed("openai", "gpt-4o-mini")
    assert claude is not None and mini is not None
    assert claude.worst(1000, 100) == pytest.approx(claude.plain(2000, 100))
    assert mini.worst(1000, 100) == pytest.approx(mini.plain(1000, 100))
    assert fixed(1, 2).worst(1000, 100) == fixed(1, 2).plain(1000, 100)


def test_how_much_a_model_reads() -> None:
    assert (context_of("anthropic/claude-sonnet-4-5"), context_of("my/model")) == (200_000, 1_048_576)
