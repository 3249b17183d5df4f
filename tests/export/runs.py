"""Runs to export: simulated ones with every kind of trouble, and one over HTTP with faults."""

from pathlib import Path
from typing import Any

from click.testing import CliRunner

import mashq as package
from mashq.cli import cli

SHORT = {"base": 0.001}
TROUBLED: dict[str, Any] = {
    "task": {"limit": 9},
    "players": [
        {"name": "=cmd|' /C calc'!A0", "model": "simulated/plain"},
        {"name": 'B, "the\r\nsecond" é', "model": "simulated/other", "R": 1},
    ],
    "rules": {"turn": "single"},
    "score": {"beta": 0.07, "refusals": "penalised", "weights": {"calls": 0.5}},
    "models": {
        "simulated/plain": {
            "retry": SHORT,
            "simulate": {"refusal_rate": 0.15, "failure_rate": 0.15},
            "price": {"input": 1, "output": 2},
        },
        "simulated/other": {"retry": SHORT, "simulate": {"retry_rate": 0.3}},
    },
}


def played(path: Path, trials: int = 1, **changes: Any) -> Path:
    """A troubled run."""
    package.play(TROUBLED | changes, path, trials=trials)
    return path


def command(*arguments: object) -> str:
    """A command in this process: what it printed, or its error."""
    done = CliRunner().invoke(cli, [str(argument) for argument in arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output
