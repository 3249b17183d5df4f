"""Speed of the neural detector: pairs per second and the shift of its scores against fp32, each compared with the
reference method (fp32, one pair at a time, and 32 unsorted at a time) measured in the same run.

Base-size random weights (12 layers, width 768, 12 heads of 64, feed-forward 2048), the length mix of a news task
(lognormal, median 600 tokens, sigma 0.5). Needs only torch; with transformers installed, the reference method is its
T5ForTokenClassification, else our plain encoder. The first tables start from token ids. The last, on CUDA, is the
whole detector (made-up words, a tokenizer with as many pieces as T5's): called directly, and through a run's referee.

    python bench/detectors.py [--pairs N] [--cpu-pairs N] [--whole-pairs N] [--rounds N]
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import random
import statistics
import string
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from mashq.arena.referee import BATCH, Referee
from mashq.detectors.base import Pair
from mashq.detectors.neural.base import BUDGET, out_of_memory, run
from mashq.detectors.neural.batches import Batches
from mashq.detectors.neural.hhem import Hhem, prompt
from mashq.detectors.neural.hhem_model import Classifier

LAYERS, WIDTH, HEADS, SIZE, INNER, WORDS = 12, 768, 12, 64, 2048, 32128
Texts = list[list[int]]
Way = Callable[[Any], list[float]]  # of texts, or of pairs


def weights() -> dict[str, Any]:
    """Return random tensors under HHEM's names, scaled so that attention is peaked and scores spread over (0, 1)."""
    torch.manual_seed(4)
    wide = HEADS * SIZE
    tensors = {"t5.transformer.shared.weight": torch.randn(WORDS, WIDTH)}
    for n in range(LAYERS):
        at = f"t5.transformer.encoder.block.{n}.layer"
        for name, std in (("q", 2 * (WIDTH * SIZE) ** -0.5), ("k", WIDTH**-0.5), ("v", WIDTH**-0.5)):
            tensors[f"{at}.0.SelfAttention.{name}.weight"] = torch.randn(wide, WIDTH) * std
        tensors[f"{at}.0.SelfAttention.o.weight"] = torch.randn(WIDTH, wide) * wide**-0.5
        for name in ("wi_0", "wi_1"):
            tensors[f"{at}.1.DenseReluDense.{name}.weight"] = torch.randn(INNER, WIDTH) * WIDTH**-0.5
        tensors[f"{at}.1.DenseReluDense.wo.weight"] = torch.randn(WIDTH, INNER) * INNER**-0.5
        for layer in (0, 1):
            tensors[f"{at}.{layer}.layer_norm.weight"] = 1 + 0.1 * torch.randn(WIDTH)
    tensors["t5.transformer.encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight"] = torch.randn(
        32, HEADS
    )
    tensors["t5.transformer.encoder.final_layer_norm.weight"] = 1 + 0.1 * torch.randn(WIDTH)
    tensors["t5.classifier.weight"] = torch.randn(2, WIDTH) * WIDTH**-0.5
    tensors["t5.classifier.bias"] = torch.zeros(2)
    return tensors


def with_outliers(tensors: dict[str, Any], times: float = 20.0) -> dict[str, Any]:
    """Return the tensors with a few channels much larger than the rest, as in trained T5s."""
    changed = {name: tensor.clone() for name, tensor in tensors.items()}
    for n in range(LAYERS):
        feed = f"t5.transformer.encoder.block.{n}.layer.1.DenseReluDense"
        changed[f"{feed}.wi_1.weight"][:8] *= times
        changed[f"{feed}.wo.weight"][:, :8] /= times
    changed["t5.transformer.shared.weight"][:, :4] *= times
    return changed


def news(count: int, seed: int, most: int = 4096) -> Texts:
    """Return random token ids with the lengths of pairs of news and summaries."""
    draw = random.Random(seed)
    lengths = [min(most, max(32, round(draw.lognormvariate(6.397, 0.5)))) for _ in range(count)]
    return [[0, *draw.choices(range(3, 32100), k=length - 2), 1] for length in lengths]


def reference(tensors: dict[str, Any], device: str, at_once: int, kind: Any = torch.float32) -> Way:
    """Return the published method: one padded batch after another, in the order given."""
    try:
        from transformers import T5Config, T5ForTokenClassification
    except ImportError:
        print("transformers cannot be imported: the reference is our own plain encoder, which is faster", flush=True)
        return in_calls(ours(tensors, "fp32", device, 1), 1)
    config = T5Config(
        vocab_size=WORDS, d_model=WIDTH, d_kv=SIZE, d_ff=INNER, num_layers=LAYERS, num_heads=HEADS,
        feed_forward_proj="gated-gelu", num_labels=2, classifier_dropout=0.0, dropout_rate=0.0,
    )  # fmt: skip
    model: Any = T5ForTokenClassification(config)
    bare = {name.removeprefix("t5."): tensor for name, tensor in tensors.items()}
    bare["transformer.encoder.embed_tokens.weight"] = bare["transformer.shared.weight"]
    model.load_state_dict(bare)
    model = model.to(device, kind).eval()

    def score(texts: Texts) -> list[float]:
        scores: list[float] = []
        for start in range(0, len(texts), at_once):
            chunk = texts[start : start + at_once]
            longest = max(map(len, chunk))
            ids = torch.tensor([text + [0] * (longest - len(text)) for text in chunk], device=device)
            mask = torch.tensor([[1] * len(text) + [0] * (longest - len(text)) for text in chunk], device=device)
            logits = model(input_ids=ids, attention_mask=mask).logits[:, 0].float()
            scores += torch.softmax(logits, 1)[:, 1].tolist()
        return scores

    return score


