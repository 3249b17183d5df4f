"""Live progress from Python: in a terminal like the command, in a notebook in the cell's output."""

import contextlib
import importlib
import sys
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mashq.arena.executors.base import Shown
    from mashq.config import Config

WIDTH = 100
EVERY = 0.5


@contextlib.contextmanager
def shown(config: "Config", wanted: bool | None) -> Generator["Shown | None"]:
    """The progress display, or None unless it is wanted or there is a terminal or notebook to show it."""
    notebook = in_notebook()
    if wanted is False or (wanted is None and not notebook and not sys.stderr.isatty()):
        yield None
        return
    from rich.console import Console

    from mashq.gateway.providers import is_simulated
    from mashq.report.text.progress import Progress
    from mashq.runs.setup import score_rules_of

    simulated = any(is_simulated(player.model) for player in config.players)
    if not notebook:
        with Progress(Console(stderr=True), score_rules_of(config), simulated=simulated) as progress:
            yield progress
        return
    cell: Any = _Cell()
    console = Console(file=cell, force_terminal=False, force_jupyter=False, color_system=None, width=WIDTH)
    with Progress(console, score_rules_of(config), simulated=simulated, every=EVERY) as progress:
        yield progress


def in_notebook() -> bool:
    """Whether the code runs in a notebook's kernel."""
    module = sys.modules.get("IPython")
    interpreter = None if module is None else module.get_ipython()
    return interpreter is not None and hasattr(interpreter, "kernel")


class _Cell:
    """A file whose last line is displayed in the cell."""

    def __init__(self) -> None:
        self._display: Any = importlib.import_module("IPython.display")
        self._handle: Any = None

    def write(self, text: str) -> int:
        """Replace the displayed line."""
        if text.strip():
            data = {"text/plain": text.rstrip()}
            if self._handle is None:
                self._handle = self._display.display(data, raw=True, display_id=True)
            else:
                self._handle.update(data, raw=True)
        return len(text)

    def flush(self) -> None:
        """Do nothing: output is not buffered."""
