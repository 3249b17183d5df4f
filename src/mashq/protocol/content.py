"""What answers carry, beside whether it is true: their length, their coverage of the source, what they copy.

    adequacy = min(1, coverage / target) * brevity

multiplies H where `score.h` is `adequate`: saying less than the target counts for less, and saying more than it for
no more. The target is declared, or it is what the first three sentences of the item carry (in proportion less where
these are longer than a summary may be). Up to a stated share of its source an answer is as brief as need be; beyond
it brevity falls in a straight line to 0 at the length of the source, where an answer is a copy. Both factors are in
[0, 1]; the first never falls with coverage, and the second never rises with length.

Where the task is to answer questions there is nothing to shorten: coverage is 1 for an answer that attempts its
question and 0 for one that does not, and adequacy is the same.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Floats = NDArray[np.float64]

ANSWERS = ("words", "words_first", "coverage", "coverage_first", "copied")
LEADS = {
    "lead-1": 1,
    "lead-3": 3,
    "copy": None,
}  # the floors with a text, and how many sentences of the source it has
SILENCE = "silence"
OF_FLOOR = ("h", "coverage", "words")
TARGET, WHOLE = "lead-3", "copy"
SHORT = 30  # words that an answer may have, however short its source is
LONGEST = 0.5  # of the source's words: what is longer is on its way to a copy


@dataclass(frozen=True, slots=True, eq=False)
class Contents:
    """What the answers of some results carry: arrays of players x units, NaN where it is not known; and of each floor
    the same by unit. Questions have no floors. `h` and `h_first` are there where the results hold adequate scores:
    the judge's own."""

    answers: Mapping[str, Array]
    floors: Mapping[str, Mapping[str, Array]]

    def take(self, rows: Any = slice(None), units: Any = slice(None)) -> "Contents":
        """Some players and units of it."""
        return Contents(
            {name: values[rows][:, units] for name, values in self.answers.items()},
            {name: {of: values[units] for of, values in own.items()} for name, own in self.floors.items()},
        )

    def adequacy(self, words: Array, coverage: Array, target: float | None, longest: float) -> Floats:
        """What H is multiplied by; NaN where the length or the coverage is not known."""
        if not self.floors:
            return np.asarray(coverage, dtype=np.float64)
        source = self.floors[WHOLE]["words"]
        allowed = np.maximum(SHORT, longest * source)
        wanted = self._target(allowed) if target is None else np.full(len(source), target)
        reached = np.divide(coverage, wanted, out=np.ones(np.shape(coverage)), where=wanted > 0)
        over = np.maximum(source - allowed, 1e-9)
        brief = np.where(source > allowed, np.clip((source - words) / over, 0.0, 1.0), 1.0)
        return np.where(np.isnan(coverage), np.nan, np.minimum(reached, 1.0)) * np.where(
            np.isnan(words), np.nan, brief
        )

    def _target(self, allowed: Array) -> Array:
        lead = self.floors[TARGET]
        return lead["coverage"] * np.minimum(1.0, allowed / np.maximum(lead["words"], 1.0))
