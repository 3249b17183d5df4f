"""The fused kernels against the plain ones. Needs a CUDA device."""

from __future__ import annotations

from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("needs a CUDA device", allow_module_level=True)

from mashq.detectors.neural import t5_fused, t5_plain  # noqa: E402
from mashq.detectors.neural.base import out_of_memory  # noqa: E402
from mashq.detectors.neural.base import run as run_parts  # noqa: E402
from mashq.detectors.neural.batches import Batches  # noqa: E402
from mashq.detectors.neural.encoder import Packed  # noqa: E402
from mashq.detectors.neural.hhem_model import Classifier  # noqa: E402
from tests.detectors.neural import small_t5  # noqa: E402

HEADS, SIZE = 4, 64
LENGTHS = [300, 130, 64, 1, 513, 128, 129, 1000, 2, 65, 63, 2500]


def run(model: Classifier, batches: Batches, texts: list[list[int]]) -> list[float]:
    return run_parts(model, batches, [(range(len(texts)), texts)])


def close(ours: Any, exact: Any) -> bool:
    return float((ours.float() - exact).norm() / exact.norm()) < 0.01


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("biased", [True, False])
def test_attention(first: bool, biased: bool) -> None:
    packed = Packed.of(LENGTHS, "cuda")
    q, k, v = torch.randn(sum(LENGTHS), 3 * HEADS * SIZE, device="cuda").mul_(0.4).bfloat16().chunk(3, 1)
    table = torch.randn(HEADS, 257, device="cuda")
    asking = Packed.of([1] * len(LENGTHS), "cuda") if first else packed
    q = q[packed.device_starts[:-1].long()] if first else q.contiguous()
    wide = [(m.widened(table, packed.longest) if biased else None) for m in (t5_plain, t5_fused)]
    exact = t5_plain.attend(q.float(), k.float(), v.float(), wide[0], (asking.starts, packed.starts), HEADS)
    starts = (asking.device_starts, packed.device_starts, asking.longest)
    assert close(t5_fused.attend(q, k, v, wide[1], starts, HEADS), exact)


def test_norm_and_gate() -> None:
    state, change = torch.randn(77, 768, device="cuda"), torch.randn(77, 768, device="cuda").bfloat16()
    other = state.clone()
    exact = t5_plain.add_norm(state, change.float(), torch.float32)
    assert close(t5_fused.add_norm(other, change, torch.bfloat16), exact)
    assert torch.equal(state, other)
    pairs = torch.randn(77, 2 * 1500, device="cuda").bfloat16()
    assert close(t5_fused.gate(pairs, 0.25), t5_plain.gate(pairs.float(), 0.25))


@pytest.fixture
def tensors(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    for name, value in (("WIDTH", 256), ("HEADS", HEADS), ("SIZE", SIZE), ("INNER", 1024)):
        monkeypatch.setattr(small_t5, name, value)
    return small_t5.hhem()


@pytest.mark.parametrize(("precision", "shift"), [("bf16", 0.03), ("fp16", 0.004)])
def test_the_whole_model_stays_close_to_fp32(tensors: dict[str, Any], precision: str, shift: float) -> None:
    texts = [[0, *range(3, 3 + length % 300), 1] for length in range(1, 600, 7)]
    fused, plain = Classifier(tensors, precision, "cuda"), Classifier(tensors, "fp32", "cpu")
    assert fused.encoder.ops is t5_fused
    batches = Batches(4096, out_of_memory)
    assert run(fused, batches, texts) == pytest.approx(run(plain, batches, texts), abs=shift)


def test_a_device_out_of_memory_halves_the_batch(tensors: dict[str, Any]) -> None:
    model = Classifier(tensors, "bf16", "cuda")
    texts = [[0, *([3 + n, 7, 9] * 300), 1] for n in range(150)]
    whole = run(model, Batches(1 << 20, out_of_memory), texts)
    held = torch.cuda.memory_allocated()
    torch.cuda.empty_cache()
    torch.cuda.set_per_process_memory_fraction(
        (held + (400 << 20)) / torch.cuda.get_device_properties(0).total_memory
    )
    try:
        batches = Batches(1 << 20, out_of_memory)
        assert run(model, batches, texts) == pytest.approx(whole, abs=0.005)
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    assert batches.budget < 150 * 902
