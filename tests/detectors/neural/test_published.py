"""Published scores beside ours."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from mashq.detectors.base import Pair
from mashq.detectors.neural.published import compare, read
from mashq.errors import DataError


@dataclass(frozen=True)
class Fixed:
    """Scores by the length of the answer."""

    name: str = "fixed"
    version: str = "3"

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        return [len(pair.answer) / 10 for pair in pairs]


def test_a_report_says_how_far_apart_the_scores_are() -> None:
    report = compare(Fixed(), [("a", "b", 0.1), ("a", "four", 0.415)])
    assert report.worst == pytest.approx(0.015)
    assert report.agrees and (report.detector, report.version) == ("fixed", "3")
    assert [row.ours for row in report.rows] == [0.1, 0.4]
    assert not compare(Fixed(), [("a", "b", 0.13)]).agrees
    assert compare(Fixed(), [("a", "b", 0.13)], tolerance=0.05).agrees


def test_no_pairs_agree_with_nothing() -> None:
    assert not compare(Fixed(), []).agrees


def test_a_file_of_pairs_is_read(tmp_path: Path) -> None:
    file = tmp_path / "pairs.json"
    file.write_text(json.dumps([["a", "b", 0.25], ["c", "d", 1]]))
    assert read(file) == [("a", "b", 0.25), ("c", "d", 1.0)]


@pytest.mark.parametrize(
    ("text", "says"),
    [("{", "is not JSON"), ("[]", "has no pairs"), ("{}", "has no pairs"), ('[["a", "b"]]', "pair 1: expected"),
     ('[["a", "b", 0.5], ["a", "b", 2]]', "pair 2: expected")],
)  # fmt: skip
def test_a_bad_file_is_named(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "pairs.json"
    file.write_text(text)
    with pytest.raises(DataError, match=says):
        read(file)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none\.json"):
        read(tmp_path / "none.json")
