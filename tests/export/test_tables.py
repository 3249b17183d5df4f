"""Rows out, rows in: the same scores, and what is unknown stays unknown."""

import csv
import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mashq as package
from mashq.analysis.score_report import Options, judge
from mashq.errors import ConfigError, DataError, MashqError
from mashq.export import files
from mashq.export import tables as rows
from mashq.gateway.types import Entry, Outcome, Usage, Worst, spend_of
from mashq.protocol.resources import RESOURCES, TABLE, UNKNOWN, Spend
from mashq.protocol.results import ItemResult, PlayerResult, Results, ResultStatus, from_matches
from mashq.protocol.score import ScoreRules
from mashq.runs.open import load_season
from mashq.runs.result_files import read
from mashq.runs.setup import score_rules_of
from mashq.testing import FakeProvider
from tests.arena.helpers import http_config, mashq, write_items
from tests.export.runs import command, played

counts = st.one_of(st.just(UNKNOWN), st.integers(0, 10_000))
measures = st.one_of(st.just(UNKNOWN), st.floats(0, 1e6))
outcomes = st.one_of(
    st.none(),
    st.builds(
        Outcome,
        st.sampled_from(["ok", "http"]),
        usage=st.builds(Usage, counts, counts),
        seconds=measures,
        rated=st.dictionaries(st.just("dollars"), measures),
    ),
)
attempts = st.builds(Entry, st.just(0), st.just("m"), st.just(Worst(9, 9, 9.0)), outcomes, st.floats(0, 10))
spends = st.lists(attempts, max_size=3).map(lambda entries: sum(map(spend_of, entries), Spend()))
names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6).filter(lambda text: text.strip())


@st.composite
def matches(draw: st.DrawFn) -> list[tuple[PlayerResult, ...]]:
    """Trials of a match between players of any name, with any costs."""
    players = draw(st.lists(names, min_size=1, max_size=3, unique=True))
    items = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    return [
        tuple(PlayerResult(name, tuple(draw(answers(item)) for item in items), draw(spends)) for name in players)
        for _ in range(draw(st.integers(1, 3)))
    ]


@st.composite
def answers(draw: st.DrawFn, item: str) -> ItemResult:
    status: ResultStatus = draw(st.sampled_from(["ok", "ok", "refused", "failed", "unanswered"]))
    h = draw(st.floats(0, 1)) if status == "ok" else None
    spend = replace(draw(spends), reviews=draw(st.integers(0, 3)))
    return ItemResult(item, status, h, h, spend, length=draw(st.integers(0, 99)))


@given(matches(), st.sampled_from(["csv", "jsonl", "parquet"]))
def test_any_results_come_back_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, trials: list[tuple[PlayerResult, ...]], form: files.Form
) -> None:
    path = tmp_path_factory.mktemp("out") / f"results.{form}"
    found = [row for at, match in enumerate(trials) for player in match for row in rows.player_rows(player, at)]
    columns = tuple(column for column in rows.RESULTS if column[0] in found[0])
    table = files.Table(columns, iter([tuple(row[name] for name, _ in columns) for row in found]))
    assert files.write(table, form, path).rows == len(found)
    same(read(path)[0], from_matches(trials))


def same(found: Results, wanted: Results) -> None:
    """Equal to the last bit, but for tokens in and out, which a file of results has as one.

    What is unknown on some rows of a player is taken to be the mean of its others, and marked by its bounds.
    """
    assert (found.players, found.items, found.trials) == (wanted.players, wanted.items, wanted.trials)
    for name in ("h", "status", "item_of"):
        assert getattr(found, name).tobytes() == getattr(wanted, name).tobytes(), name
    for name in RESOURCES:
        cost, values = found.costs[name], wanted.costs[name].value
        if np.isnan(cost.value).all():  # no column of it: nothing was known but that nobody asked
            assert np.nansum(values) == 0, name
            continue
        calls = wanted.costs["calls"].value
        for own, low, high, told, made in zip(cost.value, cost.low, cost.high, values, calls, strict=True):
            told = told.copy()
            for cells in (np.array(wanted.trial_of) == trial for trial in set(wanted.trial_of)):
                asked = cells & (made > 0)
                if np.isnan(told[cells]).any() and np.isnan(told[asked]).all():
                    told[cells & (made == 0)] = np.nan  # told of items without an attempt alone
            known = ~np.isnan(told)
            assert own[known].tobytes() == low[known].tobytes() == high[known].tobytes() == told[known].tobytes(), (
                name
            )
            if len(TABLE[name].measures) > 1:  # a part that is known counts where another is missing
                assert (np.isnan(own) | ((low <= own + 1e-9) & (own <= high + 1e-9))).all(), name
            elif known.any() and not known.all():
                assert own[~known] == pytest.approx(np.sum(told[known]) / known.sum()), name
                assert (low[~known] == 0).all() and (high[~known] == np.nanmax(values)).all(), name
            elif not known.any():
                assert np.isnan(own).all(), name


