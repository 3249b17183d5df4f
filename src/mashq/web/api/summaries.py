"""Summaries of runs: for the list of runs, for the list of a run's matches and for comparing two runs.

Contract: the figures are those of the documents that the commands print; none are computed here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any, cast

from mashq.errors import ConfigError
from mashq.players.registry import answers_are_drawn
from mashq.report.documents.base import plain
from mashq.report.documents.compare import document as compare_document
from mashq.report.documents.compare import flattened
from mashq.report.documents.match import document as match_document
from mashq.report.documents.seasons import document as season_document
from mashq.web.api import queries
from mashq.web.api.outcomes import outcome, verdict
from mashq.web.api.resources import table
from mashq.web.api.scores import final
from mashq.web.library import Found, locks, playing
from mashq.web.replay_cache import ReplayCache
from mashq.web.run_view import RunView

PAGE, FIRST_TRIALS = 100, 5
SECRETIVE = ("headers", "env")  # no secrets are stored, and what could look like one is not shown either


def card(entry: Found, locked: frozenset[int]) -> dict[str, Any]:
    """Return the entry of a run in the list."""
    manifest = entry.manifest
    config: dict[str, Any] = manifest.get("config", {})
    season: dict[str, Any] = manifest.get("season", {})
    return {
        "id": entry.id,
        "kind": entry.kind,
        "started": manifest["started"],
        "ended": manifest["ended"],
        "playing": playing(entry, locked),
        "simulated": bool(manifest.get("simulated")),
        "items": manifest.get("items"),
        "trials": season.get("trials", 1),
        "detector": detector_of(manifest),
        "players": [
            {"name": str(player.get("name", ""))[:80], "model": str(player.get("model", ""))[:120]}
            for player in config.get("players", [])[:12]
        ],
    }


def detector_of(manifest: Mapping[str, Any]) -> str:
    """Return the name and version of the detector that scored; empty if all scores were drawn and none ran."""
    players: list[dict[str, Any]] = manifest.get("config", {}).get("players", [])
    if players and all(answers_are_drawn(str(p.get("agent", "")), str(p.get("model", ""))) for p in players):
        return ""
    detector: dict[str, Any] = manifest.get("detector", {})
    return " ".join(str(detector.get(key, "")) for key in ("name", "version"))[:60].strip()


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
    """Return a page of a run's matches, with the best Q of those that have ended."""
    entry = view.found
    with queries.opened(entry.path, finished=entry.finished) as connection:
        begun, ended = queries.match_count(connection)
        rows: list[dict[str, Any]] = []
        for name, position, started, match_ended in queries.matches(connection, after, PAGE):
            row: dict[str, Any] = {"id": name, "position": position, "started": started, "ended": match_ended}
            row["trial"], row["label"] = view.fixture(name).trial, view.label(name)
            result = final(connection, name, view.rules(name)) if match_ended else None
            row["winner"] = result["winner"] if result else None
            row["q"] = [[p["name"], p["q"]] for p in result["players"]] if result else []
            rows.append(row)
        latest = queries.latest(connection)
    return {"matches": rows, "begun": begun, "ended": ended, "latest": latest}


def summary(cache: ReplayCache, run: str) -> dict[str, Any]:
    """Return the outcome of a run as `mashq show` has it: of what has been played, while it is being played."""
    view = cache.run(run)
    if view.found.kind == "gateway":
        return {"kind": "gateway", "players": [], "heading": "", "lines": [], "matches": 0, "so_far": False}
    return cache.kept.get(("summary", run), [view.found], lambda: _summary(view))


def _summary(view: RunView) -> dict[str, Any]:
    entry = view.found
    with queries.opened(entry.path, finished=entry.finished) as connection:
        ended = queries.match_count(connection)[1]
    document: Any = season_document(view.season)
    counts = {name: getattr(document, name) for name in ("items", "units") if hasattr(document, name)}
    return outcome(document) | counts | {"matches": ended, "so_far": not document.finished}


def verdict_of(cache: ReplayCache, run: str, match: str) -> dict[str, Any]:
    """Return who leads in a match and whether that is clear, as the document of the match has it."""
    view = cache.run(run)
    if view.found.kind == "match" and view.trials == 1:
        outcome_of_run = summary(cache, run)
        return {name: outcome_of_run[name] for name in ("winner", "tied", "clear", "headline")}

    def compute() -> dict[str, Any]:
        return verdict(match_document(view.season.played(view.fixture(match))))

    return cache.kept.get(("verdict", run, match), [view.found], compute)


