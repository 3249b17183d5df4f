# A match from Python, cell by cell: open it in an editor that knows `# %%`, or turn it into a notebook with
# `jupytext --to ipynb examples/notebook.py`. It runs as it is: the players are simulated and cost nothing.

# %% What it would cost
import tempfile
from pathlib import Path

import mashq

folder = Path(tempfile.mkdtemp())
config = {
    "task": {"kind": "summarise", "data": "builtin", "limit": 12},
    "players": [
        {"name": "careful", "agent": "q-agent", "model": "simulated/default"},
        {"name": "plain", "agent": "plain", "model": "simulated/default"},
    ],
}
planned = mashq.plan(config)
print(planned.expected["calls"], "calls expected,", planned.worst["calls"], "at worst")

# %% Play it; in a notebook the cell shows how it goes
run = mashq.play(config, folder / "first")

# %% Who leads, and is it clear?
print(run.headline)
print(run.clear, run.best_set)
for player in run.players:
    print(player.name, player.h, player.penalty, player.q, (player.q_low, player.q_high), player.costs["tokens"])

# %% As data frames: the players, every answer, every request
print(run.to_frame())
answers = run.to_frame("items")
print(answers.groupby("player")["h"].describe())

# %% Scores from a run, a file or a frame: what if cost mattered less?
cheap = mashq.score(run, beta=0.01)
print(cheap.headline)
print(mashq.score(answers, beta=0.01, resources=["tokens"]).headline)

# %% A condition, as `--fail-if` takes it
check = cheap.check("q(careful) < q(plain) - 0.02")
print(check.true, check.values)

# %% Change a setting, set the runs side by side
strict = mashq.play(config, folder / "strict", changes={"rules.T": 0.95})
both = mashq.compare(run, strict)
print(both.differing)

# %% One answer against its source
found = mashq.detect([("The ferry sails at nine.", "The ferry sails at ten.")], cache=False)
print(found[0].h, found[0].spans)

# %% A page to send around (needs the extra: pip install 'mashq[charts]')
page = mashq.report(run, strict, out=folder / "report.html")
print(page.path)
