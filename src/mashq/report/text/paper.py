"""The paper's printed Q-Scores beside those recomputed from its own figures, as text."""

from mashq.analysis.paper import BestOfN, PaperCheck, PaperRow
from mashq.report.text.formatting import number
from mashq.report.text.tables import Format, Grid, prose, written

STATED = 0.01


def text(document: PaperCheck, form: Format) -> str:
    """Return every printed Q-Score, then the reversal."""
    rows = [
        [
            r.table,
            r.match,
            r.player,
            "penalty" if r.beta is None else f"counts, {r.beta:g}",
            number(r.printed_q, 4),
            number(r.q, 4),
            "yes" if r.follows else "no",
        ]
        for r in document.rows
    ]
    printed = Grid(["table", "match", "player", "Q from", "printed Q", "Q", "follows"], rows, left=4)
    best = document.best_of_n
    as_printed = {row.player: row.q for row in best.as_printed}
    one_match = Grid(
        ["player", "H", "Q as printed", "P in one match", "Q in one match"],
        [
            [
                r.player,
                number(r.h, 4),
                number(as_printed[r.player], 4),
                number(r.penalty, 3),
                number(r.q, 4),
            ]
            for r in best.one_match
        ],
        title="Best-of-N: as printed, each solo row normalised against itself; and as one match of all five players",
    )
    parts = [written(printed, form), prose(_sentences(document), form), written(one_match, form)]
    return "\n\n".join([*parts, prose(_reversal(best), form)])


def _sentences(document: PaperCheck) -> list[str]:
    recomputed, consistent = document.recomputed, document.consistent
    betas = ", ".join(f"{counts.follow} of {counts.total} at beta {counts.beta:g}" for counts in document.by_beta)
    lines = [
        f"Recomputed from the row's counts: {recomputed.follow} of {recomputed.total} printed Q-Scores follow "
        f"({betas}). The paper states beta = {STATED:g}; the others follow the beta of their table.",
        f"Consistent with the printed penalty: {consistent.follow} of {consistent.total} are H minus the penalty "
        "that the row prints; it prints no counts to recompute that from.",
    ]
    lines += [_apart(row) for row in document.rows if not row.follows]
    lines += [_as_stated(row) for row in document.rows if row.beta == STATED]
    reasons: dict[str, list[str]] = {}
    for row in document.not_recomputable:
        reasons.setdefault(row.reason, []).append(f"{row.table} {row.player} {row.printed_q}")
    return lines + [f"Not recomputable: {', '.join(rows)} ({why})." for why, rows in reasons.items()]


def _apart(row: PaperRow) -> str:
    return f"{row.table}, {row.match}, {row.player} prints {row.printed_q}, and its {row.basis} give {row.q:.4f}."


def _as_stated(row: PaperRow) -> str:
    how = f"its counts give P = {row.penalty:.4f}, and H - {STATED:g} * P = {row.q:.4f}"
    return f"{row.table}, {row.match}, {row.player} prints {row.printed_q}, which follows beta = {STATED:g}: {how}."


def _reversal(best: BestOfN) -> list[str]:
    stretches = ", ".join(
        f"{' and '.join(s.names)} from {s.beta_from:.5f}" + ("" if s.beta_to is None else f" to {s.beta_to:.5f}")
        for s in best.envelope
    )
    lines = [f"In one match {best.winner} wins at beta 0.1; {best.most_factual} has the highest H."]
    if best.reversal is not None:
        lines.append(f"The reversal holds for every beta above {best.reversal.beta_from:.5f}: {stretches}.")
    return lines
