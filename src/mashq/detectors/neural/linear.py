"""Matrix products in five precisions.

Contract: `linear(weight, precision)` gives a function of rows, x -> x @ weight.T. `fp32` is the reference. `bf16` and
`fp16` (CUDA only) multiply in 16 bits and sum in fp32; fp16 has eight times the accuracy and a narrow range. `int8`
is for CPUs: each weight row and each input row has its own scale, products and sums are exact integers, so a
row's result does not depend on the other rows. `mixed` is int8 except for what `tails` names, which is bf16.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mashq.detectors.extras import need

__all__ = ["PRECISIONS", "dtype", "linear", "quick", "tails"]

PRECISIONS = ("fp32", "fp16", "bf16", "mixed", "int8")

torch: Any = need("torch")
_TINY = 1e-12  # keeps the scale of an all-zero row from dividing by zero


def dtype(precision: str) -> Any:
    """Return the dtype of activations between products."""
    return {"bf16": torch.bfloat16, "fp16": torch.float16}.get(precision, torch.float32)


def tails(precision: str) -> str:
    """Return the precision of attention and of the gated product, whose few large values would cost int8 the most."""
    return "bf16" if precision == "mixed" else precision


def quick(device: str) -> tuple[str, ...]:
    """Return the precisions in which the device multiplies faster than in fp32, the preferred one first."""
    if device.startswith("cuda"):
        return ("fp16", "bf16") if torch.cuda.get_device_capability() >= (8, 0) else ()
    capabilities: dict[str, bool] = torch.cpu.get_capabilities()
    if capabilities.get("amx_bf16"):
        return ("bf16",)
    if capabilities.get("avx512_bf16"):
        return "mixed", "bf16"
    return ("int8",) if capabilities.get("avx512_vnni") else ()


def linear(weight: Any, precision: str, *, wide: bool = False) -> Callable[[Any], Any]:
    """Return x -> x @ weight.T for an fp32 weight. With `wide`, fp16 rows give fp32, as the result could overflow."""
    if precision in ("int8", "mixed"):
        return _int8(weight)
    converted = weight.to(dtype(precision)).contiguous()

    def dense(rows: Any) -> Any:
        return torch.nn.functional.linear(rows.to(converted.dtype), converted)

    def widening(rows: Any) -> Any:
        return torch.mm(rows, converted.t(), out_dtype=torch.float32)

    return widening if wide and precision == "fp16" else dense


def _int8(weight: Any) -> Callable[[Any], Any]:
    scale = _scale(weight)
    quantised_weight = (weight / scale).round_().to(torch.int8).t().contiguous()
    column_scale = scale.t().contiguous()

    def quantised(rows: Any) -> Any:
        rows = rows.to(torch.float32)
        row_scale = _scale(rows)
        product = torch._int_mm((rows / row_scale).round_().to(torch.int8), quantised_weight)
        return product.to(torch.float32).mul_(row_scale).mul_(column_scale)

    return quantised


def _scale(rows: Any) -> Any:
    return rows.abs().amax(1, keepdim=True).clamp_min_(_TINY).div_(127.0)
