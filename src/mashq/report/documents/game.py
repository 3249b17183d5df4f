"""The game behind the match: policies as strategies, their payoffs, its equilibria, and what disclosure costs."""

from dataclasses import replace
from typing import Any, Literal

import numpy as np

from mashq.analysis.games import bimatrix as games
from mashq.analysis.games.dominance import dominance
from mashq.analysis.games.uncertainty import uncertain_equilibria
from mashq.analysis.intervals import draws
from mashq.analysis.paired import Condition, differences
from mashq.analysis.results import Floats, Results, from_matches
from mashq.analysis.scoring import figures, view
from mashq.errors import DataError
from mashq.protocol.score import ScoreRules
from mashq.report.documents.columns import ended_results
from mashq.report.documents.tournament import all_drawn, scored_by
from mashq.report.text.formatting import number, safe
from mashq.report.text.score import prose
from mashq.report.text.tables import Grid, written
from mashq.runs.open import Season
from mashq.runs.reading import read_matches
from mashq.runs.seasons import Fixture
from mashq.runs.setup import score_rules_of

RESAMPLES = 500
STEPS = 400
Meetings = dict[tuple[int, ...], Results]


def document(season: Season) -> dict[str, Any]:
    """Payoffs, equilibria, best responses and the path of learning under each vision; the price of disclosure."""
    names = [player.name for player in season.config.players]
    rules = score_rules_of(season.config)
    played = _meetings(season)
    return {
        "run": str(season.path),
        "kind": "game",
        "finished": season.finished,
        "simulated": season.manifest["simulated"],
        "drawn": all_drawn(season.config),
        "detector": season.manifest["detector"],
        "trials": season.manifest["season"]["trials"],
        "items": season.manifest["items"],
        "alpha": rules.alpha,
        "beta": rules.beta,
        "policies": names,
        "games": {when: _solved(names, meetings, rules) for when, meetings in played.items()},
        "disclosure": _disclosure(names, played, rules),
    }


def _meetings(season: Season) -> dict[str, Meetings]:
    """The results of every ordered pair under each vision, trials averaged by item; only those all played."""
    there = read_matches(season.path)
    found: dict[str, dict[tuple[int, ...], list[Fixture]]] = {}
    for fixture in season.fixtures():
        if there.get(fixture.id):
            cell = dict(fixture.cell)
            found.setdefault(cell["vision"], {}).setdefault(cell["seats"], []).append(fixture)
    return {
        when: {
            seats: from_matches(ended_results(season, f.id) for f in fixtures) for seats, fixtures in pairs.items()
        }
        for when, pairs in found.items()
    }


def _solved(names: list[str], meetings: Meetings, rules: ScoreRules) -> dict[str, Any]:
    count = len(names)
    try:
        payoffs, drawn = _payoffs(count, meetings, rules)
        game = games.symmetric(payoffs)
        found, survive = games.equilibria(game), uncertain_equilibria(drawn)
    except DataError as nothing:
        return {"payoffs": None, "notes": [str(nothing)]}
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    even = np.full(count, 1 / count)
    path = games.replicator(game, STEPS, start=(even, even))[0]
    left = dominance(game)
    notes = [] if found.complete else ["The game is degenerate: there may be equilibria beside these."]
    return {
        "payoffs": payoffs.tolist(),
        "low": low.tolist(),
        "high": high.tolist(),
        "best_responses": {
            names[j]: [names[i] for i in games.best_responses(payoffs, np.eye(count)[j])] for j in range(count)
        },
        "exploitability": {
            names[i]: games.exploitability(game, np.eye(count)[i], np.eye(count)[i]) for i in range(count)
        },
        "dominated": [names[i] for i in range(count) if i not in left.rows],
        "equilibria": [
            {
                "row": _mix(names, one.row),
                "column": _mix(names, one.column),
                "payoffs": list(one.payoffs),
                "regret": one.regret,
                "pure": one.pure,
                "survives": next((s.share for s in survive.found if (s.rows, s.columns) == one.supports), 0.0),
            }
            for one in found.profiles
        ],
        "degenerate": found.degenerate,
        "replicator": {"start": _mix(names, path[0]), "end": _mix(names, path[-1]), "steps": STEPS},
        "notes": notes,
    }


def _payoffs(count: int, meetings: Meetings, rules: ScoreRules) -> tuple[Floats, Floats]:
    """Q of each policy against each, the two orders averaged; and the same in every resample of the items."""
    payoffs = np.full((count, count), np.nan)
    drawn = np.full((RESAMPLES, count, count), np.nan)
    for i in range(count):
        for j in range(count):
            pairs = {(i, j): 0, (j, i): 1} if i != j else {(i, i): 0}
            if not pairs.keys() <= meetings.keys():
                raise DataError("not every pair has played under this vision: resume the run")
            both = [_q(meetings[seats], rules) for seats in pairs]
            if i == j:
                payoffs[i, i] = both[0][0].mean()
                drawn[:, i, i] = both[0][1].mean(axis=1)
                continue
            payoffs[i, j] = np.mean([q[at] for (q, _), at in zip(both, pairs.values(), strict=True)])
            drawn[:, i, j] = np.mean([d[:, at] for (_, d), at in zip(both, pairs.values(), strict=True)], axis=0)
    return payoffs, drawn


