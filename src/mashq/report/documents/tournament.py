"""A tournament: ratings with intervals, who beats whom, and Q against one fixed reference beside them."""

from dataclasses import replace
from typing import Any, Literal

import numpy as np

from mashq.analysis.ratings.fit import Ratings, game, rate
from mashq.analysis.ratings.outcomes import Game
from mashq.analysis.results import Results, from_matches
from mashq.analysis.scoring import figures, view
from mashq.config import Config
from mashq.errors import DataError
from mashq.protocol.resources import RESOURCES
from mashq.protocol.score import TIE, ScoreRules
from mashq.report.documents.columns import ended_results
from mashq.report.text.formatting import number, safe
from mashq.report.text.score import prose
from mashq.report.text.tables import Grid, written
from mashq.runs.open import Season
from mashq.runs.reading import read_matches
from mashq.runs.seasons import Fixture
from mashq.runs.setup import score_rules_of

RESAMPLES = 1000
Meeting = tuple[tuple[int, ...], Results]


def document(season: Season) -> dict[str, Any]:
    """Ratings, the win matrix, and each player's mean H, costs and Q against a reference."""
    names = [player.name for player in season.config.players]
    rules, meetings = score_rules_of(season.config), _meetings(season)
    found: dict[str, Any] = {
        "run": str(season.path),
        "kind": "tournament",
        "finished": season.finished,
        "simulated": season.manifest["simulated"],
        "drawn": all_drawn(season.config),
        "detector": season.manifest["detector"],
        "system": season.manifest["season"]["system"],
        "trials": season.manifest["season"]["trials"],
        "items": season.manifest["items"],
        "matches": len(meetings),
        "alpha": rules.alpha,
        "beta": rules.beta,
        "players": [],
        "wins": [],
        "notes": [],
    }
    try:
        games = _games(meetings, rules, found["notes"])
        rated = rate(games, names, season.manifest["items"], RESAMPLES)
    except DataError as nothing:
        return found | {"notes": [*found["notes"], str(nothing)]}
    reference, means = _means(meetings, rules, len(names))
    order = sorted(range(len(names)), key=lambda seat: -rated.fit.strength[seat])
    return found | {
        "players": [_player(names[seat], seat, rated, means[seat]) for seat in order],
        "wins": _wins(names, games, rated),
        "reference": reference,
        "notes": [*found["notes"], *rated.notes],
    }


def all_drawn(config: Config) -> bool:
    """Whether no real model plays at all."""
    return all(player.model.startswith("simulated/") for player in config.players)


def _meetings(season: Season) -> list[Meeting]:
    """Who met whom, each meeting's trials averaged by item first."""
    there = read_matches(season.path)
    by_pair: dict[tuple[int, ...], list[Fixture]] = {}
    for fixture in season.fixtures():
        if there.get(fixture.id):
            by_pair.setdefault(dict(fixture.cell)["seats"], []).append(fixture)
    return [
        (seats, from_matches(ended_results(season, fixture.id) for fixture in fixtures))
        for seats, fixtures in by_pair.items()
    ]


def _games(meetings: list[Meeting], rules: ScoreRules, notes: list[str]) -> list[Game]:
    games: list[Game] = []
    for seats, results in meetings:
        known = {name: w for name, w in rules.weights.items() if not np.isnan(results.costs[name]).all(axis=1).any()}
        own = replace(rules, weights=known)
        seen = view(results, rules.refusals, tuple(known))
        if not seen.items:
            notes.append(f"{' and '.join(results.players)} have no item that all answered: their match is left out.")
            continue
        games.append(game(seats, seen, own, results.items, RESAMPLES))
    return games


def _means(
    meetings: list[Meeting], rules: ScoreRules, players: int
) -> tuple[dict[str, float], list[dict[str, float | None]]]:
    """Each player's mean H and costs over its meetings, and Q with the largest mean costs of all as the reference."""
    rows: list[list[dict[str, float]]] = [[] for _ in range(players)]
    for seats, results in meetings:
        seen = view(results, rules.refusals, ())
        h = figures(seen, replace(rules, weights={})).h[0] if seen.items else np.full(len(seats), np.nan)
        for at, seat in enumerate(seats):
            costs = {
                name: float(np.nansum(results.costs[name][at])) for name in RESOURCES if _known(results, name, at)
            }
            rows[seat].append({"h": float(h[at]), **costs})
    means: list[dict[str, float | None]] = []
    for own in rows:
        mean: dict[str, float | None] = {}
        for name in ("h", *RESOURCES):
            values = [row[name] for row in own if name in row and not np.isnan(row[name])]
            mean[name] = float(np.mean(values)) if values else None
        means.append(mean)
    reference: dict[str, float] = {}
    for name in rules.weights:
        known = [mean[name] for mean in means]
        if all(value is not None for value in known):
            reference[name] = max(value for value in known if value is not None)
    for mean in means:
        shares = {name: (mean[name] or 0.0) / most for name, most in reference.items() if most > 0}
        penalty = sum(rules.weights[name] * share for name, share in shares.items())
        h = mean["h"]
        mean["q_reference"] = None if h is None else rules.alpha * h - rules.beta * penalty
    return reference, means


