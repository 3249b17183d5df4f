"""Does company change a player? The same players alone, in company unseen, and with vision, paired by item."""

from typing import Any, Literal

import numpy as np

from mashq.analysis.paired import Condition, differences
from mashq.analysis.results import Results, from_matches
from mashq.report.documents.columns import ended_results
from mashq.report.documents.tournament import all_drawn, scored_by
from mashq.report.text.formatting import safe
from mashq.report.text.score import prose
from mashq.report.text.tables import Grid, written
from mashq.runs.open import Season
from mashq.runs.reading import read_matches
from mashq.runs.setup import score_rules_of

SHOWN = ("h", "reviews", "tokens", "calls", "seconds")
STEPS = (("alone", "unseen", "company"), ("unseen", "seen", "vision"))


def document(season: Season) -> dict[str, Any]:
    """Each player's differences in H and costs from one condition to the next."""
    rules = score_rules_of(season.config)
    there = read_matches(season.path)
    ended: dict[tuple[str, tuple[int, ...]], list[str]] = {}
    for fixture in season.fixtures():
        if there.get(fixture.id):
            cell = dict(fixture.cell)
            ended.setdefault((cell["condition"], cell["seats"]), []).append(fixture.id)
    results = {key: from_matches(ended_results(season, match) for match in matches) for key, matches in ended.items()}
    players: list[dict[str, Any]] = []
    for at, player in enumerate(season.config.players):
        own = {
            condition: found
            for (condition, seats), found in results.items()
            if at in seats and (condition != "alone" or seats == (at,))
        }
        steps: dict[str, Any] = {}
        for before, after, name in STEPS:
            if before in own and after in own:
                found = differences(Condition(own[after], rules), Condition(own[before], rules), player.name)
                steps[name] = {key: {"value": d.value, "low": d.low, "high": d.high} for key, d in found.items()}
                if name == "company":
                    steps[name].pop("q", None)  # alone, a player is its own normaliser: the two Q do not compare
        means = {condition: _means(found, player.name) for condition, found in own.items()}
        players.append({"name": player.name, "means": means, "changes": steps})
    return {
        "run": str(season.path),
        "kind": "vision",
        "finished": season.finished,
        "simulated": season.manifest["simulated"],
        "drawn": all_drawn(season.config),
        "detector": season.manifest["detector"],
        "trials": season.manifest["season"]["trials"],
        "when": season.manifest["season"]["when"],
        "items": season.manifest["items"],
        "players": players,
    }


def _means(results: Results, player: str) -> dict[str, float]:
    """The means an item."""
    seat = results.players.index(player)
    found: dict[str, float] = {}
    for name in SHOWN:
        values = results.h[seat] if name == "h" else results.costs[name][seat]
        known = values[~np.isnan(values)]
        if len(known):
            found[name] = float(known.mean())
    return found


def text(found: dict[str, Any], form: Literal["table", "md", "latex"] = "table") -> str:
    """The comparison for a person."""
    rows: list[list[str]] = []
    for player in found["players"]:
        for name, change in player["changes"].items():
            cells = [_cell(change.get(key), 4 if key in ("h", "q") else 2) for key in (*SHOWN[:3], "seconds", "q")]
            rows.append([safe(player["name"], 20), name, *cells])
    headings = ["player", "effect of", "ΔH", "Δreviews", "Δtokens", "Δseconds", "ΔQ"]
    said = ["SIMULATED: some of these players were not real models."] if found["simulated"] else []
    said.append(
        f"Means an item, paired by item, ± half a 95% interval; * where it leaves zero out. {found['items']} items, "
        f"{found['trials']} trial(s), {scored_by(found)}. Company: playing beside rivals unseen instead of alone. "
        f"Vision: seeing the rivals' state ({found['when']}) instead of not. Alone, a player is its own normaliser, "
        "so its Q does not compare."
    )
    said += _verdict(found)
    if not found["finished"]:
        said.append(f"Not all matches are played: go on with mashq resume {safe(found['run'])}")
    return written(Grid(headings, rows, left=2, wide=True), form) + "\n\n" + prose(said, form)


def _cell(change: dict[str, Any] | None, digits: int) -> str:
    if change is None:
        return "–"
    if change["low"] is None:
        return f"{change['value']:+.{digits}f}"
    sure = "*" if change["low"] > 0 or change["high"] < 0 else ""
    return f"{change['value']:+.{digits}f} ± {(change['high'] - change['low']) / 2:.{digits}f}{sure}"


def _verdict(found: dict[str, Any]) -> list[str]:
    """What the reviews did, in a sentence a player."""
    said: list[str] = []
    for player in found["players"]:
        for name, change in player["changes"].items():
            one = change.get("reviews")
            if one is not None and one["low"] is not None and (one["low"] > 0 or one["high"] < 0):
                more = "more" if one["value"] > 0 else "fewer"
                said.append(
                    f"{name.capitalize()} makes {safe(player['name'])} review {more}: {one['value']:+.2f} an item."
                )
    return said or ["Neither company nor vision changes how much anyone reviews, as far as these items show."]
