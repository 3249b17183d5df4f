"""MiniCheck on a small random model, against T5 worked out again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mashq.detectors import Pair, load
from mashq.errors import DetectorError
from tests.detectors.neural import small_t5

from mashq.detectors.neural import minicheck  # isort: skip
from mashq.detectors.neural.minicheck import Minicheck, sentences  # isort: skip


@pytest.fixture(scope="module")
def tensors() -> dict[str, Any]:
    return small_t5.minicheck()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, tensors: dict[str, Any]) -> Path:
    return small_t5.save(tmp_path_factory.mktemp("minicheck"), tensors)


def small(folder: Path, precision: str = "fp32") -> Minicheck:
    return Minicheck(str(folder), device="cpu", precision=precision, self_test=False)


def test_one_sentence_and_one_chunk_equal_the_plain_computation(folder: Path, tensors: dict[str, Any]) -> None:
    pair = Pair("the mayor opened a bridge", "a bridge was opened")
    ids = small_t5.tokenizer(folder).encode(f"predict: {pair.source}</s>{pair.answer}").ids
    assert ids.count(1) == 2
    expected = small_t5.minicheck_score(tensors, ids)
    assert small(folder).score([pair]) == [pytest.approx(expected, abs=1e-5)]
    assert small(folder, "bf16").score([pair]) == [pytest.approx(expected, abs=0.05)]


def test_scores_equal_the_published_architecture(folder: Path, tensors: dict[str, Any]) -> None:
    transformers: Any = pytest.importorskip("transformers")
    config = transformers.T5Config(
        vocab_size=small_t5.WORDS, d_model=small_t5.WIDTH, d_kv=small_t5.SIZE, d_ff=small_t5.INNER, num_layers=2,
        num_heads=small_t5.HEADS, feed_forward_proj="gated-gelu", tie_word_embeddings=False,
    )  # fmt: skip
    model = transformers.T5ForConditionalGeneration(config).eval()
    ties = {f"{side}.embed_tokens.weight": tensors["shared.weight"] for side in ("encoder", "decoder")}
    model.load_state_dict(tensors | ties)
    model.set_input_embeddings(small_t5.torch.nn.Embedding.from_pretrained(tensors["shared.weight"]))
    model.lm_head.weight = small_t5.torch.nn.Parameter(tensors["lm_head.weight"])  # published with a head of its own
    ids = small_t5.tokenizer(folder).encode("predict: the word</s>a word").ids
    torch = small_t5.torch
    with torch.inference_mode():
        logits = model(input_ids=torch.tensor([ids]), decoder_input_ids=torch.zeros((1, 1), dtype=torch.long)).logits
    expected = torch.softmax(logits[0, 0, [3, 209]], 0)[1].item()
    assert small(folder).score([Pair("the word", "a word")]) == [pytest.approx(expected, abs=1e-5)]


def test_the_best_chunk_of_each_sentence_and_their_mean(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minicheck, "CHUNK", 12)
    detector = small(folder)
    first, second = "the word a b c d.", "the bridge e f g."
    for claim in ("a word.", "a bridge."):
        parts = detector.score([Pair(first, claim), Pair(second, claim)])
        assert detector.score([Pair(f"{first} {second}", claim)]) == [pytest.approx(max(parts), abs=1e-6)]
    whole = f"{first} {second}"
    each = detector.score([Pair(whole, "a word."), Pair(whole, "a bridge.")])
    assert detector.score([Pair(whole, "a word. a bridge.")]) == [pytest.approx(sum(each) / 2, abs=1e-6)]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", []),
        (" \n ", []),
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("Mr. Smith met J. Doe. They left.", ["Mr. Smith met J. Doe.", "They left."]),
        ("It cost 4.2 million euros.", ["It cost 4.2 million euros."]),
        ("A headline\nA sentence.", ["A headline", "A sentence."]),
        ("橋が開いた。市長が来た。", ["橋が開いた。", "市長が来た。"]),
        ("no end", ["no end"]),
    ],
)
def test_sentences(text: str, parts: list[str]) -> None:
    assert sentences(text) == parts


def test_chunks_keep_every_word_within_the_limit(folder: Path) -> None:
    detector = small(folder)
    source = "the word was here. " * 300 + "the word " * 2_000 + ". the end."
    chunks = detector._chunks(source)  # pyright: ignore[reportPrivateUsage]
    assert "".join(chunks).replace(" ", "") == source.replace(" ", "")
    tokens = small_t5.tokenizer(folder)
    assert max(len(tokens.encode(chunk).ids) for chunk in chunks) <= minicheck.CHUNK + 8


def test_odd_texts(tmp_path: Path) -> None:
    detector = small(small_t5.save(tmp_path, small_t5.minicheck(layers=1)))
    pairs = [
        Pair("the word " * 50_000, "the word"), Pair("a", "longer than its source. " * 20), Pair("", "no source"),
        Pair("河流 🚲 نهر", "🚲 \ud83d"), Pair("the source", " \n"),
    ]  # fmt: skip
    scores = detector.score(pairs)
    assert all(0 < h < 1 for h in scores[:4])
    assert scores[4] == 0.0


def test_random_weights_and_encoders_alone_are_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(DetectorError, match="minicheck failed its self-test"):
        load(f"minicheck:{folder}")
    with pytest.raises(DetectorError, match="no decoder"):
        small(small_t5.save(tmp_path, small_t5.encoder(1)[0]))
