"""The embedded model's forward pass in numpy: a source is read once, then each answer on top of it.

Contract: `Model.read(ids)` gives the `Memory` of a text: its keys and values, layer by layer.
`Model.states(memory, ids)` gives the last layer's vector of each token of a text that follows it, and leaves
the memory as it was. Both are functions of their arguments alone: a text is never computed beside another, so
nothing that is read before, after or at the same time changes a single bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from mashq.detectors.reader.gguf import Floats, Gguf

__all__ = ["PROJECTIONS", "Layer", "Memory", "Model", "Shape", "weights"]

PROJECTIONS = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")
_CHUNK = 128  # tokens that look back at once: what lies ahead of them is not computed


@dataclass(frozen=True, slots=True)
class Shape:
    """The model's measures."""

    layers: int
    width: int
    heads: int
    groups: int  # of heads that share keys and values
    inner: int
    base: float
    epsilon: float

    @classmethod
    def of(cls, file: Gguf) -> Shape:
        """As the file says."""
        return cls(
            file.whole("llama.block_count"),
            file.whole("llama.embedding_length"),
            file.whole("llama.attention.head_count"),
            file.whole("llama.attention.head_count_kv"),
            file.whole("llama.feed_forward_length"),
            file.real("llama.rope.freq_base"),
            file.real("llama.attention.layer_norm_rms_epsilon"),
        )

    @property
    def size(self) -> int:
        """Numbers a head."""
        return self.width // self.heads


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer's matrices, input first, with the norms before them worked in."""

    qkv: Floats
    out: Floats
    gate_up: Floats
    down: Floats


@dataclass(frozen=True, slots=True)
class Memory:
    """The keys (groups, size, tokens) and values (groups, tokens, size) of a text, layer by layer."""

    keys: tuple[Floats, ...]
    values: tuple[Floats, ...]
    tokens: int


Change = Callable[[str, Floats], Floats]
"""Is given a matrix's name and the matrix, rows as outputs, and gives it back as it is to be used."""


