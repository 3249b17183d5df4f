"""What `mashq score` prints: the table, then its notes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from mashq.analysis.parts import BetaStretch, Lead, WeightStretch
from mashq.analysis.score_types import ScoredPlayer, ScoreReport, chance_said
from mashq.analysis.substance import Floor
from mashq.protocol.resources import RESOURCES
from mashq.report.text import passages
from mashq.report.text.formatting import (
    LARGE,
    carried_columns,
    charged,
    count,
    dollars,
    is_shown,
    number,
    safe,
    share_of,
    signed,
)
from mashq.report.text.tables import Format, Grid, best, half, prose, written

MAX_SHOWN = 40


class Scored(Protocol):
    """A document with a score."""

    @property
    def tied(self) -> Sequence[str]:
        """Who shares the best Q."""
        ...

    @property
    def beta(self) -> float:
        """The weight of P."""
        ...

    @property
    def envelope(self) -> Sequence[BetaStretch]:
        """Who leads at which beta."""
        ...


def score_text(document: ScoreReport, form: Format, *, everyone: bool = False, best_set: bool = False) -> str:
    """Return the whole output as text; with `best_set` only the players that cannot be told apart from the best."""
    if best_set:
        names = set(document.best_set)
        shown = replace(document, players=[player for player in document.players if player.name in names])
        return written(table(shown, everyone=True), form) + "\n\n" + prose([best_set_said(document)], form)
    parts = [written(table(document, everyone), form)]
    if len(document.players) > 1 and document.differences:
        parts.append(written(differences(document), form))
    if document.passages is not None:
        parts.append(written(passages.grid(document.passages), form))
        parts.append(prose(passages.sentences(document.passages, beside_table=True), form))
    parts.append(prose(sentences(document), form))
    return "\n\n".join(parts)


def best_set_said(document: ScoreReport) -> str:
    """Describe in one sentence who cannot be told apart from the best."""
    if not document.best_set:
        return "The best set is not known: there are no confidence intervals."
    if len(document.best_set) == 1:
        return f"{safe(document.best_set[0])} alone: the 95% CIs of its differences to all others exclude 0."
    return (
        f"{len(document.best_set)} of {len(document.players)} players cannot be told apart from the best: with 95% "
        "confidence the truly best is among them."
    )


def table(document: ScoreReport, everyone: bool = False) -> Grid:
    """Build the result table, best Q first."""
    players = sorted(document.players, key=lambda p: -(p.q if p.q is not None else -9e9))
    shown = players if everyone else players[:MAX_SHOWN]
    player_costs = [player.costs for player in players]
    costs = [
        n for n in RESOURCES if is_shown(n, player_costs) and any(amounts[n] is not None for amounts in player_costs)
    ]
    interval = any(player.q_low is not None for player in players)
    chance = any(player.p_win is not None for player in players)
    carried = carried_columns(players)
    headings = ["player", "H", "answered", *carried, *costs, "P", "Q"]
    headings += (["± 95%"] if interval else []) + (["P(win)"] if chance else [])
    rows: list[list[str]] = []
    for player in shown:
        won = player.name == document.winner and len(document.players) > 1
        row = [f"{player.name}{' ★' if won else ''}", number(player.h, 4), _percent(player.answer_rate)]
        row += [number(getattr(player, name), digits) for name, digits in carried.items()]
        row += [_cost(name, player) for name in costs]
        row += [number(player.penalty, 3), number(player.q, 4)]
        if interval:
            row.append(half(player.q_low, player.q_high))
        if chance:
            row.append("?" if player.p_win is None else chance_said(player.p_win))
        rows.append(row)
    values = [[p.h for p in shown], [p.answer_rate for p in shown], *([None] * len(shown) for _ in carried)]
    values += [[p.costs[name] for p in shown] for name in costs]
    values += [[p.penalty for p in shown], [p.q for p in shown]]
    bold = best(values, [True, True, *(False for _ in (*carried, *costs)), False, True])
    shaded = frozenset(index for index, p in enumerate(shown) if p.name == document.winner)
    return Grid(headings, rows, bold=bold, shaded=shaded)


def differences(document: ScoreReport) -> Grid:
    """Build the table of differences in Q: all pairs of few players, otherwise the winner against the next ones."""
    rows = [[d.a, d.b, _signed(d.dq), _span(d), _verdict(d)] for d in document.differences[:MAX_SHOWN]]
    return Grid(["player", "against", "difference in Q", "95% CI", "excludes 0"], rows, left=2)


def sentences(document: ScoreReport) -> Iterator[str]:
    """Yield the context and notes that the table does not show."""
    items = "totals" if document.items is None else count(document.items, "item")
    costs = ", ".join(f"{n}" + (f" x {w:g}" if w != 1 else "") for n, w in document.weights.items()) or "nothing"
    relative = relative_to(document.normalise)
    yield (
        f"{items}; Q = {document.alpha:g}·H − {document.beta:g}·P; P counts {costs}, relative to {relative}; "
        f"refusals: {document.refusals}.{height(document.h)}"
    )
    yield from floors_said(document.floors)
    yield safe(document.headline, 600)
    if len(document.best_set) > 1 and len(document.players) > 2:
        yield f"Cannot be told apart from the best: {_names(document.best_set)}."
    if document.envelope:
        yield leads(document)
    for name, stretches in document.weight_envelopes.items():
        if len(stretches) > 1:
            yield flips(f"the weight of {name}", stretches)
    if document.simplex:
        yield weightings(document, {})
    if document.pareto and len(document.players) > 1:
        yield f"Pareto front of H against P: {_names(document.pareto)}."
    for name, front in document.pareto_by.items():
        if set(front) != set(document.pareto):
            yield f"Pareto front of H against {name}: {_names(front)}."
    priced = [p for p in document.players if p.dollars_per_faithful is not None]
    if priced:
        prices = ", ".join(f"{safe(p.name)} {dollars(p.dollars_per_faithful)}" for p in priced[:8])
        yield f"Dollars per faithful answer (H of 0.5 or more): {prices}."
    for note in document.notes:
        yield f"Note: {safe(note, 500)}"


def weightings(document: ScoreReport, labels: Mapping[str, str]) -> str:
    """Describe how often each player wins over all ways to divide the sum of the weights among the resources."""
    shares = sorted((document.simplex or {}).items(), key=lambda pair: -pair[1])[:5]
    (first, *others) = [(labels.get(name, safe(name)), share_of(share)) for name, share in shares]
    winners = ", ".join(
        [f"{first[0]} has the best Q in {first[1]}", *(f"{name} in {share}" for name, share in others)]
    )
    ties = " (ties shared)" if document.tied else ""
    return f"With the sum of the weights fixed and divided in every way, {winners} of the cases{ties}."


def height(h: str) -> str:
    """Describe what H means if it is not the judge's own score; otherwise empty."""
    return (
        " H is adequate: the judge's score times how much of what matters an answer covers."
        if h == "adequate"
        else ""
    )


