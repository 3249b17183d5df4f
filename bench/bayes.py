"""Does `policy: bayes` beat `policy: rule`? On simulated players, in the same seat against the same rival.

The first seat is played in turn by bayes, by rule and by rule with R 0 (never), with the same draws; the second by a
rule player, by one that never reviews, or by a lavish one (T 0.97, R 5). Printed for each setting: the first seat's
Q, H, reviews an item, margin over its rival and matches won; how its Q and its margin differ from those under rule
and under never, with 95% intervals. The unit is the match: each trial draws its own items, and Q is no mean over
matches of costs (one review is all of P's part for reviews where the rival makes none). `own` is bayes with rivalry
0, which maximises its own Q instead of the margin.
"""

import argparse
import asyncio
import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from mashq.analysis.paired import Difference, mean
from mashq.arena.executors.local import LocalExecutor
from mashq.arena.match import run
from mashq.config import check
from mashq.players import q_agent
from mashq.players.policies import bayes as bayes_policy
from mashq.protocol.results import Floats
from mashq.protocol.score import score
from mashq.runs.setup import score_rules_of

WORLDS: dict[str, dict[str, float]] = {
    "good, weak reviews": {"h": 0.85, "review_gain": 0.2},
    "good, strong reviews": {"h": 0.85, "review_gain": 0.8},
    "middling": {"h": 0.65, "h_spread": 0.25, "review_gain": 0.5},
    "poor, weak reviews": {"h": 0.4, "h_spread": 0.25, "review_gain": 0.1},
    "poor, strong reviews": {"h": 0.4, "h_spread": 0.25, "review_gain": 0.8},
}
RIVALS: dict[str, dict[str, Any]] = {
    "rule": {"policy": "rule"},
    "never": {"policy": "rule", "R": 0},
    "lavish": {"policy": "rule", "T": 0.97, "R": 5},
}
SEATS: dict[str, dict[str, Any]] = {
    "bayes": {"policy": "bayes"},
    "own": {"policy": "bayes"},
    "rule": {"policy": "rule"},
    "never": {"policy": "rule", "R": 0},
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """Results of the first seat: means over the trials, and its Q and its margin by trial."""

    h: float
    reviews: float
    wins: float
    q: Floats
    margin: Floats


def config(
    world: Mapping[str, float], first: str, rival: str, vision: str, args: argparse.Namespace
) -> dict[str, Any]:
    """Return the configuration of a match."""
    players = [
        {"name": "A", "model": "simulated/a", **SEATS[first]},
        {"name": "B", "model": "simulated/b", **RIVALS[rival]},
    ]
    models = {f"simulated/{name}": {"simulate": dict(world)} for name in "ab"}
    return {
        "task": {"data": str(args.data), "limit": args.items},
        "players": players,
        "rules": {"vision": {"when": vision}},
        "score": {} if args.beta is None else {"beta": args.beta},
        "models": models,
        "seed": args.seed,
    }


def outcome(document: Mapping[str, Any], trials: int, *, own: bool) -> Outcome:
    """Play the matches and return the first seat's results."""
    assumed = bayes_policy.Assumed(rivalry=0.0 if own else 1.0)
    q_agent.bayes_policy.ASSUMED = assumed
    settings = check(dict(document), "the benchmark")
    rules = score_rules_of(settings)
    with tempfile.TemporaryDirectory() as folder:
        season = {"kind": "match", "trials": trials}
        played = asyncio.run(run(settings, Path(folder) / "run", season=season, executor=LocalExecutor()))
        matches = [match.results for match in played.fixtures_played()]
    scores = [score(results, rules) for results in matches]
    first_seat, rivals = [s.players[0] for s in scores], [s.players[1] for s in scores]
    q = np.array([row.q or 0.0 for row in first_seat])
    return Outcome(
        float(np.mean([row.h or 0.0 for row in first_seat])),
        float(np.mean([row.costs["reviews"] for row in first_seat])) / scores[0].items,
        float(np.mean([s.winner == "A" for s in scores])),
        q,
        q - np.array([row.q or 0.0 for row in rivals]),
    )


def shown(difference: Difference) -> str:
    """Format a difference with its interval, marked with * where the interval excludes 0."""
    if difference.low is None or difference.high is None:
        return f"{difference.value:+.4f}"
    return f"{difference.value:+.4f} [{difference.low:+.4f}, {difference.high:+.4f}]{'*' if difference.sure else ' '}"


def table(args: argparse.Namespace) -> None:
    """Play every setting and print its results."""
    names = ["bayes", *(["own"] if args.own else []), "rule", "never"]
    for world in [name for name in WORLDS if args.world in name]:
        print(f"\n{world}: {WORLDS[world]}")
        for rival in args.rivals:
            for vision in args.visions:
                play = partial(config, WORLDS[world], rival=rival, vision=vision, args=args)
                outcomes = {name: outcome(play(name), args.trials, own=name == "own") for name in names}
                print(f"  against {rival}, vision {vision}")
                for name, row in outcomes.items():
                    line = f"    {name:6} Q {row.q.mean():.4f}  H {row.h:.4f}  reviews {row.reviews:.2f}"
                    line += f"  margin {row.margin.mean():+.4f}  won {row.wins:4.0%}"
                    if name in ("bayes", "own"):
                        for other in ("rule", "never"):
                            line += f"\n      less {other:5}  Q {shown(mean(row.q - outcomes[other].q))}"
                            line += f"  margin {shown(mean(row.margin - outcomes[other].margin))}"
                    print(line, flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=60)
    parser.add_argument("--trials", type=int, default=12)
    parser.add_argument("--world", default="", help="only settings with this in their name")
    parser.add_argument("--rivals", nargs="+", default=list(RIVALS), choices=list(RIVALS))
    parser.add_argument("--visions", nargs="+", default=["review"], choices=["never", "review", "always"])
    parser.add_argument("--beta", type=float, default=None, help="of the score; no player is told")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--own", action="store_true", help="also bayes with rivalry 0")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        args.data = Path(folder) / "items.jsonl"
        rows = [json.dumps({"id": f"item-{n}", "text": f"[simulated item {n}]"}) for n in range(args.items)]
        args.data.write_text("\n".join(rows), "utf-8")
        table(args)


if __name__ == "__main__":
    main()
