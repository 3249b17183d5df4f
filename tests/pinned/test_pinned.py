"""Every command's output equals, cell by cell, what is pinned: `python -m tests.pinned --update` after a change."""

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.pinned.cases import CASES, Case, Output
from tests.pinned.compared import MOST, differences
from tests.pinned.stage import HERE, stage


@pytest.fixture(scope="module", autouse=True)
def place() -> Generator[Path]:
    """The stored runs, unpacked."""
    with stage() as folder:
        yield folder


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_is_as_pinned(case: Case) -> None:
    """The output of a case equals what is stored."""
    output = Output()
    case.play(output)
    changes = differences(HERE / "expected", case.name, output.texts, output.data)
    shown = "\n".join(changes[:MOST])
    assert not changes, f"{len(changes)} cell(s) differ, the first {min(MOST, len(changes))}:\n{shown}"


def test_nothing_else_is_pinned() -> None:
    """No expected file is left over from a removed case."""
    folder = HERE / "expected"
    names = {case.name for case in CASES}
    stored = {path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*") if path.is_file()}
    assert stored == names
