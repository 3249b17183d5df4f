"""`mashq compare`: the same players in several runs."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from mashq.errors import ConfigError

if TYPE_CHECKING:
    from mashq.runs.open import Played


@click.command()
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--format", "form", type=click.Choice(["table", "md", "latex"]), default="table", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print the document and nothing else.")
def compare(runs: tuple[Path, ...], form: Literal["table", "md", "latex"], as_json: bool) -> None:
    """The players that RUNS have in common, side by side: trials, detectors, rules.

    \b
    Example:
      mashq compare runs/T80 runs/T85 runs/T90
    """
    from mashq.report.documents.match import document
    from mashq.runs.open import load

    played = [load(path) for path in runs]
    found = _compared(played, [document(match) for match in played])
    click.echo(json.dumps(found, indent=2, ensure_ascii=False) if as_json else _text(found, form))


def _compared(played: "list[Played]", documents: list[dict[str, Any]]) -> dict[str, Any]:
    common = [p["name"] for p in documents[0]["players"]]
    common = [name for name in common if all(name in {p["name"] for p in d["players"]} for d in documents)]
    if not common:
        raise ConfigError("these runs have no player in common: compare runs of the same players")
    players: list[dict[str, Any]] = []
    for name in common:
        rows = [next(p for p in d["players"] if p["name"] == name) for d in documents]
        kept = (
            "model",
            "h",
            "h_before_review",
            "calls",
            "tokens",
            "reviews",
            "seconds",
            "dollars",
            "penalty",
            "q",
            "T",
            "R",
        )
        players.append({"name": name, "runs": [{key: row[key] for key in kept} for row in rows]})
    return {
        "runs": [
            {
                "run": d["run"],
                "items": d["items"],
                "winner": d["winner"],
                "tied": d["tied"],
                "simulated": d["simulated"],
            }
            for d in documents
        ],
        "players": players,
        "settings": _settings(played),
    }


def _settings(played: "list[Played]") -> dict[str, list[Any]]:
    """The settings in which the runs differ, each with its values."""
    from mashq.report.text.formatting import flattened

    flat = [flattened(match.config.model_dump(mode="json")) | {"detector": _detector(match)} for match in played]
    keys = sorted({key for one in flat for key in one})
    return {key: [one.get(key) for one in flat] for key in keys if len({repr(one.get(key)) for one in flat}) > 1}


def _detector(match: "Played") -> str:
    return f"{match.manifest['detector']['name']} {match.manifest['detector']['version']}"


def _text(found: dict[str, Any], form: Literal["table", "md", "latex"]) -> str:
    from mashq.report.text.formatting import number, safe
    from mashq.report.text.score import prose
    from mashq.report.text.tables import Grid, written

    rows: list[list[str]] = []
    for player in found["players"]:
        for run, row in zip(found["runs"], player["runs"], strict=True):
            won = " ★" if run["winner"] == player["name"] else ""
            before = f"{number(row['h_before_review'], 4)} → {number(row['h'], 4)}"
            costs = [number(row["calls"]), number(row["tokens"]), number(row["reviews"]), number(row["seconds"], 1)]
            name = player["name"][:20] + won
            rows.append(
                [name, Path(run["run"]).name[:24], before, *costs, number(row["penalty"], 3), number(row["q"], 4)]
            )
    headings = ["player", "run", "H before → after", "calls", "tokens", "reviews", "seconds", "P", "Q"]
    said = [
        f"{safe(key)}: {', '.join(safe(str(value)) for value in values)}" for key, values in found["settings"].items()
    ]
    said = [f"The runs differ in {len(said)} setting(s):", *said] if said else ["The runs have the same settings."]
    if any(run["simulated"] for run in found["runs"]):
        said.insert(0, "SIMULATED: some of these players were not real models.")
    return written(Grid(headings, rows, left=2), form) + "\n\n" + prose(said, form)