def sorted_first(way: Way) -> Way:
    """Return the method applied to texts sorted by length."""

    def score(texts: Texts) -> list[float]:
        order = sorted(range(len(texts)), key=lambda i: -len(texts[i]))
        scores = [0.0] * len(texts)
        for index, value in zip(order, way([texts[i] for i in order]), strict=True):
            scores[index] = value
        return scores

    return score


def ours(tensors: dict[str, Any], precision: str, device: str, budget: int) -> Way:
    """Return the detector's own method, from token ids on."""
    model, batches = Classifier(tensors, precision, device), Batches(budget, out_of_memory)
    return lambda texts: run(model, batches, [(range(len(texts)), texts)])


def timed(way: Way, texts: Sequence[Any]) -> tuple[float, list[float]]:
    """Return pairs per second, with the device idle before and after, and the scores."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    started = time.perf_counter()
    scores = way(texts)
    return len(texts) / (time.perf_counter() - started), scores


def table(
    title: str, ways: Sequence[tuple[str, Way, int]], texts: Sequence[Any], lengths: list[int], rounds: int
) -> None:
    """Measure all methods in turn, so that a busy machine slows all equally; print medians. Some take only a part."""
    rates: dict[str, list[float]] = {name: [] for name, _, _ in ways}
    scores: dict[str, list[float]] = {}
    with torch.inference_mode():
        for _, way, share in ways:
            way(texts[: max(1, share // 4)])  # warm-up: kernels are built and chosen here
        for _ in range(rounds):
            for name, way, share in ways:
                rate, scores[name] = timed(way, texts[:share])
                rates[name].append(rate)
    first = ways[0][0]
    base, truth = statistics.median(rates[first]), scores[first]
    print(f"\n{title}: {len(texts)} pairs, tokens: median {statistics.median(lengths):.0f}, mean "
          f"{statistics.mean(lengths):.0f}; scores {min(truth):.2f} to {max(truth):.2f}")  # fmt: skip
    print(f"{'way':34} {'pairs/s':>9} {'x first':>8}  worst shift  mean shift  (pairs compared)")
    for name, _, _ in ways:
        shifts = [abs(a - b) for a, b in zip(scores[name], truth, strict=False)]
        rate = statistics.median(rates[name])
        print(f"{name:34} {rate:9.2f} {rate / base:8.2f}  {max(shifts):11.5f}  {statistics.mean(shifts):10.5f}  "
              f"({len(shifts)})")  # fmt: skip


def main() -> None:
    """Print all tables; those for CUDA only if there is a device."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=8192, help="pairs on CUDA")
    parser.add_argument("--cpu-pairs", type=int, default=16)
    parser.add_argument("--whole-pairs", type=int, default=8192, help="pairs for the whole detector on CUDA")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    tensors = weights()
    if options.cpu_pairs:
        cpu: list[tuple[str, Way, int]] = [("reference: fp32, one at a time", reference(tensors, "cpu", 1), 9999)]
        cpu += [("ours, fp32, one at a time", in_calls(ours(tensors, "fp32", "cpu", 1), 1), 9999)]
        cpu += [
            (f"ours, {kind}", ours(tensors, kind, "cpu", BUDGET["cpu"]), 9999)
            for kind in ("fp32", "bf16", "mixed", "int8")
        ]
        texts = news(options.cpu_pairs, 1)
        table(f"{processor()}, {torch.get_num_threads()} threads", cpu, texts, list(map(len, texts)), options.rounds)
        changed, texts = with_outliers(tensors), news(options.cpu_pairs, 3, most=400)
        outlier_rows: list[tuple[str, Way, int]] = [
            (f"ours, {kind}", ours(changed, kind, "cpu", BUDGET["cpu"]), 9999)
            for kind in ("fp32", "bf16", "mixed", "int8")
        ]
        table("CPU, a few channels 20 times the rest", outlier_rows, texts, list(map(len, texts)), 1)
    if options.pairs and torch.cuda.is_available():
        sample, half = min(options.pairs, 512), ours(tensors, "fp16", "cuda", BUDGET["cuda"])
        cuda: list[tuple[str, Way, int]] = [
            ("reference: fp32, one at a time", reference(tensors, "cuda", 1), sample),
            ("reference: fp32, 32 unsorted", reference(tensors, "cuda", 32), sample),
            (
                "bf16, sorted, 32 at a time",
                sorted_first(reference(tensors, "cuda", 32, torch.bfloat16)),
                options.pairs,
            ),
            ("ours, fp32", ours(tensors, "fp32", "cuda", BUDGET["cuda"] // 4), sample),
            ("ours, bf16", ours(tensors, "bf16", "cuda", BUDGET["cuda"]), options.pairs),
            ("ours, fp16, 64 pairs a call", in_calls(half, 64), options.pairs),
            (f"ours, fp16, {BATCH} pairs a call", in_calls(half, BATCH), options.pairs),
            ("ours, fp16", half, options.pairs),
        ]
        texts = news(options.pairs, 2)
        table(torch.cuda.get_device_name(), cuda, texts, list(map(len, texts)), options.rounds)
    if options.whole_pairs and torch.cuda.is_available():
        whole(tensors, options.whole_pairs, options.rounds)


def processor() -> str:
    """Return the CPU's matrix capabilities."""
    capabilities: dict[str, bool] = torch.cpu.get_capabilities()
    names = [name for name in ("avx512_vnni", "avx512_bf16", "amx_bf16", "amx_int8") if capabilities.get(name)]
    return f"CPU ({', '.join(names) or 'fp32 alone'})"


def in_calls(way: Way, size: int) -> Way:
    """Return the method called with a few pairs at a time."""
    return lambda texts: [s for at in range(0, len(texts), size) for s in way(texts[at : at + size])]


def by_referee(detector: Hhem, askers: int) -> Way:
    """Score as a run does: `askers` answers at a time, each waiting for its score before the next."""

    async def score(pairs: Sequence[Pair]) -> list[float]:
        referee, scores = Referee(detector), [0.0] * len(pairs)

        async def ask(first: int) -> None:
            for index in range(first, len(pairs), askers):
                scores[index] = await referee.score(pairs[index])

        await asyncio.gather(*(ask(first) for first in range(askers)))
        referee.close()
        return scores

    return lambda pairs: asyncio.run(score(pairs))


def words(folder: Path) -> list[str]:
    """Save a tokenizer of random pieces; return words of one or two of them, the most frequent first."""
    import tokenizers

    draw = random.Random(3)

    def piece() -> str:
        return "".join(draw.choices(string.ascii_lowercase, k=draw.choice((3, 4, 4, 5, 6))))

    starts, ends = (sorted({piece() for _ in range(n)}) for n in (22_000, 10_000))
    pieces = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("▁", -12.0), ("\n", -12.0)]
    pieces += [(character, -12.0) for character in string.printable[:94]]
    pieces += [(each, -9.0) for each in ["▁" + start for start in starts] + ends]
    tokenizer: Any = tokenizers.Tokenizer(tokenizers.models.Unigram(pieces, unk_id=2, byte_fallback=False))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    tokenizer.add_special_tokens(["<pad>", "</s>", "<unk>"])
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing("$A </s>", special_tokens=[("</s>", 1)])
    tokenizer.save(str(folder / "tokenizer.json"))
    return [draw.choice(starts) + draw.choice(["", "", "", "", draw.choice(ends)]) for _ in range(60_000)]


def articles(count: int, words: list[str]) -> list[Pair]:
    """Return made-up texts with the lengths of news and word frequencies by Zipf's law."""
    draw = random.Random(5)
    frequency = list(itertools.accumulate(1 / rank for rank in range(1, len(words) + 1)))

    def text(tokens: int) -> str:
        return " ".join(draw.choices(words, cum_weights=frequency, k=max(4, round(tokens / 1.2))))

    lengths = [min(4096, max(100, round(draw.lognormvariate(6.397, 0.5)))) for _ in range(count)]
    return [Pair(text(length - 75 - length // 8), text(length // 8)) for length in lengths]  # the prompt has 75


def whole(tensors: dict[str, Any], count: int, rounds: int) -> None:
    """Measure the detector as in a run, tokenising included."""
    import safetensors.torch
    import tokenizers

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pairs = articles(count, words(folder))
        safetensors.torch.save_file(tensors, str(folder / "model.safetensors"))
        exact = Hhem(name, precision="fp32", self_test=False)
        quick = Hhem(name, precision="fp16", self_test=False)
        tokenizer: Any = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    texts = [prompt(pair) for pair in pairs]
    started = time.perf_counter()
    lengths = [len(encoded.ids) for encoded in tokenizer.encode_batch_fast(texts)]
    print(f"\ntokenising alone: {count / (time.perf_counter() - started):.0f} pairs/s")
    ways: list[tuple[str, Way, int]] = [("fp32, one at a time", in_calls(exact.score, 1), min(count, 512))]
    ways += [(f"fp16, calls of {size}", in_calls(quick.score, size), count) for size in (64, BATCH)]
    ways += [("fp16, one call", quick.score, count)]
    ways += [(f"fp16, a referee, {n} at a time", by_referee(quick, n), count) for n in (64, BATCH, 4 * BATCH)]
    table(f"the whole detector, {torch.cuda.get_device_name()}", ways, pairs, lengths, rounds)


if __name__ == "__main__":
    main()
