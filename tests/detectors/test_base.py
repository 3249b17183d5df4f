"""Finding detectors by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import FrozenInstanceError, dataclass
from importlib.metadata import EntryPoint, EntryPoints

import pytest

from mashq.detectors import Detector, Pair, load
from mashq.detectors.base import declares
from mashq.detectors.exact_match import ExactMatch
from mashq.detectors.grounding.detector import Grounding
from mashq.errors import ConfigError


@dataclass(frozen=True)
class Always:
    """A detector of someone else's package."""

    name: str = "always"
    version: str = "7"

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        return [1.0 for _ in pairs]


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = EntryPoint(name="always", value=f"{__name__}:Always", group="mashq.detectors")

    def always(_: EntryPoint) -> type[Always]:
        return Always

    def entries(*, group: str) -> EntryPoints:
        return EntryPoints([entry]).select(group=group)

    monkeypatch.setattr(EntryPoint, "load", always)
    monkeypatch.setattr("importlib.metadata.entry_points", entries)


def test_a_pair_is_a_frozen_value() -> None:
    pair = Pair("source", "answer")
    assert pair.reference is None
    assert pair == Pair("source", "answer", None)
    with pytest.raises(FrozenInstanceError):
        pair.answer = "other"  # pyright: ignore[reportAttributeAccessIssue]


def test_built_in_detectors_load_by_name() -> None:
    assert load("grounding") == Grounding()
    assert load("exact-match") == ExactMatch()


@pytest.mark.parametrize("name", ["grounding", "exact-match"])
def test_a_detector_knows_its_name_and_version(name: str) -> None:
    detector: Detector = load(name)
    assert detector.name == name
    assert detector.version
    assert detector.score([]) == []


@pytest.mark.usefixtures("installed")
def test_an_entry_point_is_found() -> None:
    detector = load("always")
    assert (detector.name, detector.version) == ("always", "7")
    assert detector.score([Pair("a", "b")]) == [1.0]


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("groundng", "grounding"),
        ("exact_match", "exact-match"),
        ("EXACT-MATCH", "exact-match"),
        ("", ""),
        ("foo", ""),
    ],
)
def test_an_unknown_name_says_what_is_known(name: str, nearest: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(name)
    message = str(caught.value)
    assert repr(name) in message
    assert message.endswith(f": did you mean {nearest!r}?" if nearest else ", simpleqa, hhem, minicheck")


@pytest.mark.usefixtures("installed")
def test_an_unknown_name_lists_installed_ones_too() -> None:
    with pytest.raises(ConfigError, match=r"known are grounding, .*, minicheck, always$"):
        load("xyz")


@pytest.mark.parametrize(
    ("name", "facts"),
    [
        ("grounding", {"free"}),
        ("coverage", {"free"}),
        ("exact-match", {"needs_reference"}),
        ("simpleqa", {"needs_reference"}),
        ("reader:cuda", {"uses_gpu"}),
        ("hhem:weights", {"uses_gpu"}),
        ("minicheck", {"uses_gpu"}),
    ],
)
def test_a_detector_declares_facts_on_its_class(name: str, facts: set[str]) -> None:
    assert {fact for fact in ("free", "needs_reference", "uses_gpu") if declares(name, fact)} == facts
