"""The steps of a packed T5 encoder as fused kernels for CUDA devices, in Triton, which comes with torch there.

Contract: the same functions as `t5_plain`, for bf16 and fp16 rows. Attention never writes its weights to memory: a
block of queries iterates over the keys of its own text only. Beyond `far` positions the bias is one number per head,
so most of a long text needs no lookup.
"""

# pyright: basic

from typing import TYPE_CHECKING, Any

from mashq.detectors.extras import need

if TYPE_CHECKING:
    from typing import Any as constexpr
else:
    constexpr = need("triton.language").constexpr

__all__ = ["add_norm", "attend", "gate", "widened"]

torch: Any = need("torch")
triton: Any = need("triton")
tl: Any = need("triton.language")
_EPSILON = 1e-6
_LOG2E = 1.4426950408889634
_ROWS, _COLUMNS, _WARPS, _STAGES = 64, 64, 4, 3  # the blocks of attention, the fastest of those tried on an H200
_TILE: Any = torch.float16  # a bias is a small number: eleven bits of it are enough, and half the bytes


def widened(table: Any, longest: int) -> Any:
    """Return the bias for `attend`: one tile per offset of a block of keys within reach of a block of queries.

    Tiles (heads x offsets x rows x columns) are read sequentially; the table would be read at random.
    """
    far = table.shape[1] // 2
    offsets = torch.arange(-far, _ROWS + far, _COLUMNS, device=table.device)
    row, column = torch.arange(_ROWS, device=table.device), torch.arange(_COLUMNS, device=table.device)
    distance = offsets[:, None, None] + column[None, None, :] - row[None, :, None]
    return table, (table * _LOG2E)[:, distance.clamp_(-far, far).add_(far)].to(_TILE).contiguous()


def attend(q: Any, k: Any, v: Any, bias: Any, starts: tuple[Any, Any, int], heads: int) -> Any:
    """Attention of each text's queries to its own keys, unscaled; bias None means no position bias."""
    queries, keys, longest = starts
    out = torch.empty((q.shape[0], q.shape[1]), dtype=q.dtype, device=q.device)
    size = q.shape[1] // heads
    rows = _ROWS if longest > 16 else 16
    grid = (triton.cdiv(longest, rows), heads, queries.shape[0] - 1)
    table, tiles = (out, out) if bias is None else bias
    far = 0 if bias is None else table.shape[1] // 2
    _attend[grid](
        q, k, v, out, table, tiles, queries, keys, q.stride(0), k.stride(0), out.stride(0), far,
        size, rows, _COLUMNS, _ROWS, bias is not None, num_warps=_WARPS if longest > 16 else 4, num_stages=_STAGES,
    )  # fmt: skip
    return out


def add_norm(state: Any, change: Any, kind: Any, epsilon: float = _EPSILON) -> Any:
    """Add the change to the running state in place; return the state divided by its root mean square."""
    rows, width = state.shape
    out = torch.empty((rows, width), dtype=kind, device=state.device)
    block = triton.next_power_of_2(width)
    _add_norm[(rows,)](
        state, state if change is None else change, out, width, epsilon, block, change is not None, num_warps=4
    )
    return out


def gate(pairs: Any, scale: float) -> Any:
    """gelu(left half) * right half * scale."""
    rows, width = pairs.shape[0], pairs.shape[1] // 2
    out = torch.empty((rows, width), dtype=pairs.dtype, device=pairs.device)
    _gate[(rows, triton.cdiv(width, 1024))](pairs, out, width, scale, 1024, num_warps=4)
    return out


@triton.jit
def _add_norm(state, change, out, width, epsilon, block: constexpr, changed: constexpr):
    at = tl.program_id(0).to(tl.int64) * width
    columns = tl.arange(0, block)
    inside = columns < width
    x = tl.load(state + at + columns, mask=inside, other=0.0)
    if changed:
        x += tl.load(change + at + columns, mask=inside, other=0.0).to(tl.float32)
        tl.store(state + at + columns, x, mask=inside)
    root = tl.rsqrt(tl.sum(x * x, 0) / width + epsilon)
    tl.store(out + at + columns, (x * root).to(out.dtype.element_ty), mask=inside)


@triton.jit
def _gate(pairs, out, width, scale, block: constexpr):
    row = tl.program_id(0).to(tl.int64)
    columns = tl.program_id(1) * block + tl.arange(0, block)
    inside = columns < width
    x = tl.load(pairs + row * 2 * width + columns, mask=inside, other=0.0).to(tl.float32)
    y = tl.load(pairs + row * 2 * width + width + columns, mask=inside, other=0.0).to(tl.float32)
    gelu = x * tl.sigmoid(1.5957691216057308 * (x + 0.044715 * x * x * x))
    tl.store(out + row * width + columns, (gelu * y * scale).to(out.dtype.element_ty), mask=inside)


