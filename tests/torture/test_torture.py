"""The short form of the torture; `make torture` is the long one."""

from pathlib import Path

import pytest

from tests.torture import kills, mishaps
from tests.torture.virtual import trial

FOUND = (36, 395, 537, 700, 1107, 1148, 1744)  # seeds that once violated something


@pytest.mark.parametrize("block", range(4))
def test_random_matches_with_every_fault_and_cuts(tmp_path: Path, block: int) -> None:
    for seed in range(1_000_000 + block * 15, 1_000_000 + (block + 1) * 15):
        trial(seed, tmp_path / str(seed))


@pytest.mark.parametrize("seed", FOUND)
def test_what_once_went_wrong(tmp_path: Path, seed: int) -> None:
    trial(seed, tmp_path / "trial")


@pytest.mark.parametrize("seed", range(len(kills.PLANS)))
def test_real_kills_under_every_fault(tmp_path: Path, seed: int) -> None:
    assert kills.trial(seed, tmp_path / "trial")["kills"]


@pytest.mark.parametrize("happens", mishaps.MISHAPS)
def test_mishaps(tmp_path: Path, happens: mishaps.Mishap) -> None:
    mishaps.trial(mishaps.MISHAPS.index(happens), tmp_path / "trial")
