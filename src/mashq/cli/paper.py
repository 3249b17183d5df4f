"""`mashq paper`: the paper's figures, recomputed."""

import json
from typing import Any, Literal

import click


@click.command()
@click.option("--format", "form", type=click.Choice(["table", "md", "latex"]), default="table", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print the document and nothing else.")
def paper(form: Literal["table", "md", "latex"], as_json: bool) -> None:
    """Every Q-Score the MAS-HQ paper prints beside the recomputed one, and its reversal as one honest match.

    \b
    Example:
      mashq paper --format md
    """
    from importlib.resources import files

    from mashq.analysis.paper import paper as recomputed

    figures: dict[str, Any] = json.loads(files("mashq.analysis").joinpath("paper_figures.json").read_text("utf-8"))
    document = recomputed(figures)
    click.echo(json.dumps(document, indent=2, ensure_ascii=False) if as_json else _text(document, form))


def _text(document: dict[str, Any], form: Literal["table", "md", "latex"]) -> str:
    from mashq.report.text.formatting import number
    from mashq.report.text.tables import Grid, prose, written

    rows = [
        [
            r["table"],
            r["match"],
            r["player"],
            number(r["printed_q"], 4),
            number(r["q"], 4),
            "yes" if r["follows"] else "NO",
        ]
        for r in document["rows"]
    ]
    printed = Grid(["table", "match", "player", "printed Q", "Q", "follows"], rows, left=3)
    best = document["best_of_n"]
    as_printed = {row["player"]: row["q"] for row in best["as_printed"]}
    honest = Grid(
        ["player", "H", "Q as printed", "P in one match", "Q in one match"],
        [
            [
                r["player"],
                number(r["h"], 4),
                number(as_printed[r["player"]], 4),
                number(r["penalty"], 3),
                number(r["q"], 4),
            ]
            for r in best["honest"]
        ],
        title="Best-of-N: as printed, each solo row normalised against itself; and as one match of five",
    )
    parts = [written(printed, form), prose(_sentences(document), form), written(honest, form)]
    return "\n\n".join([*parts, prose(_reversal(best), form)])


def _sentences(document: dict[str, Any]) -> list[str]:
    wrong = [r for r in document["rows"] if not r["follows"]]
    named = ", ".join(f"{r['match']} {r['player']} (printed {r['printed_q']}, gives {r['q']:.4f})" for r in wrong)
    said = [
        f"{document['follow']} of {document['total']} printed Q-Scores follow from 0.1 a resource "
        "(0.001 on SimpleQA), whatever beta the row prints.",
        f"Does not follow: {named}.",
    ]
    reasons: dict[str, list[str]] = {}
    for row in document["not_recomputable"]:
        reasons.setdefault(row["reason"], []).append(f"{row['table']} {row['player']} {row['printed_q']}")
    return said + [f"Not recomputable: {', '.join(rows)} ({why})." for why, rows in reasons.items()]


def _reversal(best: dict[str, Any]) -> list[str]:
    stretches = ", ".join(
        f"{s['winner']} from {s['beta_from']:.5f}" + ("" if s["beta_to"] is None else f" to {s['beta_to']:.5f}")
        for s in best["envelope"]
    )
    said = [f"In one match {best['winner']} wins at beta 0.1; {best['most_factual']} has the highest H."]
    if best["reversal"] is not None:
        said.append(f"The reversal holds for every beta above {best['reversal']['beta_from']:.5f}: {stretches}.")
    return said
