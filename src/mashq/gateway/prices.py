"""What tokens cost in dollars: from the configuration, else from genai-prices, else unknown."""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version

from mashq.gateway.types import Count, Measure
from mashq.protocol.resources import UNKNOWN, Unknown

PROVIDER_IDS = {"gemini": "google", "xai": "x-ai"}


@dataclass(frozen=True, slots=True)
class Rate:
    """What a model's tokens come to, in dollars or another rated resource: `label` says where the rate is from,
    `of(tokens_in, tokens_out, cached)` gives the cost."""

    label: str
    of: Callable[[int, int, int], float]

    def cost(self, tokens_in: Count, tokens_out: Count, cached: Count) -> Measure:
        """What one attempt comes to, unknown when its tokens are."""
        if isinstance(tokens_in, Unknown) or isinstance(tokens_out, Unknown):
            return UNKNOWN
        read = 0 if isinstance(cached, Unknown) else min(cached, tokens_in)
        return self.of(tokens_in, tokens_out, read)


def fixed(dollars_in: float, dollars_out: float, dollars_cached: float | None = None) -> Rate:
    """A price given in the configuration, in dollars a million tokens."""
    cached_rate = dollars_in if dollars_cached is None else dollars_cached

    def of(tokens_in: int, tokens_out: int, cached: int) -> float:
        return ((tokens_in - cached) * dollars_in + cached * cached_rate + tokens_out * dollars_out) / 1e6

    cache = "" if dollars_cached is None else f", ${dollars_cached:g} cached"
    return Rate(f"config: ${dollars_in:g} in, ${dollars_out:g} out{cache} per million tokens", of)


def energy(joules_in: float, joules_out: float) -> Rate:
    """The energy of a model as the configuration states it, in joules per million tokens."""

    def of(tokens_in: int, tokens_out: int, _cached: int) -> float:
        return (tokens_in * joules_in + tokens_out * joules_out) / 1e6

    return Rate(f"config: {joules_in:g} J in, {joules_out:g} J out per million tokens", of)


def listed(provider: str, model: str) -> Rate | None:
    """The price genai-prices lists for a model, or None when it lists none."""
    from genai_prices import Usage, calc_price  # not at import: its table takes 20 ms to load

    known_as = PROVIDER_IDS.get(provider, provider)

    def of(tokens_in: int, tokens_out: int, cached: int) -> float:
        usage = Usage(input_tokens=tokens_in, output_tokens=tokens_out, cache_read_tokens=cached or None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return float(calc_price(usage, model_ref=model, provider_id=known_as).total_price)

    try:
        sample = calc_price(Usage(input_tokens=1, output_tokens=1), model_ref=model, provider_id=known_as)
    except LookupError:
        return None
    return Rate(f"genai-prices {version('genai-prices')}: {sample.model_price}", _by_unit(of) or of)


def listed_rates(provider: str, model: str) -> dict[str, Rate]:
    """The rates that are known of a model without being declared, by resource."""
    price = listed(provider, model)
    return {} if price is None else {"dollars": price}


def _by_unit(of: Callable[[int, int, int], float]) -> Callable[[int, int, int], float] | None:
    """The same price from three unit prices, looked up once; None where it has tiers."""
    million = 1_000_000
    per_in, per_out, per_cached = of(million, 0, 0), of(0, million, 0), of(million, 0, million)

    def units(tokens_in: int, tokens_out: int, cached: int) -> float:
        return ((tokens_in - cached) * per_in + cached * per_cached + tokens_out * per_out) / million

    for size in (1, 1000, 130_000, 210_000, 270_000, 1_100_000, 5_000_000):
        for parts in ((size, size, 0), (size, 7, size // 2)):
            if not math.isclose(of(*parts), units(*parts), rel_tol=1e-9, abs_tol=1e-12):
                return None
    return units
