"""A sweep: the same players under every combination of some settings, as a document and a table."""

from collections.abc import Sequence
from typing import Any, Literal

from mashq.analysis.paired import Condition, Difference, differences
from mashq.analysis.results import from_matches
from mashq.analysis.score_report import Options, judge
from mashq.config import changed
from mashq.errors import DataError
from mashq.report.documents.columns import ended_results
from mashq.report.documents.match import RESAMPLES
from mashq.report.documents.tournament import all_drawn, scored_by
from mashq.report.text.formatting import number, safe
from mashq.report.text.score import prose
from mashq.report.text.tables import Grid, written
from mashq.runs.open import Season
from mashq.runs.reading import read_matches
from mashq.runs.seasons import cells, is_free
from mashq.runs.setup import score_rules_of

KEPT = (
    "name",
    "h",
    "answer_rate",
    "calls",
    "tokens",
    "reviews",
    "seconds",
    "dollars",
    "penalty",
    "q",
    "q_low",
    "q_high",
)


def document(season: Season) -> dict[str, Any]:
    """Every cell of the sweep with its players, and how each differs from the first cell, paired by item."""
    over: list[tuple[str, list[Any]]] = season.manifest["season"]["over"]
    there = read_matches(season.path)
    by_cell: dict[tuple[tuple[str, Any], ...], list[str]] = {}
    for fixture in season.fixtures():
        if there.get(fixture.id):
            by_cell.setdefault(fixture.cell, []).append(fixture.id)
    found: list[dict[str, Any]] = []
    conditions: list[Condition] = []
    missing = 0
    for cell in cells(over):
        played = tuple((name, value) for name, value in cell if not is_free(name))
        ended = by_cell.get(played, [])
        if not ended:
            missing += 1
            continue
        config = changed(season.config, cell)
        rules = score_rules_of(config)
        results = from_matches(ended_results(season, match) for match in ended)
        conditions.append(Condition(results, rules))
        found.append(_cell(cell, conditions, Options(rules, resamples=RESAMPLES), len(ended)))
    return {
        "run": str(season.path),
        "kind": "sweep",
        "finished": season.finished,
        "simulated": season.manifest["simulated"],
        "drawn": all_drawn(season.config),
        "detector": season.manifest["detector"],
        "trials": season.manifest["season"]["trials"],
        "over": [{"setting": name, "values": values} for name, values in over],
        "cells": found,
        "missing": missing,
    }


def _cell(
    cell: Sequence[tuple[str, Any]], conditions: Sequence[Condition], options: Options, trials: int
) -> dict[str, Any]:
    now, first = conditions[-1], conditions[0]
    said: dict[str, Any]
    try:
        said = judge(now.results, options)
    except DataError as nothing:
        said = {"players": [], "winner": None, "tied": [], "items": 0, "notes": [str(nothing)]}
    players = [
        {key: player[key] for key in KEPT}
        | {"against_first": {} if now is first else _against(differences(now, first, player["name"]))}
        for player in said["players"]
    ]
    return {
        "settings": dict(cell),
        "trials": trials,
        "items": said["items"],
        "winner": said["winner"],
        "tied": said["tied"],
        "players": players,
        "notes": said["notes"],
    }


def _against(found: dict[str, Difference]) -> dict[str, Any]:
    return {name: {"value": d.value, "low": d.low, "high": d.high} for name, d in found.items()}


def text(found: dict[str, Any], form: Literal["table", "md", "latex"] = "table") -> str:
    """The sweep for a person: a row for each cell and player."""
    names = [one["setting"] for one in found["over"]]
    short = [name.rpartition(".")[2] for name in names]
    heads = names if len(set(short)) < len(short) else short
    rows: list[list[str]] = []
    for cell in found["cells"]:
        settings = [safe(str(cell["settings"][name]), 24) for name in names]
        for player in cell["players"]:
            won = " ★" if player["name"] == cell["winner"] else ""
            costs = [number(player["calls"]), number(player["tokens"]), number(player["reviews"])]
            costs.append(number(player["seconds"], 1))
            change = player["against_first"].get("q")
            rows.append(
                [
                    *settings,
                    safe(player["name"], 24) + won,
                    number(player["h"], 4),
                    *costs,
                    number(player["penalty"], 3),
                    number(player["q"], 4),
                    "" if change is None else _signed(change),
                ]
            )
    headings = [*heads, "player", "H", "calls", "tokens", "reviews", "seconds", "P", "Q", "ΔQ ± 95%"]
    return (
        written(Grid(headings, rows, left=len(names) + 1, wide=True), form) + "\n\n" + prose(_sentences(found), form)
    )


def _signed(change: dict[str, Any]) -> str:
    if change["low"] is None:
        return f"{change['value']:+.4f}"
    return f"{change['value']:+.4f} ± {(change['high'] - change['low']) / 2:.4f}"


def _sentences(found: dict[str, Any]) -> list[str]:
    said = ["SIMULATED: some of these players were not real models."] if found["simulated"] else []
    items = max((cell["items"] or 0 for cell in found["cells"]), default=0)
    said.append(
        f"{len(found['cells'])} combination(s) of {items} items, {found['trials']} trial(s) each, "
        f"{scored_by(found)}. "
        "Costs are means over trials. ΔQ is the difference to "
        "the first combination, paired by item, with its 95% interval."
    )
    if found["missing"]:
        said.append(f"{found['missing']} are still to be played: go on with mashq resume {safe(found['run'])}")
    winners = {cell["winner"] for cell in found["cells"]}
    if len(winners) > 1:
        named = sorted(safe(name) for name in winners if name is not None)
        said.append(f"The winner depends on the settings: {', '.join(named)}.")
    elif found["cells"] and None not in winners:
        said.append(f"{safe(found['cells'][0]['winner'])} wins under every combination.")
    return said
