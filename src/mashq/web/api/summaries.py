"""Summaries of runs: for the list of runs, for the list of a run's matches and for comparing two runs."""

from collections import Counter
from collections.abc import Mapping
from statistics import fmean
from typing import Any, cast

from mashq.web.api import queries
from mashq.web.api.frames import standing
from mashq.web.api.scores import final
from mashq.web.library import Found, locks, playing
from mashq.web.replay_cache import LiveReplay, ReplayCache
from mashq.web.run_view import RunView

CARRIED = ("words", "coverage", "copied")
COUNTED = ("calls", "tokens", "reviews", "seconds", "dollars")
FIGURES = ("h", "h_before_review", *CARRIED, "answer_rate", *COUNTED, "penalty", "q")
MAX_MATCHES, PAGE, PATIENCE = 1000, 100, 1.0
SECRETIVE = ("headers", "env")  # no secrets are stored, and what could look like one is not shown either


def card(entry: Found, locked: frozenset[int]) -> dict[str, Any]:
    """Return the entry of a run in the list."""
    manifest = entry.manifest
    config: dict[str, Any] = manifest.get("config", {})
    season: dict[str, Any] = manifest.get("season", {})
    detector: dict[str, Any] = manifest.get("detector", {})
    return {
        "id": entry.id,
        "kind": entry.kind,
        "started": manifest["started"],
        "ended": manifest["ended"],
        "playing": playing(entry, locked),
        "simulated": bool(manifest.get("simulated")),
        "items": manifest.get("items"),
        "trials": season.get("trials", 1),
        "detector": " ".join(str(detector.get(key, "")) for key in ("name", "version"))[:60].strip(),
        "players": [
            {"name": str(player.get("name", ""))[:80], "model": str(player.get("model", ""))[:120]}
            for player in config.get("players", [])[:12]
        ],
    }


def listed(cache: ReplayCache, filters: dict[str, str], start: int, limit: int = PAGE) -> dict[str, Any]:
    """Return a page of the runs that match the filters, newest first."""
    locked = locks()
    cards = [card(entry, locked) for entry in cache.library.runs()]
    detectors = sorted({row["detector"] for row in cards if row["detector"]})
    matching = [row for row in cards if _matches_filters(row, filters)]
    return {"runs": matching[start : start + limit], "of": len(matching), "all": len(cards), "detectors": detectors}


def _matches_filters(run: dict[str, Any], filters: dict[str, str]) -> bool:
    state = "finished" if run["ended"] else "playing" if run["playing"] else "stopped"
    if filters.get("state") and filters["state"] != state:
        return False
    if filters.get("simulated") and (filters["simulated"] == "yes") != run["simulated"]:
        return False
    if filters.get("detector") and filters["detector"] != run["detector"]:
        return False
    texts = [run["id"], run["kind"], run["detector"], *(p["name"] + " " + p["model"] for p in run["players"])]
    return all(word in " ".join(texts).lower() for word in filters.get("text", "").lower().split())


def matches(view: RunView, after: int) -> dict[str, Any]:
    """Return a page of a run's matches, with the winner of those that have ended."""
    entry = view.found
    with queries.opened(entry.path, finished=entry.finished) as connection:
        begun, ended = queries.match_count(connection)
        rows: list[dict[str, Any]] = []
        for name, position, started, match_ended in queries.matches(connection, after, PAGE):
            fixture = view.fixture(name)
            row: dict[str, Any] = {"id": name, "position": position, "started": started, "ended": match_ended}
            row["trial"], row["cell"] = fixture.trial, [[key, value] for key, value in fixture.cell]
            result = final(connection, [name], view.rules(name)) if match_ended else None
            row["winner"] = result["winner"] if result else None
            row["q"] = [[p["name"], p["q"]] for p in result["players"]] if result else []
            rows.append(row)
        latest = queries.latest(connection)
    return {"matches": rows, "begun": begun, "ended": ended, "latest": latest}


def summary(cache: ReplayCache, run: str) -> dict[str, Any]:
    """Return a run's players: the score of a match and its trials, the means over the ended matches of other seasons,
    or the standings so far of a match that is being played."""
    view = cache.run(run)
    entry = view.found
    if entry.kind == "gateway":
        return {"players": [], "matches": 0, "winner": None, "so_far": False}
    with queries.opened(entry.path, finished=entry.finished) as connection:
        ended = [row[0] for row in queries.matches(connection, -1, MAX_MATCHES) if row[3] is not None]
        latest = queries.latest(connection)
        results = [scored for name in ended if (scored := final(connection, [name], view.rules(name))) is not None]
        pooled = final(connection, ended, view.rules(ended[0])) if entry.kind == "match" and ended else None
    shown = results if pooled is None else [pooled]
    models = {player.name: player for player in view.config.players}
    so_far = not shown
    if so_far and latest is not None:
        shown = [_so_far(cache.match(run, latest))]
    wins = Counter(name for result in results for name in result["tied"] or [result["winner"]])
    names = list(dict.fromkeys(player["name"] for result in shown for player in result["players"]))
    players: list[dict[str, Any]] = [
        {
            "name": name,
            "model": models[name].model if name in models else "",
            "agent": models[name].agent if name in models else "",
            "wins": wins[name],
            **_means([p for result in shown for p in result["players"] if p["name"] == name]),
        }
        for name in names
    ]
    top = max((p["q"] for p in players if p["q"] is not None), default=None)
    best = [p["name"] for p in players if p["q"] is not None and top is not None and p["q"] > top - 1e-9]
    winner = best[0] if len(best) == 1 and not so_far else None
    counts = {"items": 0} if not shown else {n: shown[0][n] for n in ("items", "units") if n in shown[0]}
    return {"players": players, "matches": len(ended), "winner": winner, "so_far": so_far, **counts}


