"""HHEM's model: a T5 encoder and a two-way classifier on the first token.

Contract: `Classifier(tensors, precision, device).scores(texts)` is softmax(logits of the first token)[1] for each
text of token ids. The tensors are those published, with the prefix `t5.`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mashq.detectors.extras import need
from mashq.detectors.neural.encoder import Encoder
from mashq.errors import DetectorError

__all__ = ["Classifier"]

torch: Any = need("torch")


class Classifier:
    """Maps token ids to the probability of 'supported'."""

    device: str
    precision: str
    encoder: Encoder
    weight: Any
    bias: Any

    def __init__(self, tensors: Mapping[str, Any], precision: str, device: str) -> None:
        self.device, self.precision = device, precision
        by_name = {name.removeprefix("t5.").removeprefix("transformer."): tensor for name, tensor in tensors.items()}
        if "classifier.weight" not in by_name or "classifier.bias" not in by_name:
            raise DetectorError("the weights have no t5.classifier: they are not those of HHEM-2.1-Open.")
        self.encoder = Encoder(by_name, precision, device)
        self.weight = by_name["classifier.weight"].to(device, torch.float32)
        self.bias = by_name["classifier.bias"].to(device, torch.float32)

    def scores(self, texts: Sequence[Sequence[int]]) -> Any:
        """Return one score per text."""
        states, _ = self.encoder.states(texts, first=True)
        logits = torch.nn.functional.linear(states, self.weight, self.bias)
        return torch.softmax(logits, dim=1)[:, 1]
