"""The embedded model's forward pass in numpy: a source is read once, then each answer after it.

Contract: `Model.read(ids)` gives the `Memory` of a text: its keys and values, layer by layer.
`Model.states(memory, ids)` gives the last layer's vector of each token of a text that follows it, and leaves
the memory unchanged. Both depend on their arguments alone: a text is never computed in a batch with another, so
nothing read before, after or at the same time changes a single bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from mashq.detectors.reader.gguf import Floats, Gguf

__all__ = ["PROJECTIONS", "Layer", "Memory", "Model", "Shape", "weights"]

PROJECTIONS = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")
_CHUNK = 128  # query tokens at a time: attention to tokens after them is not computed


@dataclass(frozen=True, slots=True)
class Shape:
    """The model's dimensions."""

    layers: int
    width: int
    heads: int
    groups: int  # of heads that share keys and values
    inner: int
    base: float
    epsilon: float

    @classmethod
    def of(cls, file: Gguf) -> Shape:
        """Read the dimensions from the file."""
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
        """The width of one head."""
        return self.width // self.heads


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer's matrices, input first, with the preceding norms folded in."""

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
    """Return query or key rows in the model's own order: the file interleaves the two halves of each head."""
    size = matrix.shape[0] // heads
    return matrix.reshape(heads, size // 2, 2, -1).swapaxes(1, 2).reshape(matrix.shape)


def weights(file: Gguf, shape: Shape, layer: int) -> dict[str, Floats]:
    """Return the seven matrices of a layer, rows as outputs, queries and keys in the model's own order."""
    matrices = {name: file.tensor(f"blk.{layer}.{name}.weight") for name in PROJECTIONS}
    matrices["attn_q"] = unrolled(matrices["attn_q"], shape.heads)
    matrices["attn_k"] = unrolled(matrices["attn_k"], shape.groups)
    return matrices


class Model:
    """One model, its matrices in float32."""

    def __init__(self, file: Gguf, change: Change = lambda _, matrix: matrix) -> None:
        self.shape = shape = Shape.of(file)
        self._file = file
        self._layers = tuple(_layer(file, shape, n, change) for n in range(shape.layers))
        self._norm = file.tensor("output_norm.weight")
        self._turns = shape.base ** (-np.arange(0, shape.size, 2, dtype=np.float64) / shape.size)

    def read(self, ids: Sequence[int]) -> Memory:
        """Return the memory of a text read from the start."""
        keys: list[Floats] = []
        values: list[Floats] = []
        self._run(None, ids, keys, values)
        return Memory(tuple(keys), tuple(values), len(ids))

    def states(self, memory: Memory | None, ids: Sequence[int]) -> Floats:
        """Return the last vectors of a text that follows the remembered one."""
        x = self._run(memory, ids, [], [])
        return _scaled(x, self.shape.epsilon) * self._norm

    def _run(self, memory: Memory | None, ids: Sequence[int], keys: list[Floats], values: list[Floats]) -> Floats:
        shape, n = self.shape, len(ids)
        offset = 0 if memory is None else memory.tokens
        wide, narrow, size = shape.width, shape.groups * shape.size, shape.size
        angles = np.arange(offset, offset + n, dtype=np.float64)[:, None] * self._turns
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
            x += _attention(query, key, value, offset) @ layer.out
            gate_up = _scaled(x, shape.epsilon) @ layer.gate_up
            x += _gated(gate_up[:, : shape.inner], gate_up[:, shape.inner :]) @ layer.down
        return x


def _layer(file: Gguf, shape: Shape, number: int, change: Change) -> Layer:
    matrices = {name: change(f"blk.{number}.{name}", m) for name, m in weights(file, shape, number).items()}
    norms = {part: file.tensor(f"blk.{number}.{part}_norm.weight")[:, None] for part in ("attn", "ffn")}
    scale = np.float32(shape.size**-0.5)  # of the products of queries and keys
    qkv = np.concatenate([matrices["attn_q"] * scale, matrices["attn_k"], matrices["attn_v"]]).T * norms["attn"]
    gate_up = np.concatenate([matrices["ffn_gate"], matrices["ffn_up"]]).T * norms["ffn"]
    return Layer(
        np.ascontiguousarray(qkv),
        np.ascontiguousarray(matrices["attn_output"].T),
        np.ascontiguousarray(gate_up),
        np.ascontiguousarray(matrices["ffn_down"].T),
    )


def _scaled(x: Floats, epsilon: float) -> Floats:
    """Divide each row by its root mean square."""
    squares = np.einsum("ij,ij->i", x, x) / np.float32(x.shape[1])
    return (x / np.sqrt(squares + np.float32(epsilon))[:, None]).astype(np.float32, copy=False)


def _turned(x: Floats, cos: Floats, sin: Floats) -> Floats:
    """Apply rotary positions: rotate the two halves of each head."""
    half = x.shape[2] // 2
    first, second = x[:, :, :half], x[:, :, half:]
    rotated = np.concatenate([first * cos - second * sin, second * cos + first * sin], axis=2)
    return rotated.astype(np.float32, copy=False)


def _attention(query: Floats, key: Floats, value: Floats, before: int) -> Floats:
    """Attention of (tokens, heads, size) over (groups, size, all) and (groups, all, size): each token sees itself and
    earlier tokens; in chunks, so that little is computed for later tokens."""
    n, heads, size = query.shape
    groups = key.shape[0]
    out = np.empty((n, heads, size), dtype=np.float32)
    for start in range(0, n, _CHUNK):
        end = min(start + _CHUNK, n)
        seen = before + end
        queries = query[start:end].reshape(end - start, groups, heads // groups, size).transpose(1, 2, 0, 3)
        scores = queries.reshape(groups, -1, size) @ key[:, :, :seen]
        ahead = np.triu(np.full((end - start, end - start), -np.inf, dtype=np.float32), 1)
        scores.reshape(groups, heads // groups, end - start, seen)[..., before + start :] += ahead
        scores -= scores.max(axis=2, keepdims=True)
        np.exp(scores, out=scores)
        total = scores.sum(axis=2, keepdims=True)
        mixed = (scores @ value[:, :seen]) / total
        out[start:end] = (
            mixed.reshape(groups, heads // groups, end - start, size)
            .transpose(2, 0, 1, 3)
            .reshape(end - start, heads, size)
        )
    return out.reshape(n, heads * size)


def _gated(gate: Floats, up: Floats) -> Floats:
    """SiLU(gate) * up."""
    out = np.exp(-gate)
    out += 1.0
    np.divide(gate, out, out=out)
    out *= up
    return out
