"""Every command prints and exports, cell by cell, what it did: `python -m tests.pinned --update` after a change."""

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.pinned.cases import CASES, Case, Found
from tests.pinned.compared import MOST, differences
from tests.pinned.stage import HERE, stage


@pytest.fixture(scope="module", autouse=True)
def place() -> Generator[Path]:
    """The stored runs, unpacked."""
    with stage() as folder:
        yield folder


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_is_as_pinned(case: Case) -> None:
    """What a case gives is what is stored of it."""
    found = Found()
    case.play(found)
    told = differences(HERE / "expected", case.name, found.texts, found.data)
    shown = "\n".join(told[:MOST])
    assert not told, f"{len(told)} cell(s) differ, the first {min(MOST, len(told))}:\n{shown}"


def test_nothing_else_is_pinned() -> None:
    """No expected file is left over from a case that is no more."""
    folder = HERE / "expected"
    names = {case.name for case in CASES}
    stored = {path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*") if path.is_file()}
    assert stored == names