def test_a_declared_resource_has_a_column(tmp_path: Path) -> None:
    energy = {"simulated/plain": {"energy": {"input": 1, "output": 2}}}
    run = played(tmp_path / "run", players=[{"name": "A", "model": "simulated/plain"}], models=energy)
    season = load_season(run)
    files.write(rows.results(season), "csv", tmp_path / "r.csv")
    wanted = from_matches(played.results for played in season.fixtures_played())
    assert wanted.costs["joules"].value.sum() > 0
    same(read(tmp_path / "r.csv")[0], wanted)


@pytest.mark.parametrize("trials", [1, 3])
def test_an_exported_run_scores_as_the_run(tmp_path: Path, trials: int) -> None:
    run = played(tmp_path / "run", trials)
    wanted = judged(command("score", run, "--json", "--resamples", 200))
    assert len(wanted["players"]) == 2
    for form in ("csv", "jsonl", "parquet"):
        out = tmp_path / f"results.{form}"
        said = command("export", run, "--format", form, "-o", out)
        told = next(line for line in said.splitlines() if "mashq score" in line)
        flags = told.partition(str(out))[2].split()
        assert judged(command("score", out, "--json", "--resamples", 200, *flags)) == wanted
    plain = mashq("export", run, "--format", "csv")
    assert (
        plain.stdout.encode() == (tmp_path / "results.csv").read_bytes().replace(b"\r\r\n", b"\r\n") or plain.stdout
    )


def judged(text: str) -> dict[str, Any]:
    """A document of `mashq score` but for its notes and for what rows do not tell."""
    document = {key: value for key, value in json.loads(text).items() if key != "notes"}
    document["players"] = [{k: v for k, v in player.items() if k not in RUNS_ONLY} for player in document["players"]]
    return document


RUNS_ONLY = ("h_before_review", "tokens_in", "tokens_out", "unknown_attempts")


def test_a_run_with_lost_attempts_keeps_its_unknowns(tmp_path: Path) -> None:
    with FakeProvider(faults={"script": ["ok", "drop_body", "ok", "ok", "drop_body"]}) as provider:
        config = http_config(provider.base_url, write_items(tmp_path / "items.jsonl", 3))
        package.play(config, tmp_path / "run")
    season = load_season(tmp_path / "run")
    out = tmp_path / "results.csv"
    files.write(rows.results(season), "csv", out)
    same(read(out)[0], from_matches(played.results for played in season.fixtures_played()))
    with out.open(newline="") as file:
        written = list(csv.DictReader(file))
    assert all(row["dollars"] == "" for row in written), "no price is known: empty, not 0"
    table = rows.attempts(tmp_path / "run")
    lost = [dict(zip(table.names, row, strict=True)) for row in table.rows]
    lost = [row for row in lost if row["outcome"] not in ("ok", "refused")]
    assert lost and all(row["tokens_in"] is None and row["error"] for row in lost)


def test_attempts_and_events_hold_no_words_unless_asked(tmp_path: Path) -> None:
    run = played(tmp_path / "run")
    for what, count in (("attempts", 0), ("events", 0)):
        table = {"attempts": rows.attempts, "events": rows.events}[what]
        quiet = list(table(run).rows)
        with closing(sqlite3.connect(run / "run.db")) as connection, connection:
            count = connection.execute(f"SELECT count(*) FROM {what}").fetchone()[0]
        assert len(quiet) == count
        assert "simulated answer" not in repr(quiet)
        assert "simulated answer" in repr(list(table(run, content=True).rows))
        for form in ("csv", "jsonl", "parquet"):
            command("export", run, "--format", form, "--what", what, "-o", tmp_path / f"{what}.{form}")
    with (tmp_path / "attempts.csv").open(newline="") as file:
        first = next(csv.DictReader(file))
    assert (first["player"], first["dollars"] == "", first["status"]) == ("=cmd|' /C calc'!A0", False, "")
    assert "begin with =" in command("export", run, "--format", "csv", "-o", tmp_path / "r.csv")