def floors_said(floors: Sequence[Floor]) -> Iterator[str]:
    """Describe the known scores of baseline texts that need no model."""
    descriptions = [
        f"{floor.name} Q {number(floor.q, 4)} (H {floor.h:.4f}, coverage {floor.coverage:.3f}, "
        f"{floor.words:.0f} words)"
        for floor in floors
        if floor.q is not None and floor.h is not None and floor.words
    ]
    if descriptions:
        listing = "; ".join(descriptions)
        yield f"Floors (texts that need no model and are no players of the match): {listing}; silence Q 0."


def leads(document: Scored) -> str:
    """Describe who leads at which beta."""
    stretches = flips("beta", document.envelope)
    if not tied_here_alone(document):
        return stretches
    tie_sentence = f"{_names(document.tied)} tie at beta {document.beta:g} alone"
    if len(document.envelope) > 1:
        return f"{tie_sentence}. {stretches}"
    names = document.envelope[0].names
    return f"{tie_sentence}; {_names(names)} {'leads' if len(names) == 1 else 'tie'} at every other."


def tied_here_alone(document: Scored) -> bool:
    """Whether the tied players tie only at this beta, where their lines meet, and not along a stretch."""
    return bool(document.tied) and all(set(stretch.names) != set(document.tied) for stretch in document.envelope)


def relative_to(normalise: str) -> str:
    """Describe what costs are relative to."""
    return {"match": "the largest in the match", "reference": "the reference totals"}.get(
        normalise, "the reference per item"
    )


def flips(what: str, stretches: Sequence[BetaStretch] | Sequence[WeightStretch]) -> str:
    """Describe in one sentence who leads on which stretch."""
    if len(stretches) == 1:
        names = stretches[0].names
        return f"{_names(names)} {'leads' if len(names) == 1 else 'tie'} at every {what}."
    parts: list[str] = []
    for stretch in stretches:
        is_beta = isinstance(stretch, BetaStretch)
        start, end = (stretch.beta_from, stretch.beta_to) if is_beta else (stretch.weight_from, stretch.weight_to)
        end_text = f" to {end:.4g}" if end is not None else " on"
        who = " and ".join(safe(name) for name in stretch.names)
        parts.append(f"{who} " + (f"from {start:.4g}" if start else "from 0") + end_text)
    shown = parts if len(parts) <= 8 else [*parts[:7], f"… {len(parts) - 8} more …", parts[-1]]
    return f"Leads by {what}: {', '.join(shown)}."


def _cost(name: str, player: ScoredPlayer) -> str:
    value = player.costs[name]
    if name != "dollars" and value is not None and 1e6 <= value < LARGE:
        return ("~" if name in player.charged else "") + f"{value / 1e6:.3f}M"
    return charged(name, value, player.charged)


def _percent(value: float | None) -> str:
    return "?" if value is None else f"{100 * value:.1f}%"


def _signed(value: float) -> str:
    return signed(value)


def _span(lead: Lead) -> str:
    return "?" if lead.all_low is None else f"{signed(lead.all_low)} to {signed(lead.all_high)}"


def _verdict(lead: Lead) -> str:
    if lead.all_low is None or lead.all_high is None:
        return "?"
    return "yes" if lead.all_low > 0 or lead.all_high < 0 else "no"


def _names(names: Sequence[str], limit: int = 8) -> str:
    more = len(names) - limit
    return ", ".join(safe(name) for name in names[:limit]) + (f" and {more} more" if more > 0 else "")
