"""The trials of a match: mean and standard deviation over trials, and the interval over items.

The standard deviation says how much a repeat differs; it is not how sure the result is, for all trials share their
items. The interval is: an item's part in Q is averaged over the trials first, then items are resampled.
"""

import math
from collections import Counter
from collections.abc import Sequence
from statistics import fmean, stdev
from typing import Any, Literal

from mashq.analysis import bundles
from mashq.analysis.columns import Columns, scored
from mashq.analysis.flips import envelope
from mashq.analysis.paired import Difference
from mashq.analysis.repeats import Repeats, repeats
from mashq.report.documents.columns import ended_results
from mashq.report.documents.match import figures
from mashq.report.documents.tournament import all_drawn, scored_by
from mashq.report.text.formatting import number, safe
from mashq.report.text.score import flips, prose
from mashq.report.text.tables import Grid, written
from mashq.runs.open import Season
from mashq.runs.reading import read_attempts, read_matches
from mashq.runs.setup import score_rules_of

COSTS = ("calls", "tokens_in", "tokens_out", "tokens", "reviews", "seconds", "dollars")
FIGURES = ("h", "h_before_review", "answer_rate", *COSTS, "penalty", "q")


def document(season: Season) -> dict[str, Any]:
    """The result of a match played several times; an unknown is None."""
    rules = score_rules_of(season.config)
    ended = [match for match, over in read_matches(season.path).items() if over]
    planned: int = season.manifest["season"]["trials"]
    wins: Counter[str] = Counter()
    each: list[list[dict[str, Any]]] = []
    same: set[str] = set()

    def told(results: Sequence[Columns]) -> Sequence[Columns]:
        result = scored(results, rules)
        each.append([figures(row) for row in result.players])
        same.add(repr([(row.h, row.penalty) for row in result.players]))
        if result.winner is not None:
            wins[result.winner] += 1
        return results

    found = repeats((told(ended_results(season, match)) for match in ended), rules)
    players = [
        {
            "name": player.name,
            "model": player.model,
            "agent": player.agent,
            **_over([trial[seat] for trial in each]),
            "q_low": None if found is None else found.q[seat].low,
            "q_high": None if found is None else found.q[seat].high,
            "p_win": None if found is None else float(found.p_win[seat]),
            "wins": wins[player.name],
        }
        for seat, player in enumerate(season.config.players)
    ]
    items: int = season.manifest["items"]
    notes = [] if found is not None else ["No trial has a score yet."]
    if items < 30:
        notes.append(f"Only {items} items: the intervals are wide, and rightly so.")
    notes += [] if found is None else bundles.told(items)
    if len(each) > 1 and len(same) == 1:
        notes.append("All trials are the same: at temperature 0 a repeat tells nothing new.")
    return {
        "run": str(season.path),
        "kind": "trials",
        "finished": season.finished,
        "trials": len(ended),
        "planned": planned,
        "items": items,
        "alpha": rules.alpha,
        "beta": rules.beta,
        "normalise": "match" if rules.reference is None else "reference",
        "refusals": rules.refusals,
        "simulated": season.manifest["simulated"],
        "drawn": all_drawn(season.config),
        "detector": season.manifest["detector"],
        "players": players,
        **_winner(players),
        "differences": [] if found is None else [_difference(found, *one) for one in found.differences],
        "envelope": [] if found is None else _envelope(found, rules.alpha),
        "attempts": {
            name: sum(row[name] for row in read_attempts(season.path))
            for name in ("opened", "closed", "unresolved", "failed")
        },
        "notes": notes,
    }


def _difference(found: Repeats, a: int, b: int, one: Difference) -> dict[str, Any]:
    return {"a": found.players[a], "b": found.players[b], "dq": one.value, "low": one.low, "high": one.high}


def _envelope(found: Repeats, alpha: float) -> list[dict[str, Any]]:
    """Who has the best mean Q at which beta."""
    stretches = envelope((alpha * found.h).tolist(), found.penalty.tolist())
    return [{"beta_from": s.start, "beta_to": s.end, "winner": found.players[s.winner]} for s in stretches]


def _winner(players: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Who has the highest mean Q."""
    known = [player["q"] for player in players if player["q"] is not None]
    best = [p["name"] for p in players if p["q"] is not None and p["q"] > max(known) - 1e-9]
    return {"winner": best[0] if len(best) == 1 else None, "tied": best if len(best) > 1 else []}


def _over(trials: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Means over trials and, under `sd`, standard deviations; None where a trial does not know it."""
    means: dict[str, Any] = {}
    spread: dict[str, Any] = {}
    for name in FIGURES:
        values = [trial[name] for trial in trials]
        known = bool(values) and all(value is not None for value in values)
        means[name] = fmean(values) if known else None
        spread[name] = stdev(values) if known and len(values) > 1 else None
    return {**means, "sd": spread}


def text(found: dict[str, Any], form: Literal["table", "md", "latex"] = "table") -> str:
    """The trials for a person."""
    rows: list[list[str]] = []
    for player in found["players"]:
        won = " ★" if found["finished"] and player["name"] == found["winner"] else ""
        sd = player["sd"]
        low, high = player["q_low"], player["q_high"]
        rows.append(
            [
                safe(player["name"], 24) + won,
                _with_sd(player["h"], sd["h"], 4),
                _with_sd(player["calls"], sd["calls"], 1),
                _with_sd(player["tokens"], sd["tokens"], 0),
                _with_sd(player["reviews"], sd["reviews"], 1),
                _with_sd(player["seconds"], sd["seconds"], 1),
                number(player["penalty"], 3),
                _with_sd(player["q"], sd["q"], 4),
                "?" if low is None or high is None else f"± {(high - low) / 2:.4f}",
                number(player["wins"]),
            ]
        )
    headings = ["player", "H ± sd", "calls", "tokens", "reviews", "seconds", "P", "Q ± sd", "95%", "won"]
    return written(Grid(headings, rows, wide=True), form) + "\n\n" + prose(list(_sentences(found)), form)


def _with_sd(mean: float | None, spread: float | None, digits: int) -> str:
    if mean is None or spread is None or not math.isfinite(spread):
        return number(mean, digits)
    return f"{number(mean, digits)} ± {number(spread, digits)}"


def _sentences(found: dict[str, Any]) -> list[str]:
    said = ["SIMULATED: some of these players were not real models."] if found["simulated"] else []
    said.append(
        f"{found['trials']} trial(s) of {found['items']} items, {scored_by(found)}; means "
        f"± standard deviation over trials. Q = {found['alpha']:g}·H − "
        f"{found['beta']:g}·P. The 95% interval is over items, each averaged over its trials first."
    )
    if not found["finished"]:
        said.append(
            f"{found['trials']} of {found['planned']} trials are played: go on with mashq resume {safe(found['run'])}"
        )
    elif found["winner"] is not None:
        wins = next(p["wins"] for p in found["players"] if p["name"] == found["winner"])
        said.append(f"Winner: {safe(found['winner'])}, the best Q in {wins} of {found['trials']} trials.")
    elif found["tied"]:
        said.append(f"A tie between {', '.join(safe(name) for name in found['tied'])}.")
    first = next(iter(found["differences"]), None)
    if first is not None and first["low"] is not None:
        said.append(
            f"The lead of {safe(first['a'])} over {safe(first['b'])}, {first['dq']:.4f}, has the 95% interval "
            f"{first['low']:.4f} to {first['high']:.4f}."
        )
    if len(found["envelope"]) > 1:
        said.append(flips("beta", found["envelope"]))
    return [*said, *(f"Note: {safe(note, 400)}" for note in found["notes"])]
