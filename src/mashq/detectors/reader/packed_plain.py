"""The steps between the products of the packed reader, in plain torch: any device, any kind of number.

Contract: rows are tokens of several texts, one after the other; `starts` says where each begins and, last, where the
last one ends.
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
    """Adds the change to the running state in place; gives the state over its root mean square."""
    if change is not None:
        state.add_(change)
    return torch.nn.functional.rms_norm(state, (state.shape[1],), eps=epsilon).to(kind)


def turned(qkv: Any, places: Any, turns: tuple[Any, Any], shape: Shape) -> None:
    """Rotary positions, in place: of queries and keys the two halves of each head against each other."""
    part = qkv.view(len(qkv), -1, shape.size)[:, : shape.heads + shape.groups]
    half = shape.size // 2
    cos, sin = (table[places][:, None] for table in turns)
    first, second = part[..., :half].float(), part[..., half:].float()
    part[..., :half], part[..., half:] = first * cos - second * sin, second * cos + first * sin


def texts(starts: Sequence[int], sent: Callable[[Any], Any]) -> Sequence[int]:
    """Where texts begin and end, as `attend` takes it; `sent` brings an array to the device."""
    return starts


def attend(qkv: Any, texts: Sequence[int], shape: Shape) -> Any:
    """Each token mixes the values of itself and of what is before it in its own text."""
    many, heads, groups = shape.heads // shape.groups, shape.heads, shape.groups
    parts = qkv.view(1, len(qkv), -1, shape.size).transpose(1, 2)
    out = torch.empty((len(qkv), heads * shape.size), dtype=qkv.dtype, device=qkv.device)
    for start, end in pairwise(texts):
        own = parts[:, :, start:end]
        key, value = own[:, heads : heads + groups], own[:, heads + groups :]
        mixed = torch.nn.functional.scaled_dot_product_attention(
            own[:, :heads], key.repeat_interleave(many, 1), value.repeat_interleave(many, 1), is_causal=True
        )
        out[start:end] = mixed[0].transpose(0, 1).reshape(end - start, -1)
    return out


def gated(pairs: Any) -> Any:
    """silu(left half) * right half."""
    left, right = pairs.chunk(2, dim=1)
    return torch.nn.functional.silu(left) * right
