"""The same forward pass through torch, for training and for GPUs: rows of tokens, each with its positions.

Contract: `run` gives the last layer's vectors of a batch; the residual stream stays in float32, the products
are in the matrices' own kind. With `causal` each row is one text; `bench/reader/train.py` has rows of a source
and several answers that do not see each other. `layers` reads the matrices from the GGUF file; norms are worked
in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from mashq.detectors.reader.gguf import Gguf
from mashq.detectors.reader.model import Shape, weights

__all__ = ["Attend", "TorchLayer", "causal", "fused", "layers", "raw", "run", "turns"]


class TorchLayer(NamedTuple):
    """One layer's matrices, rows as outputs."""

    qkv: Any
    out: Any
    gate_up: Any
    down: Any


Change = Callable[[str, Any], Any]
Attend = Callable[[Any, Any, Any], Any]
"""Mixes values by queries and keys, (rows, heads, tokens, size); there are fewer heads of keys and values."""


def raw(torch: Any, file: Gguf, shape: Shape, device: str) -> list[dict[str, Any]]:
    """Each layer's seven matrices and two norms in float32."""
    found: list[dict[str, Any]] = []
    for number in range(shape.layers):
        own = weights(file, shape, number)
        own |= {part: file.tensor(f"blk.{number}.{part}.weight") for part in ("attn_norm", "ffn_norm")}
        found.append({name: torch.from_numpy(matrix.copy()).to(device) for name, matrix in own.items()})
    return found


def fused(torch: Any, own: dict[str, Any], kind: Any) -> TorchLayer:
    """The seven matrices as four, with the norms worked in."""
    qkv = torch.cat([own["attn_q"], own["attn_k"], own["attn_v"]]) * own["attn_norm"]
    gate_up = torch.cat([own["ffn_gate"], own["ffn_up"]]) * own["ffn_norm"]
    return TorchLayer(qkv.to(kind), own["attn_output"].to(kind), gate_up.to(kind), own["ffn_down"].to(kind))


def layers(torch: Any, file: Gguf, shape: Shape, device: str, kind: Any, change: Change) -> list[TorchLayer]:
    """All layers as they are run; `change` is given each matrix's name and the matrix."""
    found: list[TorchLayer] = []
    for number, own in enumerate(raw(torch, file, shape, device)):
        changed = {name: change(f"blk.{number}.{name}", matrix) for name, matrix in own.items()}
        found.append(fused(torch, changed, kind))
    return found


def causal(torch: Any, mask: Any = None) -> Attend:
    """Each token sees itself and what is before it, or what a mask allows."""

    def attend(query: Any, key: Any, value: Any) -> Any:
        many = query.shape[1] // key.shape[1]
        key, value = key.repeat_interleave(many, dim=1), value.repeat_interleave(many, dim=1)
        return torch.nn.functional.scaled_dot_product_attention(
            query, key, value, attn_mask=mask, is_causal=mask is None
        )

    return attend


def turns(torch: Any, shape: Shape, positions: Any) -> tuple[Any, Any]:
    """Cosines and sines of every position, (rows, 1, tokens, half a head)."""
    steps = torch.arange(0, shape.size, 2, dtype=torch.float64, device=positions.device) / shape.size
    angles = positions.double()[:, None, :, None] * shape.base**-steps
    return angles.cos().float(), angles.sin().float()


def run(torch: Any, shape: Shape, own: list[TorchLayer], x: Any, at: tuple[Any, Any], attend: Attend) -> Any:
    """The last vectors (rows, tokens, width), before the last norm's weight, of embedded tokens `x` in float32."""
    linear, norm = torch.nn.functional.linear, torch.nn.functional.rms_norm
    rows, tokens, width = x.shape
    kind, size = own[0].qkv.dtype, shape.size
    cos, sin = (part.to(kind) for part in at)
    for layer in own:
        qkv = linear(norm(x, (width,), eps=shape.epsilon).to(kind), layer.qkv)
        qkv = qkv.view(rows, tokens, -1, size).transpose(1, 2)
        query_key, value = qkv[:, : shape.heads + shape.groups], qkv[:, shape.heads + shape.groups :]
        first, second = query_key[..., : size // 2], query_key[..., size // 2 :]
        query_key = torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)
        mixed = attend(query_key[:, : shape.heads], query_key[:, shape.heads :], value)
        x = x + linear(mixed.transpose(1, 2).reshape(rows, tokens, width), layer.out)
        gate, up = linear(norm(x, (width,), eps=shape.epsilon).to(kind), layer.gate_up).chunk(2, dim=-1)
        x = x + linear(torch.nn.functional.silu(gate) * up, layer.down)
    return norm(x, (width,), eps=shape.epsilon)
