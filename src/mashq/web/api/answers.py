"""The data behind the pages: one small function per API endpoint.

Contract: a KeyError means a missing parameter, a LookupError something that does not exist, a ValueError an invalid
value; each becomes a status and a message. The functions run in threads and hold no state of their own.
"""

from collections.abc import Callable
from typing import Any

from starlette.requests import Request

from mashq.analysis.story.story import most_important
from mashq.players.registry import recorded_spec
from mashq.web.api import items, queries, summaries
from mashq.web.api.frames import LOG, METRICS, chart, frame
from mashq.web.api.resources import table
from mashq.web.library import Library, locks, playing
from mashq.web.live import Channels
from mashq.web.replay_cache import LiveReplay, ReplayCache

READ_FOR, PATIENT, MAX_HIGHLIGHTS, LONGEST_LOG = 0.12, 0.4, 200, 200
Answer = Callable[["Site", Request], Any]


class Site:
    """The shared state that requests are answered from."""

    def __init__(self, library: Library) -> None:
        self.cache: ReplayCache = ReplayCache(library)
        self.channels: Channels = Channels(self.cache)


def runs(site: Site, request: Request) -> Any:
    """Return a page of the list of runs."""
    wanted = {name: request.query_params.get(name, "")[:200] for name in ("text", "state", "simulated", "detector")}
    return summaries.listed(site.cache, wanted, number_of(request, "start", 0))


def summary(site: Site, request: Request) -> Any:
    """Return the outcome of a run."""
    return summaries.summary(site.cache, request.query_params["run"])


def matches(site: Site, request: Request) -> Any:
    """Return a page of a run's matches."""
    return summaries.matches(site.cache.run(request.query_params["run"]), number_of(request, "after", -1))


def match(site: Site, request: Request) -> Any:
    """Return what stays the same in a match: the players, the rules, the run it belongs to."""
    live = replay_of(site, request)
    entry, first, rules = live.view.found, live.replay.first, live.replay.rules
    fixture = live.view.fixture(live.match)
    config = fixture.config
    with queries.opened(entry.path, finished=entry.finished) as connection:
        begun, ended = queries.match_count(connection)
    return summaries.card(entry, locks()) | {
        "match": live.match,
        "matches": begun,
        "matches_ended": ended,
        "label": live.view.label(live.match),
        "trial": fixture.trial,
        "items": len(first.items),
        "players": [
            {
                "name": p.name,
                "model": p.model,
                "agent": p.agent,
                "reviews": recorded_spec(p.agent).reviews,
                "T": state.threshold,
                "R": state.max_reviews,
            }
            for p, state in zip(config.players, first.players, strict=True)
        ],
        "rules": config.rules.model_dump(mode="json", exclude={"budget", "shared_budget"}),
        "task": config.task.kind,
        "alpha": rules.alpha,
        "beta": rules.beta,
        "resources": list(rules.weights),
        "table": table(),
        "guide": entry.manifest.get("guide", "judge"),
        "seed": entry.manifest.get("seed"),
    }


def moment(site: Site, request: Request) -> Any:
    """Return the match after `at` moves."""
    live = replay_of(site, request)
    live.advance(PATIENT if "wait" in request.query_params else READ_FOR)
    starts_text = request.query_params.get("starts", "")
    starts = tuple(int(part) for part in starts_text.split(",")[:64]) if starts_text else ()
    at = number_of(request, "at", -1)
    document = frame(live, None if at < 0 else at, starts, min(number_of(request, "log", LOG), LONGEST_LOG))
    return document | {"playing": playing(live.view.found)}


def verdict(site: Site, request: Request) -> Any:
    """Return who leads in a match, or has led so far, and whether that is clear."""
    live = replay_of(site, request)
    return summaries.verdict_of(site.cache, request.query_params["run"], live.match)


def drawn(site: Site, request: Request) -> Any:
    """Return one metric over the match."""
    live = replay_of(site, request)
    metric = request.query_params.get("metric", "q")
    if metric not in METRICS:
        raise ValueError(f"there is no figure {metric[:40]!r}")
    live.advance(READ_FOR)
    with live.lock:
        return chart(live.replay, metric, len(live.replay), min(number_of(request, "points", 160), 400))


def round_start(site: Site, request: Request) -> Any:
    """Return how many moves were made before a round (counted from 1), as far as the match has been read."""
    live = replay_of(site, request)
    with live.lock:
        return {"at": live.replay.round_start(number_of(request, "round", 1) - 1)}


def story(site: Site, request: Request) -> Any:
    """Return the match as a story."""
    live = replay_of(site, request)
    is_complete = live.advance(READ_FOR)
    ended = live.ended and is_complete
    tokens = live.review_tokens() if ended else {}
    with live.lock:
        highlights = live.replay.story.highlights(ended=ended, review_tokens=tokens)
    kept = most_important(highlights, min(number_of(request, "most", 24), MAX_HIGHLIGHTS))
    rows = [
        [highlight.round, list(highlight.players), highlight.sentence, round(highlight.importance, 3), highlight.kind]
        for highlight in kept
    ]
    return {"highlights": rows, "of": len(highlights), "whole": is_complete}


def item(site: Site, request: Request) -> Any:
    """Return an item with all its answers, decisions and attempts."""
    return items.item_document(replay_of(site, request), number_of(request, "item", 0))


def spans(site: Site, request: Request) -> Any:
    """Return the unsupported parts of a version of an answer."""
    return items.spans(replay_of(site, request), number_of(request, "seq", 0))


def prompt(site: Site, request: Request) -> Any:
    """Return the messages of a prompt, as they were sent."""
    entry = site.cache.run(request.query_params["run"]).found
    with queries.opened(entry.path, finished=entry.finished) as connection:
        messages = queries.prompt(connection, request.query_params["digest"])
    if messages is None:
        raise LookupError("there is no such prompt")
    return {"messages": messages}


def compared(site: Site, request: Request) -> Any:
    """Compare two runs."""
    return summaries.compared(site.cache, (request.query_params["a"], request.query_params["b"]))


def differences(site: Site, request: Request) -> Any:
    """Return the items on which a player differs most between two runs."""
    runs = (request.query_params["a"], request.query_params["b"])
    return {"items": summaries.differences(site.cache, runs, request.query_params["player"])}


def replay_of(site: Site, request: Request) -> LiveReplay:
    """Return the requested match: by default that of the run's last move."""
    run, match = request.query_params["run"], request.query_params.get("match", "")
    view = site.cache.run(run)
    if view.found.kind == "gateway":
        raise LookupError("this run is the ledger of a gateway: it has no match to show")
    with queries.opened(view.found.path, finished=view.found.finished) as connection:
        if not match:
            match = queries.latest(connection) or "0"
        elif match != "0" and not queries.begun(connection, match):
            raise LookupError("there is no such match in this run")
    return site.cache.match(run, match)


def number_of(request: Request, name: str, default: int) -> int:
    return int(request.query_params.get(name, default))


ANSWERS: dict[str, Answer] = {
    "runs": runs,
    "summary": summary,
    "matches": matches,
    "match": match,
    "frame": moment,
    "verdict": verdict,
    "chart": drawn,
    "round": round_start,
    "story": story,
    "item": item,
    "spans": spans,
    "prompt": prompt,
    "compare": compared,
    "differences": differences,
}
