"""The reader: the embedded model, trained to compare an answer with its source, combined with grounding's features.

Contract: H is the calibrated probability that the answer is faithful: a linear model over grounding's log-odds and
three measures of a 135M model with a small adapter (`adapter`). An answer copied word for word scores at least
COPY; one without a word 0.0. On the CPU a source is read once, alone, and each answer after it,
alone: equal pairs get equal scores whatever else is scored, and a further answer on a source costs its own
tokens only. The last sources are cached between calls, up to KEPT tokens. The model reads the first LONGEST tokens
of a source (grounding's part reads all of it) and the first LONGEST_ANSWER of an answer. Without the
weights it raises a ConfigError. A GPU that torch sees is used; `reader:cpu` and `reader:cuda` choose explicitly.
"""

from __future__ import annotations

import importlib.util
import threading
from collections import OrderedDict
from collections.abc import Sequence
from itertools import groupby
from typing import Any, Protocol

from mashq.detectors.base import Pair
from mashq.detectors.extras import need
from mashq.detectors.grounding.detector import COPY, odds
from mashq.detectors.grounding.evidence import Source
from mashq.detectors.reader.adapter import Adapter, Measures, load
from mashq.detectors.reader.gguf import Gguf
from mashq.detectors.reader.gpu import Gpu, Ids
from mashq.detectors.reader.model import Memory, Model
from mashq.detectors.reader.tokens import Tokens
from mashq.errors import ConfigError
from mashq.gateway.backends import weights

__all__ = ["KEPT", "LONGEST", "LONGEST_ANSWER", "Reader"]

LONGEST, LONGEST_ANSWER = 1400, 1400  # tokens
KEPT = 8192  # tokens of sources that are cached, 46 KB each
DOUBTFUL = 0.5
_MOST_SHIFT = 0.01
_PARK = (
    "The city opened a new park on the east bank on Saturday. It cost 4.2 million euros and took three years to "
    "build. The mayor, Helena Brandt, planted the first of 300 trees. Buses run to the gate every ten minutes."
)
_PROBES = (
    "The city opened a new park on Saturday.",
    "The park cost 42 million euros.",
    "The mayor refused to plant a tree.",
    "Helena Brandt planted the first tree.",
    "No buses run to the gate.",
)


class Way(Protocol):
    """A backend that measures pairs of token ids."""

    def measures(self, pairs: Sequence[Ids]) -> list[Measures]: ...


class Processor:
    """The CPU backend: reads the source alone, then each answer alone.

    It uses one thread: sums are the same on any number of cores, and threads that wait for a core which the playing
    model occupies are several times slower than one.
    """

    def __init__(self, file: Gguf, adapter: Adapter) -> None:
        self._model, self._adapter = Model(file, adapter.changed), adapter
        self._kept: OrderedDict[tuple[int, ...], Memory] = OrderedDict()
        self._threads = need("threadpoolctl", "reader", "local").ThreadpoolController()
        self.read = 0  # tokens of sources read so far

    def measures(self, pairs: Sequence[Ids]) -> list[Measures]:
        """Return the measures of each pair, in the order given."""
        return [self._adapter.measures(self._states(*pair)) for pair in pairs]

    def doubts(self, pair: Ids) -> list[float]:
        """Return the doubt about each token of the answer."""
        return self._adapter.doubts(self._states(*pair)).tolist()

    def _states(self, source: Sequence[int], answer: Sequence[int]) -> Any:
        with self._threads.limit(limits=1, user_api="blas"):
            return self._model.states(self._memory(tuple(source)), answer)

    def _memory(self, source: tuple[int, ...]) -> Memory:
        memory = self._kept.pop(source, None)
        if memory is None:
            memory = self._model.read(source)
            self.read += len(source)
        self._kept[source] = memory
        while len(self._kept) > 1 and sum(len(key) for key in self._kept) > KEPT:
            self._kept.popitem(last=False)
        return memory


