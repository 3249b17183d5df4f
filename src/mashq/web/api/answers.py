"""The data behind the pages: one small function for each question a page asks.

Contract: a KeyError is a question that lacks something, a LookupError something that is not there, a ValueError
something that cannot be; each becomes a status and a sentence. They run in threads and hold no state of their own.
"""

from collections.abc import Callable
from typing import Any

from starlette.requests import Request

from mashq.analysis.story.story import most_important
from mashq.web.api import items, queries, summaries
from mashq.web.api.frames import LOG, METRICS, chart, frame
from mashq.web.library import Library, locks, playing
from mashq.web.live import Channels
from mashq.web.replay_cache import LiveReplay, ReplayCache

READ_FOR, PATIENT, MAX_HIGHLIGHTS, LONGEST_LOG = 0.12, 0.4, 200, 200
Answer = Callable[["Site", Request], Any]


class Site:
    """What the requests are answered from."""

    def __init__(self, library: Library) -> None:
        self.cache: ReplayCache = ReplayCache(library)
        self.channels: Channels = Channels(self.cache)


def runs(site: Site, asked: Request) -> Any:
    """The list."""
    wanted = {name: asked.query_params.get(name, "")[:200] for name in ("text", "state", "simulated", "detector")}
    return summaries.listed(site.cache, wanted, number_of(asked, "start", 0))


def summary(site: Site, asked: Request) -> Any:
    """A run's players and their means."""
    return summaries.summary(site.cache, asked.query_params["run"])


def matches(site: Site, asked: Request) -> Any:
    """A page of a run's matches."""
    return summaries.matches(site.cache.run(asked.query_params["run"]), number_of(asked, "after", -1))


def match(site: Site, asked: Request) -> Any:
    """What stays the same in a match: who plays, the rules, the run it belongs to."""
    live = replay_of(site, asked)
    found, first, rules = live.view.found, live.replay.first, live.replay.rules
    fixture = live.view.fixture(live.match)
    config = fixture.config
    with queries.opened(found.path, finished=found.finished) as connection:
        begun, ended = queries.match_count(connection)
    return summaries.card(found, locks()) | {
        "match": live.match,
        "matches": begun,
        "matches_ended": ended,
        "cell": [[key, value] for key, value in fixture.cell],
        "trial": fixture.trial,
        "items": len(first.items),
        "players": [
            {"name": p.name, "model": p.model, "agent": p.agent, "T": own.threshold, "R": own.max_reviews}
            for p, own in zip(config.players, first.players, strict=True)
        ],
        "rules": config.rules.model_dump(mode="json", exclude={"budget", "shared_budget"}),
        "task": config.task.kind,
        "alpha": rules.alpha,
        "beta": rules.beta,
        "resources": list(rules.weights),
        "guide": found.manifest.get("guide", "judge"),
        "seed": found.manifest.get("seed"),
    }


def moment(site: Site, asked: Request) -> Any:
    """The match after so many moves."""
    live = replay_of(site, asked)
    live.advance(PATIENT if "wait" in asked.query_params else READ_FOR)
    given = asked.query_params.get("starts", "")
    starts = tuple(int(part) for part in given.split(",")[:64]) if given else ()
    at = number_of(asked, "at", -1)
    document = frame(live, None if at < 0 else at, starts, min(number_of(asked, "log", LOG), LONGEST_LOG))
    return document | {"playing": playing(live.view.found)}


def drawn(site: Site, asked: Request) -> Any:
    """One figure over the match."""
    live = replay_of(site, asked)
    metric = asked.query_params.get("metric", "q")
    if metric not in METRICS:
        raise ValueError(f"there is no figure {metric[:40]!r}")
    live.advance(READ_FOR)
    with live.lock:
        return chart(live.replay, metric, len(live.replay), min(number_of(asked, "points", 160), 400))


def round_start(site: Site, asked: Request) -> Any:
    """How many moves were made before a round (counted from 1), as far as the match is read."""
    live = replay_of(site, asked)
    with live.lock:
        return {"at": live.replay.round_start(number_of(asked, "round", 1) - 1)}


def story(site: Site, asked: Request) -> Any:
    """The match as a story."""
    live = replay_of(site, asked)
    whole = live.advance(READ_FOR)
    ended = live.ended and whole
    tokens = live.review_tokens() if ended else {}
    with live.lock:
        every = live.replay.story.highlights(ended=ended, review_tokens=tokens)
    kept = most_important(every, min(number_of(asked, "most", 24), MAX_HIGHLIGHTS))
    rows = [[one.round, list(one.players), one.sentence, round(one.importance, 3), one.kind] for one in kept]
    return {"highlights": rows, "of": len(every), "whole": whole}


def item(site: Site, asked: Request) -> Any:
    """An item and all that was made of it."""
    return items.item_document(replay_of(site, asked), number_of(asked, "item", 0))


def spans(site: Site, asked: Request) -> Any:
    """The unsupported parts of a version of an answer."""
    return items.spans(replay_of(site, asked), number_of(asked, "seq", 0))


def prompt(site: Site, asked: Request) -> Any:
    """The messages of a prompt, as they were sent."""
    found = site.cache.run(asked.query_params["run"]).found
    with queries.opened(found.path, finished=found.finished) as connection:
        messages = queries.prompt(connection, asked.query_params["digest"])
    if messages is None:
        raise LookupError("there is no such prompt")
    return {"messages": messages}


def compared(site: Site, asked: Request) -> Any:
    """Two runs side by side."""
    return summaries.compared(site.cache, (asked.query_params["a"], asked.query_params["b"]))


def differences(site: Site, asked: Request) -> Any:
    """The items on which a player differs most between two runs."""
    runs = (asked.query_params["a"], asked.query_params["b"])
    return {"items": summaries.differences(site.cache, runs, asked.query_params["player"])}


def replay_of(site: Site, asked: Request) -> LiveReplay:
    """The match that is asked about: by default the one of the run's last move."""
    run, match = asked.query_params["run"], asked.query_params.get("match", "")
    view = site.cache.run(run)
    if view.found.kind == "gateway":
        raise LookupError("this run is the ledger of a gateway: it has no match to show")
    with queries.opened(view.found.path, finished=view.found.finished) as connection:
        if not match:
            match = queries.latest(connection) or "0"
        elif match != "0" and not queries.begun(connection, match):
            raise LookupError("there is no such match in this run")
    return site.cache.match(run, match)


def number_of(asked: Request, name: str, default: int) -> int:
    return int(asked.query_params.get(name, default))


ANSWERS: dict[str, Answer] = {
    "runs": runs,
    "summary": summary,
    "matches": matches,
    "match": match,
    "frame": moment,
    "chart": drawn,
    "round": round_start,
    "story": story,
    "item": item,
    "spans": spans,
    "prompt": prompt,
    "compare": compared,
    "differences": differences,
}
