"""MiniCheck's model: a T5 encoder and one step of its decoder.

Contract: `FirstStep(tensors, precision, device).scores(texts)` is the probability of token 209 against token 3 as the
first token the decoder would output. With one decoder token, self-attention is its value vector and cross-attention
has one query per text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mashq.detectors.extras import need
from mashq.detectors.neural.encoder import Encoder, Packed
from mashq.detectors.neural.linear import linear, tails
from mashq.errors import DetectorError

__all__ = ["FirstStep"]

torch: Any = need("torch")
_UNSUPPORTED, _SUPPORTED = 3, 209


@dataclass(frozen=True, slots=True)
class _Block:
    value: Callable[[Any], Any]
    own_out: Callable[[Any], Any]
    q: Callable[[Any], Any]
    kv: Callable[[Any], Any]
    out: Callable[[Any], Any]
    wide: Callable[[Any], Any]
    narrow: Callable[[Any], Any]


class FirstStep:
    """Maps token ids to the probability of 'supported'."""

    device: str
    precision: str
    encoder: Encoder
    blocks: list[_Block]
    head: Any

    def __init__(self, tensors: Mapping[str, Any], precision: str, device: str) -> None:
        self.device, self.precision = device, precision
        self.encoder = Encoder(tensors, precision, device)
        depth = sum(name.startswith("decoder.") and name.endswith("EncDecAttention.q.weight") for name in tensors)
        if not depth:
            raise DetectorError("the weights have no decoder: they are not those of MiniCheck-Flan-T5-Large.")
        self.blocks = [self._block(tensors, f"decoder.block.{n}.layer", precision) for n in range(depth)]
        tied = "lm_head.weight" not in tensors
        head = tensors["shared.weight" if tied else "lm_head.weight"][[_UNSUPPORTED, _SUPPORTED]].to(torch.float32)
        if tied:
            head = head * head.shape[1] ** -0.5
        self.head = (head * tensors["decoder.final_layer_norm.weight"]).to(device, torch.float32)

    def scores(self, texts: Sequence[Sequence[int]]) -> Any:
        """Return one score per text."""
        add_norm, gate, kind = self.encoder.ops.add_norm, self.encoder.ops.gate, self.encoder.kind
        states, packed = self.encoder.states(texts, first=False)
        states = states.to(kind)
        alone = Packed.of([1] * len(texts), self.device)
        state = self.encoder.embedding[0].repeat(len(texts), 1)  # the decoder starts from <pad>
        change = None
        for block in self.blocks:
            change = block.own_out(block.value(add_norm(state, change, kind)))
            q = block.q(add_norm(state, change, kind))
            k, v = block.kv(states).chunk(2, dim=1)
            change = block.out(self.encoder.attend(q, k, v, None, alone, packed))
            change = block.narrow(gate(block.wide(add_norm(state, change, kind)), self.encoder.scale))
        logits = torch.nn.functional.linear(add_norm(state, change, torch.float32), self.head)
        return torch.softmax(logits, dim=1)[:, 1]

    def _block(self, tensors: Mapping[str, Any], prefix: str, precision: str) -> _Block:
        def weight(name: str) -> Any:
            return tensors[f"{prefix}.{name}.weight"].to(self.device, torch.float32)

        kv = torch.cat([weight("1.EncDecAttention.k"), weight("1.EncDecAttention.v")])
        wide = torch.cat([weight(f"2.DenseReluDense.wi_{n}") for n in (0, 1)]) * weight("2.layer_norm")
        return _Block(
            value=linear(weight("0.SelfAttention.v") * weight("0.layer_norm"), precision),
            own_out=linear(weight("0.SelfAttention.o"), precision, wide=True),
            q=linear(weight("1.EncDecAttention.q") * weight("1.layer_norm"), precision),
            kv=linear(kv, precision),
            out=linear(weight("1.EncDecAttention.o"), precision, wide=True),
            wide=linear(wide, precision),
            narrow=linear(weight("2.DenseReluDense.wo") / self.encoder.scale, tails(precision), wide=True),
        )
