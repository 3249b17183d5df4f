"""A played match as one JSON document: what `--json` prints and every table is made from."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mashq.analysis.bundles import told
from mashq.analysis.columns import Columns, scored
from mashq.analysis.results import from_match
from mashq.analysis.score_report import Options, judge
from mashq.errors import DataError
from mashq.gateway.types import REFEREE
from mashq.protocol.resources import Amount, Unknown
from mashq.protocol.score import PlayerScore, Refusals, Score, ScoreRules
from mashq.report.documents.columns import results_of
from mashq.runs.open import Played
from mashq.runs.reading import read_last_error, read_lost, read_refusals, read_unstated
from mashq.runs.setup import score_rules_of

RESAMPLES = 2000
REFUSALS: tuple[Refusals, ...] = ("intersection", "penalised", "answered")


def document(played: Played) -> dict[str, Any]:
    """The result of a match; an unknown is None."""
    rules = score_rules_of(played.config)
    results = results_of(played)
    result = scored(results, rules)
    doubt = _doubt(results, rules)
    models = {player.name: player for player in played.config.players}
    return {
        "run": str(played.path),
        "kind": "match",
        "finished": played.finished,
        "items": result.items,
        "alpha": rules.alpha,
        "beta": rules.beta,
        "task": played.config.task.kind,
        "guide": played.manifest.get("guide", "judge"),
        "normalise": "match" if rules.reference is None else "reference",
        "refusals": rules.refusals,
        "simulated": played.manifest["simulated"],
        "detector": played.manifest["detector"],
        "players": [
            {
                "name": row.name,
                "model": models[row.name].model,
                "agent": models[row.name].agent,
                **figures(row),
                **_guided(own),
                "T": own.threshold,
                "R": own.max_reviews,
                "stopped": own.stopped,
            }
            for own, row in zip(results, result.players, strict=True)
        ],
        **{name: doubt[name] for name in ("differences", "p_win", "envelope")},
        "winner": result.winner if played.finished else None,
        "tied": list(result.tied) if played.finished else [],
        "attempts": _attempts(played.attempts, [row.name for row in result.players]),
        "referee": _referee(played.attempts),
        "dropped": [{"item": item, "by": list(by)} for item, by in result.dropped],
        "views": [
            _view(rule, scored(results, replace(rules, refusals=rule)) if result.dropped else result)
            for rule in REFUSALS
        ],
        "notes": [*result.notes, *doubt["notes"], *_troubles(played, results)],
    }


def _guided(player: Columns) -> dict[str, Any]:
    """The guide's scores, where the guide is not the judge; and what was gained on the guide but not on the judge."""
    h, guide = player.values["h"], player.values["guide"]
    both = ~(np.isnan(h) | np.isnan(guide))
    count = int(both.sum())
    if not count:
        return {"h_guide": None, "h_guide_before_review": None, "overfit": None}
    before_review = np.nan_to_num(player.values["guide_first"][both])
    after, before = math.fsum(guide[both].tolist()) / count, math.fsum(before_review.tolist()) / count
    gained = math.fsum((h[both] - np.nan_to_num(player.values["h_first"][both])).tolist()) / count
    return {"h_guide": after, "h_guide_before_review": before, "overfit": after - before - gained}


def _doubt(results: Sequence[Columns], rules: ScoreRules) -> dict[str, Any]:
    """How sure the result is: intervals of the differences, chances of winning, and who leads at which beta."""
    empty: dict[str, Any] = {"differences": [], "p_win": {}, "envelope": [], "notes": []}
    if not results[0].items:
        return empty
    try:
        found = judge(from_match(results), Options(rules, resamples=RESAMPLES))
    except DataError:
        return empty
    chances = {player["name"]: player["p_win"] for player in found["players"]}
    return {
        "differences": found["differences"],
        "p_win": chances,
        "envelope": found["envelope"],
        "notes": told(found["items"]),
    }


def figures(row: PlayerScore) -> dict[str, Any]:
    """One player's row of a document."""
    return {
        "h": row.h,
        "h_before_review": row.h_before_review,
        "answer_rate": row.answer_rate,
        "calls": _plain(row.totals["calls"]),
        "tokens_in": _plain(row.tokens_in),
        "tokens_out": _plain(row.tokens_out),
        "tokens": _plain(row.totals["tokens"]),
        "reviews": _plain(row.totals["reviews"]),
        "seconds": _plain(row.totals["seconds"]),
        "dollars": _plain(row.totals["dollars"]),
        "unknown_attempts": row.unknown_attempts,
        "penalty": _finite(row.penalty),
        "q": _finite(row.q),
        "q_min": _finite(row.q_min),
        "q_max": _finite(row.q_max),
    }


def _plain(amount: Amount) -> float | None:
    value = amount.value
    if isinstance(value, Unknown):
        return None
    if not math.isfinite(value):
        return None
    return int(value) if value == int(value) and value < 2**53 else value


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _view(rule: Refusals, result: Score) -> dict[str, Any]:
    players = {row.name: {"h": row.h, "q": _finite(row.q)} for row in result.players}
    return {"refusals": rule, "items": result.items, "winner": result.winner, "players": players}


def _attempts(rows: Sequence[dict[str, Any]], players: Sequence[str]) -> dict[str, Any]:
    """How the attempts ended, over all items, in all and by player."""
    counts = ("opened", "closed", "unresolved", "failed")
    by = {
        player: {name: sum(r[name] for r in rows if r["player"] == player) for name in counts} for player in players
    }
    return {name: sum(own[name] for own in by.values()) for name in counts} | {"by_player": by}


def _referee(rows: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """The referee's own bill, when its judge is a model: reported, charged to nobody."""
    own = [row for row in rows if row["player"] == REFEREE]
    if not own:
        return None
    return {name: sum(row[name] for row in own) for name in ("opened", "failed", "unresolved", "tokens", "seconds")}


def _troubles(played: Played, results: Sequence[Columns]) -> list[str]:
    """What went wrong for a player, in a sentence each."""
    notes: list[str] = []
    path, match = played.path, played.fixture.id
    unstated = read_unstated(path, match) if played.config.guided_by == "confidence" else {}
    for name, count in unstated.items():
        notes.append(f"{name} stated no confidence with {count} answer(s); each was guided as if it had said 0.5.")
    for player in results:
        failed, refused = player.count("failed"), player.count("refused")
        if failed:
            why = read_last_error(path, match, player.name) or "no reason was given"
            notes.append(f"{player.name} failed {failed} of {len(player.items)} items; the last error: {why}")
        if refused:
            notes.append(f"{player.name} refused {refused} of {len(player.items)} items.")
        if player.stopped is not None:
            notes.append(f"{player.name} stopped: {player.stopped}.")
    for row in read_refusals(path):
        who = row["player"] or "Someone unknown"
        notes.append(
            f"{who} made {row['requests']} request(s) that were turned away ({row['status']}: {row['reason']})."
        )
    lost = read_lost(path)
    if lost:
        notes.append(
            f"The machine went down while the run was played: up to {lost} attempt(s) may have been sent that the "
            "ledger does not have, so costs may be a little higher than shown."
        )
    return notes
