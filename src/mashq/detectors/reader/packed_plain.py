"""The steps between the matrix products of the packed reader, in plain torch, for any device and dtype.

Contract: rows are tokens of several concatenated texts; `starts` has the first row of each and, last, the end of the
last one.
"""

# pyright: basic

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from mashq.detectors.extras import need
from mashq.detectors.reader.model import Shape

__all__ = ["add_norm", "attend", "gated", "texts", "turned"]

torch: Any = need("torch")


def add_norm(state: Any, change: Any, kind: Any, epsilon: float) -> Any:
    """Add the change to the running state in place; return the state divided by its root mean square."""
    if change is not None:
        state.add_(change)
    return torch.nn.functional.rms_norm(state, (state.shape[1],), eps=epsilon).to(kind)


def turned(qkv: Any, places: Any, turns: tuple[Any, Any], shape: Shape) -> None:
    """Apply rotary positions in place: rotate the two halves of each head of the queries and keys."""
    part = qkv.view(len(qkv), -1, shape.size)[:, : shape.heads + shape.groups]
    half = shape.size // 2
    cos, sin = (table[places][:, None] for table in turns)
    first, second = part[..., :half].float(), part[..., half:].float()
    part[..., :half], part[..., half:] = first * cos - second * sin, second * cos + first * sin


def texts(starts: Sequence[int], sent: Callable[[Any], Any]) -> Sequence[int]:
    """Return where texts begin and end, for `attend`; `sent` copies an array to the device."""
    return starts


def attend(qkv: Any, texts: Sequence[int], shape: Shape) -> Any:
    """Causal attention within each text: each token sees itself and earlier tokens."""
    repeats, heads, groups = shape.heads // shape.groups, shape.heads, shape.groups
    parts = qkv.view(1, len(qkv), -1, shape.size).transpose(1, 2)
    out = torch.empty((len(qkv), heads * shape.size), dtype=qkv.dtype, device=qkv.device)
    for start, end in pairwise(texts):
        rows = parts[:, :, start:end]
        key, value = rows[:, heads : heads + groups], rows[:, heads + groups :]
        mixed = torch.nn.functional.scaled_dot_product_attention(
            rows[:, :heads],
            key.repeat_interleave(repeats, 1),
            value.repeat_interleave(repeats, 1),
            is_causal=True,
        )
        out[start:end] = mixed[0].transpose(0, 1).reshape(end - start, -1)
    return out


def gated(pairs: Any) -> Any:
    """silu(left half) * right half."""
    left, right = pairs.chunk(2, dim=1)
    return torch.nn.functional.silu(left) * right
