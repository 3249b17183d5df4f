"""Bundles of items, which resampling draws if there are too many single items.

More than MAX_ITEMS items are dealt at random, once, into BUNDLES bundles of equal size, and resamples draw bundles. A
mean over items is also a mean over bundles, and bundles of independent items are independent, so the resampled values
have the same spread; that spread is known to one part in sqrt(2 x BUNDLES), 2.2%. Standard errors do not use bundles
but all items.
"""

from dataclasses import replace

import numpy as np

from mashq.protocol.results import Floats
from mashq.protocol.score import ScoreRules, View

MAX_ITEMS = 20_000
BUNDLES = 1000


def told(items: int) -> list[str]:
    """The note that bundles are used, as a list; empty if they are not."""
    if items <= MAX_ITEMS:
        return []
    return [
        f"More than {MAX_ITEMS:,} items: resamples draw {BUNDLES:,} random bundles of about "
        f"{items / BUNDLES:.0f} items each, not single items; standard errors are of all items."
    ]


def bundled(parts: Floats, seed: int) -> Floats:
    """Values by item (rows x items) as values by bundle, with the same mean; unchanged if items are few."""
    count = parts.shape[1]
    return parts if count <= MAX_ITEMS else _sums(parts, seed) * (BUNDLES / count)


def bundled_view(item_view: View, rules: ScoreRules, seed: int) -> tuple[View, ScoreRules]:
    """The same view with bundles as items, and rules that score it identically; unchanged if items are few."""
    count = len(item_view.items)
    if count <= MAX_ITEMS:
        return item_view, rules
    h_counts, cost_counts = _sums(item_view.h_counts, seed), _sums(item_view.cost_counts, seed)
    bundles = View(
        tuple(f"bundle {index}" for index in range(BUNDLES)),
        _mean(item_view.h, item_view.h_counts, h_counts, seed),
        h_counts,
        {name: _mean(values, item_view.cost_counts, cost_counts, seed) for name, values in item_view.costs.items()},
        cost_counts,
    )
    if rules.reference is None or rules.per_item:
        return bundles, rules
    return bundles, replace(
        rules, reference={name: total * BUNDLES / count for name, total in rules.reference.items()}
    )


def _mean(values: Floats, counts: Floats, total: Floats, seed: int) -> Floats:
    return np.divide(_sums(values * counts, seed), total, out=np.zeros_like(total), where=total > 0)


def _sums(values: Floats, seed: int) -> Floats:
    """Sums over the items of each bundle; the same seed gives the same bundles."""
    count = values.shape[1]
    order = np.random.default_rng([seed, count]).permutation(count)
    return np.add.reduceat(values[:, order], np.arange(BUNDLES) * count // BUNDLES, axis=1)
