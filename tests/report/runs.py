"""Runs to report on: simulated ones of every kind, and one whose every text is hostile."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from mashq.arena import match
from mashq.config import check

SCRIPT = "<script>window.pwned = 1</script>"
IMAGE = '"><img src=x onerror="window.pwned=1">'
TURNED = "abc\u202edcba\u2066 \x1b[2J \x00 \u2028end"
CLOSING = "</script></title></style><script>window.pwned=1</script>"
TEMPLATE = "{{ 7*7 }} {% include 'x' %} ${alert(1)}"
LONG = "word " * 20_000


def config(players: int = 2, items: int = 12, **changes: Any) -> dict[str, Any]:
    """Players that differ: the first reviews most, the last not at all."""
    seats = [
        {"name": f"p{n}", "model": "simulated/default", "policy": "rule", "T": 0.95, "R": max(0, 2 - n)}
        for n in range(players)
    ]
    return {"task": {"limit": items}, "players": seats, **changes}


def play(said: dict[str, Any], out: Path, **season: Any) -> Path:
    """Play into `out`."""
    kind = {"kind": "match", "trials": 1, **season}
    with ThreadPoolExecutor(1) as elsewhere:  # a browser test has a loop of its own in this thread
        elsewhere.submit(lambda: asyncio.run(match.run(check(said, "a test"), out, season=kind))).result()
    return out


def every_kind(folder: Path) -> dict[str, Path]:
    """One small run of each kind."""
    return {
        "match": play(config(3), folder / "match"),
        "trials": play(config(), folder / "trials", trials=2),
        "sweep": play(
            config(), folder / "sweep", kind="sweep", over=[["rules.T", [0.7, 0.9]], ["score.beta", [0.01, 0.1]]]
        ),
        "tournament": play(config(3), folder / "league", kind="tournament", system="round-robin", seats=2),
        "game": play(config(), folder / "game", kind="game", vision=["never", "review"]),
        "vision": play(config(), folder / "vision", kind="vision", when="review"),
    }


def hostile(folder: Path) -> Path:
    """A match whose names, ids, passages and answers try to be something else than text."""
    folder.mkdir(parents=True, exist_ok=True)
    nasty = [SCRIPT, IMAGE, TURNED, CLOSING, TEMPLATE, LONG]
    items = [{"id": f"{n} {text[:60]}", "text": f"A mill burned on 3 May. {text}"} for n, text in enumerate(nasty)]
    (folder / "items.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))
    answers = folder / "answers.jsonl"
    lines = [
        {
            "item": item["id"],
            "text": f"The mill burned. {text[:2000]}",
            "tokens_in": 10 + n,
            "tokens_out": 5,
            "seconds": 1.0,
        }
        for n, (item, text) in enumerate(zip(items, nasty, strict=True))
    ]
    answers.write_text("".join(json.dumps(line) + "\n" for line in lines))
    players = [
        {"name": name, "model": f"recorded/{answers}", "policy": "rule", "R": 0}
        for name in (SCRIPT[:70], IMAGE, TURNED.replace("\x00", ""), CLOSING[:78])
    ]
    return play({"task": {"data": str(folder / "items.jsonl")}, "players": players}, folder / "run")
