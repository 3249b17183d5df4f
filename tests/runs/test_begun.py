"""A run goes on only as what was begun; and what was done honestly is never complained of."""

import asyncio
import json
import random
import sqlite3
from pathlib import Path
from typing import Any

import pytest

import mashq
from mashq.arena import match
from mashq.arena.executors.processes import Processes
from mashq.config import check
from mashq.errors import ConfigError, Stopped
from mashq.runs.reading import read_head
from mashq.runs.verify import verify
from tests.arena.helpers import mashq as command
from tests.arena.test_seasons import config, field
from tests.pinned.stage import copied
from tests.runs import tamper

KINDS: list[dict[str, Any]] = [
    {"kind": "match", "trials": 2},
    {"kind": "sweep", "trials": 1, "over": [["rules.T", [0.8, 0.9]]]},
    {"kind": "tournament", "trials": 1, "system": "round-robin", "seats": 2},
    {"kind": "tournament", "trials": 1, "system": "swiss", "rounds": 2, "seats": 2},
    {"kind": "game", "trials": 1, "vision": ["never", "review"]},
    {"kind": "vision", "trials": 1, "when": "review"},
]


class StopsAfter:
    """Someone who stops a run after so many moves."""

    def __init__(self, moves: int) -> None:
        self._left = moves

    def batch(self, matches: int, done: int) -> None:
        """Nothing to do."""

    def moved(self, fixture: object, state: object, seat: object, move: object) -> None:
        """Count, and stop."""
        self._left -= 1
        if self._left < 0:
            raise Stopped("stopped")

    def ended(self, fixture: object) -> None:
        """Nothing to do."""


def complaints(run: Path, head: str | None = None) -> list[str]:
    return [f"{finding.check}: {finding.wrong}" for finding in verify(run, head=head) if finding.wrong]


def begun(run: Path, moves: int = 9, season: dict[str, Any] | None = None, **changes: Any) -> Path:
    """A run that was stopped after so many moves."""
    settings = check(config(items=4, **changes))
    with pytest.raises(Stopped):
        asyncio.run(match.run(settings, run, season=season or KINDS[0], show=StopsAfter(moves)))
    return run


def edit(run: Path, *path: str, value: object) -> None:
    document = json.loads((run / "manifest.json").read_text())
    here = document
    for key in path[:-1]:
        here = here[key]
    here[path[-1]] = value
    (run / "manifest.json").write_text(json.dumps(document))


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        (("config", "score", "beta"), 0.0, "config.score"),
        (("config", "rules", "R"), 1, "config.rules"),
        (("seed",), 5, "seed"),
        (("models", "simulated/a", "base_url"), "http://elsewhere.invalid", "models.simulated/a"),
        (("season", "trials"), 3, "season.trials"),
    ],
)
def test_a_changed_run_is_refused(tmp_path: Path, path: tuple[str, ...], value: object, told: str) -> None:
    run = begun(tmp_path / "run")
    assert complaints(run) == []
    edit(run, *path, value=value)
    with pytest.raises(ConfigError, match=rf"not what was begun \(({told}|.*, {told})"):
        mashq.resume(run)
    assert any(told in one for one in complaints(run))


def test_a_change_can_be_gone_on_with_for_all_to_see(tmp_path: Path) -> None:
    run = begun(tmp_path / "run")
    edit(run, "config", "score", "beta", value=0.0)
    done = command("resume", run)
    assert done.returncode == 2 and "--accept-change" in done.stderr
    done = command("resume", run, "--accept-change")
    assert done.returncode == 0, done.stderr
    assert f"head: {read_head(run)}" in done.stderr
    assert complaints(run, read_head(run)) == []
    shown = mashq.show(run)
    assert any("changed after it was begun (config.score" in note for note in shown["notes"])


def test_changed_items_are_refused_too(tmp_path: Path) -> None:
    run = begun(tmp_path / "run")
    connection = sqlite3.connect(run / "run.db")
    connection.execute("UPDATE items SET text = text || '.' WHERE position = 3")
    connection.commit()
    connection.close()
    with pytest.raises(ConfigError, match=r"not what was begun \(items"):
        mashq.resume(run)
    asyncio.run(match.resume(run, accept_change=True))
    assert complaints(run) == []


@pytest.mark.parametrize("name", ["stopped", "stopped-trials"])
def test_an_earlier_run_begins_its_chain_when_it_is_gone_on_with(tmp_path: Path, name: str) -> None:
    run = copied(name, tmp_path / "run")
    assert read_head(run) is None and complaints(run) == []
    mashq.resume(run)
    head = read_head(run)
    assert head is not None and complaints(run, head) == []
    changed = tamper.copied(run, tmp_path / "changed")
    connection = sqlite3.connect(changed / "run.db")
    connection.execute("UPDATE attempts SET opened = opened + 1 WHERE id = (SELECT min(id) FROM attempts)")
    connection.commit()
    connection.close()
    assert any("when its chain began" in one for one in complaints(changed))


def honest(folder: Path, seed: int) -> Path:
    """A run of some kind, stopped now and then, gone on with, joined, in this process or in others."""
    rng = random.Random(seed)
    season, run = KINDS[seed % len(KINDS)], folder / str(seed)
    players = field("ABC", 0.8, 0.85, 0.9) if season["kind"] in ("tournament", "game") else None
    changes: dict[str, Any] = {} if players is None else {"players": players}
    changes |= {"rules": {"T": rng.choice((0.5, 0.9)), "turn": rng.choice(("cycle", "single"))}, "seed": seed}
    settings = check(config(items=rng.randint(1, 4), **changes))
    executor = Processes(2) if seed % 40 == 0 else None
    try:
        show = None if executor else StopsAfter(rng.choice((3, 17, 60, 10_000)))
        asyncio.run(match.run(settings, run, season=season, show=show, executor=executor))
    except Stopped:
        assert complaints(run) == []
        asyncio.run(match.resume(run))
    if season.get("system") == "round-robin":
        joined = check(settings.model_dump(mode="json") | {"players": field("DE", 0.7, 0.95)})
        asyncio.run(match.join(run, joined))
    return run


@pytest.mark.parametrize("seed", range(6))
def test_honest_runs_hold(tmp_path: Path, seed: int) -> None:
    run = honest(tmp_path, seed)
    assert complaints(run, read_head(run)) == []


@pytest.mark.slow
def test_two_hundred_honest_runs_hold(tmp_path: Path) -> None:
    wrong = {seed: found for seed in range(200) if (found := complaints(honest(tmp_path, seed)))}
    assert wrong == {}


def test_every_h_is_scored_anew(tmp_path: Path) -> None:
    run = copied("summaries", tmp_path / "run")
    assert [one.wrong for one in verify(run, rescore=True) if one.wrong] == []
    connection = sqlite3.connect(run / "run.db")
    connection.execute("""UPDATE events SET move = json_set(move, '$.h', 0.123) WHERE seq =
      (SELECT min(seq) FROM events WHERE kind = 'answer' AND json_extract(move, '$.status') = 'ok')""")
    connection.commit()
    connection.close()
    wrong = {one.check: one.wrong for one in verify(run, rescore=True) if one.wrong}
    assert "has H 0.123000" in wrong["match 0: H"]
