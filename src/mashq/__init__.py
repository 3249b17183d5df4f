"""What does a factual answer cost? The reference implementation of the MAS-HQ protocol.

    import mashq

    run = mashq.play("mashq.yaml", out="runs/first")
    run.headline, run.clear, run.players[0].q
    run.to_frame()                                  # pandas or polars; also of items, attempts and events
    mashq.score(run, beta=0.05).headline
    mashq.report(run, out="report.html")

Each function does what the command of the same name does, and returns an object with attributes that displays itself
in a notebook; `result["winner"]` is the value that `--json` prints. They work inside a running event loop; those that
wait for models have async versions: `play_async`, `resume_async`, `detect_async`. Heavy imports wait until first use.
"""

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

import mashq.report as _package
from mashq.errors import ConfigError, DataError, DetectorError, MashqError, ProviderError, Stopped, StoreError
from mashq.version import __version__

if TYPE_CHECKING:
    from mashq.api import (
        Check,
        Comparison,
        Detection,
        Detections,
        MatchRun,
        Page,
        Plan,
        Player,
        Result,
        Run,
        Score,
        compare,
        detect,
        detect_async,
        open_run,
        plan,
        play,
        play_async,
        report,
        resume,
        resume_async,
        score,
        show,
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
    "Page",
    "Plan",
    "Player",
    "ProviderError",
    "Result",
    "Run",
    "Score",
    "Stopped",
    "StoreError",
    "__version__",
    "compare",
    "detect",
    "detect_async",
    "open_run",
    "plan",
    "play",
    "play_async",
    "report",
    "resume",
    "resume_async",
    "score",
    "show",
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
    """Makes the package `mashq.report` callable as the function of that name."""

    def __call__(self, *runs: Any, **options: Any) -> Any:
        from mashq.api import report

        return report(*runs, **options)


sys.modules[_package.__name__].__class__ = _Callable
