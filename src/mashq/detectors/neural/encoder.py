"""A T5 encoder over packed texts: no padding anywhere, the sizes read off the tensors.

Contract: `Encoder(tensors, precision, device)` takes the tensors of a T5 encoder under their usual names (`shared`,
`encoder.block.N...`, gated feed-forward); the input embedding is `shared.weight`. `states(texts)` gives the final
states, normalised, in fp32: of every token, or of each text's first token only, in which case the last layer is
computed for that token only. The running state stays in fp32 in every precision. Norm weights are folded into
the matrix product that follows them.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import accumulate, chain
from typing import Any

from mashq.detectors.extras import need
from mashq.detectors.neural import t5_plain
from mashq.detectors.neural.linear import dtype, linear, tails
from mashq.errors import DetectorError

__all__ = ["Encoder", "Packed", "distances", "gate_scale", "steps"]

torch: Any = need("torch")
_ROWS = 512  # per feed-forward pass on a CPU: intermediate results stay in the cache
_FAR = 128  # T5's relative_attention_max_distance: all larger distances share one bucket


@dataclass(frozen=True, slots=True)
class _Block:
    qkv: Callable[[Any], Any]
    out: Callable[[Any], Any]
    wide: Callable[[Any], Any]
    narrow: Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Packed:
    """Concatenated texts: the row each starts at, on the host and on the device."""

    starts: list[int]
    device_starts: Any
    longest: int

    @classmethod
    def of(cls, lengths: Sequence[int], device: str) -> Packed:
        starts = [0, *accumulate(lengths)]
        return cls(starts, _send(array("i", starts), device), max(lengths))


class Encoder:
    """The encoder in one precision on one device."""

    device: str
    kind: Any
    mixing: Any
    scale: float
    embedding: Any
    heads: int
    ops: Any
    table: Any
    blocks: list[_Block]
    final: Any

    def __init__(self, tensors: Mapping[str, Any], precision: str, device: str) -> None:
        self.device, self.kind, self.mixing = device, dtype(precision), dtype(tails(precision))
        self.scale = gate_scale(precision)
        self.rows = 1 << 30 if device.startswith("cuda") else _ROWS
        self.embedding = _get(tensors, "shared.weight").to(device, torch.float32)
        table = _get(tensors, "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight")
        self.heads = int(table.shape[1])
        inner = int(_get(tensors, "encoder.block.0.layer.0.SelfAttention.q.weight").shape[0])
        self.ops = steps(precision, device, inner // self.heads)
        table = distances(table.to(torch.float32)).to(device)
        self.table = table.to(self.mixing) if self.ops is t5_plain else table
        count = sum(
            name.endswith("layer.0.SelfAttention.q.weight") for name in tensors if name.startswith("encoder.")
        )
        self.blocks = [self._block(tensors, f"encoder.block.{n}.layer", precision) for n in range(count)]
        self.final = _get(tensors, "encoder.final_layer_norm.weight").to(device, torch.float32)

    def states(self, texts: Sequence[Sequence[int]], first: bool) -> tuple[Any, Packed]:
        """Return the final states of every token, or of each text's first token, and how the texts are packed."""
        packed = Packed.of([len(text) for text in texts], self.device)
        ids = _send(array("i", chain.from_iterable(texts)), self.device)
        state = torch.nn.functional.embedding(ids, self.embedding)
        bias = self.ops.widened(self.table, packed.longest)
        change = None
        for block in self.blocks[:-1] if first else self.blocks:
            q, k, v = self._qkv(block, state, change)
            state, change = self._finish_block(block, state, self.attend(q, k, v, bias, packed, packed))
        if first:
            q, k, v = self._qkv(self.blocks[-1], state, change)
            first_rows = packed.device_starts[:-1].long()
            alone = Packed.of([1] * len(texts), self.device)
            mixed = self.attend(q[first_rows], k, v, bias, alone, packed)
            state, change = self._finish_block(self.blocks[-1], state[first_rows], mixed)
        return self.ops.add_norm(state, change, torch.float32).mul_(self.final), packed

    def attend(self, q: Any, k: Any, v: Any, bias: Any, queries: Packed, keys: Packed) -> Any:
        """Compute the attention of each text's queries to its own keys."""
        if self.ops is t5_plain:
            return t5_plain.attend(q, k, v, bias, (queries.starts, keys.starts), self.heads)
        return self.ops.attend(
            q, k, v, bias, (queries.device_starts, keys.device_starts, queries.longest), self.heads
        )

    def _qkv(self, block: _Block, state: Any, change: Any) -> Any:
        return block.qkv(self.ops.add_norm(state, change, self.kind)).to(self.mixing).chunk(3, dim=1)

    def _finish_block(self, block: _Block, state: Any, mixed: Any) -> tuple[Any, Any]:
        rows = self.ops.add_norm(state, block.out(mixed), self.kind)
        parts = [block.narrow(self.ops.gate(block.wide(part), self.scale)) for part in rows.split(self.rows)]
        return state, parts[0] if len(parts) == 1 else torch.cat(parts)

    def _block(self, tensors: Mapping[str, Any], prefix: str, precision: str) -> _Block:
        def weight(name: str) -> Any:
            return _get(tensors, f"{prefix}.{name}.weight").to(self.device, torch.float32)

        qkv = torch.cat([weight(f"0.SelfAttention.{name}") for name in "qkv"]) * weight("0.layer_norm")
        wide = torch.cat([weight(f"1.DenseReluDense.wi_{n}") for n in (0, 1)]) * weight("1.layer_norm")
        return _Block(
            qkv=linear(qkv, precision),
            out=linear(weight("0.SelfAttention.o"), precision, wide=True),
            wide=linear(wide, precision),
            narrow=linear(weight("1.DenseReluDense.wo") / self.scale, tails(precision), wide=True),
        )


def gate_scale(precision: str) -> float:
    """Return the scale of gated values: T5's can exceed fp16's 65,504, so the next product undoes a smaller scale."""
    return 1 / 64 if precision == "fp16" else 1.0


def steps(precision: str, device: str, size: int) -> Any:
    """Return the module of the steps between products: fused on CUDA in 16 bits for these head sizes, else plain."""
    if (
        device.startswith("cuda")
        and precision in ("bf16", "fp16")
        and size in (16, 32, 64, 128)
        and find_spec("triton")
    ):
        from mashq.detectors.neural import t5_fused

        return t5_fused
    return t5_plain


def distances(buckets: Any) -> Any:
    """Convert T5's bias by bucket (buckets x heads) to the bias by distance, -far..far (heads x 2 far + 1)."""
    half = int(buckets.shape[0]) // 2
    exact = half // 2

    def bucket(distance: int) -> int:
        size = abs(distance)
        if size >= exact:
            size = min(half - 1, exact + int(math.log(size / exact) / math.log(_FAR / exact) * (half - exact)))
        return size + (half if distance > 0 else 0)

    picked = torch.tensor([bucket(d) for d in range(-_FAR, _FAR + 1)], device=buckets.device)
    return buckets[picked].t().contiguous()


def _send(numbers: array[int], device: str) -> Any:
    """Copy to the device without waiting for its current work."""
    tensor = torch.frombuffer(numbers, dtype=torch.int32)
    return tensor.pin_memory().to(device, non_blocking=True) if device.startswith("cuda") else tensor


def _get(tensors: Mapping[str, Any], name: str) -> Any:
    if name not in tensors:
        raise DetectorError(f"the weights have no tensor {name!r}: they are not those of a gated T5 encoder.")
    return tensors[name]
