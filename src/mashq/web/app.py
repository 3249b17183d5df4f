"""The dashboard: four pages, the data behind them, and the stream of a match that is being played.

Contract: it reads and never writes. A run is named in a request by its name in the list, a match by its id and an
item by its position; nothing in a request becomes part of a path.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from importlib.resources import files

import anyio.to_thread
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from mashq.errors import MashqError
from mashq.web.api import items
from mashq.web.api.answers import ANSWERS, Answer, Site, number_of, replay_of
from mashq.web.library import Library
from mashq.web.live import dumped
from mashq.web.security import Guard, Policy

TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
PAGES = {"/": "runs.html", "/match": "match.html", "/item": "item.html", "/compare": "compare.html"}


def build(library: Library, policy: Policy | None = None) -> ASGIApp:
    """The whole application, guarded."""
    site = Site(library)
    routes = [Route(path, _file("pages", name)) for path, name in PAGES.items()]
    names = [found.name for found in files("mashq.web").joinpath("static").iterdir()]
    routes += [Route(f"/static/{name}", _file("static", name)) for name in names]
    routes += [Route(f"/api/{name}", _data(site, answer)) for name, answer in ANSWERS.items()]
    routes += [Route("/api/text", _text(site)), Route("/api/live", partial(_live, site))]
    return Guard(Starlette(routes=routes), policy or Policy())


async def _safely(work: Callable[[], Response]) -> Response:
    """Do the work in a thread; what goes wrong is a status and a sentence."""
    try:
        return await anyio.to_thread.run_sync(work)
    except KeyError as missing:
        return _sentence(400, f"the request does not name its {str(missing).strip(chr(39))}")
    except LookupError as error:
        return _sentence(404, str(error))
    except (ValueError, OverflowError):
        return _sentence(400, "the request names something that cannot be")
    except MashqError as error:
        return _sentence(409, str(error))


def _sentence(status: int, why: str) -> Response:
    return Response(dumped({"error": why}), status, media_type="application/json")


def _data(site: Site, answer: Answer) -> Callable[[Request], Awaitable[Response]]:
    async def reply(asked: Request) -> Response:
        return await _safely(lambda: Response(dumped(answer(site, asked)), media_type="application/json"))

    return reply


def _text(site: Site) -> Callable[[Request], Awaitable[Response]]:
    def whole(asked: Request) -> Response:
        said = items.text(replay_of(site, asked), asked.query_params["what"], number_of(asked, "number", 0))
        return PlainTextResponse(said.encode("utf-8", "replace"))

    async def reply(asked: Request) -> Response:
        return await _safely(partial(whole, asked))

    return reply


async def _live(site: Site, asked: Request) -> Response:
    if site.channels.full:
        return _sentence(503, "as many watch as can: try again later")

    def known() -> Response:
        return Response(replay_of(site, asked).match)

    found = await _safely(known)
    if found.status_code != 200:
        return found
    match = bytes(found.body).decode()
    stream = site.channels.watch(asked.query_params["run"], match)
    return StreamingResponse(stream, media_type="text/event-stream")


def _file(folder: str, name: str) -> Callable[[Request], Awaitable[Response]]:
    """A file of this package, read once."""
    found = files("mashq.web").joinpath(folder).joinpath(name)
    body, kind = found.read_bytes(), TYPES["." + name.rpartition(".")[2]]

    async def reply(_: Request) -> Response:
        return Response(body, media_type=kind)

    return reply