def compared(cache: ReplayCache, runs: tuple[str, str]) -> dict[str, Any]:
    """Compare two runs: their players' figures, and the settings in which they differ."""
    views = [cache.run(run) for run in runs]
    locked = locks()
    settings = [flat(_public_settings(view.found.manifest)) for view in views]
    keys = sorted({key for run_settings in settings for key in run_settings})
    rows = [[key, *(run_settings.get(key) for run_settings in settings)] for key in keys]
    digests = [view.found.manifest.get("digests", {}).get("items") for view in views]
    return {
        "runs": [card(view.found, locked) | summary(cache, view.found.id) for view in views],
        "settings": [row for row in rows if repr(row[1]) != repr(row[2])][:200],
        "same_items": digests[0] is not None and digests[0] == digests[1],
    }


def differences(cache: ReplayCache, runs: tuple[str, str], player: str) -> list[list[Any]]:
    """Return the items on which a player's mean H over the ended matches differs most between two runs over the same
    items. If the runs have the same matches, an item in a match is left out if one of the runs lacks it."""
    h_by_run: list[dict[tuple[str, int], float]] = []
    for run in runs:
        view = cache.run(run)
        with queries.opened(view.found.path, finished=view.found.finished) as connection:
            rows = connection.execute(
                "SELECT match, position, r.h FROM results r JOIN seats s USING (match, seat)"
                " WHERE s.player = ? AND r.h IS NOT NULL",
                (player,),
            )
            h_by_run.append({(match, position): h for match, position, h in rows})
    if {match for match, _ in h_by_run[0]} == {match for match, _ in h_by_run[1]}:
        shared = h_by_run[0].keys() & h_by_run[1].keys()
        h_by_run = [{unit: h for unit, h in scores.items() if unit in shared} for scores in h_by_run]
    before, after = (_by_position(scores) for scores in h_by_run)
    ids = cache.run(runs[0]).item_ids
    changes = {place: after[place] - h for place, h in before.items() if place in after}
    largest = sorted((place for place, gap in changes.items() if gap), key=lambda place: -abs(changes[place]))[:30]
    return [[place, ids[place][:120], before[place], after[place]] for place in largest]


def _by_position(scores: Mapping[tuple[str, int], float]) -> dict[int, float]:
    """Return the mean of each item, in the order of the items."""
    values: dict[int, list[float]] = {}
    for (_, position), h in sorted(scores.items()):
        values.setdefault(position, []).append(h)
    return {place: fmean(place_values) for place, place_values in sorted(values.items())}


def flat(value: Any, prefix: str = "") -> dict[str, Any]:
    """Flatten nested settings to their dotted names, without possible secrets."""
    if isinstance(value, list):
        value = dict(enumerate(cast(list[Any], value)))
    if not isinstance(value, dict) or not value:
        return {prefix: value if not isinstance(value, str) else value[:300]}
    settings: dict[str, Any] = {}
    for key, inner in cast(dict[Any, Any], value).items():
        if key in SECRETIVE:
            inner = sorted(cast(dict[str, Any], inner)) if isinstance(inner, dict) else "…"
            inner = ", ".join(map(str, cast(list[Any], inner)))
        settings |= flat(inner, f"{prefix}.{key}" if prefix else str(key))
    return settings


def _public_settings(manifest: dict[str, Any]) -> dict[str, Any]:
    detector = manifest.get("detector", {})
    named = " ".join(str(detector.get(key, "")) for key in ("name", "version")).strip()
    return manifest.get("config", {}) | {"detector": named, "season": manifest.get("season", {})}


def _so_far(live: LiveReplay) -> dict[str, Any]:
    live.advance(PATIENCE)
    with live.lock:
        rows = standing(live.replay, len(live.replay))
    players = [row | {"penalty": row["p"], "h_before_review": None, "answer_rate": None} for row in rows]
    return {"players": players, "winner": None, "items": len(live.replay.first.items)}


def _means(rows: list[dict[str, Any]]) -> dict[str, Any]:
    means: dict[str, Any] = {}
    for name in FIGURES:
        values = [row.get(name) for row in rows]
        means[name] = None if not values or None in values else fmean(cast(list[float], values))
    return means
