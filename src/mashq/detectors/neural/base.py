"""What the neural detectors share: one model, scored in packed batches, tested before it is trusted.

Contract: a `Neural` detector turns pairs into token ids and has a `Model` score those. `score` gives H in the order
given: texts of like length under a token budget, equal pairs scored once, 0.0 for an answer without a character to
read, DetectorError for a score that is no number. One object serves all threads. The self-test scores pairs of our
own: copies must be high, plain contradictions low, and not all the same; a detector that fails it refuses to score.
With precision `auto` the fastest that the processor is good at is kept if it moves no score of those pairs by more
than 0.01 from fp32 (`shift` says by how much), else fp32 is.
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
Part = tuple[Sequence[int], Sequence[Sequence[int]]]  # numbers, and the token ids of the text of each

BUDGET = {"cpu": 1024, "cuda": 65536}  # tokens a batch; on CPUs, what lies between two products stays in the cache
_PART = 32  # texts made into tokens at a time, while the device scores those before
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
    """Whether the device, or the host, had no memory left; gives what is cached back to the device."""
    full = isinstance(error, torch.OutOfMemoryError) or "can't allocate memory" in str(error)
    if full and torch.cuda.is_available():
        torch.cuda.empty_cache()
    return full


def run(model: Model, batches: Batches, parts: Iterable[Part]) -> list[float]:
    """The score of each text, in the order of the texts' numbers.

    The device is read once, at the end: batches follow without a gap, and while it works the next part is made.
    """
    done: list[tuple[int, float]] = []
    with torch.inference_mode():
        under_way = [(numbers, _start(model, batches, texts)) for numbers, texts in parts]
        for numbers, results in under_way:
            for batch, result in results:
                done += zip([numbers[i] for i in batch], result.tolist(), strict=True)
    return [score for _, score in sorted(done)]


def _start(model: Model, batches: Batches, texts: Sequence[Sequence[int]]) -> list[tuple[list[int], Any]]:
    return batches.run([len(text) for text in texts], lambda batch: model.scores([texts[i] for i in batch]))


class Neural(ABC):
    """A detector around one model."""

    device: str
    shift: float
    precision: str
    version: str

    name = ""

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
        """The model's scores of distinct pairs with something in each answer."""

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """H of each pair, in the order given."""
        distinct = {(pair.source, pair.answer): pair for pair in pairs if pair.answer.strip()}
        with self._lock:
            scored = dict(zip(distinct, self._scores(list(distinct.values())), strict=True))
            self._again_in_fp32(scored, distinct)
        for (_, answer), h in scored.items():
            if not math.isfinite(h):
                raise DetectorError(f"{self.name} gave {h} for the answer {answer[:60]!r}: the weights are broken.")
        return [scored.get((pair.source, pair.answer), 0.0) for pair in pairs]

    def self_test(self) -> list[float]:
        """The scores of our own pairs, or a DetectorError when they are not what a working model gives."""
        scores = self.score([*COPIES, *CONTRADICTIONS])
        high, low = scores[: len(COPIES)], scores[len(COPIES) :]
        if max(scores) - min(scores) < 0.05:
            why = f"every pair gets about {scores[0]:.2f}"
        elif min(high) <= 0.5 or max(low) >= 0.5:
            why = f"copies get {min(high):.2f} and up, contradictions {max(low):.2f} and down"
        else:
            return scores
        raise DetectorError(
            f"{self.name} failed its self-test and will not score: {why}; check that the weights are complete."
        )

    def check(self, pairs: Sequence[Published], tolerance: float = TOLERANCE) -> Report:
        """Our scores beside published ones."""
        return compare(self, pairs, tolerance)

    def _again_in_fp32(self, scored: dict[tuple[str, str], float], pairs: dict[tuple[str, str], Pair]) -> None:
        """What a lower precision could not hold is worked out once more."""
        lost = [key for key, h in scored.items() if not math.isfinite(h)]
        if not lost or self.precision == "fp32":
            return
        quick_model, self._model = self._model, self._build("fp32", self.device)
        try:
            scored.update(zip(lost, self._scores([pairs[key] for key in lost]), strict=True))
        finally:
            self._model = quick_model

    def _run(self, tokens: Tokens, texts: Sequence[str]) -> list[float]:
        """The model's score of each text; the shortest are read first, so that the device has work early."""
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        numbers = [order[at : at + _PART] for at in range(0, len(order), _PART)]

        def part(some: list[int]) -> Part:
            return some, tokens.ids(texts[i] for i in some)

        with ThreadPoolExecutor(1, "mashq-tokens") as ahead:
            return run(self._model, self._batches, ahead.map(part, numbers))

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
