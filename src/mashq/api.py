"""The Python API: the same as the command line, without the printing."""

import asyncio
from collections.abc import Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mashq.runs.open import Season

Result = dict[str, Any]


def play(config: Mapping[str, Any] | str | Path, out: str | Path | None = None, *, trials: int = 1) -> Result:
    """Play a match and return its result. `config` is a mapping, or the path of a YAML file."""
    from mashq import config as configuration
    from mashq.arena import match
    from mashq.gateway.clock import RealClock
    from mashq.runs.manifest import default_out

    if isinstance(config, Mapping):
        settings, base = configuration.check(config), Path()
    else:
        settings, base = configuration.load(Path(config)), Path(config).parent
    place = Path(out) if out is not None else default_out(RealClock())
    return _document(_done(match.run(settings, place, season={"kind": "match", "trials": trials}, base=base)))


def resume(run: str | Path) -> Result:
    """Go on with a run that stopped and return its result."""
    from mashq.arena import match

    return _document(_done(match.resume(Path(run))))


def show(run: str | Path) -> Result:
    """The result of a run as it stands."""
    from mashq.runs.open import load_season

    return _document(load_season(Path(run)))


def _document(season: "Season") -> Result:
    from mashq.report.documents.base import dumped
    from mashq.report.documents.seasons import document

    return dumped(document(season))


def _done(work: "Coroutine[Any, Any, Season]") -> "Season":
    """Run to the end, also from a notebook, whose event loop is already running."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()
