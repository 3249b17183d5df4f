"""Many items in bundles: what resampling draws where single items would be too many.

More than MAX_ITEMS items are dealt at random, once, into BUNDLES bundles of equal size, and resamples draw bundles.
A mean over items is a mean over bundles too, and bundles of independent items are independent, so what is resampled
has the same spread; that spread is known to one part in sqrt(2 x BUNDLES), 2.2%. Standard errors do not come from
here but from all items.
"""

from dataclasses import replace

import numpy as np

from mashq.protocol.results import Floats
from mashq.protocol.score import ScoreRules, View

MAX_ITEMS = 20_000
BUNDLES = 1000


def told(items: int) -> list[str]:
    """The sentence that says so, where it is so."""
    if items <= MAX_ITEMS:
        return []
    return [
        f"More than {MAX_ITEMS:,} items: resamples draw {BUNDLES:,} random bundles of about "
        f"{items / BUNDLES:.0f} items each, not single items; standard errors are of all items."
    ]


def bundled(parts: Floats, seed: int) -> Floats:
    """Parts by item (rows x items) as parts by bundle, with the same mean; as they are where items are few."""
    count = parts.shape[1]
    return parts if count <= MAX_ITEMS else _sums(parts, seed) * (BUNDLES / count)


def bundled_view(seen: View, rules: ScoreRules, seed: int) -> tuple[View, ScoreRules]:
    """The same view with bundles for items, and the rules that score it the same; as they are where items are few."""
    count = len(seen.items)
    if count <= MAX_ITEMS:
        return seen, rules
    h_counts, cost_counts = _sums(seen.h_counts, seed), _sums(seen.cost_counts, seed)
    view = View(
        tuple(f"bundle {at}" for at in range(BUNDLES)),
        _mean(seen.h, seen.h_counts, h_counts, seed),
        h_counts,
        {name: _mean(values, seen.cost_counts, cost_counts, seed) for name, values in seen.costs.items()},
        cost_counts,
    )
    if rules.reference is None or rules.per_item:
        return view, rules
    return view, replace(rules, reference={name: all_ * BUNDLES / count for name, all_ in rules.reference.items()})


def _mean(values: Floats, counts: Floats, total: Floats, seed: int) -> Floats:
    return np.divide(_sums(values * counts, seed), total, out=np.zeros_like(total), where=total > 0)


def _sums(values: Floats, seed: int) -> Floats:
    """Sums over the items of each bundle; the same seed deals the same bundles."""
    count = values.shape[1]
    order = np.random.default_rng([seed, count]).permutation(count)
    return np.add.reduceat(values[:, order], np.arange(BUNDLES) * count // BUNDLES, axis=1)
