"""What tokens cost in dollars: from the configuration, else from genai-prices, else unknown."""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass

from mashq.gateway.types import PLAIN, Count, Measure, Usage
from mashq.gateway.untrusted import some
from mashq.protocol.resources import UNKNOWN, Unknown

MILLION = 1_000_000
LONGEST = 1_048_576
PROVIDER_IDS = {"gemini": "google", "xai": "x-ai"}


@dataclass(frozen=True, slots=True)
class Rate:
    """What a model's tokens come to, in dollars or another rated resource: `label` says where the rate is from,
    `of(tokens_in, tokens_out, cached)` gives the cost, `parts` that of a usage with parts that have prices of their
    own."""

    label: str
    of: Callable[[int, int, int], float]
    parts: Callable[[Usage, int, int], float] | None = None
    dearest: Callable[[int, int], float] | None = None
    row: tuple[float, float, float] | None = None  # dollars a million tokens in, out and cached; None: it has tiers

    def cost(self, tokens_in: Count, tokens_out: Count, cached: Count) -> Measure:
        """What one attempt comes to, unknown when its tokens are."""
        if isinstance(tokens_in, Unknown) or isinstance(tokens_out, Unknown):
            return UNKNOWN
        read = 0 if isinstance(cached, Unknown) else min(cached, tokens_in)
        return self.of(tokens_in, tokens_out, read)

    def of_usage(self, usage: Usage) -> Measure:
        """The same with what was written to a cache, audio, searches and other models' tokens at their own prices."""
        known = isinstance(usage.tokens_in, int) and isinstance(usage.tokens_out, int)
        if not known or self.parts is None or usage.details is PLAIN or usage.details == PLAIN:
            return self.cost(usage.tokens_in, usage.tokens_out, usage.cached)
        assert isinstance(usage.tokens_in, int) and isinstance(usage.tokens_out, int)
        return self.parts(usage, usage.tokens_in, usage.tokens_out)

    def plain(self, tokens_in: int, tokens_out: int) -> float:
        """What so many tokens come to, none of them cached."""
        return self.of(tokens_in, tokens_out, 0)

    def worst(self, tokens_in: int, tokens_out: int) -> float:
        """The most that so many tokens can come to: with all the input written to a cache, where that is dearer."""
        return self.plain(tokens_in, tokens_out) if self.dearest is None else self.dearest(tokens_in, tokens_out)


def fixed(dollars_in: float, dollars_out: float, dollars_cached: float | None = None) -> Rate:
    """A price given in the configuration, in dollars a million tokens."""
    cached_rate = dollars_in if dollars_cached is None else dollars_cached

    def of(tokens_in: int, tokens_out: int, cached: int) -> float:
        return ((tokens_in - cached) * dollars_in + cached * cached_rate + tokens_out * dollars_out) / 1e6

    cache = "" if dollars_cached is None else f", ${dollars_cached:g} cached"
    return Rate(
        f"config: ${dollars_in:g} in, ${dollars_out:g} out{cache} per million tokens",
        of,
        row=(dollars_in, dollars_out, cached_rate),
    )


def energy(joules_in: float, joules_out: float) -> Rate:
    """The energy of a model as the configuration states it, in joules per million tokens."""

    def of(tokens_in: int, tokens_out: int, _cached: int) -> float:
        return (tokens_in * joules_in + tokens_out * joules_out) / 1e6

    return Rate(f"config: {joules_in:g} J in, {joules_out:g} J out per million tokens", of)


def listed(provider: str, model: str) -> Rate | None:
    """The price genai-prices lists for a model, or None when it lists none."""
    from genai_prices import Usage as Priced  # not at import: its table takes 20 ms to load
    from genai_prices import calc_price

    known_as = PROVIDER_IDS.get(provider, provider)

    def price(**counts: int) -> float:
        stated = {name: number for name, number in counts.items() if number}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return float(calc_price(Priced(**stated), model_ref=model, provider_id=known_as).total_price)

    def of(tokens_in: int, tokens_out: int, cached: int) -> float:
        return price(input_tokens=tokens_in, output_tokens=tokens_out, cache_read_tokens=cached)

    def parts(usage: Usage, tokens_in: int, tokens_out: int) -> float:
        total, read, details = 0.0, some(usage.cached), usage.details
        written, hour = details.written, details.written_hour
        for name, other in details.elsewhere:
            own = listed(provider, name)
            cost = UNKNOWN if own is None else own.of_usage(other)
            if isinstance(cost, Unknown):
                continue  # at this model's price, then: better than nothing, and told by the raw usage
            total += cost
            tokens_in, tokens_out = tokens_in - some(other.tokens_in), tokens_out - some(other.tokens_out)
            read, written = read - some(other.cached), written - other.details.written
            hour -= other.details.written_hour
        return total + price(
            input_tokens=tokens_in,
            output_tokens=tokens_out,
            cache_read_tokens=min(read, tokens_in - written),
            cache_write_tokens=written,
            cache_write_1h_tokens=hour,
            input_audio_tokens=details.audio_in,
            output_audio_tokens=details.audio_out,
            web_searches=details.searches,
        )

    try:
        sample = calc_price(Priced(input_tokens=1, output_tokens=1), model_ref=model, provider_id=known_as)
    except LookupError:
        return None
    units = _by_unit(of)

    def written(tokens_in: int, tokens_out: int) -> float:
        filled = price(
            input_tokens=tokens_in,
            output_tokens=tokens_out,
            cache_write_tokens=tokens_in,
            cache_write_1h_tokens=tokens_in,
        )
        return max(filled, of(tokens_in, tokens_out, 0))

    from importlib.metadata import version  # slow to import, and only the table's prices name theirs

    label = f"genai-prices {version('genai-prices')}: {sample.model_price}"
    if units is None:
        return Rate(label, of, parts, written)
    per_in, per_out = written(MILLION, 0), written(0, MILLION)
    row = of(MILLION, 0, 0), of(0, MILLION, 0), of(MILLION, 0, MILLION)
    return Rate(label, units, parts, lambda into, out: (into * per_in + out * per_out) / MILLION, row)


def context_of(name: str) -> int:
    """The most tokens that a model can read, as genai-prices lists it; a million and more where it does not say."""
    from genai_prices import Usage as Priced
    from genai_prices import calc_price

    provider, _, model = name.partition("/")
    try:
        found = calc_price(Priced(), model_ref=model, provider_id=PROVIDER_IDS.get(provider, provider))
    except LookupError:
        return LONGEST
    return found.model.context_window or LONGEST


def listed_rates(provider: str, model: str) -> dict[str, Rate]:
    """The rates that are known of a model without being declared, by resource."""
    price = listed(provider, model)
    return {} if price is None else {"dollars": price}


def _by_unit(of: Callable[[int, int, int], float]) -> Callable[[int, int, int], float] | None:
    """The same price from three unit prices, looked up once; None where it has tiers."""
    per_in, per_out, per_cached = of(MILLION, 0, 0), of(0, MILLION, 0), of(MILLION, 0, MILLION)

    def units(tokens_in: int, tokens_out: int, cached: int) -> float:
        return ((tokens_in - cached) * per_in + cached * per_cached + tokens_out * per_out) / MILLION

    for size in (1, 1000, 130_000, 210_000, 270_000, 1_100_000, 5_000_000):
        for parts in ((size, size, 0), (size, 7, size // 2)):
            if not math.isclose(of(*parts), units(*parts), rel_tol=1e-9, abs_tol=1e-12):
                return None
    return units
