"""Small random models in the published formats, and T5 worked out again in numpy, token by token, for comparison."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

torch: Any = pytest.importorskip("torch")
safetensors_torch: Any = pytest.importorskip("safetensors.torch")
tokenizers: Any = pytest.importorskip("tokenizers")
torch.set_num_threads(1)  # tests run side by side: threads that wait for each other would be slower

WIDTH, HEADS, SIZE, INNER, WORDS = 24, 3, 8, 40, 320
Array = npt.NDArray[np.float64]
Tensors = dict[str, Any]


def tokenizer(folder: Path) -> Any:
    """A unigram tokenizer with T5's special tokens, saved as tokenizer.json."""
    pieces = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("▁", -5.0), ("▁the", -2.0), ("▁word", -2.0)]
    pieces += [(chr(c), -6.0) for c in range(33, 127)] + [("\n", -6.0)]
    pieces += [("▁" + chr(a) + chr(b), -4.0) for a in range(97, 112) for b in (97, 101, 105, 111)]
    made = tokenizers.Tokenizer(tokenizers.models.Unigram(pieces, unk_id=2, byte_fallback=False))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    made.add_special_tokens(["<pad>", "</s>", "<unk>"])
    made.post_processor = tokenizers.processors.TemplateProcessing("$A </s>", special_tokens=[("</s>", 1)])
    made.save(str(folder / "tokenizer.json"))
    return made


def _attention(draw: Any, at: str, tensors: Tensors) -> None:
    wide = HEADS * SIZE
    for name in "qkv":
        tensors[f"{at}.{name}.weight"] = draw(wide, WIDTH) * WIDTH**-0.5
    tensors[f"{at}.o.weight"] = draw(WIDTH, wide) * wide**-0.5


def _feed(draw: Any, at: str, tensors: Tensors) -> None:
    for name in ("wi_0", "wi_1"):
        tensors[f"{at}.DenseReluDense.{name}.weight"] = draw(INNER, WIDTH) * WIDTH**-0.5
    tensors[f"{at}.DenseReluDense.wo.weight"] = draw(WIDTH, INNER) * INNER**-0.5
    tensors[f"{at}.layer_norm.weight"] = 1 + 0.2 * draw(WIDTH)


def encoder(layers: int, seed: int = 0) -> tuple[Tensors, Any]:
    """The tensors of an encoder, and what draws more of the same."""
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> Any:
        return torch.randn(*shape, generator=generator)

    tensors: Tensors = {"shared.weight": draw(WORDS, WIDTH)}
    for n in range(layers):
        at = f"encoder.block.{n}.layer"
        _attention(draw, f"{at}.0.SelfAttention", tensors)
        tensors[f"{at}.0.layer_norm.weight"] = 1 + 0.2 * draw(WIDTH)
        _feed(draw, f"{at}.1", tensors)
    tensors["encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight"] = draw(32, HEADS)
    tensors["encoder.final_layer_norm.weight"] = 1 + 0.2 * draw(WIDTH)
    return tensors, draw


def hhem(layers: int = 2) -> Tensors:
    """Named as HHEM's published tensors: the prefix, and the embedding once, as shared.weight."""
    tensors, draw = encoder(layers)
    named = {f"t5.transformer.{name}": tensor for name, tensor in tensors.items()}
    named["t5.classifier.weight"] = draw(2, WIDTH) * WIDTH**-0.5
    named["t5.classifier.bias"] = draw(2)
    return named


def minicheck(layers: int = 2) -> Tensors:
    """Named as an encoder-decoder with a head of its own."""
    tensors, draw = encoder(layers, seed=1)
    for n in range(layers):
        at = f"decoder.block.{n}.layer"
        _attention(draw, f"{at}.0.SelfAttention", tensors)
        _attention(draw, f"{at}.1.EncDecAttention", tensors)
        for layer in (0, 1):
            tensors[f"{at}.{layer}.layer_norm.weight"] = 1 + 0.2 * draw(WIDTH)
        _feed(draw, f"{at}.2", tensors)
    tensors["decoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight"] = draw(32, HEADS)
    tensors["decoder.final_layer_norm.weight"] = 1 + 0.2 * draw(WIDTH)
    tensors["lm_head.weight"] = draw(WORDS, WIDTH)
    return tensors


