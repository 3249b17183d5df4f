"""HHEM-2.1-Open, from its published weights; its published code is not run.

Contract: H = softmax(logits of the first token)[1] of a T5 encoder over the prompt below, nothing cut off. Weights
come from the hub at the pinned revision or from a local folder (`hhem:PATH`) with model.safetensors and, to work
without a hub, the tokenizer.json of google/flan-t5-base. The self-test runs on load. An empty answer scores 0.0.
"""

from __future__ import annotations

from mashq.detectors.base import Pair
from mashq.detectors.neural.base import Neural
from mashq.detectors.neural.hhem_model import Classifier
from mashq.detectors.neural.weights import Files, Tokens

__all__ = ["HUB", "REVISION", "TOKENIZER", "Hhem", "prompt"]

HUB = "vectara/hallucination_evaluation_model"
REVISION = "8e4a2e6e96c708cc76c2344f7e4757df2515292c"
TOKENIZER = "google/flan-t5-base"


def prompt(pair: Pair) -> str:
    """Return the prompt the model was trained on. Its first token is <pad>, whose state carries the verdict."""
    return (
        "<pad> Determine if the hypothesis is true given the premise?\n\n"
        f"Premise: {pair.source}\n\nHypothesis: {pair.answer}"
    )


class Hhem(Neural):
    """The detector used in the paper."""

    name = "hhem"

    def __init__(
        self, where: str = HUB, *, device: str | None = None, precision: str = "auto", self_test: bool = True
    ) -> None:
        files = Files.find(self.name, where, REVISION if where == HUB else None)
        tensors, digest = files.tensors()
        has_tokenizer = files.folder is not None and (files.folder / "tokenizer.json").is_file()
        tokenizer_files = files if has_tokenizer else Files(self.name, None, TOKENIZER)
        rows = next((int(t.shape[0]) for name, t in tensors.items() if name.endswith("shared.weight")), 0)
        self._tokens = Tokens(tokenizer_files.path("tokenizer.json"), self.name, rows)
        super().__init__(
            lambda kind, target: Classifier(tensors, kind, target),
            f"2.1-{digest}", device=device, precision=precision, self_test=self_test,
        )  # fmt: skip

    def _scores(self, pairs: list[Pair]) -> list[float]:
        return self._run(self._tokens, [prompt(pair) for pair in pairs])
