"""`mashq rescore`: a stored run under other judges."""

import json
from pathlib import Path
from typing import Any, Literal

import click


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--detector", "names", multiple=True, required=True, help="Another judge; may be given several times.")
@click.option("--format", "form", type=click.Choice(["table", "md", "latex"]), default="table", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print the documents and nothing else.")
def rescore(run: Path, names: tuple[str, ...], form: Literal["table", "md", "latex"], as_json: bool) -> None:
    """Score the answers of RUN with other detectors, with no model calls, and show the rankings side by side.

    \b
    Example:
      mashq rescore runs/first --detector hhem --detector exact-match
    """
    from mashq.detectors import base
    from mashq.gateway.backends.weights import cache_dir
    from mashq.report.documents.match import document
    from mashq.runs.open import load
    from mashq.runs.rescore import cache_file, rescored
    from mashq.runs.score_cache import Cached

    played = load(run)
    found = [document(played)]
    found += [document(rescored(played, Cached(base.load(name), cache_file(cache_dir())))) for name in names]
    if as_json:
        click.echo(json.dumps(found, indent=2, ensure_ascii=False))
        return
    click.echo(_text(found, form))


def _text(found: list[dict[str, Any]], form: Literal["table", "md", "latex"]) -> str:
    from mashq.report.text.formatting import number, safe
    from mashq.report.text.score import prose
    from mashq.report.text.tables import Grid, written

    judges = [f"{d['detector']['name']} {d['detector']['version'][:12]}" for d in found]
    rows: list[list[str]] = []
    for at, player in enumerate(found[0]["players"]):
        cells = [player["name"][:24]]
        for document in found:
            one = document["players"][at]
            star = " ★" if document["winner"] == player["name"] else ""
            cells += [number(one["h"], 4), number(one["q"], 4) + star]
        rows.append(cells)
    headings = ["player", *(f"{what} {judge}" for judge in judges for what in ("H", "Q"))]
    rankings = {tuple(p["name"] for p in sorted(d["players"], key=lambda p: -(p["q"] or -9))) for d in found}
    told = "The ranking is the same under every judge." if len(rankings) == 1 else "The ranking depends on the judge:"
    said = [told]
    if len(rankings) > 1:
        for judge, document in zip(judges, found, strict=True):
            order = sorted(document["players"], key=lambda p: -(p["q"] or -9))
            said.append(f"  {safe(judge)}: {', '.join(safe(p['name']) for p in order)}")
    return written(Grid(headings, rows), form) + "\n\n" + prose(said, form)
