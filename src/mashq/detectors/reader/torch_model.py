"""The same forward pass in torch, for training and for GPUs: rows of tokens, each with its positions.

Contract: `run` gives the last layer's vectors of a batch; the residual stream stays in float32, the products
are in the matrices' dtype. With `causal` each row is one text; `bench/reader/train.py` has rows of a source
and several answers that do not see each other. `layers` reads the matrices from the GGUF file, with the norms folded
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
    """Return each layer's seven matrices and two norms in float32."""
    matrices: list[dict[str, Any]] = []
    for number in range(shape.layers):
        layer_weights = weights(file, shape, number)
        layer_weights |= {part: file.tensor(f"blk.{number}.{part}.weight") for part in ("attn_norm", "ffn_norm")}
        matrices.append({name: torch.from_numpy(matrix.copy()).to(device) for name, matrix in layer_weights.items()})
    return matrices


def fused(torch: Any, matrices: dict[str, Any], kind: Any) -> TorchLayer:
    """Combine the seven matrices into four, with the norms folded in."""
    qkv = torch.cat([matrices["attn_q"], matrices["attn_k"], matrices["attn_v"]]) * matrices["attn_norm"]
    gate_up = torch.cat([matrices["ffn_gate"], matrices["ffn_up"]]) * matrices["ffn_norm"]
    return TorchLayer(qkv.to(kind), matrices["attn_output"].to(kind), gate_up.to(kind), matrices["ffn_down"].to(kind))


def layers(torch: Any, file: Gguf, shape: Shape, device: str, kind: Any, change: Change) -> list[TorchLayer]:
    """Return all layers ready to run; `change` gets each matrix's name and the matrix."""
    loaded: list[TorchLayer] = []
    for number, matrices in enumerate(raw(torch, file, shape, device)):
        changed = {name: change(f"blk.{number}.{name}", matrix) for name, matrix in matrices.items()}
        loaded.append(fused(torch, changed, kind))
    return loaded


def causal(torch: Any, mask: Any = None) -> Attend:
    """Return attention in which each token sees itself and earlier tokens, or what a mask allows."""

    def attend(query: Any, key: Any, value: Any) -> Any:
        repeats = query.shape[1] // key.shape[1]
        key, value = key.repeat_interleave(repeats, dim=1), value.repeat_interleave(repeats, dim=1)
        return torch.nn.functional.scaled_dot_product_attention(
            query, key, value, attn_mask=mask, is_causal=mask is None
        )

    return attend


def turns(torch: Any, shape: Shape, positions: Any) -> tuple[Any, Any]:
    """Return cosines and sines of every position, (rows, 1, tokens, half a head)."""
    steps = torch.arange(0, shape.size, 2, dtype=torch.float64, device=positions.device) / shape.size
    angles = positions.double()[:, None, :, None] * shape.base**-steps
    return angles.cos().float(), angles.sin().float()


def run(torch: Any, shape: Shape, stack: list[TorchLayer], x: Any, at: tuple[Any, Any], attend: Attend) -> Any:
    """Return the last vectors (rows, tokens, width), before the last norm's weight, of float32 embeddings `x`."""
    linear, norm = torch.nn.functional.linear, torch.nn.functional.rms_norm
    rows, tokens, width = x.shape
    kind, size = stack[0].qkv.dtype, shape.size
    cos, sin = (part.to(kind) for part in at)
    for layer in stack:
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
