"""The paper's printed Q-Scores beside the recomputed ones, for a person."""

from mashq.analysis.paper import BestOfN, PaperCheck
from mashq.report.text.formatting import number
from mashq.report.text.tables import Format, Grid, prose, written


def text(document: PaperCheck, form: Format) -> str:
    """Every printed Q-Score, then the reversal."""
    rows = [
        [
            r.table,
            r.match,
            r.player,
            number(r.printed_q, 4),
            number(r.q, 4),
            "yes" if r.follows else "NO",
        ]
        for r in document.rows
    ]
    printed = Grid(["table", "match", "player", "printed Q", "Q", "follows"], rows, left=3)
    best = document.best_of_n
    as_printed = {row.player: row.q for row in best.as_printed}
    honest = Grid(
        ["player", "H", "Q as printed", "P in one match", "Q in one match"],
        [
            [
                r.player,
                number(r.h, 4),
                number(as_printed[r.player], 4),
                number(r.penalty, 3),
                number(r.q, 4),
            ]
            for r in best.honest
        ],
        title="Best-of-N: as printed, each solo row normalised against itself; and as one match of five",
    )
    parts = [written(printed, form), prose(_sentences(document), form), written(honest, form)]
    return "\n\n".join([*parts, prose(_reversal(best), form)])


def _sentences(document: PaperCheck) -> list[str]:
    wrong = [r for r in document.rows if not r.follows]
    named = ", ".join(f"{r.match} {r.player} (printed {r.printed_q}, gives {r.q:.4f})" for r in wrong)
    lines = [
        f"{document.follow} of {document.total} printed Q-Scores follow from 0.1 a resource "
        "(0.001 on SimpleQA), whatever beta the row prints.",
        f"Does not follow: {named}.",
    ]
    reasons: dict[str, list[str]] = {}
    for row in document.not_recomputable:
        reasons.setdefault(row.reason, []).append(f"{row.table} {row.player} {row.printed_q}")
    return lines + [f"Not recomputable: {', '.join(rows)} ({why})." for why, rows in reasons.items()]


def _reversal(best: BestOfN) -> list[str]:
    stretches = ", ".join(
        f"{s.winner} from {s.beta_from:.5f}" + ("" if s.beta_to is None else f" to {s.beta_to:.5f}")
        for s in best.envelope
    )
    lines = [f"In one match {best.winner} wins at beta 0.1; {best.most_factual} has the highest H."]
    if best.reversal is not None:
        lines.append(f"The reversal holds for every beta above {best.reversal.beta_from:.5f}: {stretches}.")
    return lines
