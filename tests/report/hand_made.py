"""Seasons whose results are written by hand: what a document needs of a run, without playing one."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from mashq.analysis.results import Row, from_rows
from mashq.config import check
from mashq.protocol.results import Results
from mashq.runs.open import Season

Told = Mapping[str, Sequence[float | None]]


def results(h: Told, tokens: Told | None = None) -> Results:
    """Results by player: H of each item, None where it refused; tokens likewise, 100 an item unless they are told."""
    rows: list[Row] = []
    for player, values in h.items():
        for at, value in enumerate(values):
            spent = 100.0 if tokens is None else tokens[player][at]
            costs = {} if spent is None else {"tokens": spent}
            status = "refused" if value is None else "ok"
            rows.append(
                Row(player, f"i{at}", "", value, status, {"calls": 1.0, "reviews": 0.0, "seconds": 1.0, **costs})
            )
    return from_rows(rows)


def season(names: Sequence[str], items: int, kind: str, **settings: Any) -> Season:
    """As much of a season as a document asks for, beside its meetings."""
    players = [{"name": name, "model": "simulated/default", "policy": "rule"} for name in names]
    config = check({"task": {"limit": items}, "players": players, **settings}, "a test")
    detector = {"name": "grounding", "version": "3"}
    about = {"kind": kind, "trials": 1, "system": "round-robin"}
    manifest = {"simulated": True, "detector": detector, "items": items, "season": about}
    return cast(Season, SimpleNamespace(config=config, manifest=manifest, path=Path("r"), finished=True))


def nothing_to_note(*_run: object) -> list[str]:
    """In place of the notes on a run, where there is none behind the results."""
    return []