class Reader:
    """The detector `reader`."""

    name = "reader"
    uses_gpu = True

    def __init__(self, device: str = "auto") -> None:
        if device not in ("auto", "cpu", "cuda"):
            raise ConfigError(f"The detector 'reader' does not run on {device!r}: choose reader:cpu or reader:cuda.")
        path = weights.find()
        if path is None:
            raise ConfigError("The detector 'reader' needs the embedded model: fetch it with `mashq weights`.")
        self._adapter = load()
        self._file = Gguf(path)
        self._tokens = Tokens(self._file.texts("tokenizer.ggml.tokens"), self._file.texts("tokenizer.ggml.merges"))
        self._begin, self._middle, self._end = map(self._tokens.ids, ("Article:\n", "\n\nSummary:\n", "\n\n"))
        self._lock = threading.Lock()
        self._processor: Processor | None = None
        self._way, kind = self._choose(device)
        self.version = f"1-{self._adapter.digest}-{kind}"

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """H of each pair, in the order given; pairs of one source are scored together."""
        scores = [0.0] * len(pairs)
        judged: list[tuple[int, float, bool]] = []
        by_source = sorted(range(len(pairs)), key=lambda i: pairs[i].source)
        for text, group in groupby(by_source, key=lambda i: pairs[i].source):
            source = Source.of(text)
            results = ((i, odds(source, pairs[i].answer)) for i in group)
            judged += [(i, *result) for i, result in results if result is not None]
        with self._lock:
            measured = self._measured([pairs[i] for i, _, _ in judged])
        for (i, z, copied), measures in zip(judged, measured, strict=True):
            h = self._adapter.line.h(z, measures)
            scores[i] = COPY + (1.0 - COPY) * h if copied else h
        return scores

    def spans(self, pair: Pair) -> list[tuple[int, int]]:
        """Return the character spans of the answer's doubtful words, neighbours merged."""
        if not pair.answer.strip():
            return []
        ids = self._ids(pair)
        with self._lock:
            doubts = self._on_processor().doubts(ids)
        answer = _clean(pair.answer)
        merged: list[tuple[int, int]] = []
        for (_, start, end), doubt in zip(self._tokens.offsets(answer), doubts):
            if doubt < DOUBTFUL or not answer[start:end].strip():
                continue
            start, end = _whole(answer, start, end)
            if merged and not answer[merged[-1][1] : start].strip():
                merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
            else:
                merged.append((start, end))
        return merged

    def _measured(self, pairs: Sequence[Pair]) -> list[Measures]:
        """Measure each distinct pair once."""
        distinct = list(dict.fromkeys((pair.source, pair.answer) for pair in pairs))
        source_ids: dict[str, list[int]] = {}
        ids: list[Ids] = []
        for source, answer in distinct:
            if source not in source_ids:
                source_ids[source] = self._source(source)
            ids.append((source_ids[source], self._answer(answer)))
        measures = dict(zip(distinct, self._way.measures(ids), strict=True))
        return [measures[pair.source, pair.answer] for pair in pairs]

    def _ids(self, pair: Pair) -> Ids:
        return self._source(pair.source), self._answer(pair.answer)

    def _source(self, text: str) -> list[int]:
        return [*self._begin, *self._tokens.ids(_clean(text))[:LONGEST], *self._middle]

    def _answer(self, text: str) -> list[int]:
        return [*self._tokens.ids(_clean(text))[:LONGEST_ANSWER], *self._end]

    def _on_processor(self) -> Processor:
        if self._processor is None:
            self._processor = Processor(self._file, self._adapter)
        return self._processor

    def _choose(self, device: str) -> tuple[Way, str]:
        """Choose a GPU if there is one, in the fastest precision whose scores agree with fp32."""
        if device == "cpu" or (device == "auto" and importlib.util.find_spec("torch") is None):
            return self._on_processor(), "fp32"
        torch: Any = need("torch", self.name)
        if not torch.cuda.is_available():
            if device == "cuda":
                raise ConfigError("The detector 'reader:cuda' finds no GPU: choose reader or reader:cpu.")
            return self._on_processor(), "fp32"
        return chosen(
            {kind: Gpu(torch, self._file, self._adapter, "cuda", kind) for kind in ("fp16", "bf16", "fp32")}, self
        )

    def probes(self) -> list[Ids]:
        """Return built-in pairs for comparing precisions."""
        return [self._ids(Pair(_PARK, answer)) for answer in _PROBES]

    def shift(self, one: Measures, other: Measures) -> float:
        """Return how far H differs between two measures, with grounding's log-odds at 0."""
        return abs(self._adapter.line.h(0.0, one) - self._adapter.line.h(0.0, other))


def chosen(ways: dict[str, Way], reader: Reader) -> tuple[Way, str]:
    """Return the first backend whose scores of the built-in pairs are within 0.01 of the last, exact one's."""
    pairs = reader.probes()
    exact = [*ways.values()][-1].measures(pairs)
    for kind, way in ways.items():
        if max(reader.shift(a, b) for a, b in zip(way.measures(pairs), exact, strict=True)) <= _MOST_SHIFT:
            return way, f"cuda-{kind}"
    raise AssertionError("the last way is exact")


def _clean(text: str) -> str:
    """Replace what cannot be encoded as UTF-8 (half of a surrogate pair), keeping the length."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _whole(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the span without the space before it, widened to whole words."""
    while text[start].isspace():
        start += 1
    if text[start].isalnum():
        while start > 0 and text[start - 1].isalnum():
            start -= 1
    if text[end - 1].isalnum():
        while end < len(text) and text[end].isalnum():
            end += 1
    return start, end
