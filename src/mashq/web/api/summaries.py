"""Whole runs in a few numbers: for the list of runs, for the list of a run's matches and for comparing two."""

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
SECRETIVE = ("headers", "env")  # nothing secret is stored; what could be mistaken for it is not shown either


def card(found: Found, held: frozenset[int]) -> dict[str, Any]:
    """A run in the list."""
    manifest = found.manifest
    config: dict[str, Any] = manifest.get("config", {})
    season: dict[str, Any] = manifest.get("season", {})
    detector: dict[str, Any] = manifest.get("detector", {})
    return {
        "id": found.id,
        "kind": found.kind,
        "started": manifest["started"],
        "ended": manifest["ended"],
        "playing": playing(found, held),
        "simulated": bool(manifest.get("simulated")),
        "items": manifest.get("items"),
        "trials": season.get("trials", 1),
        "detector": " ".join(str(detector.get(key, "")) for key in ("name", "version"))[:60].strip(),
        "players": [
            {"name": str(player.get("name", ""))[:80], "model": str(player.get("model", ""))[:120]}
            for player in config.get("players", [])[:12]
        ],
    }


def listed(cache: ReplayCache, wanted: dict[str, str], start: int, limit: int = PAGE) -> dict[str, Any]:
    """A page of the runs that a filter leaves, newest first."""
    held = locks()
    everyone = [card(found, held) for found in cache.library.runs()]
    detectors = sorted({one["detector"] for one in everyone if one["detector"]})
    left = [one for one in everyone if _wanted(one, wanted)]
    return {"runs": left[start : start + limit], "of": len(left), "all": len(everyone), "detectors": detectors}


def _wanted(one: dict[str, Any], wanted: dict[str, str]) -> bool:
    state = "finished" if one["ended"] else "playing" if one["playing"] else "stopped"
    if wanted.get("state") and wanted["state"] != state:
        return False
    if wanted.get("simulated") and (wanted["simulated"] == "yes") != one["simulated"]:
        return False
    if wanted.get("detector") and wanted["detector"] != one["detector"]:
        return False
    said = [one["id"], one["kind"], one["detector"], *(p["name"] + " " + p["model"] for p in one["players"])]
    return all(word in " ".join(said).lower() for word in wanted.get("text", "").lower().split())


def matches(view: RunView, after: int) -> dict[str, Any]:
    """A page of a run's matches, with the winner of those that have ended."""
    found = view.found
    with queries.opened(found.path, finished=found.finished) as connection:
        begun, ended = queries.match_count(connection)
        rows: list[dict[str, Any]] = []
        for name, position, started, over in queries.matches(connection, after, PAGE):
            fixture = view.fixture(name)
            one: dict[str, Any] = {"id": name, "position": position, "started": started, "ended": over}
            one["trial"], one["cell"] = fixture.trial, [[key, value] for key, value in fixture.cell]
            result = final(connection, [name], view.rules(name)) if over else None
            one["winner"] = result["winner"] if result else None
            one["q"] = [[p["name"], p["q"]] for p in result["players"]] if result else []
            rows.append(one)
        latest = queries.latest(connection)
    return {"matches": rows, "begun": begun, "ended": ended, "latest": latest}


def summary(cache: ReplayCache, run: str) -> dict[str, Any]:
    """A run's players: the score of a match and its trials, the means over the ended matches of another season, or
    where they stand in a match that is being played."""
    view = cache.run(run)
    found = view.found
    if found.kind == "gateway":
        return {"players": [], "matches": 0, "winner": None, "so_far": False}
    with queries.opened(found.path, finished=found.finished) as connection:
        over = [row[0] for row in queries.matches(connection, -1, MAX_MATCHES) if row[3] is not None]
        latest = queries.latest(connection)
        each = [one for name in over if (one := final(connection, [name], view.rules(name))) is not None]
        pooled = final(connection, over, view.rules(over[0])) if found.kind == "match" and over else None
    known = each if pooled is None else [pooled]
    models = {player.name: player for player in view.config.players}
    so_far = not known
    if so_far and latest is not None:
        known = [_so_far(cache.match(run, latest))]
    wins = Counter(name for result in each for name in result["tied"] or [result["winner"]])
    names = list(dict.fromkeys(player["name"] for result in known for player in result["players"]))
    players: list[dict[str, Any]] = [
        {
            "name": name,
            "model": models[name].model if name in models else "",
            "agent": models[name].agent if name in models else "",
            "wins": wins[name],
            **_means([p for result in known for p in result["players"] if p["name"] == name]),
        }
        for name in names
    ]
    top = max((p["q"] for p in players if p["q"] is not None), default=None)
    best = [p["name"] for p in players if p["q"] is not None and top is not None and p["q"] > top - 1e-9]
    winner = best[0] if len(best) == 1 and not so_far else None
    counts = {"items": 0} if not known else {n: known[0][n] for n in ("items", "units") if n in known[0]}
    return {"players": players, "matches": len(over), "winner": winner, "so_far": so_far, **counts}


