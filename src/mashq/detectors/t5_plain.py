"""The steps of a packed T5 encoder in plain torch: any device, any precision.

Contract: the same four functions as `t5_fused`. Texts lie one after another without padding; `starts` has the
first row of each and one past the last. No more than a fixed number of attention weights exists at a time, so
memory grows with the length of a text and not with its square.
"""

from __future__ import annotations

from typing import Any

from mashq.detectors.extras import need

__all__ = ["add_norm", "attend", "gate", "widened"]

torch: Any = need("torch")
_WEIGHTS = 1 << 24  # attention weights, and their position bias, held at a time
_EPSILON = 1e-6


def widened(table: Any, longest: int) -> Any:
    """What `attend` takes as bias: the table of distances -far..far, or with its full square where that is small."""
    heads = table.shape[0]
    if heads * longest * longest > _WEIGHTS:
        return table, None
    return table, _square(table, 0, longest, longest)


def attend(q: Any, k: Any, v: Any, bias: Any, starts: tuple[list[int], list[int]], heads: int) -> Any:
    """Attention of each text's queries to its own keys, unscaled; bias None means no position bias."""
    out = torch.empty_like(q)
    queries, keys = starts
    for text in range(len(queries) - 1):
        rows, columns = slice(queries[text], queries[text + 1]), slice(keys[text], keys[text + 1])
        _one(out[rows], q[rows], _split(k[columns], heads), _split(v[columns], heads), bias, heads)
    return out


def _one(out: Any, q: Any, k: Any, v: Any, bias: Any, heads: int) -> None:
    """One text, as many queries at a time as the bound on attention weights allows."""
    length = k.shape[1]
    step = max(1, _WEIGHTS // (heads * length))
    for at in range(0, q.shape[0], step):
        rows = _split(q[at : at + step], heads)
        mask = None if bias is None else _rows(bias, at, rows.shape[1], length).to(q.dtype)[None]
        mixed = torch.nn.functional.scaled_dot_product_attention(
            rows[None], k[None], v[None], attn_mask=mask, scale=1.0
        )
        out[at : at + step] = mixed[0].transpose(0, 1).reshape(rows.shape[1], -1)


def _split(rows: Any, heads: int) -> Any:
    return rows.view(rows.shape[0], heads, -1).transpose(0, 1)


def _rows(bias: Any, at: int, count: int, length: int) -> Any:
    table, square = bias
    return _square(table, at, count, length) if square is None else square[:, at : at + count, :length]


def _square(table: Any, at: int, count: int, length: int) -> Any:
    far = table.shape[1] // 2
    columns = torch.arange(length, device=table.device)
    distance = columns[None, :] - (at + torch.arange(count, device=table.device))[:, None]
    return table[:, distance.clamp_(-far, far).add_(far)]


def add_norm(state: Any, change: Any, kind: Any) -> Any:
    """Adds the change to the running state in place; gives the state over its root mean square."""
    if change is not None:
        state.add_(change)
    return (state * torch.rsqrt(state.square().mean(1, keepdim=True).add_(_EPSILON))).to(kind)


def gate(pairs: Any, scale: float) -> Any:
    """gelu(left half) * right half * scale."""
    left, right = pairs.chunk(2, dim=1)
    gated = torch.nn.functional.gelu(left, approximate="tanh").mul_(right)
    return gated if scale == 1.0 else gated.mul_(scale)
