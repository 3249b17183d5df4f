"""The README: its output is what the demo prints, and its picture shows the same run."""

import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from mashq.gateway.backends.weights import cache_dir
from tests.docs.pages import ROOT, blocks

FIXED = slice(1, 10)  # H, words, coverage, copied, calls, tokens, reviews: what the embedded model repeats exactly


def output() -> str:
    """What the README says that the demo prints."""
    (found,) = [block.text for block in blocks("README.md") if "What the reviews bought" in block.text]
    return found


def rows(text: str) -> dict[str, list[str]]:
    """The table's rows by player, without stars and arrows."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        words = [word for word in line.split() if word not in ("★", "→")]
        if words and words[0] in ("careful", "frugal"):
            found.setdefault(words[0], words)
    return found


def test_the_picture_shows_the_run_that_is_printed() -> None:
    picture = ElementTree.parse(ROOT / "docs" / "images" / "result.svg").getroot()
    said = " ".join(picture.itertext())
    headline = next(line for line in output().splitlines() if line.startswith("No clear winner"))
    assert headline in said
    for name, words in rows(output()).items():
        assert f"H {float(words[2]):.3f}, P {float(words[-2]):.2f}" in said, name


def test_the_figures_follow_from_each_other() -> None:
    printed = rows(output())
    for words in printed.values():
        assert float(words[-1]) == pytest.approx(float(words[2]) - 0.1 * float(words[-2]), abs=2e-4)
    lead = re.search(r"leads careful by ([\d.]+) in Q \(95% CI −([\d.]+) to ([\d.]+)", output())
    assert lead is not None
    value, low, high = map(float, lead.groups())
    assert value == pytest.approx(float(printed["frugal"][-1]) - float(printed["careful"][-1]), abs=2e-4)
    assert (high - low) / 2 == pytest.approx(value, abs=2e-4), "the interval lies around the lead"


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_demo_prints_what_is_shown(tmp_path: Path) -> None:
    if not any(cache_dir().glob("*.gguf")):
        pytest.skip("the embedded model is not here: run mashq weights")
    line = [sys.executable, "-m", "mashq", "demo", "--out", str(tmp_path / "demo")]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "COLUMNS": "130", "NO_COLOR": "1"}
    done = subprocess.run(line, capture_output=True, text=True, env=environment, check=False, timeout=800)
    assert done.returncode == 0, done.stderr
    now, shown = rows(done.stdout), rows(output())
    assert {name: words[FIXED] for name, words in now.items()} == {
        name: words[FIXED] for name, words in shown.items()
    }
