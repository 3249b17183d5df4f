"""Selects the answers that people should rate: spread over players and over the score range, so that low scores
occur."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

LEVELS = 5


@dataclass(frozen=True, slots=True)
class Picked:
    """A row of the sample: its position, and how many rows of its cell (player and score level) it represents."""

    at: int
    weight: float


def spread(
    players: Sequence[str], items: Sequence[str], scores: Sequence[float], number: int, random: np.random.Generator
) -> list[Picked]:
    """Up to `number` rows in random order, taken evenly from score levels, then from players, then from items.

    Levels divide the range from the lowest to the highest score into equal parts; if one runs out, the others fill
    in.
    """
    low, high = min(scores, default=0.0), max(scores, default=0.0)
    width = (high - low) / LEVELS
    level = [min(int((score - low) / width), LEVELS - 1) if width > 0 else 0 for score in scores]
    cells: dict[tuple[int, str], list[int]] = {}
    shuffled: list[int] = random.permutation(len(scores)).tolist()
    for at in shuffled:
        cells.setdefault((level[at], players[at]), []).append(at)
    sizes = {cell: len(rows) for cell, rows in cells.items()}
    by_level, by_player, by_item = Counter[int](), Counter[str](), Counter[str]()
    taken: dict[tuple[int, str], list[int]] = {}

    def priority(cell: tuple[int, str]) -> tuple[int, int, int]:
        return by_level[cell[0]], len(taken.get(cell, ())), by_player[cell[1]]

    for _ in range(min(number, len(scores))):
        cell = min(cells, key=priority)
        rows = cells[cell]
        at = min(rows, key=lambda row: by_item[items[row]])
        rows.remove(at)
        if not rows:
            del cells[cell]
        taken.setdefault(cell, []).append(at)
        by_level[cell[0]] += 1
        by_player[cell[1]] += 1
        by_item[items[at]] += 1
    picked = [Picked(at, sizes[cell] / len(rows)) for cell, rows in taken.items() for at in rows]
    return [picked[at] for at in random.permutation(len(picked)).tolist()]
