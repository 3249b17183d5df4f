"""The steps of a packed T5 encoder in plain torch, for any device and precision.

Contract: the same four functions as `t5_fused`. Texts are concatenated without padding; `starts` has the
first row of each and one past the last. No more than a fixed number of attention weights exists at a time, so
memory grows with the length of a text and not with its square.
"""

from __future__ import annotations

from typing import Any

from mashq.detectors.extras import need

__all__ = ["add_norm", "attend", "gate", "widened"]

torch: Any = need("torch")
_WEIGHTS = 1 << 24  # attention weights, and their position bias, held at a time
_TILES = bool(torch.cpu.get_capabilities().get("amx_bf16"))  # torch's own attention is faster there
_EPSILON = 1e-6
_GELU = 1.5957691216057308  # 2 sqrt(2 / pi): gelu(x) = x sigmoid(_GELU (x + 0.044715 x^3))


def widened(table: Any, longest: int) -> Any:
    """Return the bias for `attend`: the table of distances -far..far, and its full square where that is small."""
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
        if q.dtype == torch.bfloat16 and q.device.type == "cpu" and not _TILES:
            _by_head(out[rows], q[rows], k[columns], v[columns], bias, heads)
        else:
            _all_heads(out[rows], q[rows], _split(k[columns], heads), _split(v[columns], heads), bias, heads)
    return out


def _by_head(out: Any, q: Any, k: Any, v: Any, bias: Any, heads: int) -> None:
    """Process one text one head at a time: its weights stay in the cache, and both products run at bf16 speed."""
    length, size = k.shape[0], q.shape[1] // heads
    step = max(1, _WEIGHTS // (heads * length))
    for start in range(0, q.shape[0], step):
        rows = q[start : start + step]
        mask = None if bias is None else _rows(bias, start, rows.shape[0], length)
        for head in range(heads):
            columns = slice(head * size, (head + 1) * size)
            keys = k[:, columns].t()
            weights = rows[:, columns] @ keys if mask is None else torch.addmm(mask[head], rows[:, columns], keys)
            out[start : start + step, columns] = torch.softmax(weights, 1) @ v[:, columns]


def _all_heads(out: Any, q: Any, k: Any, v: Any, bias: Any, heads: int) -> None:
    """Process one text with as many queries at a time as the bound on attention weights allows."""
    length = k.shape[1]
    step = max(1, _WEIGHTS // (heads * length))
    for start in range(0, q.shape[0], step):
        rows = _split(q[start : start + step], heads)
        mask = None if bias is None else _rows(bias, start, rows.shape[1], length)[None]
        mixed = torch.nn.functional.scaled_dot_product_attention(
            rows[None], k[None], v[None], attn_mask=mask, scale=1.0
        )
        out[start : start + step] = mixed[0].transpose(0, 1).reshape(rows.shape[1], -1)


def _split(rows: Any, heads: int) -> Any:
    return rows.view(rows.shape[0], heads, -1).transpose(0, 1)


def _rows(bias: Any, start: int, count: int, length: int) -> Any:
    table, square = bias
    return _square(table, start, count, length) if square is None else square[:, start : start + count, :length]


def _square(table: Any, start: int, count: int, length: int) -> Any:
    far = table.shape[1] // 2
    distance = torch.arange(1 - start - count, length - start, device=table.device)
    return table[:, distance.clamp_(-far, far).add_(far)].unfold(1, length, 1).flip(1)  # rows shift left by one


def add_norm(state: Any, change: Any, kind: Any) -> Any:
    """Add the change to the running state in place; return the state divided by its root mean square."""
    if change is not None:
        state.add_(change)
    return (state * torch.rsqrt(state.square().mean(1, keepdim=True).add_(_EPSILON))).to(kind)


def gate(pairs: Any, scale: float) -> Any:
    """gelu(left half) * right half * scale."""
    left, right = pairs.chunk(2, dim=1)
    gated = left.square().mul_(0.044715 * _GELU).add_(_GELU).mul_(left).sigmoid_().mul_(left).mul_(right)
    return gated if scale == 1.0 else gated.mul_(scale)