def compared(cache: ReplayCache, runs: tuple[str, str]) -> dict[str, Any]:
    """Compare two runs: the document of `mashq compare` if both are matches, each run's outcome, and the settings in
    which they differ."""
    views = [cache.run(run) for run in runs]
    locked = locks()
    settings = [flattened(public_settings(view.found.manifest)) for view in views]
    keys = sorted({key for run_settings in settings for key in run_settings})
    rows = [[key, *(run_settings.get(key) for run_settings in settings)] for key in keys]
    digests = [view.found.manifest.get("digests", {}).get("items") for view in views]
    comparison = cache.kept.get(("compare", *runs), [view.found for view in views], lambda: _comparison(views))
    return {
        "runs": [card(view.found, locked) | {"outcome": summary(cache, view.found.id)} for view in views],
        **comparison,
        "settings": [row for row in rows if repr(row[1]) != repr(row[2])][:200],
        "same_items": digests[0] is not None and digests[0] == digests[1],
        "table": table(),
    }


def _comparison(views: Sequence[RunView]) -> dict[str, Any]:
    """Return the comparison of two matches; None with the reason if they cannot be compared."""
    kinds = [view.found.kind for view in views]
    if kinds != ["match", "match"]:
        names = " and ".join(f"{view.found.id} is a {view.found.kind}" for view in views)
        return {"comparison": None, "why": f"Players are compared between matches only, and {names}."}
    try:
        document = compare_document([view.season for view in views])
    except ConfigError as error:
        reason = _with_names(str(error), views)
        return {"comparison": None, "why": f"{reason[:1].upper()}{reason[1:]}."}
    notes = [_with_names(note, views) for note in document.notes]
    runs = [replace(run, run=view.found.id) for run, view in zip(document.runs, views, strict=True)]
    return {"comparison": plain(replace(document, runs=runs, notes=notes, settings={})), "why": ""}


def _with_names(sentence: str, views: Sequence[RunView]) -> str:
    """Return a sentence with the names of the runs here instead of their paths."""
    for view in sorted(views, key=lambda view: -len(str(view.found.path))):
        sentence = sentence.replace(str(view.found.path), view.found.id)
    return sentence


def differences(cache: ReplayCache, runs: tuple[str, str], player: str) -> list[list[Any]]:
    """Return the items on which a player's mean H over the ended trials differs most between two matches over the
    same items, with the H of the first trials. If the runs have the same trials, an item in a trial is left out if
    one of the runs lacks it."""
    h_by_run: list[dict[tuple[str, int], float]] = []
    for run in runs:
        view = cache.run(run)
        with queries.opened(view.found.path, finished=view.found.finished) as connection:
            h_by_run.append(queries.h_by_unit(connection, player))
    if {match for match, _ in h_by_run[0]} == {match for match, _ in h_by_run[1]}:
        shared = h_by_run[0].keys() & h_by_run[1].keys()
        h_by_run = [{unit: h for unit, h in scores.items() if unit in shared} for scores in h_by_run]
    before, after = (_by_position(scores) for scores in h_by_run)
    ids = cache.run(runs[0]).item_ids
    changes = {
        place: fmean(after[place].values()) - fmean(trials.values())
        for place, trials in before.items()
        if place in after
    }
    largest = sorted((place for place, gap in changes.items() if gap), key=lambda place: -abs(changes[place]))[:30]
    return [[place, ids[place][:120], *(_mean_h(trials[place]) for trials in (before, after))] for place in largest]


def _by_position(scores: Mapping[tuple[str, int], float]) -> dict[int, dict[str, float]]:
    """Return the H of each item by trial, in the order of the items."""
    values: dict[int, dict[str, float]] = {}
    for (match, position), h in sorted(scores.items(), key=lambda entry: entry[0][1]):
        values.setdefault(position, {})[match] = h
    return values


def _mean_h(trials: Mapping[str, float]) -> dict[str, Any]:
    """Return the mean over trials, how many there are, and the first of them."""
    return {"h": fmean(trials.values()), "of": len(trials), "trials": list(trials.items())[:FIRST_TRIALS]}


def public_settings(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a run that may be shown."""
    config = cast(dict[str, Any], _without_secrets(manifest.get("config", {})))
    return config | {"detector": detector_of(manifest), "season": manifest.get("season", {})}


def _without_secrets(value: Any) -> Any:
    """Return settings with only the names of what could be secret."""
    if isinstance(value, list):
        return [_without_secrets(inner) for inner in cast(list[Any], value)]
    if not isinstance(value, dict):
        return value
    return {
        key: _names(inner) if key in SECRETIVE else _without_secrets(inner)
        for key, inner in cast(dict[str, Any], value).items()
    }


def _names(value: Any) -> str:
    """Return the names in a mapping without its values; empty if there is nothing."""
    if not value:
        return ""
    return ", ".join(sorted(cast(dict[str, Any], value))) if isinstance(value, dict) else "…"
