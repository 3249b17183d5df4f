"""Random results files: what a user could give to `mashq score`, with the rules to score it by."""

import csv
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from hypothesis import strategies as st

from tests.oracle.oracle import REFUSALS, RESOURCES, Normaliser, Row, Rules, Status

Cell = str | int | float | None

heights = st.one_of(
    st.sampled_from([0.0, 0.1, 0.25, 0.49999, 0.5, 0.7, 1.0]), st.integers(0, 1000).map(lambda n: n / 1000)
)
amounts = st.one_of(
    st.just(0),
    st.integers(0, 9),
    st.integers(0, 100_000).map(lambda n: n / 100),
    st.sampled_from([1e15, 999_999_999_999_999, 1e-6]),
)
declared = st.one_of(st.integers(1, 5000), st.sampled_from([0.5, 1e-3, 1e15]))
troubles: st.SearchStrategy[Status] = st.sampled_from(["refused", "failed", "unanswered"])


@dataclass(frozen=True, slots=True)
class File:
    """Rows, the rules, and how they are written down.

    `parts` splits tokens into in and out; `totals` leaves out the items: each row is a player's total.
    """

    rows: tuple[Row, ...]
    rules: Rules
    suffix: Literal["csv", "jsonl"] = "csv"
    parts: bool = False
    totals: bool = False

    def full_rows(self) -> tuple[Row, ...]:
        """Return the rows with everything their cells contain: also tokens in and out, if they are separate."""
        if not self.parts:
            return self.rows
        return tuple(replace(row, costs={**row.costs, **_parts(row)}) for row in self.rows)

    def cells(self) -> list[dict[str, Cell]]:
        """Return the rows as a table; None is an empty cell. A column that nobody fills is left out."""
        table: list[dict[str, Cell]] = []
        for row in self.rows:
            cells: dict[str, Cell] = {"player": row.player, "item": row.item, "h": row.h, "status": row.status}
            if self.totals:
                del cells["item"]
            cells |= {name: row.costs.get(name) for name in RESOURCES}
            if self.parts:
                del cells["tokens"]
                parts = _parts(row)
                cells |= {name: parts.get(name) for name in ("tokens_in", "tokens_out")}
            if any(other.trial for other in self.rows):
                cells["trial"] = row.trial
            table.append(cells)
        empty = {name for name in table[0] if name != "h" and all(cells[name] is None for cells in table)}
        return [{name: cell for name, cell in cells.items() if name not in empty} for cells in table]

    def write(self, folder: Path) -> Path:
        """Write the results file; return its path."""
        path = folder / f"results.{self.suffix}"
        table = self.cells()
        if self.suffix == "jsonl":
            lines = [
                {name: cell for name, cell in cells.items() if cell is not None or name == "h"} for cells in table
            ]
            path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        else:
            with path.open("w", newline="") as file:
                writer = csv.DictWriter(file, list(table[0]))
                writer.writeheader()
                writer.writerows(table)
        return path

    def options(self, folder: Path) -> list[str]:
        """Return the rules as options of `mashq score`; a reference is written to a file."""
        rules = self.rules
        weights = ",".join(f"{name}={weight}" for name, weight in rules.weights.items() if weight != 1)
        options = ["--alpha", str(rules.alpha), "--beta", str(rules.beta), "--refusals", rules.refusals]
        options += ["--resources", ",".join(rules.weights), *(["--weights", weights] if weights else [])]
        if rules.normaliser in ("totals", "per_item"):
            path = folder / "reference.json"
            values = dict(rules.reference)
            path.write_text(json.dumps(values if rules.normaliser == "totals" else {"per_item": values}))
            options += ["--normalise", f"reference:{path}"]
        return options


def _parts(row: Row) -> dict[str, int]:
    """Split tokens into those in and those out."""
    if "tokens" not in row.costs:
        return {}
    tokens = int(row.costs["tokens"])
    return {"tokens_in": tokens // 3, "tokens_out": tokens - tokens // 3}


@st.composite
def rules_of_scoring(draw: st.DrawFn, normalisers: tuple[Normaliser, ...] = ("match", "totals", "per_item")) -> Rules:
    """Draw any rules: weights, resources, rule for refusals, normaliser."""
    names = draw(
        st.one_of(st.just(list(RESOURCES[:4])), st.lists(st.sampled_from(RESOURCES), min_size=1, unique=True))
    )
    return Rules(
        alpha=draw(st.sampled_from([1.0, 0.5, 2.0])),
        beta=draw(st.sampled_from([0.1, 0.0, 0.001, 1.0, 7.5])),
        weights={name: draw(st.sampled_from([1.0, 1.0, 0.5, 2.0, 100.0])) for name in names},
        refusals=draw(st.sampled_from(REFUSALS)),
        normaliser=draw(st.sampled_from(normalisers)),
        reference={name: draw(declared) for name in names},
    )


@st.composite
def files(
    draw: st.DrawFn,
    *,
    trials: int = 1,
    troubled: bool = True,
    absent: bool = True,
    missing: bool = False,
    normalisers: tuple[Normaliser, ...] = ("match", "totals"),
) -> File:
    """Draw up to four players on up to eight items. Some units fail, or have no row; costs may be missing.

    A player may be a copy of another, so that there are ties; a resource may be one that nobody, or one player,
    never reports; costs may all be zero.
    """
    players = [f"p{n}" for n in range(draw(st.integers(1, 4)))]
    items = [f"i{n}" for n in range(draw(st.integers(1, 8)))]
    repeats = draw(st.integers(1, trials))
    parts = draw(st.booleans())
    nobody_tells = set(draw(st.lists(st.sampled_from(RESOURCES), max_size=1)))
    all_zero = draw(st.sampled_from([False, False, False, True]))
    rows: list[Row] = []
    for seat, player in enumerate(players):
        if seat and draw(st.sampled_from([False, False, False, True])):
            rows += [replace(row, player=player) for row in rows if row.player == players[0]]
            continue
        trouble = draw(st.sampled_from([0, 0, 1, 3])) if troubled else 0
        gaps = draw(st.sampled_from([0, 0, 1, 3])) if missing else 0
        never = set(draw(st.lists(st.sampled_from(RESOURCES), max_size=1))) if gaps else set[str]()
        absence = draw(st.sampled_from([0, 0, 0, 1])) if absent else 0
        for item in items:
            for trial in range(repeats):
                last = item == items[-1] and trial == repeats - 1 and not any(row.player == player for row in rows)
                if draw(st.integers(1, 8)) <= absence and not last:
                    continue
                status: Status = draw(troubles) if draw(st.integers(1, 8)) <= trouble else "ok"
                costs = {
                    name: 0 if all_zero else draw(amounts)
                    for name in RESOURCES
                    if name not in nobody_tells | never and draw(st.integers(1, 8)) > gaps
                }
                if parts and "tokens" in costs:
                    costs["tokens"] = int(costs["tokens"])
                rows.append(Row(player, item, trial, draw(heights) if status == "ok" else None, status, costs))
    order = draw(st.sampled_from(["by player", "by item", "backwards"]))
    if order == "by item":
        rows.sort(key=lambda row: (row.item, row.trial))
    elif order == "backwards":
        rows.reverse()
    suffix: Literal["csv", "jsonl"] = draw(st.sampled_from(["csv", "jsonl"]))
    return File(tuple(rows), draw(rules_of_scoring(normalisers)), suffix, parts)
