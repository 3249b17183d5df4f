"""A run goes on only as what was begun; and what was done honestly is never complained of."""

import asyncio
import json
import re
import sqlite3
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from rich.console import Console

import mashq
from mashq.arena import match
from mashq.config import check
from mashq.errors import ConfigError, Stopped
from mashq.report.text import progress
from mashq.runs.reading import read_head
from mashq.runs.setup import score_rules_of
from mashq.runs.verify import verify
from tests.arena.helpers import mashq as command
from tests.arena.test_seasons import config
from tests.pinned.stage import copied
from tests.runs import tamper
from tests.torture import honest
from tests.torture.honest import SEASONS, StopsAfter, complaints, edit


def begun(run: Path, moves: int = 9, season: dict[str, Any] | None = None, **changes: Any) -> Path:
    """A run that was stopped after so many moves."""
    settings = check(config(items=4, **changes))
    with pytest.raises(Stopped):
        asyncio.run(match.run(settings, run, season=season or SEASONS[0], show=StopsAfter(moves)))
    return run


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


class Died(Exception):
    """As a process dies that is killed."""


def test_one_that_died_twice_before_its_new_manifest_stood_goes_on(tmp_path: Path) -> None:
    def dies(self: Path, target: Path) -> None:
        raise Died

    run = begun(tmp_path / "run")
    for _ in range(3):
        with patch.object(Path, "replace", dies), pytest.raises(Died):
            mashq.resume(run)
        assert json.loads((run / "manifest.json").read_text())["ended"] is None
    assert mashq.resume(run)["finished"] and complaints(run) == []


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


@pytest.mark.parametrize("seed", range(len(honest.KINDS)))
def test_honest_runs_hold(tmp_path: Path, seed: int) -> None:
    """Every kind, every way."""
    way = seed % len(honest.WAYS)
    honest.trial(seed + way * len(honest.KINDS), tmp_path / "trial")


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_every_kind_of_honest_run_in_every_way_holds(tmp_path: Path) -> None:
    """`make torture` has two hundred."""
    for seed in range(len(honest.KINDS) * len(honest.WAYS)):
        honest.trial(seed, tmp_path / str(seed))


def test_how_far_the_check_of_a_killed_run_is_can_be_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a terminal, when it takes more than a moment; here at once."""
    left, settings = tmp_path / "left", check(config(items=20))
    with honest.left_behind(1000, tmp_path / "run", left):
        asyncio.run(match.run(settings, tmp_path / "run", season={"kind": "match", "trials": 5}))
    monkeypatch.setattr(progress, "PATIENCE", -1.0)
    shown = Console(file=StringIO(), force_terminal=True, width=100)
    with progress.Progress(shown, score_rules_of(settings), simulated=True) as show:
        show._shown -= 1  # pyright: ignore[reportPrivateUsage]
        asyncio.run(match.resume(left, show=show))
    assert isinstance(shown.file, StringIO)
    assert re.search(r"checking what was recorded: [1-9][0-9]?%", shown.file.getvalue())


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
