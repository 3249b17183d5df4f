"""Time to first byte of streamed replies."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np

from mashq.runs.reading import read_first_bytes

Key = TypeVar("Key")


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstByte:
    """From a request to the first data of its reply, over all replies that were streamed, however they ended."""

    replies: int
    """How many replies were streamed."""
    median: float
    """The median, in seconds."""
    p95: float
    """The 95th percentile, in seconds."""


def first_bytes(path: Path, matches: Collection[str]) -> Mapping[str, FirstByte] | None:
    """Summarise by player over some matches; players without streamed replies are missing, None if there are none."""
    return by((player, seconds) for match, player, _, seconds in read_first_bytes(path) if match in matches) or None


def by(times: Iterable[tuple[Key, float]]) -> dict[Key, FirstByte]:
    """Summarise the times of each key."""
    times_by_key: dict[Key, list[float]] = defaultdict(list)
    for key, seconds in times:
        times_by_key[key].append(seconds)
    return {key: _figures(values) for key, values in times_by_key.items()}


def _figures(seconds: list[float]) -> FirstByte:
    median, p95 = np.quantile(seconds, [0.5, 0.95]).tolist()
    return FirstByte(replies=len(seconds), median=median, p95=p95)
