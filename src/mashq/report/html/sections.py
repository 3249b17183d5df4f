"""A match as sections: the result, beta, the fronts and the reviews."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mashq.analysis.parts import BetaStretch
from mashq.analysis.score_types import ScoredPlayer, chance_said
from mashq.protocol.resources import RESOURCES
from mashq.report.documents.trials import Trials
from mashq.report.html import charts, repeats
from mashq.report.html.facts import Facts, ReviewEffect, q_of
from mashq.report.html.labels import labels
from mashq.report.html.parts import Block, Figure, Line, Prose, Section, Slider, Table
from mashq.report.html.verdicts import drawn
from mashq.report.text import score as tables
from mashq.report.text.formatting import is_shown, number
from mashq.report.text.tables import Grid

EXACT = {"tokens": ",.0f", "seconds": ".2f", "dollars": ".6f"}  # how a mean per item is written; else two digits


def result(facts: Facts) -> Section:
    """The result table, the differences, and what must be said with them."""
    judged = facts.report
    over = facts.document.finished
    shown = judged if over else replace(judged, winner=None, tied=[])
    caption = (
        "The result, best Q first; ★ leads."
        if over
        else "How it stands, best Q first, each player over what it has played so far."
    )
    blocks: list[Block] = [Table("result", tables.table(shown, everyone=True), caption)]
    if judged.differences:
        said = "Differences in Q, paired by item, with 95% CIs that hold for all pairs together."
        blocks.append(Table("differences", tables.differences(judged), said))
    if isinstance(facts.document, Trials):
        blocks.append(
            Table(
                "trials",
                repeats.table(facts, facts.document),
                "Every item averaged over its trials, ± the standard deviation over trials, and trials won.",
            )
        )
    said = list(tables.sentences(judged))
    noted = [f"Note: {note}" for note in facts.document.notes if note not in judged.notes]
    return Section("result", "The result", [*blocks, Prose([*said, *noted], listed=True)])


def beta(facts: Facts) -> Section:
    """Q over beta with bands and flips, the lead, and the chance of winning."""
    judged = facts.report
    known, shown = labels(facts.names), drawn(facts)
    names = [known[name] for name in shown]
    seats = [facts.names.index(name) for name in shown]
    rows = [
        {"player": known[facts.names[seat]], "beta": row["beta"]}
        | {key: _at(row[key], seat) for key in ("q", "low", "high")}
        for row in facts.band
        for seat in seats
    ]
    by = {player.name: player for player in judged.players}
    lines = [Line(known[n], h, by[n].penalty or 0.0) for n in shown if (h := by[n].h) is not None]
    slider = Slider(judged.alpha, judged.beta, facts.most_beta, lines)
    flips = list(_flips(facts, known, by))
    told = "; ".join(flip["said"] for flip in flips) or "the leader never changes"
    caption = (
        "Q over beta. Shaded: the 95% interval of each player's Q. Diamonds: where the leader changes. The "
        "vertical line is the run's beta; the slider moves it."
    )
    first = Figure(
        "q-over-beta",
        charts.q_over_beta(rows, flips, names, judged.beta),
        caption,
        f"Q over beta: {told}.",
        slider,
    )
    blocks: list[Block] = [first, *_lead(facts, known), *_chances(facts, known, names)]
    if len(facts.names) > len(shown):
        blocks.append(
            Prose([f"The charts show {len(shown)} of {len(facts.names)} players: the leaders and the best."])
        )
    return Section("beta", "Who wins at which beta", blocks)


def _at(values: Any, seat: int) -> float | None:
    return None if values is None else float(values[seat])


def _flips(facts: Facts, known: dict[str, str], by: Mapping[str, ScoredPlayer]) -> Iterator[dict[str, Any]]:
    judged = facts.report
    for stretch in judged.envelope:
        start = stretch.beta_from
        if start and start <= facts.most_beta:
            winner = by[stretch.names[0]]
            q = q_of(facts.rules, start, winner.h or 0.0, winner.penalty or 0.0)
            yield {"beta": start, "q": q, "said": f"{_who(stretch, known)} from beta {start:.4g}"}


def _who(stretch: BetaStretch, known: dict[str, str]) -> str:
    names = [known[name] for name in stretch.names]
    return f"{names[0]} leads" if len(names) == 1 else f"{' and '.join(names)} tie"


def _lead(facts: Facts, known: dict[str, str]) -> Iterator[Figure]:
    if facts.top is None:
        return
    a, b = (known[facts.names[seat]] for seat in facts.top)
    rows = [
        {"beta": row["beta"], "lead": row["lead"].value, "low": row["lead"].low, "high": row["lead"].high}
        for row in facts.band
    ]
    names = [known[name] for name in drawn(facts)]
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


def _chances(facts: Facts, known: dict[str, str], names: list[str]) -> Iterator[Figure]:
    along = facts.report.chance_along_beta
    if not along or len(facts.names) < 2:
        return
    rows = [
        {"player": known[name], "beta": row.beta, "p": p}
        for row in along
        if row.beta <= max(facts.most_beta, 0.02)
        for name, p in row.p.items()
        if known[name] in names
    ]
    caption = "The share of resampled matches that each player wins, along beta."
    by = {known[player.name]: player.p_win for player in facts.report.players if player.p_win is not None}
    told = ", ".join(f"{name} {chance_said(by[name])}" for name in names if name in by)
    alt = f"The chance of winning at the run's beta of {facts.rules.beta:g}: {told}."
    yield Figure("chance-over-beta", charts.chances(rows, names, facts.rules.beta), caption, alt, small=True)


def fronts(facts: Facts) -> Section:
    """Accuracy against each cost."""
    judged = facts.report
    known, shown = labels(facts.names), drawn(facts)
    names = [known[name] for name in shown]
    by = {player.name: player for player in judged.players}
    blocks: list[Block] = []
    costs: dict[str, tuple[str, str, list[float]]] = {}
    costs["P"] = "P, all costs together", ".3f", [by[name].penalty or 0.0 for name in facts.names]
    for name in RESOURCES:
        cost = facts.cost(name)
        if cost is not None and cost.max() > 0:
            costs[name] = f"{name} per item", EXACT.get(name, ".2f"), cost.tolist()
    for name, (title, form, cost) in costs.items():
        front = {known[player] for player in (judged.pareto if name == "P" else judged.pareto_by.get(name, ()))}
        rows = [
            {"player": known[p], "h": by[p].h, "cost": cost[seat], "front": "yes" if known[p] in front else "no"}
            for seat, p in enumerate(facts.names)
            if p in shown and by[p].h is not None
        ]
        on = ", ".join(sorted(front))
        caption = f"H against {title}. Pareto front (dashed): {on}."
        spec, told = charts.front(rows, names, title, form), _ends(rows, title, form)
        blocks.append(Figure(f"front-{name.lower()}", spec, caption, f"{caption} {told}", small=True))
    own = [player.costs for player in judged.players]
    missing = [name for name in RESOURCES if facts.cost(name) is None and is_shown(name, own)]
    if missing:
        blocks.append(Prose([f"Not known for every player, so not drawn: {', '.join(missing)}."]))
    return Section("fronts", "Accuracy against cost", blocks)


def _ends(rows: Sequence[Mapping[str, Any]], title: str, form: str) -> str:
    """Who is the most factual and who the cheapest."""
    most, least = max(row["h"] for row in rows), min(row["cost"] for row in rows)
    best = [row for row in rows if row["h"] == most]
    cheap = [row for row in rows if row["cost"] == least]
    factual, frugal = (", ".join(row["player"] for row in some) for some in (best, cheap))
    paid, got = ", ".join(f"{row['cost']:{form}}" for row in best), ", ".join(f"{row['h']:.4f}" for row in cheap)
    return (
        f"The highest H is {most:.4f} ({factual}), at {title} {paid}; the "
        f"lowest cost is {least:{form}} ({frugal}), at H {got}."
    )


def reviews(facts: Facts) -> Section:
    """H before and after, and what Q would be without the reviews."""
    judged = facts.report
    known, shown = labels(facts.names), drawn(facts)
    rows: list[list[str]] = []
    pairs: list[dict[str, Any]] = []
    lines: list[dict[str, Any]] = []
    for effect in facts.review_effects:
        name, beta = known[effect.player], judged.beta
        rows.append(
            [
                name,
                f"{effect.h_without:.4f} → {effect.h:.4f}",
                number(effect.reviews, 0 if judged.trials == 1 else 1),
                f"{effect.penalty_without:.3f} → {effect.penalty:.3f}",
                f"{effect.q(beta) - effect.q_without(beta):+z.4f}" if effect.reviews else "–",
                _pays(effect) if effect.reviews else "–",
            ]
        )
        if effect.player in shown:
            pairs.append({"player": name, "before": effect.h_without, "after": effect.h})
            for way, q in (("with its reviews", effect.q), ("without", effect.q_without)):
                lines += [{"player": name, "reviews": way, "beta": at, "q": q(at)} for at in (0.0, facts.most_beta)]
    headings = ["player", "H before → after", "reviews", "P without → with", "what they did to Q", "they pay"]
    names = [known[name] for name in shown]
    caption = (
        "What the reviews bought. Without: this player's first answers and none of its review calls, everything else "
        "as it was played, costs relative to the match as it was played."
    )
    told = "; ".join(f"{row['player']} from {row['before']:.4f} to {row['after']:.4f}" for row in pairs)
    blocks: list[Block] = [Table("reviews", Grid(headings, rows), caption)]
    blocks.append(
        Figure(
            "before-after",
            charts.before_after(pairs, names),
            "H before and after the reviews.",
            f"H: {told}.",
            small=True,
        )
    )
    if any(effect.reviews for effect in facts.review_effects if effect.player in shown):
        paid = "; ".join(f"{row[0]}'s reviews pay: {row[-1]}" for row in rows if row[-1] != "–") + "."
        said = "Q over beta with each player's reviews (solid) and without them (dashed)."
        blocks.append(
            Figure("q-reviews", charts.q_reviews(lines, names, judged.beta), said, f"{said} {paid}", small=True)
        )
    else:
        blocks.append(Prose(["Nobody reviewed."]))
    return Section("reviews", "What the reviews bought", blocks)


def _pays(effect: ReviewEffect) -> str:
    """At which beta the reviews are worth their price."""
    gain, price = effect.gain, effect.price
    if gain <= 0:
        return "never" if price > 0 or gain < 0 else "no difference"
    return "always" if price <= 0 else f"below beta {gain / price:.4g}"
