"""What answers contain, apart from whether it is true: their length, their coverage of the source, and what they
copy.

    adequacy = min(1, coverage / target) * brevity

multiplies H when `score.h` is `adequate`: covering less than the target scores lower, and covering more does not
score higher. The target is either declared or what the first three sentences of the item cover (reduced
proportionally if they are longer than a summary may be). Brevity is 1 up to a stated share of the source's length;
beyond that it falls linearly to 0 at the length of the source, where an answer is a copy. Both factors are in [0, 1];
the first never decreases with coverage, and the second never increases with length.

When the task is to answer questions there is nothing to shorten: coverage is 1 for an answer that attempts its
question, or rightly says that its passages do not contain the answer, and 0 for one that does not, and adequacy is
the same.
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
}  # floors that have a text, and how many sentences of the source it has
SILENCE = "silence"
OF_FLOOR = ("h", "coverage", "words")
TARGET, WHOLE = "lead-3", "copy"
SHORT = 30  # words that an answer may always have, however short its source is
LONGEST = 0.5  # share of the source's words; a longer answer is penalised as approaching a copy


@dataclass(frozen=True, slots=True, eq=False)
class Contents:
    """What the answers of some results contain: arrays of players x units, NaN where unknown; and the same per unit
    for each floor. Questions have no floors. `h` and `h_first` are present when the results hold adequate scores:
    they are the judge's original scores.
    """

    answers: Mapping[str, Array]
    floors: Mapping[str, Mapping[str, Array]]

    def take(self, rows: Any = slice(None), units: Any = slice(None)) -> "Contents":
        """A selection of players and units."""
        return Contents(
            {name: values[rows][:, units] for name, values in self.answers.items()},
            {name: {key: values[units] for key, values in floor.items()} for name, floor in self.floors.items()},
        )

    def adequacy(self, words: Array, coverage: Array, target: float | None, longest: float) -> Floats:
        """The factor that H is multiplied by; NaN where the length or the coverage is unknown."""
        if not self.floors:
            return np.asarray(coverage, dtype=np.float64)
        source = self.floors[WHOLE]["words"]
        allowed = np.maximum(SHORT, longest * source)
        wanted = self._target(allowed) if target is None else np.full(len(source), target)
        achieved = np.divide(coverage, wanted, out=np.ones(np.shape(coverage)), where=wanted > 0)
        excess = np.maximum(source - allowed, 1e-9)
        brevity = np.where(source > allowed, np.clip((source - words) / excess, 0.0, 1.0), 1.0)
        return np.where(np.isnan(coverage), np.nan, np.minimum(achieved, 1.0)) * np.where(
            np.isnan(words), np.nan, brevity
        )

    def _target(self, allowed: Array) -> Array:
        lead = self.floors[TARGET]
        return lead["coverage"] * np.minimum(1.0, allowed / np.maximum(lead["words"], 1.0))
