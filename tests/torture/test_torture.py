"""The short form of the torture; `make torture` is the long one."""

from collections import Counter
from pathlib import Path
from typing import IO

import pytest

from mashq.errors import StoreError
from mashq.gateway.clock import RealClock
from mashq.runs import writer as store
from tests.torture import hostile, kills, mishaps
from tests.torture.virtual import trial

FOUND = (36, 395, 537, 700, 1107, 1148, 1744, 2529, 1000013)  # seeds that once violated something


@pytest.mark.parametrize("block", range(4))
def test_random_matches_with_every_fault_and_cuts(tmp_path: Path, block: int) -> None:
    for seed in range(1_000_000 + block * 8, 1_000_000 + (block + 1) * 8):
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


def test_hostile_agents(tmp_path: Path) -> None:
    """The seeds cover every trick, except the one that takes long."""
    counts = Counter[str]()
    for seed in range(len(hostile.TRICKS)):
        if not any("hangs" in tricks for tricks in hostile.lineup(seed)[0].values()):
            counts += hostile.trial(seed, tmp_path / str(seed))
    missing = {f"trick {name}" for name in hostile.TRICKS} - counts.keys() - {"trick hangs"}
    assert missing <= (set() if hostile.isolates() else {f"trick {hostile.ELSEWHERE}"})


def test_a_run_begun_between_the_look_and_the_lock_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(path: Path) -> IO[str]:
        (path / "manifest.json").write_text("another's")
        return locked(path)

    locked = store._locked  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(store, "_locked", late)
    with pytest.raises(StoreError, match="already used"):
        store.Run.create(tmp_path / "run", RealClock(), {}, ())
    assert (tmp_path / "run" / "manifest.json").read_text() == "another's"


def test_a_run_that_could_not_begin_lets_go_of_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_run: store.Run, _manifest: object) -> None:
        raise StoreError("no space")

    with monkeypatch.context() as patch:
        patch.setattr(store.Run, "write_manifest", full)
        with pytest.raises(StoreError, match="no space"):
            store.Run.create(tmp_path / "run", RealClock(), {}, ())
    store.Run.create(tmp_path / "run", RealClock(), {"ended": None}, ()).close()