@triton.jit
def _attend(
    q, k, v, out, table, tiles, queries, keys, q_row, k_row, out_row, far: constexpr,
    size: constexpr, rows: constexpr, columns: constexpr, tall: constexpr, biased: constexpr,
):  # fmt: skip
    text, head = tl.program_id(2), tl.program_id(1)
    q_at, k_at = tl.load(queries + text), tl.load(keys + text)
    q_length, k_length = tl.load(queries + text + 1) - q_at, tl.load(keys + text + 1) - k_at
    first = tl.program_id(0) * rows
    if first < q_length:
        row, lane = first + tl.arange(0, rows), tl.arange(0, size)
        q_block = tl.load(
            q + q_at.to(tl.int64) * q_row + row[:, None] * q_row + head * size + lane[None, :],
            mask=row[:, None] < q_length, other=0.0,
        )  # fmt: skip
        k += k_at.to(tl.int64) * k_row + head * size
        v += k_at.to(tl.int64) * k_row + head * size
        tile: constexpr = tall * columns
        table += head * (2 * far + 1)
        tiles += head * ((2 * far + tall) // columns) * tile
        top = tl.full([rows], -1e30, tl.float32)
        total = tl.zeros([rows], tl.float32)
        mixed = tl.zeros([rows, size], tl.float32)
        near, beyond = 0, 0  # the blocks of keys in [near, beyond) are within reach of the table
        if biased:
            near = tl.maximum(0, (first - far + 1) // columns) * columns
            near = tl.minimum(near, k_length // columns * columns)
            beyond = tl.minimum(
                tl.cdiv(first + rows - 1 + far, columns) * columns, tl.cdiv(k_length, columns) * columns
            )
            left, right = tl.load(table) * 1.4426950408889634, tl.load(table + 2 * far) * 1.4426950408889634
            inside = tiles + tl.arange(0, rows)[:, None] * columns + tl.arange(0, columns)[None, :]
            inside += (near - first + far) // columns * tile
            top, total, mixed = _walk(
                top, total, mixed, q_block, k, v, inside, k_row, k_length, left, 0, near, size, columns, tile, 0
            )
            top, total, mixed = _walk(
                top, total, mixed, q_block, k, v, inside, k_row, k_length, left, near, beyond, size, columns, tile, 1
            )
        else:
            right = 0.0
            inside = tiles
        top, total, mixed = _walk(
            top, total, mixed, q_block, k, v, inside, k_row, k_length, right, beyond, k_length, size, columns, tile, 2
        )
        where = out + q_at.to(tl.int64) * out_row + row[:, None] * out_row + head * size + lane[None, :]
        tl.store(where, (mixed / total[:, None]).to(out.dtype.element_ty), mask=row[:, None] < q_length)


@triton.jit
def _walk(
    top, total, mixed, q_block, k, v, inside, k_row, k_length, flat, start, stop,
    size: constexpr, columns: constexpr, tile: constexpr, part: constexpr,
):  # fmt: skip
    # part 0: far to the left, whole blocks; 1: within reach of the table; 2: far to the right, up to the end.
    lane = tl.arange(0, size)
    for at in range(start, stop, columns):
        column = at + tl.arange(0, columns)
        if part == 0:
            keys = tl.load(k + column[None, :] * k_row + lane[:, None])
        else:
            keys = tl.load(k + column[None, :] * k_row + lane[:, None], mask=column[None, :] < k_length, other=0.0)
        weight = tl.dot(q_block, keys) * 1.4426950408889634
        if part == 1:
            weight += tl.load(inside + (at - start) // columns * tile).to(tl.float32)
        else:
            weight += flat
        if part > 0:
            weight = tl.where(column[None, :] < k_length, weight, -1e30)
        highest = tl.maximum(top, tl.max(weight, 1))
        weight = tl.exp2(weight - highest[:, None])
        shrink = tl.exp2(top - highest)
        total = total * shrink + tl.sum(weight, 1)
        if part == 0:
            values = tl.load(v + column[:, None] * k_row + lane[None, :])
        else:
            values = tl.load(v + column[:, None] * k_row + lane[None, :], mask=column[:, None] < k_length, other=0.0)
        mixed = tl.dot(weight.to(values.dtype), values, mixed * shrink[:, None])
        top = highest
    return top, total, mixed