def _q(results: Results, rules: ScoreRules) -> tuple[Floats, Floats]:
    known = {name: w for name, w in rules.weights.items() if not np.isnan(results.costs[name]).all(axis=1).any()}
    own = replace(rules, weights=known)
    seen = view(results, rules.refusals, tuple(known))
    if not seen.items:
        raise DataError(f"{' and '.join(results.players)} have no item that both answered: play more items")
    place = {item: at for at, item in enumerate(results.items)}
    columns = [place[item] for item in seen.items]
    found: list[Floats] = []
    for weights in draws(len(results.items), RESAMPLES, 0):
        mine = weights[:, columns]
        mine[mine.sum(axis=1) == 0] = 1.0
        found.append(figures(seen, own, mine).q)
    return figures(seen, own).q[0], np.concatenate(found)


def _disclosure(names: list[str], played: dict[str, Meetings], rules: ScoreRules) -> list[dict[str, Any]]:
    """Q with snapshots shown minus Q without, for each pair of policies, paired by item."""
    hidden = played.get("never")
    found: list[dict[str, Any]] = []
    for when, meetings in played.items():
        if when == "never" or hidden is None:
            continue
        for seats, results in meetings.items():
            if seats not in hidden:
                continue
            before = Condition(hidden[seats], rules)
            for at, player in enumerate(results.players):
                change = differences(Condition(results, rules), before, player)
                mine, theirs = names[seats[at]], names[seats[1 - at]]
                row: dict[str, Any] = {"vision": when, "policy": mine, "against": theirs, "seat": at}
                for name in ("q", "h", "reviews", "tokens"):
                    if name in change:
                        one = change[name]
                        row[name] = {"value": one.value, "low": one.low, "high": one.high}
                found.append(row)
    return found


def _mix(names: list[str], shares: Floats) -> dict[str, float]:
    return {name: float(share) for name, share in zip(names, shares, strict=True) if share > 1e-6}


def text(found: dict[str, Any], form: Literal["table", "md", "latex"] = "table") -> str:
    """The game for a person."""
    parts: list[str] = []
    names = [safe(name, 16) for name in found["policies"]]
    for when, game in found["games"].items():
        if game["payoffs"] is None:
            parts.append(prose(game["notes"], form))
            continue
        rows: list[list[str]] = []
        for i, name in enumerate(names):
            cells = [
                f"{number(game['payoffs'][i][j], 4)} ± {(game['high'][i][j] - game['low'][i][j]) / 2:.4f}"
                for j in range(len(names))
            ]
            rows.append([name, *cells])
        title = f"Q of the row against the column, vision: {when}"
        parts += [written(Grid(["", *names], rows, title, wide=True), form), prose(_told(game), form)]
    if any(_moves(row) for row in found["disclosure"]):
        parts.append(written(_price(found), form))
    elif found["disclosure"]:
        parts.append(prose(["Disclosure changed nothing: no policy here reacts to what it is shown."], form))
    return "\n\n".join([*parts, prose(_sentences(found), form)])


def _told(game: dict[str, Any]) -> list[str]:
    said: list[str] = []
    for one in game["equilibria"]:
        mixes = [", ".join(f"{safe(n)} {share:.0%}" for n, share in one[side].items()) for side in ("row", "column")]
        both = mixes[0] if mixes[0] == mixes[1] else f"{mixes[0]} against {mixes[1]}"
        said.append(
            f"Equilibrium: {both}; Q {one['payoffs'][0]:.4f} and {one['payoffs'][1]:.4f}; "
            f"in {one['survives']:.0%} of resampled items."
        )
    if game["dominated"]:
        said.append(f"Never worth playing (dominated): {', '.join(safe(name) for name in game['dominated'])}.")
    ends = ", ".join(
        f"{safe(name)} {share:.0%}" for name, share in game["replicator"]["end"].items() if share > 0.005
    )
    said.append(f"Learning from an even start leads to: {ends}.")
    return said + [f"Note: {note}" for note in game["notes"]]


def _price(found: dict[str, Any]) -> Grid:
    rows: list[list[str]] = []
    for row in filter(_moves, found["disclosure"]):
        cells = [f"{row[n]['value']:+.4f} ± {_half(row[n]):.4f}" if n in row else "?" for n in ("q", "h")]
        cells += [f"{row[n]['value']:+.2f} ± {_half(row[n]):.2f}" if n in row else "?" for n in ("reviews", "tokens")]
        rows.append([row["vision"], safe(row["policy"], 16), safe(row["against"], 16), str(row["seat"] + 1), *cells])
    headings = ["vision", "policy", "against", "seat", "ΔQ", "ΔH", "Δreviews an item", "Δtokens an item"]
    title = "The price of disclosure: with snapshots shown minus without, paired by item"
    return Grid(headings, rows, title, left=3, wide=True)


def _moves(row: dict[str, Any]) -> bool:
    """Whether vision changed anything at all."""
    return any(row[name]["value"] for name in ("q", "h", "reviews", "tokens") if name in row)


def _half(change: dict[str, Any]) -> float:
    return 0.0 if change["low"] is None else (change["high"] - change["low"]) / 2


def _sentences(found: dict[str, Any]) -> list[str]:
    said = ["SIMULATED: some of these players were not real models."] if found["simulated"] else []
    said.append(
        f"{len(found['policies'])} policies, every pair in both orders and each against itself, {found['trials']} "
        f"trial(s) of {found['items']} items, {scored_by(found)}; ± is half a 95% interval over resampled items. "
        f"Q = {found['alpha']:g}·H − {found['beta']:g}·P."
    )
    if not found["finished"]:
        said.append(f"Not all matches are played: go on with mashq resume {safe(found['run'])}")
    return said
