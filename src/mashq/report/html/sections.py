"""A match as sections: the result, beta, the fronts and the reviews."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mashq.analysis.parts import BetaStretch
from mashq.analysis.score_types import ScoredPlayer, chance_said
from mashq.protocol.resources import RESOURCES
from mashq.report.documents.trials import Trials
from mashq.report.html import charts
from mashq.report.html.facts import Facts, ReviewEffect, q_of
from mashq.report.html.labels import labels
from mashq.report.html.parts import Block, Figure, Line, Prose, Section, Slider, Table
from mashq.report.html.verdicts import drawn
from mashq.report.text import score as tables
from mashq.report.text import trials
from mashq.report.text.formatting import is_shown, number, signed
from mashq.report.text.tables import Grid, led_by

EXACT = {"tokens": ",.0f", "seconds": ".2f", "dollars": ".6f"}  # formats of means per item; others have two digits


def result(facts: Facts) -> Section:
    """Build the result table, the differences, and their notes."""
    report = facts.report
    finished = facts.document.finished
    shown = report if finished else replace(report, winner=None, tied=[])
    caption = (
        "The result, best Q first; ★ leads."
        if finished
        else "How it stands, best Q first, each player over what it has played so far."
    )
    blocks: list[Block] = [Table("result", led_by(tables.table(shown, everyone=True), ("H", "P", "Q")), caption)]
    if report.differences:
        differences_caption = "Differences in Q, paired by item, with 95% CIs that hold for all pairs together."
        blocks.append(Table("differences", tables.differences(report), differences_caption))
    if isinstance(facts.document, Trials):
        blocks.append(
            Table(
                "trials",
                trials.table(facts.document, labels(facts.names)),
                "Every item averaged over its trials, ± the standard deviation over trials, and trials won.",
            )
        )
    sentences = list(tables.sentences(report))
    notes = [f"Note: {note}" for note in facts.document.notes if note not in report.notes]
    return Section("result", "The result", [*blocks, Prose([*sentences, *notes], listed=True)])


def beta(facts: Facts) -> Section:
    """Plot Q over beta with bands and changes of the leader, the lead, and the chance of winning."""
    report = facts.report
    label_of, shown = labels(facts.names), drawn(facts)
    names = [label_of[name] for name in shown]
    seats = [facts.names.index(name) for name in shown]
    rows = [
        {"player": label_of[facts.names[seat]], "beta": row["beta"]}
        | {key: _value_at(row[key], seat) for key in ("q", "low", "high")}
        for row in facts.band
        for seat in seats
    ]
    by_name = {player.name: player for player in report.players}
    lines = [Line(label_of[n], h, by_name[n].penalty or 0.0) for n in shown if (h := by_name[n].h) is not None]
    slider = Slider(report.alpha, report.beta, facts.most_beta, lines)
    flips = list(_flips(facts, label_of, by_name))
    flip_text = "; ".join(flip["said"] for flip in flips) or "the leader never changes"
    caption = (
        "Q over beta. Shaded: the 95% interval of each player's Q. Diamonds: where the leader changes. The "
        "vertical line is the run's beta; the slider moves it."
    )
    first = Figure(
        "q-over-beta",
        charts.q_over_beta(rows, flips, names, report.beta),
        caption,
        f"Q over beta: {flip_text}.",
        slider,
    )
    blocks: list[Block] = [first, *_lead(facts, label_of), *_chances(facts, label_of, names)]
    if len(facts.names) > len(shown):
        blocks.append(
            Prose([f"The charts show {len(shown)} of {len(facts.names)} players: the leaders and the best."])
        )
    return Section("beta", "Who wins at which beta", blocks)


def _value_at(values: Any, seat: int) -> float | None:
    return None if values is None else float(values[seat])


def _flips(facts: Facts, label_of: dict[str, str], by_name: Mapping[str, ScoredPlayer]) -> Iterator[dict[str, Any]]:
    report = facts.report
    for stretch in report.envelope:
        start = stretch.beta_from
        if start and start <= facts.most_beta:
            winner = by_name[stretch.names[0]]
            q = q_of(facts.rules, start, winner.h or 0.0, winner.penalty or 0.0)
            yield {"beta": start, "q": q, "said": f"{_who(stretch, label_of)} from beta {start:.4g}"}


def _who(stretch: BetaStretch, label_of: dict[str, str]) -> str:
    names = [label_of[name] for name in stretch.names]
    return f"{names[0]} leads" if len(names) == 1 else f"{' and '.join(names)} tie"


def _lead(facts: Facts, label_of: dict[str, str]) -> Iterator[Figure]:
    if facts.top is None:
        return
    a, b = (label_of[facts.names[seat]] for seat in facts.top)
    rows = [
        {"beta": row["beta"], "lead": row["lead"].value, "low": row["lead"].low, "high": row["lead"].high}
        for row in facts.band
    ]
    names = [label_of[name] for name in drawn(facts)]
    spec = charts.lead_over_beta(rows, facts.rules.beta, charts.hue(a, names))
    caption = (
        f"The lead of {a} over {b} in Q along beta, with its 95% interval (paired by item). Where the band "
        "includes 0, these items do not tell who is better."
    )
    clear = [row["beta"] for row in rows if row["low"] is not None and row["low"] > 0]
    alt = (
        f"{a} is clearly ahead of {b} from beta {min(clear):.3g} to {max(clear):.3g}."
        if clear
        else f"Nowhere is {a} clearly ahead of {b}."
    )
    yield Figure("lead-over-beta", spec, caption, alt, small=True)


def _chances(facts: Facts, label_of: dict[str, str], names: list[str]) -> Iterator[Figure]:
    along = facts.report.chance_along_beta
    if not along or len(facts.names) < 2:
        return
    rows = [
        {"player": label_of[name], "beta": row.beta, "p": p}
        for row in along
        if row.beta <= max(facts.most_beta, 0.02)
        for name, p in row.p.items()
        if label_of[name] in names
    ]
    caption = "The share of resampled matches that each player wins, along beta."
    by_name = {label_of[player.name]: player.p_win for player in facts.report.players if player.p_win is not None}
    chances = ", ".join(f"{name} {chance_said(by_name[name])}" for name in names if name in by_name)
    alt = f"The chance of winning at the run's beta of {facts.rules.beta:g}: {chances}."
    yield Figure("chance-over-beta", charts.chances(rows, names, facts.rules.beta), caption, alt, small=True)


def fronts(facts: Facts) -> Section:
    """Plot H against each cost."""
    report = facts.report
    label_of, shown = labels(facts.names), drawn(facts)
    names = [label_of[name] for name in shown]
    by_name = {player.name: player for player in report.players}
    blocks: list[Block] = []
    costs: dict[str, tuple[str, str, list[float]]] = {}
    costs["P"] = "P, all costs together", ".3f", [by_name[name].penalty or 0.0 for name in facts.names]
    for name in RESOURCES:
        cost = facts.cost(name)
        if cost is not None and cost.max() > 0:
            costs[name] = f"{name} per item", EXACT.get(name, ".2f"), cost.tolist()
    for name, (title, form, cost) in costs.items():
        front = {label_of[player] for player in (report.pareto if name == "P" else report.pareto_by.get(name, ()))}
        rows = [
            {
                "player": label_of[p],
                "h": by_name[p].h,
                "cost": cost[seat],
                "front": "yes" if label_of[p] in front else "no",
            }
            for seat, p in enumerate(facts.names)
            if p in shown and by_name[p].h is not None
        ]
        on_front = ", ".join(sorted(front))
        caption = f"H against {title}. Pareto front (dashed): {on_front}."
        spec, extremes = charts.front(rows, names, title, form), _ends(rows, title, form)
        blocks.append(Figure(f"front-{name.lower()}", spec, caption, f"{caption} {extremes}", small=True))
    player_costs = [player.costs for player in report.players]
    missing = [name for name in RESOURCES if facts.cost(name) is None and is_shown(name, player_costs)]
    if missing:
        blocks.append(Prose([f"Not known for every player, so not drawn: {', '.join(missing)}."]))
    return Section("fronts", "Factuality against cost", blocks)


def _ends(rows: Sequence[Mapping[str, Any]], title: str, form: str) -> str:
    """Name the most factual and the cheapest players."""
    max_h, min_cost = max(row["h"] for row in rows), min(row["cost"] for row in rows)
    most_factual = [row for row in rows if row["h"] == max_h]
    cheapest = [row for row in rows if row["cost"] == min_cost]
    factual, frugal = (", ".join(row["player"] for row in group) for group in (most_factual, cheapest))
    paid, got = (
        ", ".join(f"{row['cost']:{form}}" for row in most_factual),
        ", ".join(f"{row['h']:.4f}" for row in cheapest),
    )
    return (
        f"The highest H is {max_h:.4f} ({factual}), at {title} {paid}; the "
        f"lowest cost is {min_cost:{form}} ({frugal}), at H {got}."
    )


def reviews(facts: Facts) -> Section:
    """Show H before and after the reviews, and what Q would be without them."""
    report = facts.report
    label_of, shown = labels(facts.names), drawn(facts)
    rows: list[list[str]] = []
    pairs: list[dict[str, Any]] = []
    lines: list[dict[str, Any]] = []
    for effect in facts.review_effects:
        name, beta = label_of[effect.player], report.beta
        rows.append(
            [
                name,
                f"{effect.h_without:.4f} → {effect.h:.4f}",
                number(effect.reviews, 0 if report.trials == 1 else 1),
                f"{effect.penalty_without:.3f} → {effect.penalty:.3f}",
                signed(effect.q(beta) - effect.q_without(beta)) if effect.reviews else "–",
                _pays(effect) if effect.reviews else "–",
            ]
        )
        if effect.player in shown:
            pairs.append({"player": name, "before": effect.h_without, "after": effect.h})
            for way, q in (("with its reviews", effect.q), ("without", effect.q_without)):
                lines += [
                    {"player": name, "reviews": way, "beta": end, "q": q(end)} for end in (0.0, facts.most_beta)
                ]
    headings = ["player", "H before → after", "reviews", "P without → with", "what they did to Q", "they pay"]
    names = [label_of[name] for name in shown]
    caption = (
        "What the reviews bought. Without: this player's first answers and none of its review calls, everything else "
        "as it was played, costs relative to the match as it was played."
    )
    changes = "; ".join(f"{row['player']} from {row['before']:.4f} to {row['after']:.4f}" for row in pairs)
    blocks: list[Block] = [Table("reviews", Grid(headings, rows), caption)]
    blocks.append(
        Figure(
            "before-after",
            charts.before_after(pairs, names),
            "H before and after the reviews.",
            f"H: {changes}.",
            small=True,
        )
    )
    if any(effect.reviews for effect in facts.review_effects if effect.player in shown):
        paid = "; ".join(f"{row[0]}'s reviews pay: {row[-1]}" for row in rows if row[-1] != "–") + "."
        lines_caption = "Q over beta with each player's reviews (solid) and without them (dashed)."
        blocks.append(
            Figure(
                "q-reviews",
                charts.q_reviews(lines, names, report.beta),
                lines_caption,
                f"{lines_caption} {paid}",
                small=True,
            )
        )
    else:
        blocks.append(Prose(["Nobody reviewed."]))
    return Section("reviews", "What the reviews bought", blocks)


def _pays(effect: ReviewEffect) -> str:
    """Describe at which beta the reviews are worth their cost."""
    gain, price = effect.gain, effect.price
    if gain <= 0:
        return "never" if price > 0 or gain < 0 else "no difference"
    return "always" if price <= 0 else f"below beta {gain / price:.4g}"
