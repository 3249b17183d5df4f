"""The trees: how one is walked, and that the shipped ones fit the features."""

from __future__ import annotations

from importlib.resources import files

import pytest

from mashq.detectors.grounding.evidence import Source
from mashq.detectors.grounding.features import FEATURES, features
from mashq.detectors.grounding.reading import read
from mashq.detectors.grounding.trees import FILE, Fitted, Trees, load

# a <= 1 ? (b <= 2 ? 10 : 20) : 30
SMALL: Fitted = {
    "features": ["a", "b"],
    "intercept": 0.5,
    "steepness": 2.0,
    "line": {"b": -1.0},
    "trees": [{"feature": [0, 1, -1, -1, -1], "value": [1, 2, 10, 20, 30], "right": [4, 3, 0, 0, 0]}],
}


@pytest.mark.parametrize(
    ("values", "leaf"), [([1.0, 2.0], 10), ([0.0, 3.0], 20), ([2.0, 0.0], 30), ([1.0 + 1e-9, 2.0], 30)]
)
def test_a_tree_is_walked_to_one_leaf(values: list[float], leaf: float) -> None:
    assert Trees.of(SMALL).score(values) == 0.5 + 2.0 * (leaf - values[1])


def test_the_shipped_trees_are_small_and_read_these_features() -> None:
    trees = load()
    assert trees.features == FEATURES
    assert trees.steepness > 0
    assert all(weight <= 0 for _, weight in trees.line)
    assert len(files("mashq.detectors.grounding").joinpath(FILE).read_bytes()) < 300_000
    for nodes in trees.nodes:
        for at, (feature, _, right) in enumerate(nodes):
            assert feature < len(FEATURES)
            assert feature < 0 or at + 1 < right < len(nodes)


def test_there_is_one_value_a_feature() -> None:
    source = Source.of("Anna Lopez opened 3 shops in May. They closed.")
    for answer in ("Anna", "It is. 4", "Lopez opened 3 shops in June, Anna said.\n\n北京"):
        assert len(features(source, answer, read(answer))) == len(FEATURES)
