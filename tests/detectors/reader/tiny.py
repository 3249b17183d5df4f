"""A tiny random model as a GGUF file, and the plainest way to compute it."""

import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mashq.detectors.reader.adapter import Adapter, Line
from mashq.detectors.reader.tokens import signs

Doubles = NDArray[np.float64]
LAYERS, WIDTH, HEADS, GROUPS, INNER = 2, 32, 4, 2, 64
SIZE = WIDTH // HEADS
BASE, EPSILON = 10000.0, 1e-5
MERGES = ["t h", "th e", "Ġ the"]
VOCABULARY = [*signs().values(), "th", "the", "Ġthe"]
F32, Q4_1, Q8_0 = 0, 3, 8
_SHAPES = {
    "attn_q": (WIDTH, WIDTH), "attn_k": (GROUPS * SIZE, WIDTH), "attn_v": (GROUPS * SIZE, WIDTH),
    "attn_output": (WIDTH, WIDTH), "ffn_gate": (INNER, WIDTH), "ffn_up": (INNER, WIDTH), "ffn_down": (WIDTH, INNER),
}  # fmt: skip


def _text(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def _q4_1(values: Doubles) -> tuple[bytes, Doubles]:
    """As bytes, and as the numbers those bytes stand for."""
    out, read = b"", np.empty_like(values).reshape(-1, 32)
    for k, block in enumerate(values.reshape(-1, 32)):
        low, scale = np.float16(block.min()), np.float16((block.max() - block.min()) / 15)
        levels = np.clip(np.round((block - float(low)) / float(scale)), 0, 15).astype(np.uint8)
        out += scale.tobytes() + low.tobytes() + bytes(int(a) | int(b) << 4 for a, b in zip(levels[:16], levels[16:]))
        read[k] = levels * float(scale) + float(low)
    return out, read.reshape(values.shape)


def _q8_0(values: Doubles) -> tuple[bytes, Doubles]:
    out, read = b"", np.empty_like(values).reshape(-1, 32)
    for k, block in enumerate(values.reshape(-1, 32)):
        scale = np.float16(np.abs(block).max() / 127)
        levels = np.round(block / float(scale)).clip(-127, 127).astype(np.int8)
        out += scale.tobytes() + levels.tobytes()
        read[k] = levels * float(scale)
    return out, read.reshape(values.shape)


def write(path: Path) -> dict[str, Doubles]:
    """The file; gives back its tensors as they can be read from it."""
    rng = np.random.default_rng(3)
    held: dict[str, Doubles] = {}
    bodies: list[tuple[str, tuple[int, ...], int, bytes]] = []

    def add(name: str, values: Doubles, kind: int) -> None:
        if kind == F32:
            body, held[name] = values.astype("<f4").tobytes(), values.astype(np.float32).astype(np.float64)
        else:
            body, held[name] = (_q4_1 if kind == Q4_1 else _q8_0)(values)
        bodies.append((name, values.shape, kind, body))

    add("token_embd.weight", rng.normal(size=(len(VOCABULARY), WIDTH)), Q8_0)
    for n in range(LAYERS):
        for part in ("attn_norm", "ffn_norm"):
            add(f"blk.{n}.{part}.weight", 1 + 0.1 * rng.normal(size=WIDTH), F32)
        for name, shape in _SHAPES.items():
            add(f"blk.{n}.{name}.weight", rng.normal(size=shape) / shape[1] ** 0.5, Q4_1)
    add("output_norm.weight", 1 + 0.1 * rng.normal(size=WIDTH), F32)
    whole = {"block_count": LAYERS, "embedding_length": WIDTH, "attention.head_count": HEADS,
             "attention.head_count_kv": GROUPS, "feed_forward_length": INNER}  # fmt: skip
    real = {"rope.freq_base": BASE, "attention.layer_norm_rms_epsilon": EPSILON}
    settings = [_text(f"llama.{k}") + struct.pack("<II", 4, v) for k, v in whole.items()]
    settings += [_text(f"llama.{k}") + struct.pack("<If", 6, v) for k, v in real.items()]
    for name, texts in (("tokens", VOCABULARY), ("merges", MERGES)):
        head = struct.pack("<IIQ", 9, 8, len(texts))
        settings.append(_text(f"tokenizer.ggml.{name}") + head + b"".join(map(_text, texts)))
    out = b"GGUF" + struct.pack("<IQQ", 3, len(bodies), len(settings)) + b"".join(settings)
    at, data = 0, b""
    for name, shape, kind, body in bodies:
        out += _text(name) + struct.pack("<I", len(shape)) + struct.pack(f"<{len(shape)}Q", *shape[::-1])
        out += struct.pack("<IQ", kind, at)
        padded = body + bytes(-len(body) % 32)
        data += padded
        at += len(padded)
    path.write_bytes(out + bytes(-len(out) % 32) + data)
    return held


def plain(held: dict[str, Doubles], ids: list[int], extra: dict[str, Doubles] | None = None) -> Doubles:
    """The last vectors, one token, one head and one number after the other, as llama.cpp defines them: neighbouring
    numbers of a head are turned against each other."""

    def normed(x: Doubles, name: str) -> Doubles:
        return x / np.sqrt((x * x).mean() + EPSILON) * held[name]

    def matrix(name: str) -> Doubles:
        return held[f"{name}.weight"] + (extra or {}).get(name, 0.0)

    def turned(head: Doubles, position: int) -> Doubles:
        out = head.copy()
        for i in range(0, SIZE, 2):
            angle = position * BASE ** (-i / SIZE)
            a, b = head[i], head[i + 1]
            out[i], out[i + 1] = a * np.cos(angle) - b * np.sin(angle), a * np.sin(angle) + b * np.cos(angle)
        return out

    x = [held["token_embd.weight"][i].copy() for i in ids]
    for n in range(LAYERS):
        keys: list[list[Doubles]] = []
        values: list[list[Doubles]] = []
        for at in range(len(ids)):
            h = normed(x[at], f"blk.{n}.attn_norm.weight")
            q, k, v = (matrix(f"blk.{n}.attn_{p}") @ h for p in "qkv")
            keys.append([turned(k[g * SIZE : (g + 1) * SIZE], at) for g in range(GROUPS)])
            values.append([v[g * SIZE : (g + 1) * SIZE] for g in range(GROUPS)])
            mixed: list[Doubles] = []
            for head in range(HEADS):
                group = head // (HEADS // GROUPS)
                query = turned(q[head * SIZE : (head + 1) * SIZE], at)
                scores = np.array([query @ key[group] / SIZE**0.5 for key in keys])
                shares = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
                mixed.append(sum((s * val[group] for s, val in zip(shares, values)), np.zeros(SIZE)))
            x[at] = x[at] + matrix(f"blk.{n}.attn_output") @ np.concatenate(mixed)
            h = normed(x[at], f"blk.{n}.ffn_norm.weight")
            gate, up = matrix(f"blk.{n}.ffn_gate") @ h, matrix(f"blk.{n}.ffn_up") @ h
            x[at] = x[at] + matrix(f"blk.{n}.ffn_down") @ (gate / (1 + np.exp(-gate)) * up)
    return np.stack([normed(one, "output_norm.weight") for one in x])


def adapter() -> Adapter:
    """A random adapter on the tiny model's feed-forward part, and a random head."""
    rng = np.random.default_rng(5)
    parts = {
        f"blk.{n}.ffn_up": (
            (0.3 * rng.normal(size=(2, WIDTH))).astype(np.float32),
            (0.3 * rng.normal(size=(INNER, 2))).astype(np.float32),
        )
        for n in range(LAYERS)
    }
    head = rng.normal(size=(3, WIDTH)).astype(np.float32)
    return Adapter(parts, head, -0.5, Line(0.1, 0.3, 0.5, -0.1, -1.0), "tiny")