def compared(cache: ReplayCache, runs: tuple[str, str]) -> dict[str, Any]:
    """Two runs: their players' figures, and the settings in which they differ."""
    views = [cache.run(run) for run in runs]
    held = locks()
    settings = [flat(_open(view.found.manifest)) for view in views]
    keys = sorted({key for one in settings for key in one})
    differ = [[key, *(one.get(key) for one in settings)] for key in keys]
    digests = [view.found.manifest.get("digests", {}).get("items") for view in views]
    return {
        "runs": [card(view.found, held) | summary(cache, view.found.id) for view in views],
        "settings": [row for row in differ if repr(row[1]) != repr(row[2])][:200],
        "same_items": digests[0] is not None and digests[0] == digests[1],
    }


def differences(cache: ReplayCache, runs: tuple[str, str], player: str) -> list[list[Any]]:
    """The items on which a player's H, its mean over the matches that have ended, differs most between two runs over
    the same items. Where the runs have the same matches, an item in a match is left out that one of them lacks."""
    found: list[dict[tuple[str, int], float]] = []
    for run in runs:
        view = cache.run(run)
        with queries.opened(view.found.path, finished=view.found.finished) as connection:
            rows = connection.execute(
                "SELECT match, position, r.h FROM results r JOIN seats s USING (match, seat)"
                " WHERE s.player = ? AND r.h IS NOT NULL",
                (player,),
            )
            found.append({(match, position): h for match, position, h in rows})
    if {match for match, _ in found[0]} == {match for match, _ in found[1]}:
        shared = found[0].keys() & found[1].keys()
        found = [{unit: h for unit, h in own.items() if unit in shared} for own in found]
    before, after = (_by_position(own) for own in found)
    ids = cache.run(runs[0]).item_ids
    gaps = {at: after[at] - h for at, h in before.items() if at in after}
    worst = sorted((at for at, gap in gaps.items() if gap), key=lambda at: -abs(gaps[at]))[:30]
    return [[at, ids[at][:120], before[at], after[at]] for at in worst]


def _by_position(scores: Mapping[tuple[str, int], float]) -> dict[int, float]:
    """The mean of each item, in the order of items."""
    values: dict[int, list[float]] = {}
    for (_, position), h in sorted(scores.items()):
        values.setdefault(position, []).append(h)
    return {at: fmean(own) for at, own in sorted(values.items())}


def flat(value: Any, at: str = "") -> dict[str, Any]:
    """Nested settings by their dotted names."""
    if isinstance(value, list):
        value = dict(enumerate(cast(list[Any], value)))
    if not isinstance(value, dict) or not value:
        return {at: value if not isinstance(value, str) else value[:300]}
    found: dict[str, Any] = {}
    for key, inner in cast(dict[Any, Any], value).items():
        if key in SECRETIVE:
            inner = sorted(cast(dict[str, Any], inner)) if isinstance(inner, dict) else "…"
            inner = ", ".join(map(str, cast(list[Any], inner)))
        found |= flat(inner, f"{at}.{key}" if at else str(key))
    return found


def _open(manifest: dict[str, Any]) -> dict[str, Any]:
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
    out: dict[str, Any] = {}
    for name in FIGURES:
        values = [row.get(name) for row in rows]
        out[name] = None if not values or None in values else fmean(cast(list[float], values))
    return out
