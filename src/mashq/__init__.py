"""What does a factual answer cost? The reference implementation of the MAS-HQ protocol.

    import mashq

    run = mashq.play("mashq.yaml", out="runs/first")
    run.headline, run.clear, run.players["careful"].q
    run.to_frame()                                  # pandas or polars; also of items, attempts and events
    mashq.score(run, beta=0.05).headline
    mashq.report(run, out="report.html")
    mashq.verify(run).ok, mashq.power(run).needed
    mashq.export(run, "results.csv")
    mashq.open_run("runs/league").headline          # a tournament, a sweep, a game, a vision study

Each function does what the command of the same name does, and returns an object with attributes that displays itself
in a notebook; `result["winner"]` is the value that `--json` prints. They work inside a running event loop; those that
wait for models have async versions: `play_async`, `resume_async`, `detect_async`. Heavy imports wait until first use.
"""

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

import mashq.export as _export_package
import mashq.report as _report_package
from mashq.errors import ConfigError, DataError, DetectorError, MashqError, ProviderError, Stopped, StoreError
from mashq.version import __version__

if TYPE_CHECKING:
    from mashq.api import (
        Check,
        Comparison,
        Detection,
        Detections,
        MatchRun,
        MeteredRun,
        Page,
        Plan,
        Player,
        Players,
        Power,
        Rescored,
        Result,
        Run,
        Score,
        Verification,
        compare,
        detect,
        detect_async,
        export,
        open_run,
        plan,
        play,
        play_async,
        power,
        report,
        rescore,
        resume,
        resume_async,
        score,
        show,
        verify,
    )

__all__ = [
    "Check",
    "Comparison",
    "ConfigError",
    "DataError",
    "Detection",
    "Detections",
    "DetectorError",
    "MashqError",
    "MatchRun",
    "MeteredRun",
    "Page",
    "Plan",
    "Player",
    "Players",
    "Power",
    "ProviderError",
    "Rescored",
    "Result",
    "Run",
    "Score",
    "Stopped",
    "StoreError",
    "Verification",
    "__version__",
    "compare",
    "detect",
    "detect_async",
    "export",
    "open_run",
    "plan",
    "play",
    "play_async",
    "power",
    "report",
    "rescore",
    "resume",
    "resume_async",
    "score",
    "show",
    "verify",
]


def __getattr__(name: str) -> Any:
    """Import the functions and results of `mashq.api` on first use."""
    if name not in __all__:
        raise AttributeError(f"module 'mashq' has no attribute {name!r}")
    from mashq import api

    return getattr(api, name)


def __dir__() -> list[str]:
    return sorted(__all__)


class _Callable(ModuleType):
    """Makes a package such as `mashq.report` callable as the function of that name."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        from mashq import api

        return getattr(api, self.__name__.rpartition(".")[2])(*arguments, **options)


for _package in (_export_package, _report_package):
    sys.modules[_package.__name__].__class__ = _Callable