def test_one_match_of_many(tmp_path: Path) -> None:
    run = played(tmp_path / "run", trials=3)
    some = list(rows.results(load_season(run), ["1"]).rows)
    assert {row[2] for row in some} == {1} and len(some) == 18
    with pytest.raises(ConfigError, match="no match '7': it has 0, 1, 2"):
        rows.results(load_season(run), ["7"])


def test_a_file_is_whole_or_not_there(tmp_path: Path) -> None:
    def breaking() -> Any:
        yield ("A", 1)
        raise DataError("no more")

    (tmp_path / "old.csv").write_text("old")
    with pytest.raises(DataError, match="no more"):
        files.write(files.Table((("player", "text"), ("n", "whole")), breaking()), "csv", tmp_path / "old.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["old.csv"]
    assert (tmp_path / "old.csv").read_text() == "old"
    with pytest.raises(DataError, match="cannot be written"):
        files.write(files.Table((), ()), "csv", tmp_path / "none" / "a.csv")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--format", "parquet"], "name a file with -o"),
        (["--format", "inspect"], "name a folder with -o"),
        (["--format", "otel", "--what", "events"], "is for csv, jsonl and parquet"),
        (["--format", "csv", "--content"], "results hold no texts"),
        (["--format", "latex", "--match", "0"], "not for latex"),
        (["--format", "otel", "--match", "9"], "no match '9'"),
        (["--format", "csv", "-o", "."], "is a folder"),
    ],
)
def test_bad_input_is_one_sentence(tmp_path: Path, arguments: list[str], said: str) -> None:
    run = played(tmp_path / "run", players=[{"name": "A", "model": "simulated/plain"}], task={"limit": 2})
    with pytest.raises(MashqError, match=said):
        command("export", run, *arguments)


def test_bad_input_exits_with_2(tmp_path: Path) -> None:
    done = mashq("export", tmp_path, "--format", "csv")
    assert (done.returncode, "is not a run" in done.stderr, "Traceback" in done.stderr) == (2, True, False)


def test_the_latex_table(tmp_path: Path) -> None:
    one = command("export", played(tmp_path / "one"), "--format", "latex")
    assert one.count(r"\toprule") == one.count(r"\end{table}") == 1
    assert r"\caption{9 items; H as drawn; Q = 1$\cdot$H $-$ 0.07$\cdot$P; SIMULATED" in one
    three = command("export", played(tmp_path / "three", trials=3), "--format", "latex")
    assert "3 trials of 9 items" in three and r"\bottomrule" in three
    body = three.split(r"\end{table}")[0]
    assert all(line.isascii() or "±" in line or "é" in line for line in body.splitlines())


def test_flags_say_the_rules() -> None:
    rules = ScoreRules(2.0, 0.123456789, {"tokens": 1.0, "calls": 0.5}, {"tokens": 9.0}, "answered")
    assert " ".join(rows.score_flags(rules)) == (
        "--alpha 2.0 --beta 0.123456789 --refusals answered --resources tokens,calls --weights calls=0.5 "
        "--normalise reference:FILE"
    )


def test_an_unfinished_run_can_be_exported(tmp_path: Path) -> None:
    run = played(tmp_path / "run")
    manifest = json.loads((run / "manifest.json").read_text())
    (run / "manifest.json").write_text(json.dumps(manifest | {"ended": None}))
    with closing(sqlite3.connect(run / "run.db")) as connection, connection:
        connection.execute("DELETE FROM events WHERE seq > 9")
        connection.execute("UPDATE matches SET ended = NULL")
        connection.execute("DELETE FROM seats")
        connection.execute("DELETE FROM results")
    season = load_season(run)
    out = tmp_path / "r.jsonl"
    files.write(rows.results(season), "jsonl", out)
    wanted = from_matches(played.results for played in season.fixtures_played())
    same(read(out)[0], wanted)
    statuses = {json.loads(line)["status"] for line in out.read_text().splitlines()}
    assert statuses == {"ok", "failed", "pending"}
    rules = score_rules_of(season.config)
    found, own = judge(read(out)[0], Options(rules, 100)), judge(wanted, Options(rules, 100))
    for a, b in zip(found.players, own.players, strict=True):
        assert (a.h, a.q, a.answer_rate, a.costs["tokens"]) == (b.h, b.q, b.answer_rate, b.costs["tokens"])
    assert next(note for note in found.notes if note in own.notes).startswith("Not finished: each player is scored")