def _known(results: Results, name: str, at: int) -> bool:
    return not bool(np.isnan(results.costs[name][at]).all())


def _player(name: str, seat: int, rated: Ratings, mean: dict[str, float | None]) -> dict[str, Any]:
    low, high = rated.points_low, rated.points_high
    return {
        "name": name,
        "rating": float(rated.fit.points[seat]),
        "low": None if low is None else float(low[seat]),
        "high": None if high is None else float(high[seat]),
        "rank_best": rated.ranks[seat][0],
        "rank_worst": rated.ranks[seat][1],
        "p_first": float(rated.p_first[seat]),
        **mean,
    }


def _wins(names: list[str], games: list[Game], rated: Ratings) -> list[dict[str, Any]]:
    """For each ordered pair: meetings won, tied and lost, and the predicted chance."""
    tally: dict[tuple[int, int], list[int]] = {}
    for one in games:
        for at, first in enumerate(one.seats):
            for other, second in enumerate(one.seats):
                if at != other:
                    gap = float(one.q[at] - one.q[other])
                    row = tally.setdefault((first, second), [0, 0, 0])
                    row[1 if abs(gap) < TIE else 0 if gap > 0 else 2] += 1
    return [
        {
            "a": names[a],
            "b": names[b],
            "won": row[0],
            "tied": row[1],
            "lost": row[2],
            "predicted": float(rated.fit.win[a, b]),
        }
        for (a, b), row in sorted(tally.items())
    ]


def text(found: dict[str, Any], form: Literal["table", "md", "latex"] = "table") -> str:
    """The tournament for a person: the ratings, then who beat whom."""
    rows: list[list[str]] = []
    for at, player in enumerate(found["players"], start=1):
        low, high = player["low"], player["high"]
        ranks = f"{player['rank_best']}–{player['rank_worst']}"
        rows.append(
            [
                str(at),
                safe(player["name"], 24),
                f"{player['rating']:.0f}",
                "?" if low is None else f"{low:.0f} to {high:.0f}",
                ranks if player["rank_best"] != player["rank_worst"] else str(player["rank_best"]),
                f"{player['p_first']:.0%}",
                number(player["h"], 4),
                number(player["tokens"]),
                number(player["reviews"], 1),
                number(player["seconds"], 1),
                number(player["q_reference"], 4),
            ]
        )
    headings = ["", "player", "rating", "95%", "ranks", "first", "H", "tokens", "reviews", "seconds", "Q (ref.)"]
    parts = [written(Grid(headings, rows, left=2, wide=True), form)]
    if 1 < len(found["players"]) <= 12:
        parts.append(written(_matrix(found), form))
    return "\n\n".join([*parts, prose(_sentences(found), form)])


def _matrix(found: dict[str, Any]) -> Grid:
    names = [player["name"] for player in found["players"]]
    cells = {(row["a"], row["b"]): row for row in found["wins"]}
    rows: list[list[str]] = []
    for a in names:
        row = [safe(a, 24)]
        for b in names:
            one = cells.get((a, b))
            row.append("·" if one is None else f"{one['won']}-{one['tied']}-{one['lost']} ({one['predicted']:.0%})")
        rows.append(row)
    title = "Won-tied-lost against each (chance of winning that the ratings predict)"
    return Grid(["", *(safe(name, 16) for name in names)], rows, title, wide=True)


def _sentences(found: dict[str, Any]) -> list[str]:
    said = ["SIMULATED: some of these players were not real models."] if found["simulated"] else []
    said.append(
        f"{found['matches']} meetings ({found['system']}, {found['trials']} trial(s) each, every group in each order "
        f"of its seats) of {found['items']} items, {scored_by(found)}; "
        f"Q = {found['alpha']:g}·H − {found['beta']:g}·P."
    )
    said.append(
        "Ratings: 400 points are odds of 10 to 1; intervals and ranks are over resampled items. Q (ref.) is each "
        "player's mean against the largest mean costs of the field, so it compares players who never met."
    )
    if not found["finished"]:
        said.append(f"Not all matches are played: go on with mashq resume {safe(found['run'])}")
    return [*said, *(f"Note: {safe(note, 400)}" for note in found["notes"])]


def scored_by(found: dict[str, Any]) -> str:
    """Who scored, or that nobody did."""
    if found["drawn"]:
        return "scored as drawn (no detector ran)"
    return f"scored by {safe(found['detector']['name'])} {safe(found['detector']['version'])}"
