"""The Python API: the same as the command line, without the printing."""

import asyncio
from collections.abc import Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mashq.arena.match import Played

Result = dict[str, Any]


def play(config: Mapping[str, Any] | str | Path, out: str | Path | None = None) -> Result:
    """Play a match and return its result. `config` is a mapping, or the path of a YAML file."""
    from mashq import config as configuration
    from mashq.arena import match
    from mashq.gateway.clock import RealClock

    if isinstance(config, Mapping):
        settings, base = configuration.check(config), Path()
    else:
        settings, base = configuration.load(Path(config)), Path(config).parent
    place = Path(out) if out is not None else match.default_out(RealClock())
    return _document(_done(match.run(settings, place, base=base)))


def resume(run: str | Path) -> Result:
    """Go on with a run that stopped and return its result."""
    from mashq.arena import match

    return _document(_done(match.resume(Path(run))))


def show(run: str | Path) -> Result:
    """The result of a run as it stands."""
    from mashq.arena import match

    return _document(match.load(Path(run)))


def _document(played: "Played") -> Result:
    from mashq.report.document import document

    return document(played)


def _done(work: "Coroutine[Any, Any, Played]") -> "Played":
    """Run to the end, also from a notebook, whose event loop is already running."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()
