"""Base of the neural detectors: one model, scored in packed batches, with a self-test before use.

Contract: a `Neural` detector turns pairs into token ids and lets a `Model` score them. `score` gives H in the order
given: texts of similar length are batched under a token budget, equal pairs are scored once, a blank answer gets 0.0,
and a score that is not finite is a DetectorError. One object serves all threads. The self-test scores built-in pairs:
copies must score high, plain contradictions low, and not all the same; a detector that fails it will not score. With
precision `auto`, the fastest precision for the device is used if it moves no score of those pairs by more than 0.01
from fp32 (`shift` is the largest difference), else fp32.
"""

from __future__ import annotations

import math
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

from mashq.detectors.base import Pair
from mashq.detectors.extras import need
from mashq.detectors.neural.batches import Batches
from mashq.detectors.neural.linear import PRECISIONS, quick
from mashq.detectors.neural.published import TOLERANCE, Published, Report, compare
from mashq.detectors.neural.weights import Tokens
from mashq.errors import ConfigError, DetectorError

__all__ = ["BUDGET", "CONTRADICTIONS", "COPIES", "Model", "Neural", "out_of_memory", "run"]

torch: Any = need("torch")
Part = tuple[Sequence[int], Sequence[Sequence[int]]]  # indices, and the token ids of the text of each

BUDGET = {"cpu": 1024, "cuda": 65536}  # tokens per batch; on CPUs, intermediate results stay in the cache
_PART = 32  # texts tokenised at a time, while the device scores earlier ones
_MOST_SHIFT = 0.01

_PARK = (
    "The city opened a new park on the east bank on Saturday. It cost 4.2 million euros and took three years to "
    "build. The mayor, Helena Brandt, planted the first of 300 trees. Buses run to the gate every ten minutes, and "
    "entry is free."
)
COPIES = (
    Pair("The bridge over the river opened in 1931.", "The bridge over the river opened in 1931."),
    Pair("Anna Keller won the race in four hours and ten minutes.", "Anna Keller won the race."),
    Pair(_PARK, "The city opened a new park on the east bank on Saturday."),
    Pair(_PARK, "It cost 4.2 million euros and took three years to build."),
)
CONTRADICTIONS = (
    Pair("The museum is closed on Mondays.", "The museum is open on Mondays."),
    Pair("The cat is black and sleeps indoors.", "The stock market fell by nine percent in Tokyo."),
    Pair(_PARK, "Entry to the park costs 25 euros and no buses run there."),
    Pair(_PARK, "The mayor refused to build the park and cut down all the trees."),
)


class Model(Protocol):
    """Scores texts given as token ids; the result is one tensor."""

    device: str

    def scores(self, texts: Sequence[Sequence[int]]) -> Any: ...


def out_of_memory(error: BaseException) -> bool:
    """Whether the device or the host ran out of memory; if so, frees the device's cache."""
    full = isinstance(error, torch.OutOfMemoryError) or "can't allocate memory" in str(error)
    if full and torch.cuda.is_available():
        torch.cuda.empty_cache()
    return full


def run(model: Model, batches: Batches, parts: Iterable[Part]) -> list[float]:
    """Return the score of each text, in the order of the texts' indices.

    Results are fetched once, at the end: batches run without a gap, and the next part is prepared meanwhile.
    """
    numbered: list[tuple[int, float]] = []
    with torch.inference_mode():
        started = [(numbers, _start(model, batches, texts)) for numbers, texts in parts]
        for numbers, results in started:
            for batch, result in results:
                numbered += zip([numbers[i] for i in batch], result.tolist(), strict=True)
    return [score for _, score in sorted(numbered)]


def _start(model: Model, batches: Batches, texts: Sequence[Sequence[int]]) -> list[tuple[list[int], Any]]:
    return batches.run([len(text) for text in texts], lambda batch: model.scores([texts[i] for i in batch]))


