"""Boosted trees as plain data: `trees.json`, written by `bench/fit_grounding.py --write`.

Contract: `load()` reads the file once; `Trees.score(features)` is a linear model over a few features plus one leaf
per tree, scaled and shifted to calibrated log-odds. A tree is three lists, node by node: the feature's index (-1
for a leaf), the threshold (the leaf's value) and the right child; the left child is the next node. A feature <=
threshold goes left.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TypedDict

__all__ = ["FILE", "Trees", "load"]

FILE = "trees.json"


class Tree(TypedDict):
    """One tree; the three lists have the same length."""

    feature: list[int]
    value: list[float]
    right: list[int]


class Fitted(TypedDict):
    """The content of the file."""

    features: list[str]
    intercept: float
    steepness: float
    line: dict[str, float]
    trees: list[Tree]


@dataclass(frozen=True, slots=True)
class Trees:
    """The fitted model: which features it reads and the trees over them."""

    features: tuple[str, ...]
    intercept: float
    steepness: float
    line: tuple[tuple[int, float], ...]  # a feature's index and its weight
    nodes: tuple[tuple[tuple[int, float, int], ...], ...]

    @classmethod
    def of(cls, fitted: Fitted) -> Trees:
        """Build the model from the content of the file."""
        nodes = tuple(
            tuple(zip(tree["feature"], tree["value"], tree["right"], strict=True)) for tree in fitted["trees"]
        )
        names = fitted["features"]
        line = tuple((names.index(name), weight) for name, weight in fitted["line"].items())
        return cls(tuple(names), fitted["intercept"], fitted["steepness"], line, nodes)

    def score(self, values: Sequence[float]) -> float:
        """Return the calibrated log-odds of being faithful."""
        total = sum(weight * values[feature] for feature, weight in self.line)
        for tree in self.nodes:
            feature, value, right = tree[0]
            node = 0
            while feature >= 0:
                node = node + 1 if values[feature] <= value else right
                feature, value, right = tree[node]
            total += value
        return self.intercept + self.steepness * total


@cache
def load() -> Trees:
    """Return the trees shipped with the package."""
    text = files("mashq.detectors.grounding").joinpath(FILE).read_text(encoding="utf-8")
    return Trees.of(json.loads(text))
