"""Products in low precision: how close they come, and that a row's result is its own."""

from __future__ import annotations

from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")

from mashq.detectors.neural.linear import linear, quick, tails  # noqa: E402


@pytest.mark.parametrize(("precision", "error"), [("bf16", 0.004), ("int8", 0.015), ("mixed", 0.015)])
def test_products_come_close_to_fp32(precision: str, error: float) -> None:
    torch.manual_seed(0)
    rows, weight = torch.randn(40, 96), torch.randn(32, 96)
    exact = linear(weight, "fp32")(rows)
    assert float((linear(weight, precision)(rows).float() - exact).norm() / exact.norm()) < error


def test_a_row_in_int8_does_not_depend_on_the_rows_beside_it() -> None:
    torch.manual_seed(0)
    product = linear(torch.randn(32, 96), "int8")
    rows = torch.randn(6, 96) * torch.tensor([1, 1000, 1e-3, 0, 1, 1])[:, None]
    together = product(rows)
    for row, result in zip(rows, together, strict=True):
        assert torch.equal(product(row[None])[0], result)
    assert torch.equal(together[3], torch.zeros(32))


def test_mixed_keeps_in_bf16_what_int8_would_lose_most_of() -> None:
    assert [tails(kind) for kind in ("fp32", "fp16", "bf16", "int8", "mixed")] == [
        "fp32", "fp16", "bf16", "int8", "bf16"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("flags", "kinds"),
    [((), ()), (("avx512_vnni",), ("int8",)), (("avx512_vnni", "avx512_bf16"), ("mixed", "bf16")),
     (("avx512_vnni", "avx512_bf16", "amx_bf16"), ("bf16",))],
)  # fmt: skip
def test_a_processor_is_asked_for_what_it_is_good_at(
    flags: tuple[str, ...], kinds: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: dict.fromkeys(flags, True))
    assert quick("cpu") == kinds