class Neural(ABC):
    """A detector around one model."""

    device: str
    shift: float
    precision: str
    version: str

    name = ""
    uses_gpu = True

    def __init__(
        self, build: Callable[[str, str], Model], print_: str, *, device: str | None, precision: str, self_test: bool
    ) -> None:
        self.device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        self._batches = Batches(BUDGET["cuda" if self.device.startswith("cuda") else "cpu"], out_of_memory)
        self._lock = threading.Lock()
        self.shift, self._build = 0.0, build
        self.precision, self._model = self._choose(build, precision)
        self.version = f"{print_}-{self.precision}"
        if self_test:
            self.self_test()

    @abstractmethod
    def _scores(self, pairs: list[Pair]) -> list[float]:
        """Return the model's scores of distinct pairs with non-blank answers."""

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """H of each pair, in the order given."""
        distinct = {(pair.source, pair.answer): pair for pair in pairs if pair.answer.strip()}
        with self._lock:
            scored = dict(zip(distinct, self._scores(list(distinct.values())), strict=True))
            self._rescore_in_fp32(scored, distinct)
        for (_, answer), h in scored.items():
            if not math.isfinite(h):
                raise DetectorError(f"{self.name} gave {h} for the answer {answer[:60]!r}: the weights are broken.")
        return [scored.get((pair.source, pair.answer), 0.0) for pair in pairs]

    def self_test(self) -> list[float]:
        """Return the scores of the built-in pairs; raises DetectorError if a working model would not give them."""
        scores = self.score([*COPIES, *CONTRADICTIONS])
        high, low = scores[: len(COPIES)], scores[len(COPIES) :]
        if max(scores) - min(scores) < 0.05:
            problem = f"every pair gets about {scores[0]:.2f}"
        elif min(high) <= 0.5 or max(low) >= 0.5:
            problem = f"copies get {min(high):.2f} and up, contradictions {max(low):.2f} and down"
        else:
            return scores
        raise DetectorError(
            f"{self.name} failed its self-test and will not score: {problem}; check that the weights are complete."
        )

    def check(self, pairs: Sequence[Published], tolerance: float = TOLERANCE) -> Report:
        """Compare our scores with published ones."""
        return compare(self, pairs, tolerance)

    def _rescore_in_fp32(self, scored: dict[tuple[str, str], float], pairs: dict[tuple[str, str], Pair]) -> None:
        """Rescore in fp32 the pairs whose score overflowed in a lower precision."""
        failed = [key for key, h in scored.items() if not math.isfinite(h)]
        if not failed or self.precision == "fp32":
            return
        quick_model, self._model = self._model, self._build("fp32", self.device)
        try:
            scored.update(zip(failed, self._scores([pairs[key] for key in failed]), strict=True))
        finally:
            self._model = quick_model

    def _run(self, tokens: Tokens, texts: Sequence[str]) -> list[float]:
        """Return the score of each text; the shortest are tokenised first, so that the device has work early."""
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        chunks = [order[start : start + _PART] for start in range(0, len(order), _PART)]

        def part(indices: list[int]) -> Part:
            return indices, tokens.ids(texts[i] for i in indices)

        with ThreadPoolExecutor(1, "mashq-tokens") as executor:
            return run(self._model, self._batches, executor.map(part, chunks))

    def _choose(self, build: Callable[[str, str], Model], precision: str) -> tuple[str, Model]:
        if precision != "auto":
            if precision not in PRECISIONS:
                raise ConfigError(f"There is no precision {precision!r}; choose auto, {', '.join(PRECISIONS)}.")
            if (precision == "fp16" and self.device == "cpu") or (
                precision in ("int8", "mixed") and self.device != "cpu"
            ):
                raise ConfigError(f"The precision {precision} is not for {self.device}: choose auto.")
            return precision, build(precision, self.device)
        exact = self._model = build("fp32", self.device)
        pairs = [*COPIES, *CONTRADICTIONS]
        truth = self._scores(pairs)
        for kind in quick(self.device):
            self._model = build(kind, self.device)
            self.shift = max(abs(a - b) for a, b in zip(self._scores(pairs), truth, strict=True))
            if self.shift <= _MOST_SHIFT:
                return kind, self._model
        self.shift = 0.0
        return "fp32", exact
