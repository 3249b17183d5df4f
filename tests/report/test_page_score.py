"""The score in a page is the protocol's, to the last bit."""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from mashq.protocol.resources import RESOURCES
from mashq.protocol.score import ScoreRules, reduce

SCRIPT = Path(__file__).parents[2] / "src" / "mashq" / "report" / "html" / "templates" / "score.js"
RUN = """
const cases = JSON.parse(require("fs").readFileSync(0, "utf-8"));
const rows = cases.map((one) => mashqScore(one.alpha, one.h, one.beta, one.shares, one.weights));
process.stdout.write(JSON.stringify(rows));
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_page_scores_as_the_protocol_does() -> None:
    random = np.random.default_rng(7)
    cases: list[dict[str, object]] = []
    wanted: list[tuple[float, float | None]] = []
    for _ in range(500):
        names = random.permutation(RESOURCES)[: random.integers(0, len(RESOURCES) + 1)].tolist()
        weights = {name: float(random.uniform(0.1, 3)) for name in names}
        shares = {name: float(random.choice([0.0, 1.0, random.random()])) for name in names}
        alpha, beta = float(random.uniform(0.1, 2)), float(random.choice([0.0, random.random()]))
        h = None if random.random() < 0.1 else float(random.random())
        cases.append({"alpha": alpha, "h": h, "beta": beta, "shares": shares, "weights": weights})
        rules = ScoreRules(alpha=alpha, beta=beta, weights=weights, reference=dict.fromkeys(names, 1.0))
        costs = {name: np.array([share]) for name, share in shares.items()}
        penalty, q = reduce(np.array([0.0 if h is None else h]), costs, rules)
        wanted.append((float(penalty[0]), None if h is None else float(q[0])))
    script = SCRIPT.read_text("utf-8") + RUN
    done = subprocess.run(
        ["node", "-e", script], input=json.dumps(cases), capture_output=True, text=True, check=True, timeout=60
    )
    assert [(row["p"], row["q"]) for row in json.loads(done.stdout)] == wanted


def test_no_page_has_another_copy_of_the_formula() -> None:
    for name in ("report.js", "site.js"):
        text = SCRIPT.with_name(name).read_text("utf-8")
        assert "mashqScore(" in text and "beta *" not in text