def unrolled(matrix: Floats, heads: int) -> Floats:
    """Rows of queries or keys in the model's own order: the file has each head's two halves interleaved."""
    size = matrix.shape[0] // heads
    return matrix.reshape(heads, size // 2, 2, -1).swapaxes(1, 2).reshape(matrix.shape)


def weights(file: Gguf, shape: Shape, layer: int) -> dict[str, Floats]:
    """The seven matrices of a layer, rows as outputs, queries and keys in the model's own order."""
    found = {name: file.tensor(f"blk.{layer}.{name}.weight") for name in PROJECTIONS}
    found["attn_q"] = unrolled(found["attn_q"], shape.heads)
    found["attn_k"] = unrolled(found["attn_k"], shape.groups)
    return found


class Model:
    """One model, its matrices in float32."""

    def __init__(self, file: Gguf, change: Change = lambda _, matrix: matrix) -> None:
        self.shape = shape = Shape.of(file)
        self._file = file
        self._layers = tuple(_layer(file, shape, n, change) for n in range(shape.layers))
        self._norm = file.tensor("output_norm.weight")
        self._turns = shape.base ** (-np.arange(0, shape.size, 2, dtype=np.float64) / shape.size)

    def read(self, ids: Sequence[int]) -> Memory:
        """The memory of a text that begins here."""
        keys: list[Floats] = []
        values: list[Floats] = []
        self._run(None, ids, keys, values)
        return Memory(tuple(keys), tuple(values), len(ids))

    def states(self, memory: Memory | None, ids: Sequence[int]) -> Floats:
        """The last vectors of a text that follows what is remembered."""
        x = self._run(memory, ids, [], [])
        return _scaled(x, self.shape.epsilon) * self._norm

    def _run(self, memory: Memory | None, ids: Sequence[int], keys: list[Floats], values: list[Floats]) -> Floats:
        shape, n = self.shape, len(ids)
        before = 0 if memory is None else memory.tokens
        wide, narrow, size = shape.width, shape.groups * shape.size, shape.size
        angles = np.arange(before, before + n, dtype=np.float64)[:, None] * self._turns
        cos, sin = np.cos(angles).astype(np.float32)[:, None], np.sin(angles).astype(np.float32)[:, None]
        x = self._file.rows("token_embd.weight", ids)
        for number, layer in enumerate(self._layers):
            qkv = _scaled(x, shape.epsilon) @ layer.qkv
            query = _turned(qkv[:, :wide].reshape(n, shape.heads, size), cos, sin)
            key = _turned(qkv[:, wide : wide + narrow].reshape(n, shape.groups, size), cos, sin).transpose(1, 2, 0)
            value = qkv[:, wide + narrow :].reshape(n, shape.groups, size).transpose(1, 0, 2)
            if memory is not None:
                key = np.concatenate([memory.keys[number], key], axis=2)
                value = np.concatenate([memory.values[number], value], axis=1)
            key, value = np.ascontiguousarray(key), np.ascontiguousarray(value)
            keys.append(key)
            values.append(value)
            x += _attention(query, key, value, before) @ layer.out
            both = _scaled(x, shape.epsilon) @ layer.gate_up
            x += _gated(both[:, : shape.inner], both[:, shape.inner :]) @ layer.down
        return x


def _layer(file: Gguf, shape: Shape, number: int, change: Change) -> Layer:
    own = {name: change(f"blk.{number}.{name}", m) for name, m in weights(file, shape, number).items()}
    before = {part: file.tensor(f"blk.{number}.{part}_norm.weight")[:, None] for part in ("attn", "ffn")}
    scale = np.float32(shape.size**-0.5)  # of the products of queries and keys
    qkv = np.concatenate([own["attn_q"] * scale, own["attn_k"], own["attn_v"]]).T * before["attn"]
    gate_up = np.concatenate([own["ffn_gate"], own["ffn_up"]]).T * before["ffn"]
    return Layer(
        np.ascontiguousarray(qkv),
        np.ascontiguousarray(own["attn_output"].T),
        np.ascontiguousarray(gate_up),
        np.ascontiguousarray(own["ffn_down"].T),
    )


def _scaled(x: Floats, epsilon: float) -> Floats:
    """Each row divided by its root mean square."""
    squares = np.einsum("ij,ij->i", x, x) / np.float32(x.shape[1])
    return (x / np.sqrt(squares + np.float32(epsilon))[:, None]).astype(np.float32, copy=False)


def _turned(x: Floats, cos: Floats, sin: Floats) -> Floats:
    """Rotary positions: the two halves of each head turned against each other."""
    half = x.shape[2] // 2
    first, second = x[:, :, :half], x[:, :, half:]
    both = np.concatenate([first * cos - second * sin, second * cos + first * sin], axis=2)
    return both.astype(np.float32, copy=False)


def _attention(query: Floats, key: Floats, value: Floats, before: int) -> Floats:
    """(tokens, heads, size) over (groups, size, all) and (groups, all, size), each token seeing itself and what is
    before it; in chunks, so that little of what lies ahead is computed."""
    n, heads, size = query.shape
    groups = key.shape[0]
    done = np.empty((n, heads, size), dtype=np.float32)
    for start in range(0, n, _CHUNK):
        end = min(start + _CHUNK, n)
        seen = before + end
        some = query[start:end].reshape(end - start, groups, heads // groups, size).transpose(1, 2, 0, 3)
        scores = some.reshape(groups, -1, size) @ key[:, :, :seen]
        ahead = np.triu(np.full((end - start, end - start), -np.inf, dtype=np.float32), 1)
        scores.reshape(groups, heads // groups, end - start, seen)[..., before + start :] += ahead
        scores -= scores.max(axis=2, keepdims=True)
        np.exp(scores, out=scores)
        total = scores.sum(axis=2, keepdims=True)
        mixed = (scores @ value[:, :seen]) / total
        done[start:end] = (
            mixed.reshape(groups, heads // groups, end - start, size)
            .transpose(2, 0, 1, 3)
            .reshape(end - start, heads, size)
        )
    return done.reshape(n, heads * size)


def _gated(gate: Floats, up: Floats) -> Floats:
    """SiLU(gate) * up."""
    soft = np.exp(-gate)
    soft += 1.0
    np.divide(gate, soft, out=soft)
    soft *= up
    return soft
