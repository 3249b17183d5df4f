"""Parts of the grounding fit that need none of its data: the choice, the line, the ROC area, trees as lists."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
HUMAN = ("cogensumm", "factcc", "frank", "polytope", "summeval", "xsumfaith")
ENOUGH = 0.76  # cap on the edits' AUC when choosing


class Choice(NamedTuple):
    """The free settings of the fit."""

    features: str
    counts: str
    trees: int


# (left out, measured on, choice) -> the AUC of a human set, or of HHEM and of the edits
Found = dict[tuple[str, str, Choice], list[float]]


def choose(results: Found, left_out: str | None) -> Choice:
    """Return the best choice on what is not left out: people, HHEM and the edits (up to ENOUGH) count equally."""

    def merit(choice: Choice) -> float:
        relevant = {(a, b): v for (a, b, c), v in results.items() if c == choice and left_out in (a, None)}
        people = [v[0] for (_, b), v in relevant.items() if b in HUMAN]
        hhem, edited = np.mean([v for (_, b), v in relevant.items() if b not in HUMAN], axis=0)
        return float(np.mean(people) + hhem + min(edited, ENOUGH))

    return max(sorted({c for _, _, c in results}), key=merit)


def sigmoid(z: Floats) -> Floats:
    return 1.0 / (1.0 + np.exp(-z))


def fit_line(x: Floats, y: Floats, kinds: NDArray[np.str_], ridge: float = 0.05) -> Floats:
    """Fit weights >= 0 by projected gradient descent with momentum; one free intercept per kind, and all kinds
    count equally."""
    names, kind_index = np.unique(kinds, return_inverse=True)
    weight = (1.0 / np.bincount(kind_index))[kind_index] / len(names)
    scale = x.std(axis=0) + 1e-9
    x = x / scale
    slopes, shifts = np.zeros(x.shape[1]), np.zeros(len(names))
    extrapolated, extrapolated_shifts = slopes, shifts
    step = 4.0 / (float((weight[:, None] * x * x).sum()) + 1.0 + 4 * ridge)
    for k in range(1, 1201):
        error = weight * (sigmoid(extrapolated_shifts[kind_index] - x @ extrapolated) - y)
        new = np.maximum(0.0, extrapolated + step * (x.T @ error - ridge / len(names) * extrapolated))
        new_shifts = extrapolated_shifts - step * np.bincount(kind_index, error)
        extrapolated = new + k / (k + 3) * (new - slopes)
        extrapolated_shifts = new_shifts + k / (k + 3) * (new_shifts - shifts)
        slopes, shifts = new, new_shifts
    return -slopes / scale


def auc(labels: Floats, scores: Floats) -> float:
    """Return the probability that a good answer outranks a bad one, ties counting half."""
    good = labels >= 0.5
    _, place, count = np.unique(scores, return_inverse=True, return_counts=True)
    rank = (np.cumsum(count) - (count - 1) / 2)[place]
    n = int(good.sum())
    return float((rank[good].sum() - n * (n + 1) / 2) / (n * (len(good) - n)))


def flat(node: dict[str, Any]) -> dict[str, list[Any]]:
    """Convert one tree of lightgbm's dump to the lists that `grounding.trees` reads, nodes in preorder."""
    out: dict[str, list[Any]] = {"feature": [], "value": [], "right": []}

    def walk(node: dict[str, Any]) -> None:
        leaf = "leaf_value" in node
        index = len(out["feature"])
        out["feature"].append(-1 if leaf else node["split_feature"])
        out["value"].append(float(f"{node['leaf_value'] if leaf else node['threshold']:.5g}"))
        out["right"].append(0)
        if not leaf:
            walk(node["left_child"])
            out["right"][index] = len(out["feature"])
            walk(node["right_child"])

    walk(node)
    return out
