"""The fitted numbers of the grounding detector, written by `bench/fit_grounding.py --write`.

INTERCEPT is the log-odds of 0.96, the score of a verbatim copy. A weight is what the whole deficit
costs, in log-odds; `evidence` says what each deficit counts.
"""

from __future__ import annotations

INTERCEPT = 3.178

WEIGHTS: dict[str, float] = {
    "word_all": 0.572,
    "word_worst": 0.000,
    "pair_all": 0.344,
    "pair_worst": 1.382,
    "number_all": 0.196,
    "number_worst": 0.517,
    "name_all": 1.016,
    "name_worst": 0.380,
    "scatter_all": 0.131,
    "scatter_worst": 1.193,
    "missing": 0.208,
}
