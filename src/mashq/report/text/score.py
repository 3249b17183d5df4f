"""What `mashq score` prints: the table first, then what must be said with it."""

from collections.abc import Iterator, Sequence

from mashq.analysis.parts import BetaStretch, Lead, WeightStretch
from mashq.analysis.score_types import ScoreReport
from mashq.protocol.resources import RESOURCES
from mashq.report.text.formatting import cost, dollars, is_shown, number, safe
from mashq.report.text.tables import Format, Grid, best, half, prose, written

MAX_SHOWN = 40


def score_text(document: ScoreReport, form: Format, everyone: bool = False) -> str:
    """The whole output as text."""
    parts = [written(table(document, everyone), form)]
    if len(document.players) > 1 and document.differences:
        parts.append(written(differences(document), form))
    parts.append(prose(sentences(document), form))
    return "\n\n".join(parts)


def table(document: ScoreReport, everyone: bool = False) -> Grid:
    """The result table, best Q first."""
    players = sorted(document.players, key=lambda p: -(p.q if p.q is not None else -9e9))
    shown = players if everyone else players[:MAX_SHOWN]
    every = [player.costs for player in players]
    costs = [n for n in RESOURCES if is_shown(n, every) and any(own[n] is not None for own in every)]
    interval = any(player.q_low is not None for player in players)
    chance = any(player.p_win is not None for player in players)
    headings = ["player", "H", "answered", *costs, "P", "Q"]
    headings += (["± 95%"] if interval else []) + (["P(win)"] if chance else [])
    rows: list[list[str]] = []
    for player in shown:
        won = player.name == document.winner or player.name in document.tied
        row = [f"{player.name[:34]}{' ★' if won else ''}", number(player.h, 4), _percent(player.answer_rate)]
        row += [_cost(name, player.costs[name]) for name in costs]
        row += [number(player.penalty, 3), number(player.q, 4)]
        if interval:
            row.append(half(player.q_low, player.q_high))
        if chance:
            row.append(number(player.p_win, 3))
        rows.append(row)
    values = [[p.h for p in shown], [p.answer_rate for p in shown]]
    values += [[p.costs[name] for p in shown] for name in costs]
    values += [[p.penalty for p in shown], [p.q for p in shown]]
    bold = best(values, [True, True, *(False for _ in costs), False, True])
    shaded = frozenset(at for at, p in enumerate(shown) if p.name == document.winner)
    return Grid(headings, rows, bold=bold, shaded=shaded)


def differences(document: ScoreReport) -> Grid:
    """The differences in Q that matter: all among few players, else the winner's over the next ones."""
    rows = [[d.a[:30], d.b[:30], _signed(d.dq), _span(d), _verdict(d)] for d in document.differences[:MAX_SHOWN]]
    return Grid(["player", "against", "difference in Q", "95% interval", "sure"], rows, left=2)


def sentences(document: ScoreReport) -> Iterator[str]:
    """What the table alone would hide."""
    items = "totals" if document.items is None else f"{document.items:,} items"
    costs = ", ".join(f"{n}" + (f" x {w:g}" if w != 1 else "") for n, w in document.weights.items()) or "nothing"
    relative = "the largest in the match" if document.normalise == "match" else "the reference"
    yield (
        f"{items}; Q = {document.alpha:g}·H − {document.beta:g}·P; P counts {costs}, relative to {relative}; "
        f"refusals: {document.refusals}."
    )
    yield _winner(document)
    yield flips("beta", document.envelope)
    for name, stretches in document.weight_envelopes.items():
        if len(stretches) > 1:
            yield flips(f"the weight of {name}", stretches)
    if document.simplex:
        shares = sorted(document.simplex.items(), key=lambda pair: -pair[1])[:5]
        yield "Of all weightings of the resources " + ", ".join(f"{safe(n)} wins {s:.0%}" for n, s in shares) + "."
    yield f"Not beaten in both H and P: {_names(document.pareto)}."
    for name, front in document.pareto_by.items():
        if set(front) != set(document.pareto):
            yield f"Not beaten in both H and {name}: {_names(front)}."
    priced = [p for p in document.players if p.dollars_per_faithful is not None]
    if priced:
        each = ", ".join(f"{safe(p.name)} {dollars(p.dollars_per_faithful)}" for p in priced[:8])
        yield f"Dollars a faithful answer (H of 0.5 or more): {each}."
    for note in document.notes:
        yield f"Note: {safe(note, 500)}"


def _winner(document: ScoreReport) -> str:
    if document.tied:
        return f"A tie: {_names(document.tied)}."
    winner = safe(document.winner or "")
    if len(document.players) == 1:
        return f"{winner} stands alone."
    first = next(d for d in document.differences)
    won = f"Winner: {winner}, ahead of {safe(first.b)} by {first.dq:.4f}"
    if first.low is None:
        return won + "."
    sure = "sure at 95%" if first.low > 0 else "not sure at 95%, more items would tell"
    return f"{won} (95%: {first.low:.4f} to {first.high:.4f}): {sure}."


def flips(what: str, stretches: Sequence[BetaStretch] | Sequence[WeightStretch]) -> str:
    """Who leads where, in a sentence."""
    if len(stretches) == 1:
        return f"{safe(stretches[0].winner)} leads at every {what}."
    parts: list[str] = []
    for stretch in stretches:
        beta = isinstance(stretch, BetaStretch)
        start, end = (stretch.beta_from, stretch.beta_to) if beta else (stretch.weight_from, stretch.weight_to)
        until = f" to {end:.4g}" if end is not None else " on"
        parts.append(f"{safe(stretch.winner)} " + (f"from {start:.4g}" if start else "from 0") + until)
    shown = parts if len(parts) <= 8 else [*parts[:7], f"… {len(parts) - 8} more …", parts[-1]]
    return f"Leads by {what}: {', '.join(shown)}."


def _cost(name: str, value: float | None) -> str:
    if name != "dollars" and value is not None and value >= 1e6:
        return f"{value / 1e6:.3f}M"
    return cost(name, value)


def _percent(value: float | None) -> str:
    return "?" if value is None else f"{100 * value:.1f}%"


def _signed(value: float) -> str:
    return f"{value:+.4f}"


def _span(lead: Lead) -> str:
    return "?" if lead.low is None else f"{lead.low:+.4f} to {lead.high:+.4f}"


def _verdict(lead: Lead) -> str:
    if lead.low is None or lead.high is None:
        return "?"
    return "yes" if lead.low > 0 or lead.high < 0 else "no"


def _names(names: Sequence[str], most: int = 8) -> str:
    more = len(names) - most
    return ", ".join(safe(name) for name in names[:most]) + (f" and {more} more" if more > 0 else "")
