"""MiniCheck-Flan-T5-Large: a second neural detector, so that a ranking can be checked under another judge.

Contract: the answer is cut into sentences, the source into chunks of whole sentences of at most 500 tokens. Each
sentence gets its best chunk's chance of support (`predict: ` chunk, end token, sentence; one decoder step); H is the
mean over sentences. Time is linear in the source. Weights come from the hub or from a local folder
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
    """The sentences of a text: cut at full stops and line ends, not after an initial or a common abbreviation."""
    found: list[str] = []
    start = 0
    for end in _END.finditer(text):
        piece = text[start : end.end()]
        if "\n" in end.group() or not _SHORT.search(piece.rstrip()):
            found.append(piece.strip())
            start = end.end()
    return [piece for piece in [*found, text[start:].strip()] if piece]


class Minicheck(Neural):
    """Sentence by sentence, against the part of the source that supports it best."""

    name = "minicheck"

    def __init__(
        self, where: str = HUB, *, device: str | None = None, precision: str = "auto", self_test: bool = True
    ) -> None:
        files = Files.find(self.name, where)
        tensors, digest = files.tensors()
        rows = int(tensors["shared.weight"].shape[0]) if "shared.weight" in tensors else 0
        self._tokens = Tokens(files.path("tokenizer.json"), self.name, rows)
        super().__init__(
            lambda kind, at: FirstStep(tensors, kind, at),
            f"large-{digest}", device=device, precision=precision, self_test=self_test,
        )  # fmt: skip

    def _scores(self, pairs: list[Pair]) -> list[float]:
        chunks = {source: self._chunks(clean(source)) for source in {pair.source for pair in pairs}}
        claims = [sentences(pair.answer) for pair in pairs]
        asked = [
            f"predict: {chunk}</s>{claim}"
            for pair, some in zip(pairs, claims, strict=True) for claim in some for chunk in chunks[pair.source]
        ]  # fmt: skip
        scores = iter(self._run(self._tokens, asked))
        result: list[float] = []
        for pair, some in zip(pairs, claims, strict=True):
            best = [max(next(scores) for _ in chunks[pair.source]) for _ in some]
            result.append(sum(best) / len(best))
        return result

    def _chunks(self, source: str) -> list[str]:
        """Whole sentences up to CHUNK tokens together; a longer sentence is cut."""
        chunks: list[str] = []
        room = 0
        for sentence in sentences(source):
            offsets = self._tokens.offsets(sentence)
            for at in range(0, max(1, len(offsets)), CHUNK):
                some = offsets[at : at + CHUNK]
                piece = sentence if len(offsets) <= CHUNK else sentence[some[0][0] : some[-1][1]]
                if chunks and len(some) <= room:
                    chunks[-1] = f"{chunks[-1]} {piece}"
                else:
                    chunks.append(piece)
                    room = CHUNK
                room -= len(some)
        return chunks or [""]
