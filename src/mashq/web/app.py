"""The dashboard application: four pages, their data, and the stream of a match that is being played.

Contract: it only reads, and never writes. A request names a run by its name in the list, a match by its id and an
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
    """Build the whole application, behind `Guard`."""
    site = Site(library)
    routes = [Route(path, _file("pages", name)) for path, name in PAGES.items()]
    names = [file.name for file in files("mashq.web").joinpath("static").iterdir()]
    routes += [Route(f"/static/{name}", _file("static", name)) for name in names]
    routes += [Route(f"/api/{name}", _data(site, answer)) for name, answer in ANSWERS.items()]
    routes += [Route("/api/text", _text(site)), Route("/api/live", partial(_live, site))]
    return Guard(Starlette(routes=routes), policy or Policy())


async def _run_safely(work: Callable[[], Response]) -> Response:
    """Run the work in a thread; errors become a status and a message."""
    try:
        return await anyio.to_thread.run_sync(work)
    except KeyError as missing:
        return _error_response(400, f"the request does not name its {str(missing).strip(chr(39))}")
    except LookupError as error:
        return _error_response(404, str(error))
    except (ValueError, OverflowError):
        return _error_response(400, "the request names something that cannot be")
    except MashqError as error:
        return _error_response(409, str(error))


def _error_response(status: int, reason: str) -> Response:
    return Response(dumped({"error": reason}), status, media_type="application/json")


def _data(site: Site, answer: Answer) -> Callable[[Request], Awaitable[Response]]:
    async def reply(request: Request) -> Response:
        return await _run_safely(lambda: Response(dumped(answer(site, request)), media_type="application/json"))

    return reply


def _text(site: Site) -> Callable[[Request], Awaitable[Response]]:
    def full_text(request: Request) -> Response:
        text = items.text(replay_of(site, request), request.query_params["what"], number_of(request, "number", 0))
        return PlainTextResponse(text.encode("utf-8", "replace"))

    async def reply(request: Request) -> Response:
        return await _run_safely(partial(full_text, request))

    return reply


async def _live(site: Site, request: Request) -> Response:
    if site.channels.full:
        return _error_response(503, "as many watch as can: try again later")

    def match_id() -> Response:
        return Response(replay_of(site, request).match)

    response = await _run_safely(match_id)
    if response.status_code != 200:
        return response
    match = bytes(response.body).decode()
    stream = site.channels.watch(request.query_params["run"], match)
    return StreamingResponse(stream, media_type="text/event-stream")


def _file(folder: str, name: str) -> Callable[[Request], Awaitable[Response]]:
    """Serve a file of this package, which is read once."""
    file = files("mashq.web").joinpath(folder).joinpath(name)
    body, kind = file.read_bytes(), TYPES["." + name.rpartition(".")[2]]

    async def reply(_: Request) -> Response:
        return Response(body, media_type=kind)

    return reply