def save(folder: Path, tensors: Tensors) -> Path:
    """A folder as the hub has it."""
    tokenizer(folder)
    safetensors_torch.save_file(tensors, str(folder / "model.safetensors"))
    return folder


def plain(tensors: Tensors, prefix: str = "") -> dict[str, Array]:
    """The tensors in float64."""
    return {name.removeprefix(prefix): t.double().numpy() for name, t in tensors.items()}


def norm(x: Array, weight: Array) -> Array:
    return weight * x / np.sqrt((x * x).mean() + 1e-6)


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max())
    return e / e.sum()


def bucket(distance: int) -> int:
    """T5's 32 buckets, both directions: 8 exact, then up to 128 in equal steps of the logarithm."""
    size, side = abs(distance), 16 if distance > 0 else 0
    if size < 8:
        return side + size
    return side + min(15, 8 + math.floor(8 * math.log2(size / 8) / 4 + 1e-9))


def attention(w: dict[str, Array], at: str, x: Array, memory: list[Array], bias: list[Array] | None) -> Array:
    """One query vector over a list of memory vectors, head by head."""
    q = w[f"{at}.q.weight"] @ x
    mixed: list[Array] = []
    for h in range(HEADS):
        part = slice(h * SIZE, (h + 1) * SIZE)
        logits = np.array([q[part] @ (w[f"{at}.k.weight"] @ m)[part] for m in memory])
        if bias is not None:
            logits = logits + np.array([b[h] for b in bias])
        mixed.append(sum(a * (w[f"{at}.v.weight"] @ m)[part] for a, m in zip(softmax(logits), memory, strict=True)))  # pyright: ignore[reportArgumentType]
    return w[f"{at}.o.weight"] @ np.concatenate(mixed)


def feed(w: dict[str, Array], at: str, x: Array) -> Array:
    y = norm(x, w[f"{at}.layer_norm.weight"])
    a, b = w[f"{at}.DenseReluDense.wi_0.weight"] @ y, w[f"{at}.DenseReluDense.wi_1.weight"] @ y
    gelu = 0.5 * a * (1 + np.tanh(math.sqrt(2 / math.pi) * (a + 0.044715 * a**3)))
    return x + w[f"{at}.DenseReluDense.wo.weight"] @ (gelu * b)


def encode(w: dict[str, Array], ids: list[int], layers: int) -> list[Array]:
    """The final states of a text."""
    table = w["encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight"]
    states = [w["shared.weight"][i] for i in ids]
    for n in range(layers):
        at = f"encoder.block.{n}.layer"
        normed = [norm(x, w[f"{at}.0.layer_norm.weight"]) for x in states]
        after = [
            x + attention(w, f"{at}.0.SelfAttention", y, normed, [table[bucket(j - i)] for j in range(len(ids))])
            for i, (x, y) in enumerate(zip(states, normed, strict=True))
        ]
        states = [feed(w, f"{at}.1", x) for x in after]
    return [norm(x, w["encoder.final_layer_norm.weight"]) for x in states]


def hhem_score(tensors: Tensors, ids: list[int], layers: int = 2) -> float:
    w = plain(tensors, "t5.")
    inner = {name.removeprefix("transformer."): value for name, value in w.items()}
    first = encode(inner, ids, layers)[0]
    return float(softmax(w["classifier.weight"] @ first + w["classifier.bias"])[1])


def minicheck_score(tensors: Tensors, ids: list[int], layers: int = 2) -> float:
    w = plain(tensors)
    memory = encode(w, ids, layers)
    x = w["shared.weight"][0]
    for n in range(layers):
        at = f"decoder.block.{n}.layer"
        y = norm(x, w[f"{at}.0.layer_norm.weight"])
        x = x + attention(w, f"{at}.0.SelfAttention", y, [y], None)
        x = x + attention(w, f"{at}.1.EncDecAttention", norm(x, w[f"{at}.1.layer_norm.weight"]), memory, None)
        x = feed(w, f"{at}.2", x)
    logits = w["lm_head.weight"] @ norm(x, w["decoder.final_layer_norm.weight"])
    return float(softmax(logits[[3, 209]])[1])
