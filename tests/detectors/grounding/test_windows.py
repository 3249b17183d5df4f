"""Long sources: scored in windows, as right as short ones, and in less time."""

import json
import time
from pathlib import Path
from random import Random
from statistics import mean

import pytest

from mashq.detectors.base import Pair
from mashq.detectors.grounding import detector
from mashq.detectors.grounding.detector import Grounding
from mashq.detectors.grounding.windows import BLOCK, FITS, Windows
from mashq.protocol.items import Item
from mashq.tasks.load import fields_of, load

ITEMS = {item.id: item for item in load("builtin", fields_of("rag", None, "id", None))}
SUPPORTED: dict[str, str] = json.loads((Path(__file__).parents[1] / "supported.json").read_text("utf-8"))
FILLER = [item.text for item in load("builtin")]


def h(source: str, answer: str) -> float:
    return Grounding().score([Pair(source, answer)])[0]


def others(item: Item) -> list[str]:
    """Passages about other things."""
    topic = item.id.rpartition("-")[0]
    return [p.whole for other in ITEMS.values() if not other.id.startswith(topic) for p in other.passages]


def long_source(item: Item, size: int) -> str:
    """The passages of an item somewhere among much else."""
    random = Random(item.id)
    texts = [passage.whole for passage in item.passages]
    while sum(map(len, texts)) < size:
        texts.append(random.choice(FILLER))
    random.shuffle(texts)
    return "\n\n".join(texts)


def test_a_source_that_fits_is_scored_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [ITEMS[name].source for name in SUPPORTED]
    before = [h(text, answer) for text, answer in zip(texts, SUPPORTED.values(), strict=True)]
    monkeypatch.setattr(detector, "FITS", 10**9)
    assert before == [h(text, answer) for text, answer in zip(texts, SUPPORTED.values(), strict=True)]
    assert max(map(len, texts)) < FITS


def test_an_earlier_version_scored_so_unless_a_source_is_long() -> None:
    assert Grounding().same_scores("3", ["x" * FITS]) and not Grounding().same_scores("3", ["x", "x" * (FITS + 1)])
    assert not Grounding().same_scores("2", ["x"])


def test_an_irrelevant_passage_costs_a_supported_answer_next_to_nothing() -> None:
    lost: list[float] = []
    for name, answer in SUPPORTED.items():
        item = ITEMS[name]
        added = [f"{item.source}\n\n{extra}" for extra in Random(name).sample(others(item), 3)]
        lost += [h(item.source, answer) - h(source, answer) for source in added]
    assert len(SUPPORTED) == 32
    assert mean(lost) <= 0.02, mean(lost)


def test_a_long_context_is_scored_as_right_as_a_short_one() -> None:
    kept: list[float] = []
    changed: list[float] = []
    for name, answer in SUPPORTED.items():
        source = long_source(ITEMS[name], 100_000)
        kept.append(h(ITEMS[name].source, answer) - h(source, answer))
        numbers = [word for word in answer.replace(".", " ").replace(",", " ").split() if word.isdigit()]
        if numbers:
            wrong = answer.replace(numbers[-1], str(int(numbers[-1]) + 7))
            changed.append(h(source, answer) - h(source, wrong))
    assert mean(kept) <= 0.02
    assert len(changed) >= 15 and mean(changed) > 0.2


def test_windows_take_at_most_60_percent_of_the_time_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    source, answer = long_source(ITEMS["ferry-1"], 100_000), SUPPORTED["ferry-1"]

    def took() -> float:
        began = time.perf_counter()
        h(source, answer)
        return time.perf_counter() - began

    windows = min(took() for _ in range(5))
    monkeypatch.setattr(detector, "FITS", 10**9)
    assert windows <= 0.6 * min(took() for _ in range(5))


def test_a_sentence_that_rests_on_two_places_has_both() -> None:
    item = ITEMS["orchard-2"]
    source = "\n\n".join([item.passages[0].whole, *FILLER, item.passages[2].whole, *FILLER])
    assert len(source) > FITS
    part = Windows.of(source).part(SUPPORTED["orchard-2"])
    assert "4.1 tonnes" in part and "4.7 tonnes" in part and len(part) < 8 * BLOCK


def test_a_copy_is_a_copy_in_a_long_source_too() -> None:
    source = long_source(ITEMS["ferry-1"], 60_000)
    assert h(source, ITEMS["ferry-1"].passages[1].text) > 0.95


@pytest.mark.parametrize("source", ["word " * 8_000, "x" * 30_000, "\n" * 30_000, "。" * 30_000, "a. " * 10_000])
def test_any_long_text_is_a_source(source: str) -> None:
    windows = Windows.of(source)
    assert "".join(windows.blocks) == source
    assert 0 <= h(source, "The mill burned down on 3 May.") <= 1
    assert h(source, "") == 0
