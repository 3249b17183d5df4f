"""Runs to look at: a real match with faults, a simulated one, trials, and texts made to break a page."""

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

import mashq
from mashq.testing import FakeProvider
from tests.arena.helpers import http_config, write_items
from tests.web.client import Dashboard, dashboard

NASTY = [
    "<script>window.broken = 1</script><img src=x onerror='window.broken=1'><b>bold?</b>",
    "left \u202e right \u202c and \u0000 bell \u0007 esc \u001b[31m zero\u200bwidth",
    "A line without an end. " + "x" * 1_000_000,
]


def write_nasty(path: Path) -> Path:
    """Items made of HTML, control characters and a very long line."""
    rows = [{"id": text[:60], "text": f"{text} The ferry sails on Monday and costs 7 dollars."} for text in NASTY]
    path.write_text("\n".join(json.dumps(row) for row in rows), "utf-8")
    return path


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory of played runs, made once."""
    root = tmp_path_factory.mktemp("view")
    folder = root / "runs"
    data = write_items(root / "items.jsonl", 6)
    with FakeProvider(seed=3, faults={"rates": {"500": 0.1, "no_usage": 0.05}}) as provider:
        rules: dict[str, Any] = {"show_seconds": False, "T": 0.9, "R": 2}
        config = http_config(provider.base_url, data, rules=rules)
        mashq.play(config, folder / "real")
        config["rules"]["R"] = 0
        mashq.play(config, folder / "deeper" / "no-reviews")
    with FakeProvider(seed=5) as provider:
        config = http_config(provider.base_url, write_nasty(root / "nasty.jsonl"), rules=rules)
        config["players"][0]["name"] = "<i>A</i>\u202eabc"
        mashq.play(config, folder / "nasty")
    simulated: dict[str, Any] = {
        "task": {"limit": 5},
        "players": [{"name": name, "model": f"simulated/{name}"} for name in "ABC"],
        "rules": {"vision": {"when": "always"}},
        "models": {"simulated/B": {"simulate": {"refusal_rate": 0.4}}},
    }
    mashq.play(simulated, folder / "simulated")
    mashq.play({"task": {"limit": 4}, "players": simulated["players"][:2]}, folder / "trials", trials=3)
    return folder


@pytest.fixture(scope="session")
def view(runs: Path) -> Generator[Dashboard]:
    """A dashboard over them."""
    with dashboard(runs) as found:
        yield found
