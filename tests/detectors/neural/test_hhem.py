"""HHEM on a small random model in the published format, against T5 worked out again."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from mashq.detectors import Pair, load
from mashq.errors import ConfigError, DetectorError
from tests.detectors.neural import small_t5

from mashq.detectors.neural import base as neural  # isort: skip
from mashq.detectors.neural import t5_plain  # isort: skip
from mashq.detectors.neural.hhem import HUB, REVISION, TOKENIZER, Hhem, prompt  # isort: skip

torch = small_t5.torch
PAIRS = [
    Pair("the word bridge opened", "a bridge"),
    Pair("the mayor planted a tree. " * 4, "the tree"),
    Pair("short", "an answer that is a good deal longer than the source it is said to rest on"),
    Pair("Der Fluß, 河流, نهر, река 🚲", "🚲🚲 河"),
    Pair("", "nothing to rest on"),
]


@pytest.fixture(scope="module")
def tensors() -> dict[str, Any]:
    return small_t5.hhem()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, tensors: dict[str, Any]) -> Path:
    return small_t5.save(tmp_path_factory.mktemp("hhem"), tensors)


def small(folder: Path, precision: str = "fp32") -> Hhem:
    return Hhem(str(folder), device="cpu", precision=precision, self_test=False)


def test_scores_equal_the_plain_computation(folder: Path, tensors: dict[str, Any]) -> None:
    tokens = small_t5.tokenizer(folder)
    scores = small(folder).score(PAIRS)
    for pair, h in zip(PAIRS, scores, strict=True):
        ids = tokens.encode(prompt(pair)).ids
        assert ids[0] == 0 and ids[-1] == 1
        assert h == pytest.approx(small_t5.hhem_score(tensors, ids), abs=1e-5)
    assert max(scores) - min(scores) > 0.05


def test_scores_equal_the_published_architecture(folder: Path, tensors: dict[str, Any]) -> None:
    transformers: Any = pytest.importorskip("transformers")
    config = transformers.T5Config(
        vocab_size=small_t5.WORDS, d_model=small_t5.WIDTH, d_kv=small_t5.SIZE, d_ff=small_t5.INNER, num_layers=2,
        num_heads=small_t5.HEADS, feed_forward_proj="gated-gelu", num_labels=2,
    )  # fmt: skip
    model = transformers.T5ForTokenClassification(config).eval()
    bare = {name.removeprefix("t5."): tensor for name, tensor in tensors.items()}
    model.load_state_dict(bare | {"transformer.encoder.embed_tokens.weight": bare["transformer.shared.weight"]})
    pair = Pair("the word " * 200, "the word is out")  # longer than the reach of the position bias
    ids = small_t5.tokenizer(folder).encode(prompt(pair)).ids
    with torch.inference_mode():
        expected = torch.softmax(model(input_ids=torch.tensor([ids])).logits[0, 0], 0)[1].item()
    assert small(folder).score([pair]) == [pytest.approx(expected, abs=1e-5)]


@pytest.mark.parametrize(("precision", "shift"), [("bf16", 0.02), ("mixed", 0.03), ("int8", 0.05)])
def test_lower_precisions_stay_close(folder: Path, precision: str, shift: float) -> None:
    exact, low = small(folder), small(folder, precision)
    assert low.score(PAIRS) == pytest.approx(exact.score(PAIRS), abs=shift)
    assert low.version != exact.version
    assert low.version.endswith(precision)


def test_order_batch_and_company_do_not_matter(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = [small(folder).score([pair])[0] for pair in PAIRS]
    monkeypatch.setitem(neural.BUDGET, "cpu", 64)
    monkeypatch.setattr(neural, "_PART", 2)
    detector = small(folder)
    assert detector.score(PAIRS[::-1]) == pytest.approx(alone[::-1], abs=1e-5)
    doubled = detector.score([*PAIRS, *PAIRS])
    assert doubled[: len(PAIRS)] == doubled[len(PAIRS) :]
    assert detector.score([]) == []


def test_an_empty_answer_scores_nothing(folder: Path) -> None:
    scores = small(folder).score([Pair("the source", ""), PAIRS[0], Pair("the source", " \n")])
    assert scores[0] == scores[2] == 0.0 < scores[1]


def test_half_a_surrogate_pair_is_read(folder: Path) -> None:
    assert 0 <= small(folder).score([Pair("a broken \ud83d sign", "the \ude00 sign")])[0] <= 1


def test_a_source_of_100_000_words_is_read_to_its_end(tmp_path: Path) -> None:
    detector = small(small_t5.save(tmp_path, small_t5.hhem(layers=1)))
    long = "the word " * 50_000
    short, other = detector.score([Pair(long, "the word"), Pair(long + "zebra " * 2_000, "the word")])
    assert 0 < short < 1
    assert short != other


def test_long_texts_are_attended_to_in_parts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [Pair("the word of a bridge " * 60, "a word"), *PAIRS]
    whole = small(folder).score(pairs)
    monkeypatch.setattr(t5_plain, "_WEIGHTS", 5_000)
    assert small(folder).score(pairs) == pytest.approx(whole, abs=1e-6)


def test_a_score_that_is_no_number_is_an_error(tmp_path: Path) -> None:
    tensors = small_t5.hhem()
    tensors["t5.transformer.encoder.block.0.layer.1.DenseReluDense.wo.weight"][0, 0] = float("nan")
    for precision in ("fp32", "bf16", "mixed", "int8"):
        with pytest.raises(DetectorError, match="hhem gave nan for the answer 'a bridge'"):
            small(small_t5.save(tmp_path, tensors), precision).score(PAIRS)


def test_what_a_low_precision_loses_is_worked_out_in_fp32(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    detector, exact = small(folder, "bf16"), small(folder).score(PAIRS)
    model: Any = detector._model  # pyright: ignore[reportPrivateUsage]

    def scores(texts: Sequence[Sequence[int]]) -> Any:
        return torch.full((len(texts),), float("nan"))

    monkeypatch.setattr(model, "scores", scores)
    assert detector.score(PAIRS) == pytest.approx(exact, abs=1e-6)


@pytest.mark.parametrize(("precision", "device"), [("fp16", "cpu"), ("int8", "cuda"), ("mixed", "cuda")])
def test_a_precision_the_device_lacks_is_refused(folder: Path, precision: str, device: str) -> None:
    with pytest.raises(ConfigError, match=f"precision {precision} is not for {device}"):
        Hhem(str(folder), device=device, precision=precision, self_test=False)


def test_when_memory_runs_out_the_batch_halves_and_goes_on(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    detector = small(folder)
    whole = detector.score(PAIRS)
    model: Any = detector._model  # pyright: ignore[reportPrivateUsage]
    fits: Callable[[Sequence[Sequence[int]]], Any] = model.scores
    tried: list[int] = []

    def scores(texts: Sequence[Sequence[int]]) -> Any:
        tried.append(len(texts))
        if len(texts) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return fits(texts)

    monkeypatch.setattr(model, "scores", scores)
    assert detector.score(PAIRS) == pytest.approx(whole, abs=1e-5)
    assert tried[0] == len(PAIRS) and len(tried) > 3


def test_random_weights_fail_the_self_test(folder: Path) -> None:
    with pytest.raises(DetectorError, match=r"hhem failed its self-test and will not score: .* check that"):
        Hhem(str(folder), device="cpu")
    with pytest.raises(DetectorError, match="failed its self-test"):
        load(f"hhem:{folder}")


def test_the_self_test_tells_flat_scores_and_passes_good_ones(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    detector = small(folder)

    def flat(pairs: list[Pair]) -> list[float]:
        return [0.5 for _ in pairs]

    def good(pairs: list[Pair]) -> list[float]:
        return [0.9 if pair in neural.COPIES else 0.1 for pair in pairs]

    monkeypatch.setattr(detector, "_scores", flat)
    with pytest.raises(DetectorError, match=r"every pair gets about 0\.50"):
        detector.self_test()
    monkeypatch.setattr(detector, "_scores", good)
    assert detector.self_test() == [0.9] * 4 + [0.1] * 4


def test_auto_keeps_a_quick_precision_only_when_scores_stay(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def quick(device: str) -> tuple[str, ...]:
        return ("int8",)

    monkeypatch.setattr(neural, "quick", quick)
    monkeypatch.setattr(neural, "_MOST_SHIFT", 0.5)
    detector = small(folder, "auto")
    assert detector.precision == "int8" and 0 < detector.shift < 0.1
    monkeypatch.setattr(neural, "_MOST_SHIFT", 0.0)
    detector = small(folder, "auto")
    assert detector.precision == "fp32" and detector.shift == 0.0


def test_one_object_serves_many_threads(folder: Path) -> None:
    detector = small(folder)
    whole = detector.score(PAIRS)
    told: list[list[float]] = []
    threads = [threading.Thread(target=lambda: told.append(detector.score(PAIRS))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert told == [whole] * 4


@pytest.mark.parametrize(
    ("gone", "says"),
    [("t5.transformer.shared.weight", "<pad>|tokens are more"), ("t5.classifier.bias", "not those of HHEM"),
     ("t5.transformer.encoder.final_layer_norm.weight", "no tensor 'encoder.final_layer_norm.weight'")],
)  # fmt: skip
def test_missing_tensors_are_named(tmp_path: Path, gone: str, says: str) -> None:
    tensors = small_t5.hhem()
    del tensors[gone]
    with pytest.raises(DetectorError, match=says):
        small(small_t5.save(tmp_path, tensors))


def test_bad_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"there is no folder './none'"):
        Hhem("./none", self_test=False)
    with pytest.raises(ConfigError, match=r"has no model\.safetensors or"):
        small(tmp_path)
    small_t5.save(tmp_path, small_t5.hhem())
    with pytest.raises(ConfigError, match="no precision 'fp7'"):
        small(tmp_path, "fp7")
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(DetectorError, match="is no tokenizer"):
        small(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"cut")
    with pytest.raises(DetectorError, match=r"model\.safetensors cannot be read"):
        small(tmp_path)


def test_the_hub_is_asked_for_the_pinned_revision(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub: Any = pytest.importorskip("huggingface_hub")
    asked: list[tuple[str, str, str | None]] = []

    def download(repo: str, name: str, *, revision: str | None) -> str:
        asked.append((repo, name, revision))
        return str(folder / name)

    monkeypatch.setattr(hub, "hf_hub_download", download)
    detector = Hhem(device="cpu", precision="fp32", self_test=False)
    assert asked == [(HUB, "model.safetensors", REVISION), (TOKENIZER, "tokenizer.json", None)]
    assert detector.version == small(folder).version


def test_a_hub_out_of_reach_says_how_to_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    hub: Any = pytest.importorskip("huggingface_hub")

    def download(repo: str, name: str, *, revision: str | None) -> str:
        raise OSError("no route")

    monkeypatch.setattr(hub, "hf_hub_download", download)
    with pytest.raises(
        ConfigError, match=r"is not stored here and could not be fetched \(OSError: no route\).*'hhem:FOLDER'"
    ):
        load("hhem")


@pytest.mark.parametrize("name", ["hhem", "minicheck:somewhere"])
def test_a_missing_extra_names_the_command(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [m for m in sys.modules if m.startswith("mashq.detectors.")]:
        if module.rpartition(".")[2] not in ("base", "extras"):
            monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ConfigError, match=r"needs the extra: pip install 'mashq\[hhem\]'"):
        load(name)
