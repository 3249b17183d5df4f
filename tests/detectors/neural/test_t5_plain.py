"""The plain steps against their definitions."""

from __future__ import annotations

from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")

from mashq.detectors.neural import t5_plain  # noqa: E402

HEADS, SIZE = 3, 8
LENGTHS = [5, 1, 40, 300]
STARTS = [0, 5, 6, 46, 346]


def test_the_gate_is_gelu_of_one_half_times_the_other() -> None:
    pairs = torch.randn(50, 24) * 4
    expected = torch.nn.functional.gelu(pairs[:, :12], approximate="tanh") * pairs[:, 12:]
    assert torch.allclose(t5_plain.gate(pairs, 1.0), expected, atol=1e-5)
    assert torch.allclose(t5_plain.gate(pairs, 0.25), expected / 4, atol=1e-5)


def test_the_bias_of_a_pair_of_positions_is_that_of_their_distance() -> None:
    table = torch.randn(HEADS, 9)  # distances -4..4
    square = t5_plain.widened(table, 12)[1]
    for row in range(12):
        for column in range(12):
            distance = max(-4, min(4, column - row))
            assert torch.equal(square[:, row, column], table[:, 4 + distance])


@pytest.mark.parametrize("most", [1 << 24, 900])
@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize("tiles", [True, False])
@pytest.mark.parametrize("first", [True, False])
def test_attention_in_bf16_comes_close_to_fp32(
    first: bool, tiles: bool, biased: bool, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(t5_plain, "_TILES", tiles)
    monkeypatch.setattr(t5_plain, "_WEIGHTS", most)
    torch.manual_seed(0)
    q, k, v = torch.randn(346, 3 * HEADS * SIZE).chunk(3, 1)
    table = torch.randn(HEADS, 257)
    asking = list(range(len(LENGTHS) + 1)) if first else STARTS
    q = q[STARTS[:-1]] if first else q

    def attend(kind: Any) -> Any:
        bias = t5_plain.widened(table.to(kind), max(LENGTHS)) if biased else None
        return t5_plain.attend(q.to(kind), k.to(kind), v.to(kind), bias, (asking, STARTS), HEADS).float()

    exact = attend(torch.float32)
    assert float((attend(torch.bfloat16) - exact).norm() / exact.norm()) < 0.02
