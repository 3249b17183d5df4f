"""The reader's speed on the CPU: `python bench/reader/speed.py`.

A source of 600 tokens with one answer and with four of 60, each a fresh source; the time of HHEM-shaped fp32
for the same pairs if torch is installed (random weights, one pair at a time), and the pairs per second of
both. CPU time is printed as well as wall time, since other programs affect only wall time.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from mashq.detectors.base import Pair
from mashq.detectors.reader.detector import Reader

SENTENCE = "The council of the northern town {} met on Monday and agreed to repair the old bridge over the river. "
ANSWER = (
    "In the town {} the council met and agreed that the bridge is to be repaired, {} people said there. "
    "It took three hours until all of them had spoken about the costs and the time."
)


def timed(work: Callable[[int], object], times: int) -> tuple[float, float]:
    """Return the medians of (wall, CPU) seconds."""
    durations: list[tuple[float, float]] = []
    for k in range(times):
        clock, cpu = time.perf_counter(), time.process_time()
        work(k)
        durations.append((time.perf_counter() - clock, time.process_time() - cpu))
    return median(a for a, _ in durations), median(b for _, b in durations)


def main() -> None:
    reader = Reader("cpu")

    def source(k: int) -> str:
        return "".join(SENTENCE.format(f"{k} {n}") for n in range(24))

    tokens = len(reader._source(source(0))), len(reader._answer(ANSWER.format(1, 2)))
    print(f"a source of {tokens[0]} tokens, answers of {tokens[1]}")
    one = timed(lambda k: reader.score([Pair(source(k), ANSWER.format(k, 1))]), 2)
    four = timed(lambda k: reader.score([Pair(source(100 + k), ANSWER.format(k, n)) for n in range(4)]), 2)
    print(
        f"one answer {one[0]:.2f} s ({one[1]:.2f} of processor), four {four[0]:.2f} s ({four[1]:.2f}): "
        f"{four[0] / one[0]:.2f} times by the clock, {four[1] / one[1]:.2f} by the processor"
    )
    try:
        import detectors  # bench/detectors.py, needs torch
    except ImportError:
        print("torch is not installed: HHEM-shaped fp32 was not measured")
        return
    way = detectors.reference(detectors.weights(), "cpu", 1)
    texts = [[5] * (tokens[0] + tokens[1])] * 1
    hhem = timed(lambda _: way(texts), 2)
    print(
        f"HHEM-shaped fp32, one pair {hhem[0]:.2f} s ({hhem[1]:.2f} of processor); by the processor, reader has "
        f"{hhem[1] / one[1]:.2f} of its speed, {4 * hhem[1] / four[1]:.2f} with four answers a source"
    )


if __name__ == "__main__":
    main()
