"""The reader on a tiny random model, and on the real weights where they are."""

from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from mashq.detectors.base import Pair, load
from mashq.detectors.reader import detector
from mashq.detectors.reader.adapter import Line, Measures
from mashq.detectors.reader.detector import Reader
from mashq.detectors.reader.gguf import Gguf
from mashq.detectors.reader.gpu import Ids
from mashq.detectors.reader.model import Model
from mashq.detectors.reader.tokens import Tokens
from mashq.errors import ConfigError, DetectorError
from mashq.gateway.backends import weights
from tests.detectors.reader import tiny

SOURCE = "The bridge opened in 1931. Anna Keller cut the ribbon before 300 people."
ANSWERS = [
    "The bridge opened in 1931.",
    "The bridge opened in 1913.",
    "Keller cut a ribbon — naïvely.",
    "No people came.",
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    tiny.write(tmp_path / "tiny.gguf")
    return tmp_path / "tiny.gguf"


@pytest.fixture
def small(path: Path, monkeypatch: pytest.MonkeyPatch) -> Reader:
    monkeypatch.setattr(weights, "find", lambda: path)
    monkeypatch.setattr(detector, "load", tiny.adapter)
    return Reader("cpu")


def test_the_forward_pass_is_the_plain_one(tmp_path: Path) -> None:
    held = tiny.write(tmp_path / "m.gguf")
    ids = [int(i) for i in np.random.default_rng(1).integers(0, 250, 150)]  # more than one chunk
    file = Gguf(tmp_path / "m.gguf")
    assert np.abs(Model(file).states(None, ids) - tiny.plain(held, ids)).max() < 1e-4
    learnt = tiny.adapter()
    extra = {name: (up @ down).astype(np.float64) for name, (down, up) in learnt.parts.items()}
    truth = tiny.plain(held, ids, extra)
    assert np.abs(truth - tiny.plain(held, ids)).max() > 0.1
    assert np.abs(Model(file, learnt.changed).states(None, ids) - truth).max() < 1e-4


def test_what_is_remembered_is_as_good_as_read_anew(path: Path) -> None:
    model = Model(Gguf(path))
    ids = [int(i) for i in np.random.default_rng(2).integers(0, 250, 200)]
    whole = model.states(None, ids)
    memory = model.read(ids[:140])
    kept = [key.copy() for key in memory.keys]
    first = model.states(memory, ids[140:])
    assert np.abs(first - whole[140:]).max() < 1e-4
    assert np.array_equal(model.states(memory, ids[140:]), first)
    assert all(np.array_equal(a, b) for a, b in zip(kept, memory.keys))


def test_tensors_are_read_as_they_were_written(tmp_path: Path) -> None:
    held = tiny.write(tmp_path / "m.gguf")
    file = Gguf(tmp_path / "m.gguf")
    for name, values in held.items():
        assert np.allclose(file.tensor(name), values, atol=1e-6), name
    some = file.rows("token_embd.weight", [7, 0, 7])
    assert np.allclose(some, held["token_embd.weight"][[7, 0, 7]], atol=1e-6)
    assert file.shape("blk.0.attn_k.weight") == (tiny.GROUPS * tiny.SIZE, tiny.WIDTH)


def test_a_file_that_is_none_or_cut_short_is_refused(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.gguf"
    other.write_bytes(b"something else altogether")
    with pytest.raises(DetectorError, match="does not start with GGUF"):
        Gguf(other)
    other.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(DetectorError, match="cut short"):
        Gguf(other).tensor("output_norm.weight")
    with pytest.raises(DetectorError, match="has no tensor nonsense"):
        Gguf(path).tensor("nonsense")
    with pytest.raises(DetectorError, match=r"does not say llama\.nonsense"):
        Gguf(path).whole("llama.nonsense")


def test_tokens_merge_in_order_and_know_their_places() -> None:
    tokens = Tokens(tiny.VOCABULARY, tiny.MERGES)
    the, spaced = tiny.VOCABULARY.index("the"), tiny.VOCABULARY.index("Ġthe")
    assert tokens.offsets("the the12é") == [
        (the, 0, 3), (spaced, 3, 7), (ord("1") - 33, 7, 8), (ord("2") - 33, 8, 9),
        (tiny.VOCABULARY.index("Ã"), 9, 10), (tiny.VOCABULARY.index("©"), 9, 10),
    ]  # fmt: skip
    assert tokens.ids("") == []
    assert tokens.ids("<|im_start|>") == [tiny.VOCABULARY.index(letter) for letter in "<|im_start|>"]


def test_equal_pairs_get_equal_scores_whatever_the_batch(small: Reader) -> None:
    pairs = [Pair(SOURCE, answer) for answer in ANSWERS] + [Pair("Another source.", ANSWERS[0])]
    together = small.score(pairs)
    assert small.score(pairs[::-1]) == together[::-1]
    again = Reader("cpu")
    assert [again.score([pair])[0] for pair in pairs] == together
    assert len(set(together)) == len(together)
    assert small.score([]) == [] and small.score([Pair(SOURCE, " ")]) == [0.0]
    assert together[0] >= 0.95  # a copy


def test_a_source_is_read_once(small: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    way = small._way  # pyright: ignore[reportPrivateUsage]
    assert isinstance(way, detector.Processor)
    small.score([Pair(SOURCE, ANSWERS[1])])
    once = way.read
    small.score([Pair(SOURCE, answer) for answer in ANSWERS])
    small.score([Pair("Another source.", ANSWERS[0])])
    both = way.read
    small.score([Pair(SOURCE, ANSWERS[2])])
    assert 0 < once < both == way.read
    monkeypatch.setattr(detector, "KEPT", 1)  # only the last one stays
    small.score([Pair(SOURCE, ANSWERS[2])])
    assert way.read == both
    small.score([Pair("Another source.", ANSWERS[0])])
    assert way.read == 2 * both - once


def test_h_is_the_line_over_both(small: Reader) -> None:
    line = Line(0.5, 0.25, 1.0, -0.5, -2.0)
    assert line.h(2.0, Measures(1.0, 3.0, 0.25)) == pytest.approx(0.5)  # 0.5 + 0.5 + 1 - 1.5 - 0.5 = 0
    assert line.h(2.0, Measures(2.0, 3.0, 0.25)) == pytest.approx(1 / (1 + np.exp(-1)))
    learnt = tiny.adapter()
    states = np.random.default_rng(8).normal(size=(5, tiny.WIDTH)).astype(np.float32)
    out = states.astype(np.float64) @ learnt.head.T.astype(np.float64)
    shares = np.exp(out[:, 0]) / np.exp(out[:, 0]).sum()
    doubts = 1 / (1 + np.exp(-(out[:, 2] - 0.5)))
    found = learnt.measures(states)
    assert (found.score, found.greatest, found.mean) == pytest.approx(
        (shares @ out[:, 1], (out[:, 2] - 0.5).max(), doubts.mean()), rel=1e-4
    )
    assert learnt.doubts(states) == pytest.approx(doubts, rel=1e-4)


def test_spans_are_whole_words(small: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = "The naïve keeper left."
    tokens = Tokens(tiny.VOCABULARY, tiny.MERGES)
    places = [(start, end) for _, start, end in tokens.offsets(answer)]
    odd = [0.9 if start in (6, 11, 16) else 0.1 for start, _ in places]  # in naïve, in keeper, the space before left

    def told(_way: detector.Processor, _pair: Ids) -> list[float]:
        return odd

    monkeypatch.setattr(detector.Processor, "doubts", told)
    assert [answer[a:b] for a, b in small.spans(Pair(SOURCE, answer))] == ["naïve keeper"]
    assert small.spans(Pair(SOURCE, "  ")) == []


def test_without_the_weights_it_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "find", lambda: None)
    with pytest.raises(ConfigError) as told:
        load("reader")
    assert str(told.value) == "The detector 'reader' needs the embedded model: fetch it with `mashq weights`."


def test_another_device_is_refused() -> None:
    with pytest.raises(ConfigError, match="does not run on 'tpu': choose reader:cpu or reader:cuda"):
        load("reader:tpu")


class _Fixed:
    """Gives every pair the same score."""

    def __init__(self, score: float) -> None:
        self.score = score

    def measures(self, pairs: object) -> list[Measures]:
        return [Measures(self.score, 0.0, 0.0)] * 5


def test_the_quickest_numbers_that_change_nothing_are_chosen(small: Reader) -> None:
    exact = _Fixed(1.0)
    ways: dict[str, detector.Way] = {"bf16": _Fixed(1.2), "fp16": _Fixed(1.02), "fp32": exact}
    assert detector.chosen(ways, small)[1] == "cuda-fp16"
    assert detector.chosen({"bf16": _Fixed(1.2), "fp32": exact}, small) == (exact, "cuda-fp32")


def test_the_adapter_is_small() -> None:
    folder = files("mashq.detectors.reader")
    assert len(folder.joinpath("adapter.npz").read_bytes()) <= 12_000_000


@pytest.mark.skipif(weights.find() is None, reason="the embedded model is not here")
def test_the_real_one_sees_a_changed_fact() -> None:
    reader = load("reader:cpu")
    assert isinstance(reader, Reader)
    source = (
        "The city opened a new park on Saturday. It cost 4.2 million euros. The mayor, Helena Brandt, planted a tree."
    )
    right, wrong = (f"Helena Brandt, the {role}, planted a tree." for role in ("mayor", "governor"))
    good, bad, copy = reader.score([Pair(source, right), Pair(source, wrong), Pair(source, source)])
    assert bad < 0.4 < good < copy
    assert [wrong[a:b] for a, b in reader.spans(Pair(source, wrong))] == ["governor"]
    assert reader.score([Pair(source, wrong)]) == [bad]


def test_on_a_device_pairs_are_measured_as_here_and_alike_in_any_company(path: Path) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    from mashq.detectors.reader.gpu import Gpu

    file, adapter = Gguf(path), tiny.adapter()
    model, rng = Model(file, adapter.changed), np.random.default_rng(3)
    pairs = [
        ([*map(int, rng.integers(0, 250, n))], [*map(int, rng.integers(0, 250, 5 + n))]) for n in (3, 40, 17, 60)
    ]
    device = Gpu(torch, file, adapter, "cpu", "fp32", 160)  # more than one pack
    found = device.measures(pairs)
    for (source, answer), one in zip(pairs, found, strict=True):
        here = adapter.measures(model.states(model.read(source), answer))
        assert (one.score, one.greatest, one.mean) == pytest.approx((here.score, here.greatest, here.mean), abs=1e-4)
    assert device.measures(pairs[::-1])[::-1] == found and device.measures(pairs[2:3]) == found[2:3]
    rough = Gpu(torch, file, adapter, "cpu", "bf16", 160).measures(pairs)
    assert [one.score for one in rough] == pytest.approx([one.score for one in found], abs=0.2)
