"""The same steps as `packed_plain` for CUDA devices in 16 bits: Triton, which comes with torch there, and torch's
attention over texts of different lengths."""

# pyright: basic

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from mashq.detectors.extras import need
from mashq.detectors.neural.t5_fused import add_norm
from mashq.detectors.reader.model import Shape

if TYPE_CHECKING:
    from typing import Any as constexpr
else:
    constexpr = need("triton.language").constexpr

__all__ = ["add_norm", "attend", "gated", "texts", "turned"]

torch: Any = need("torch")
triton: Any = need("triton")
tl: Any = need("triton.language")


def turned(qkv: Any, places: Any, turns: tuple[Any, Any], shape: Shape) -> None:
    """Apply rotary positions in place: rotate the two halves of each head of the queries and keys."""
    heads, half = shape.heads + shape.groups, shape.size // 2
    block = triton.next_power_of_2(heads * half)
    _turned[(len(qkv),)](qkv, places, *turns, qkv.stride(0), heads, half, block, num_warps=1)


def texts(starts: Sequence[int], sent: Callable[[Any], Any]) -> tuple[Any, int]:
    """Return where texts begin and end, and the length of the longest, for `attend`."""
    return sent(np.array(starts, dtype=np.int32)), max(end - start for start, end in pairwise(starts))


def attend(qkv: Any, texts: tuple[Any, int], shape: Shape) -> Any:
    """Causal attention within each text: each token sees itself and earlier tokens."""
    ends, longest = texts
    parts, heads, groups = qkv.view(len(qkv), -1, shape.size), shape.heads, shape.groups
    query, key, value = parts[:, :heads], parts[:, heads : heads + groups], parts[:, heads + groups :]
    mixed = torch.ops.aten._flash_attention_forward(query, key, value, ends, ends, longest, longest, 0.0, True, False)
    return mixed[0].reshape(len(qkv), heads * shape.size)


def gated(pairs: Any) -> Any:
    """silu(left half) * right half."""
    rows, width = pairs.shape[0], pairs.shape[1] // 2
    out = torch.empty((rows, width), dtype=pairs.dtype, device=pairs.device)
    _gated[(rows, triton.cdiv(width, 1024))](pairs, out, width, 1024, num_warps=4)
    return out


@triton.jit
def _turned(qkv, places, cosines, sines, stride, heads: constexpr, half: constexpr, block: constexpr):
    token = tl.program_id(0).to(tl.int64)
    lane = tl.arange(0, block)
    inside = lane < heads * half
    at = qkv + token * stride + (lane // half) * (2 * half) + lane % half
    place = tl.load(places + token) * half + lane % half
    cos, sin = tl.load(cosines + place, mask=inside, other=0.0), tl.load(sines + place, mask=inside, other=0.0)
    first = tl.load(at, mask=inside, other=0.0).to(tl.float32)
    second = tl.load(at + half, mask=inside, other=0.0).to(tl.float32)
    tl.store(at, (first * cos - second * sin).to(qkv.dtype.element_ty), mask=inside)
    tl.store(at + half, (second * cos + first * sin).to(qkv.dtype.element_ty), mask=inside)


@triton.jit
def _gated(pairs, out, width, block: constexpr):
    row = tl.program_id(0).to(tl.int64)
    columns = tl.program_id(1) * block + tl.arange(0, block)
    inside = columns < width
    x = tl.load(pairs + row * 2 * width + columns, mask=inside, other=0.0).to(tl.float32)
    y = tl.load(pairs + row * 2 * width + width + columns, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + row * width + columns, (x * tl.sigmoid(x) * y).to(out.dtype.element_ty), mask=inside)
