"""Parts of the grounding fit that need none of its data: the choice, the line, the ROC area, trees as lists."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
HUMAN = ("cogensumm", "factcc", "frank", "polytope", "summeval", "xsumfaith")
ENOUGH = 0.76  # of the edits' AUC: what is above it does not count when choosing


class Choice(NamedTuple):
    """What the fit is free to choose."""

    features: str
    counts: str
    trees: int


# (left out, measured on, choice) -> the AUC of a human set, or of HHEM and of the edits
Found = dict[tuple[str, str, Choice], list[float]]


def choose(found: Found, left_out: str | None) -> Choice:
    """The best on what is not left out: people's mean, HHEM and the edits, up to ENOUGH, count the same."""

    def merit(choice: Choice) -> float:
        own = {(a, b): v for (a, b, c), v in found.items() if c == choice and left_out in (a, None)}
        people = [v[0] for (_, b), v in own.items() if b in HUMAN]
        hhem, edited = np.mean([v for (_, b), v in own.items() if b not in HUMAN], axis=0)
        return float(np.mean(people) + hhem + min(edited, ENOUGH))

    return max(sorted({c for _, _, c in found}), key=merit)


def sigmoid(z: Floats) -> Floats:
    return 1.0 / (1.0 + np.exp(-z))


def fit_line(x: Floats, y: Floats, kinds: NDArray[np.str_], ridge: float = 0.05) -> Floats:
    """Weights >= 0 by projected gradient descent with momentum; one free intercept per kind, and all kinds
    counting the same."""
    names, which = np.unique(kinds, return_inverse=True)
    weight = (1.0 / np.bincount(which))[which] / len(names)
    scale = x.std(axis=0) + 1e-9
    x = x / scale
    slopes, shifts = np.zeros(x.shape[1]), np.zeros(len(names))
    ahead, ahead_shifts = slopes, shifts
    step = 4.0 / (float((weight[:, None] * x * x).sum()) + 1.0 + 4 * ridge)
    for k in range(1, 1201):
        error = weight * (sigmoid(ahead_shifts[which] - x @ ahead) - y)
        new = np.maximum(0.0, ahead + step * (x.T @ error - ridge / len(names) * ahead))
        new_shifts = ahead_shifts - step * np.bincount(which, error)
        ahead = new + k / (k + 3) * (new - slopes)
        ahead_shifts = new_shifts + k / (k + 3) * (new_shifts - shifts)
        slopes, shifts = new, new_shifts
    return -slopes / scale


def auc(labels: Floats, scores: Floats) -> float:
    """The chance that a good answer outranks a bad one, ties counting half."""
    good = labels >= 0.5
    _, place, count = np.unique(scores, return_inverse=True, return_counts=True)
    rank = (np.cumsum(count) - (count - 1) / 2)[place]
    n = int(good.sum())
    return float((rank[good].sum() - n * (n + 1) / 2) / (n * (len(good) - n)))


def flat(node: dict[str, Any]) -> dict[str, list[Any]]:
    """One tree of lightgbm's dump as the lists that `grounding_trees` walks, nodes in preorder."""
    out: dict[str, list[Any]] = {"feature": [], "value": [], "right": []}

    def walk(node: dict[str, Any]) -> None:
        leaf = "leaf_value" in node
        at = len(out["feature"])
        out["feature"].append(-1 if leaf else node["split_feature"])
        out["value"].append(float(f"{node['leaf_value'] if leaf else node['threshold']:.5g}"))
        out["right"].append(0)
        if not leaf:
            walk(node["left_child"])
            out["right"][at] = len(out["feature"])
            walk(node["right_child"])

    walk(node)
    return out
