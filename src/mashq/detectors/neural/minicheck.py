"""MiniCheck-Flan-T5-Large: a second neural detector, so that a ranking can be checked with another judge.

Contract: the answer is cut into sentences, the source into chunks of whole sentences of at most 500 tokens. Each
sentence gets its best chunk's probability of support (`predict: ` chunk, end token, sentence; one decoder step); H is
the mean over sentences. Time is linear in the source. Weights come from the hub or from a local folder
(`minicheck:PATH`). The self-test runs on load. An empty answer scores 0.0.
"""

from __future__ import annotations

import re

from mashq.detectors.base import Pair
from mashq.detectors.neural.base import Neural
from mashq.detectors.neural.minicheck_model import FirstStep
from mashq.detectors.neural.weights import Files, Tokens, clean

__all__ = ["CHUNK", "HUB", "Minicheck", "sentences"]

HUB = "lytang/MiniCheck-Flan-T5-Large"
CHUNK = 500
_END = re.compile(r"(?<=[.!?])[\"'”’)\]]*\s+|(?<=[。！？])|\n+")
_SHORT = re.compile(r"(?:\b(?:Mr|Mrs|Ms|Dr|St|Prof|Gen|Sen|Rep|Lt|Col|No|vs|etc|e\.g|i\.e)|\b[A-Z])\.$")


def sentences(text: str) -> list[str]:
    """Split a text at full stops and line ends, but not after an initial or a common abbreviation."""
    pieces: list[str] = []
    start = 0
    for end in _END.finditer(text):
        piece = text[start : end.end()]
        if "\n" in end.group() or not _SHORT.search(piece.rstrip()):
            pieces.append(piece.strip())
            start = end.end()
    return [piece for piece in [*pieces, text[start:].strip()] if piece]


class Minicheck(Neural):
    """Scores each sentence against the part of the source that supports it best."""

    name = "minicheck"

    def __init__(
        self, where: str = HUB, *, device: str | None = None, precision: str = "auto", self_test: bool = True
    ) -> None:
        files = Files.find(self.name, where)
        tensors, digest = files.tensors()
        rows = int(tensors["shared.weight"].shape[0]) if "shared.weight" in tensors else 0
        self._tokens = Tokens(files.path("tokenizer.json"), self.name, rows)
        super().__init__(
            lambda kind, target: FirstStep(tensors, kind, target),
            f"large-{digest}", device=device, precision=precision, self_test=self_test,
        )  # fmt: skip

    def _scores(self, pairs: list[Pair]) -> list[float]:
        chunks = {source: self._chunks(clean(source)) for source in {pair.source for pair in pairs}}
        claims = [sentences(pair.answer) for pair in pairs]
        prompts = [
            f"predict: {chunk}</s>{claim}"
            for pair, parts in zip(pairs, claims, strict=True) for claim in parts for chunk in chunks[pair.source]
        ]  # fmt: skip
        scores = iter(self._run(self._tokens, prompts))
        result: list[float] = []
        for pair, parts in zip(pairs, claims, strict=True):
            best = [max(next(scores) for _ in chunks[pair.source]) for _ in parts]
            result.append(sum(best) / len(best))
        return result

    def _chunks(self, source: str) -> list[str]:
        """Group whole sentences into chunks of up to CHUNK tokens; a longer sentence is cut."""
        chunks: list[str] = []
        remaining = 0
        for sentence in sentences(source):
            offsets = self._tokens.offsets(sentence)
            for start in range(0, max(1, len(offsets)), CHUNK):
                span = offsets[start : start + CHUNK]
                piece = sentence if len(offsets) <= CHUNK else sentence[span[0][0] : span[-1][1]]
                if chunks and len(span) <= remaining:
                    chunks[-1] = f"{chunks[-1]} {piece}"
                else:
                    chunks.append(piece)
                    remaining = CHUNK
                remaining -= len(span)
        return chunks or [""]
