"""The data behind the pages: one small function for each question a page asks.

Contract: a KeyError is a question that lacks something, a LookupError something that is not there, a ValueError
something that cannot be; each becomes a status and a sentence. They run in threads and hold no state of their own.
"""

from collections.abc import Callable
from typing import Any

from starlette.requests import Request

from mashq.analysis.story import tell as story
from mashq.web.api import items, queries, summaries
from mashq.web.api.frames import LOG, METRICS, chart, frame
from mashq.web.library import Library, locks, playing
from mashq.web.live import Channels
from mashq.web.run_view import Projector, Theatre

READ_FOR, PATIENT, MAX_BEATS, LONGEST_LOG = 0.12, 0.4, 200, 200
Answer = Callable[["Site", Request], Any]


class Site:
    """What the requests are answered from."""

    def __init__(self, library: Library) -> None:
        self.theatre = Theatre(library)
        self.channels = Channels(self.theatre)


def runs(site: Site, asked: Request) -> Any:
    """The list."""
    wanted = {name: asked.query_params.get(name, "")[:200] for name in ("text", "state", "simulated", "detector")}
    return summaries.listed(site.theatre, wanted, number_of(asked, "start", 0))


def summary(site: Site, asked: Request) -> Any:
    """A run's players and their means."""
    return summaries.summary(site.theatre, asked.query_params["run"])


def matches(site: Site, asked: Request) -> Any:
    """A page of a run's matches."""
    return summaries.matches(site.theatre.stage(asked.query_params["run"]), number_of(asked, "after", -1))


def match(site: Site, asked: Request) -> Any:
    """What stays the same in a match: who plays, the rules, the run it belongs to."""
    projector = projector_of(site, asked)
    found, shape = projector.stage.found, projector.reel.shape
    fixture = projector.stage.fixture(projector.match)
    config = fixture.config
    with queries.opened(found.path, finished=found.finished) as connection:
        begun, ended = queries.match_count(connection)
    rules = config.rules.model_dump(mode="json", exclude={"budget", "shared_budget"})
    return summaries.card(found, locks()) | {
        "match": projector.match,
        "matches": begun,
        "matches_ended": ended,
        "cell": [[key, value] for key, value in fixture.cell],
        "trial": fixture.trial,
        "items": shape.scene.items,
        "players": [
            {"name": p.name, "model": p.model, "agent": p.agent, "T": shape.scene.thresholds[p.name], "R": most}
            for p, most in zip(config.players, shape.reviews, strict=True)
        ],
        "rules": rules,
        "task": config.task.kind,
        "alpha": shape.scene.rules.alpha,
        "beta": shape.scene.rules.beta,
        "resources": list(shape.scene.rules.weights),
        "guide": found.manifest.get("guide", "judge"),
        "seed": found.manifest.get("seed"),
    }


def moment(site: Site, asked: Request) -> Any:
    """The match after so many moves."""
    projector = projector_of(site, asked)
    projector.advance(PATIENT if "wait" in asked.query_params else READ_FOR)
    given = asked.query_params.get("starts", "")
    starts = tuple(int(part) for part in given.split(",")[:64]) if given else ()
    at = number_of(asked, "at", -1)
    found = frame(projector, None if at < 0 else at, starts, min(number_of(asked, "log", LOG), LONGEST_LOG))
    return found | {"playing": playing(projector.stage.found)}


def drawn(site: Site, asked: Request) -> Any:
    """One figure over the match."""
    projector = projector_of(site, asked)
    metric = asked.query_params.get("metric", "q")
    if metric not in METRICS:
        raise ValueError(f"there is no figure {metric[:40]!r}")
    projector.advance(READ_FOR)
    with projector.lock:
        return chart(projector.reel, metric, len(projector.reel), min(number_of(asked, "points", 160), 400))


def round_start(site: Site, asked: Request) -> Any:
    """How many moves were made before a round (counted from 1), as far as the match is read."""
    projector = projector_of(site, asked)
    with projector.lock:
        return {"at": projector.reel.round_start(number_of(asked, "round", 1) - 1)}


def told(site: Site, asked: Request) -> Any:
    """The match as a story."""
    projector = projector_of(site, asked)
    whole = projector.advance(READ_FOR)
    with projector.lock:
        beats = projector.reel.teller.beats(ended=projector.ended and whole)
    kept = story.told(beats, min(number_of(asked, "most", 24), MAX_BEATS))
    rows = [[b.round, list(b.players), b.sentence, round(b.importance, 3), b.kind] for b in kept]
    return {"beats": rows, "of": len(beats), "whole": whole}


def item(site: Site, asked: Request) -> Any:
    """An item and all that was made of it."""
    return items.item_document(projector_of(site, asked), number_of(asked, "item", 0))


def spans(site: Site, asked: Request) -> Any:
    """The unsupported parts of a version of an answer."""
    return items.spans(projector_of(site, asked), number_of(asked, "seq", 0))


def prompt(site: Site, asked: Request) -> Any:
    """The messages of a prompt, as they were sent."""
    found = site.theatre.stage(asked.query_params["run"]).found
    with queries.opened(found.path, finished=found.finished) as connection:
        messages = queries.prompt(connection, asked.query_params["digest"])
    if messages is None:
        raise LookupError("there is no such prompt")
    return {"messages": messages}


def compared(site: Site, asked: Request) -> Any:
    """Two runs side by side."""
    return summaries.compared(site.theatre, (asked.query_params["a"], asked.query_params["b"]))


def differences(site: Site, asked: Request) -> Any:
    """The items on which a player differs most between two runs."""
    runs = (asked.query_params["a"], asked.query_params["b"])
    return {"items": summaries.differences(site.theatre, runs, asked.query_params["player"])}


def projector_of(site: Site, asked: Request) -> Projector:
    run, match = asked.query_params["run"], asked.query_params.get("match", "")
    stage = site.theatre.stage(run)
    if stage.found.kind == "gateway":
        raise LookupError("this run is the ledger of a gateway: it has no match to show")
    with queries.opened(stage.found.path, finished=stage.found.finished) as connection:
        if not match:
            match = queries.latest(connection) or "0"
        elif match != "0" and not queries.begun(connection, match):
            raise LookupError("there is no such match in this run")
    return site.theatre.projector(run, match)


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
    "story": told,
    "item": item,
    "spans": spans,
    "prompt": prompt,
    "compare": compared,
    "differences": differences,
}
