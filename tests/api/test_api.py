"""The Python API: the same figures as the commands, as objects, frames and HTML."""

import asyncio
import importlib
import inspect
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, cast

import pytest

import mashq
from mashq.api import progress
from tests.arena.helpers import mashq as command

ROOT = Path(__file__).parent.parent.parent
CONFIG: dict[str, Any] = {
    "task": {"limit": 6},
    "players": [{"name": "A", "model": "simulated/default"}, {"name": "<B>", "model": "simulated/default", "R": 0}],
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> mashq.MatchRun:
    """A small match, played from Python."""
    return mashq.play(CONFIG, tmp_path_factory.mktemp("api") / "run")


def said(*arguments: object) -> Any:
    """What a command prints with --json."""
    done = command(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_played_match_has_what_show_prints(run: mashq.MatchRun) -> None:
    shown = said("show", run.path)
    assert run.to_dict() == json.loads(run.to_json()) == shown == mashq.show(run)
    assert run == shown and mashq.open_run(run.path) == run and run["winner"] == shown["winner"]
    assert dict(run) == shown and "headline" in run and "nothing" not in run
    assert (run.kind, run.finished, run.simulated, run.headline) == ("match", True, True, shown["headline"])
    assert (run.winner, run.clear, list(run.best_set)) == (shown["winner"], shown["clear"], shown["best_set"])
    assert list(run.notes) == shown["notes"] and run.config["task"]["limit"] == 6
    for player, row in zip(run.players, shown["players"], strict=True):
        assert (player.name, player.model, player.agent) == (row["name"], row["model"], row["agent"])
        assert (player.h, player.q, player.penalty) == (row["h"], row["q"], row["penalty"])
        assert player.costs["tokens"] == row["tokens"] and player.costs["dollars"] is None
        span = shown["intervals"][player.name]
        assert (player.q_low, player.q_high) == (span["low"], span["high"])
        assert player.p_win == shown["p_win"][player.name]
    assert run.differences[0].dq == shown["differences"][0]["dq"]
    assert run.player("A") is run.players[0]
    assert run.players["<B>"] is run.players[1] and run.players[:1] == (run.player("A"),)
    for ask in (run.player, run.players.__getitem__):
        with pytest.raises(mashq.ConfigError, match="there is no player 'C': there are A, <B>"):
            ask("C")
    with pytest.raises(KeyError, match="there is no 'nope': there are schema, kind, run, "):
        run["nope"]


def test_str_is_what_the_command_prints(run: mashq.MatchRun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    assert str(run) == command("show", run.path, COLUMNS="100").stdout.rstrip("\n")
    assert str(mashq.score(run)) == command("score", run.path, COLUMNS="100").stdout.rstrip("\n")
    assert repr(run) == f"<mashq match: {run.path}: {run.headline}>"
    assert repr(mashq.plan(CONFIG)) == "<mashq plan: 2 rows>"


def test_html_is_escaped_and_has_every_figure(run: mashq.MatchRun) -> None:
    page = run._repr_html_()  # pyright: ignore[reportPrivateUsage]
    assert "&lt;B&gt;" in page and "<B>" not in page
    for player in run.players:
        assert f"{player.q:.4f}" in page and f"{player.h:.4f}" in page
    for found in (mashq.score(run), mashq.compare(run, run), mashq.plan(CONFIG)):
        shown = found._repr_html_()  # pyright: ignore[reportPrivateUsage]
        assert "&lt;B&gt;" in shown and "<B>" not in shown


def test_frames_hold_the_same_figures(run: mashq.MatchRun) -> None:
    pandas = pytest.importorskip("pandas")
    players = run.to_frame(library="pandas")
    assert isinstance(players, pandas.DataFrame)
    assert list(players["name"]) == ["A", "<B>"] and list(players["q"]) == [player.q for player in run.players]
    assert players["dollars"].isna().all()
    items = run.to_frame("items", library="pandas")
    assert len(items) == 12 and items[items["player"] == "A"]["h"].mean() == pytest.approx(run.players[0].h)
    assert len(run.to_frame("attempts", library="pandas")) == items["calls"].sum()
    assert set(run.to_frame("events", library="pandas")["kind"]) >= {"answer", "decision"}
    assert list(mashq.compare(run, run).to_frame(library="pandas")["player"]) == ["A", "A", "<B>", "<B>"]
    planned = mashq.plan(CONFIG)
    assert list(planned.to_frame(library="pandas")["expected_calls"]) == [
        player.expected.costs["calls"] for player in planned.document.players
    ]
    arrow = pytest.importorskip("pyarrow")
    assert run.to_frame(library="pyarrow").column("q").to_pylist() == [player.q for player in run.players]
    assert isinstance(run.to_frame("items", library="pyarrow"), arrow.Table)


def test_polars_frames_go_out_and_in(run: mashq.MatchRun) -> None:
    polars = pytest.importorskip("polars")
    items = run.to_frame("items", library="polars")
    assert isinstance(items, polars.DataFrame) and items.height == 12
    assert mashq.score(items, resources=["tokens"]).players[0].h == pytest.approx(run.players[0].h)


def test_without_a_library_there_is_one_sentence(run: mashq.MatchRun, monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(_name: str) -> None:
        return None

    monkeypatch.setattr("mashq.api.frames.find_spec", nothing)
    with pytest.raises(mashq.ConfigError, match="a data frame needs a library: pip install pandas"):
        run.to_frame()
    with pytest.raises(mashq.ConfigError, match="there are no data frames of 'excel'"):
        run.to_frame(library="excel")  # pyright: ignore[reportArgumentType]
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(mashq.ConfigError, match="polars is not installed: pip install polars"):
        run.to_frame(library="polars")
    with pytest.raises(mashq.ConfigError, match="there are no rows of 'answers': use players, items"):
        run.to_frame("answers")  # pyright: ignore[reportArgumentType]


def test_scores_of_a_run_a_file_a_frame_and_rows_agree(run: mashq.MatchRun, tmp_path: Path) -> None:
    whole = said("score", run.path, "--beta", 0.03)
    assert mashq.score(run, beta=0.03) == whole == mashq.score(str(run.path), beta=0.03)
    assert command("export", run.path, "--format", "csv", "-o", tmp_path / "rows.csv").returncode == 0
    options: dict[str, Any] = {"beta": 0.03, "resources": ["tokens", "calls"], "weights": {"calls": 2.0}}
    filed = mashq.score(tmp_path / "rows.csv", **options)
    rows = run.to_frame("items", library="pyarrow")
    framed, listed = mashq.score(rows, **options), mashq.score(rows.to_pylist(), **options)
    assert filed == framed == listed == mashq.score(rows.to_pandas(), **options)
    assert filed["weights"] == {"tokens": 1.0, "calls": 2.0} and filed.headline == filed.document.headline
    assert [player.q for player in filed.players] == [row["q"] for row in filed["players"]]
    alone = mashq.score(run, without=["A"])
    assert [player.name for player in alone.players] == ["<B>"]
    renamed = mashq.score([{"who": "x", "i": "1", "s": 0.5}], columns={"player": "who", "item": "i", "h": "s"})
    assert renamed.players[0].h == 0.5 and renamed.players[0].model is None
    totals = mashq.score(run, reference={"tokens": 1e6})
    assert totals["normalise"] == "reference"
    assert mashq.score(run, reference={"tokens": 1e3}, per_item=True)["normalise"] == "per_item"


ONE = [{"player": "a", "h": 1}]


@pytest.mark.parametrize(
    ("source", "options", "why"),
    [
        (7, {}, "a int cannot be scored"),
        ([], {}, "the table is empty"),
        (["x"], {}, "row 1 of the rows is a str"),
        ([{"player": "a", "item": 1, "h": "high"}], {}, "the table row 1: h is 'high', must be a number"),
        ([{"player": "a", "item": 1, "h": float("nan")}], {}, "the table row 1: h is empty"),
        ([{"player": "a", "h": 1}], {"beta": -1.0}, "the value of beta is -1.0, must be a positive number"),
        (ONE, {"beta": float("nan")}, "the value of beta is nan"),
        (ONE, {"alpha": "1"}, "the value of alpha is '1', must be a positive number"),
        (ONE, {"alpha": True}, "the value of alpha is True"),
        (ONE, {"weights": {"tokens": 0}}, "the value of tokens is 0"),
        (ONE, {"weights": {"tokens": 10**400}}, "the value of tokens is 1000"),
        (ONE, {"weights": 5}, "weights is 5, must be a mapping"),
        (
            ONE,
            {"refusals": "Intersection"},
            "refusals is 'Intersection', must be one of intersection,",
        ),
        (ONE, {"reference": {"x": 1}}, "'x' is not a resource"),
        (ONE, {"reference": {}}, "the reference is empty"),
        (ONE, {"reference": {"tokens": "5"}}, "the value of tokens is '5'"),
        ([{"player": "a", "h": 1, "tokens": 9}], {"reference": {"tokens": 1e-320}}, "P of a is larger than any"),
        (ONE, {"resources": 5}, "resources is 5, must be a list of names"),
        (ONE, {"resources": []}, "resources names none"),
        (ONE, {"resources": ["tokens", "tokens"]}, "resources names one twice"),
        (ONE, {"resources": [5]}, "5 is not a resource"),
        (ONE, {"without": 5}, "without is 5, must be a list of names"),
        (ONE, {"columns": {1: "h"}}, "must be a mapping with names as keys"),
        (ONE, {"resamples": 0}, "resamples is 0, must be a whole number from 100 to 1,000,000"),
        (ONE, {"resamples": 1e4}, "resamples is 10000.0"),
        (ONE, {"seed": -1}, "seed is -1, must be a whole number that is at least 0"),
        (ONE, {"seed": True}, "seed is True"),
        ([{"player": "a", "h": 1}], {"weights": {"token": 1.0}}, "'token' is not a resource"),
        ([{"player": "a", "h": 1}], {"without": ["b"]}, "--without 'b': there is no such player"),
        ([{"player": "a", "h": 1}], {"without": ["a"]}, "--without leaves no player"),
        ("nowhere.csv", {}, "nowhere.csv does not exist"),
    ],
)
def test_what_cannot_be_scored_is_one_sentence(source: Any, options: dict[str, Any], why: str) -> None:
    with pytest.raises(mashq.MashqError, match=why):
        mashq.score(source, **options)


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (lambda: mashq.compare(), "a comparison needs runs"),
        (lambda: mashq.compare(cast(Any, None)), "a NoneType is no run"),
        (lambda: mashq.compare([]), "a comparison needs runs"),
        (lambda: mashq.open_run(cast(Any, 5)), "a int is no run"),
        (lambda: mashq.power(ONE, level=2), "level is 2, must be a number from 0.5 to 0.999"),
        (lambda: mashq.power(ONE, power=cast(Any, "high")), "power is 'high', must be a number from 0.05 to 0.99"),
        (lambda: mashq.power(ONE, players=("a", "b")), "there is no player 'b': there are a"),
        (lambda: mashq.power(ONE, players=("a", "a")), "must be two different players"),
        (lambda: mashq.export("nowhere", "rows.table"), "the format of rows.table is not known"),
        (lambda: mashq.export("nowhere", "table.tex", what="events"), "what='events' is for csv, jsonl and parquet"),
        (lambda: mashq.plan(cast(Any, None)), "a NoneType is no configuration"),
        (lambda: mashq.plan(cast(Any, [1])), "a list is no configuration"),
        (lambda: mashq.plan("a\0.yaml"), "holds a NUL"),
        (lambda: mashq.score("a\0.csv"), "holds a NUL"),
        (
            lambda: mashq.plan(CONFIG, trials=cast(Any, "2")),
            "trials is '2', must be a whole number",
        ),
        (lambda: mashq.play(CONFIG, trials=cast(Any, 1.5)), "trials is 1.5"),
        (lambda: mashq.play(CONFIG, trials=0), "trials is 0"),
        (lambda: mashq.plan(CONFIG, changes={"rules.X": 1}), "^changes: unknown key 'rules.X'"),
        (lambda: mashq.plan(CONFIG, changes={"players.9.T": 1}), "^'changes players.9.T=1': '9' must be a place"),
        (lambda: mashq.plan(CONFIG, changes=cast(Any, [("rules.T", 1)])), "changes is .*, must be a mapping"),
        (lambda: mashq.detect(cast(Any, 5)), "a int has no answers"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(asked: Callable[[], object], why: str) -> None:
    with pytest.raises(mashq.MashqError, match=why):
        asked()


def test_a_frame_with_two_columns_of_one_name_is_one_sentence() -> None:
    pandas = pytest.importorskip("pandas")
    with pytest.raises(mashq.MashqError, match="the data frame has two columns 'h'"):
        mashq.score(pandas.DataFrame([["a", 0.5, 0.6]], columns=["player", "h", "h"]))


def test_one_name_is_a_list_of_one_and_a_list_is_several_runs(run: mashq.MatchRun) -> None:
    assert mashq.score(run, resources="tokens") == mashq.score(run, resources=["tokens"])
    assert mashq.score(run, without="A") == mashq.score(run, without=["A"])
    assert mashq.compare([run, run.path]) == mashq.compare(run, run.path)
    with pytest.raises(mashq.ConfigError, match="the library is chosen with library='polars'"):
        run.to_frame("polars")  # pyright: ignore[reportArgumentType]


def test_a_run_is_verified_as_by_the_command(run: mashq.MatchRun, tmp_path: Path) -> None:
    verified = mashq.verify(run)
    assert verified and verified.ok and verified.wrong == () and verified == said("verify", run.path)
    assert str(verified) == command("verify", run.path).stdout.rstrip("\n")
    wrong = mashq.verify(run, head="0" * 64)
    assert not wrong and [finding.check for finding in wrong.wrong] and str(wrong).endswith(" wrong.")
    assert list(wrong.to_frame(library="pyarrow").column_names) == ["check", "wrong"]


def test_power_is_that_of_the_command(run: mashq.MatchRun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    found = mashq.power(run, players=("A", "<B>"), power=0.7)
    assert found == said("power", run.path, "--players", "A,<B>", "--power", 0.7)
    assert (found.needed, found.asked, list(found.notes)) == (found["needed"], found["asked"], found["notes"])
    assert [point.items for point in found.curve] == found.to_frame(library="pyarrow").column("items").to_pylist()
    assert str(mashq.power(run)) == command("power", run.path, COLUMNS="100").stdout.rstrip("\n")


def test_an_export_is_that_of_the_command(run: mashq.MatchRun, tmp_path: Path) -> None:
    assert command("export", run.path, "--what", "events", "-o", tmp_path / "by-command.csv").returncode == 0
    written = mashq.export(run, tmp_path / "by-function.csv", what="events")
    assert written.read_bytes() == (tmp_path / "by-command.csv").read_bytes()
    assert "booktabs" in mashq.export(run, tmp_path / "table", form="latex").read_text()


def test_other_judges_are_those_of_the_command(tmp_path: Path) -> None:
    players = [{"name": name, "agent": "lead", "n": n} for name, n in (("one", 1), ("three", 3))]
    played = mashq.play({"task": {"limit": 5}, "players": players}, tmp_path / "run")
    documents = said("rescore", played.path, "--detector", "coverage", "--detector", "grounding")
    covered, grounded = mashq.rescore(played, "coverage", "grounding")
    assert (covered, grounded) == tuple(documents[1:]) and covered.players["one"].h != grounded.players["one"].h
    assert covered.detector.startswith("coverage ") and str(covered) == f"{covered.detector}: {covered.headline}"
    with pytest.raises(mashq.ConfigError, match="no detector is named"):
        mashq.rescore(played)


def test_the_ledger_of_a_gateway_is_opened_as_it_is_shown(run: mashq.MatchRun, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    shutil.copytree(run.path, ledger)
    manifest = json.loads((ledger / "manifest.json").read_text())
    (ledger / "manifest.json").write_text(json.dumps(manifest | {"kind": "gateway", "player": "A"}))
    found = mashq.open_run(ledger)
    assert isinstance(found, mashq.MeteredRun) and found == said("show", ledger) == mashq.show(ledger)
    assert (found.kind, found.path, found.finished, found.simulated) == ("gateway", ledger, True, True)
    spent = found.to_frame(library="pyarrow")
    assert spent.column("player").to_pylist() == [row["player"] for row in found["spent"]]
    assert found.to_frame("attempts", library="pyarrow").num_rows == sum(row["attempts"] for row in found["spent"])
    assert str(found).split() == command("show", ledger).stdout.split() and found.config["task"]
    with pytest.raises(mashq.ConfigError, match="a gateway has no rows of 'items': use players or attempts"):
        found.to_frame("items", library="pyarrow")


def test_a_condition_is_decided_as_by_the_command(run: mashq.MatchRun) -> None:
    found = mashq.score(run).check("q(A) < q(<B>) + 1")
    assert found.true and found.values.startswith("q(A) = ")
    with pytest.raises(mashq.ConfigError, match="--fail-if"):
        mashq.score(run).check("q(A)")


def test_trials_seasons_and_changes(tmp_path: Path) -> None:
    trials = mashq.play(CONFIG, tmp_path / "trials", trials=2, changes={"task.limit": 5, "score.beta": 0.02})
    assert trials.kind == "trials" and trials == said("show", trials.path) and len(trials.players) == 2
    assert trials["beta"] == 0.02 and trials["items"] == 5 and str(trials).startswith(" player")
    assert isinstance(mashq.resume(trials), mashq.MatchRun)
    config = tmp_path / "c.json.yaml"
    config.write_text(json.dumps(CONFIG))
    assert command("sweep", config, "--over", "rules.T=0.8,0.9", "--out", tmp_path / "sweep").returncode == 0
    sweep = mashq.open_run(tmp_path / "sweep")
    frame = sweep.to_frame(library="pyarrow")
    leaders = [cell["winner"] for cell in sweep["cells"]]
    assert sweep.headline.startswith("Best Q in 2 combinations: ") and len(sweep.cells) == len(leaders) == 2
    assert all(f"{name} in {leaders.count(name)} (clearly in " in sweep.headline for name in leaders)
    assert not isinstance(sweep, mashq.MatchRun) and frame.column("rules.T").to_pylist() == [0.8, 0.8, 0.9, 0.9]
    assert str(sweep).startswith(" T ") and sweep._repr_html_().startswith("<pre>")  # pyright: ignore[reportPrivateUsage]
    with pytest.raises(mashq.ConfigError, match="trials is 0"):
        mashq.play(CONFIG, tmp_path / "none", trials=0)
    with pytest.raises(mashq.ConfigError, match="is a sweep, not a single match"):
        mashq.score(sweep)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["tournament", "game", "vision"])
def test_every_kind_of_season_has_a_frame(kind: str, tmp_path: Path) -> None:
    config = tmp_path / "c.yaml"
    config.write_text(json.dumps(CONFIG))
    more = ("--policies", "frugal,lavish") if kind == "game" else ()
    assert command(kind, config, *more, "--out", tmp_path / "run").returncode == 0
    found = mashq.open_run(tmp_path / "run")
    columns = found.to_frame(library="pyarrow").column_names
    expected = {"tournament": "rating", "game": "against", "vision": "condition"}
    assert expected[kind] in columns and found.kind == kind
    assert found.headline.endswith(".") and repr(found) == f"<mashq {kind}: {found.path}: {found.headline}>"
    if kind == "tournament":
        best = max(found.players, key=lambda player: player.rating)
        assert found.headline.startswith(f"{best.name} is rated first: {best.rating:.0f}")
        assert found.wins == found.document.wins  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    if kind == "game":
        assert found.policies == ["frugal", "lavish"] and found.headline.startswith("Equilibria: vision never: ")
    if kind == "vision":
        assert found.when == "review" and [player.name for player in found.players] == ["A", "<B>"]
    with pytest.raises(AttributeError, match=f"a {kind} has no 'nothing'"):
        getattr(found, "nothing")  # noqa: B009


def test_detections_are_those_of_the_command(tmp_path: Path) -> None:
    pairs = [("The ferry sails at nine.", "The ferry sails at ten."), ("It rains.", "It rains.")]
    found = mashq.detect(pairs, cache=False)
    named = mashq.detect([{"source": source, "answer": answer} for source, answer in pairs], cache=False)
    (tmp_path / "p.jsonl").write_text("\n".join(json.dumps({"source": s, "answer": a}) for s, a in pairs))
    lines = command("detect", tmp_path / "p.jsonl", "--no-cache").stdout.splitlines()
    assert [{"h": one.h, "spans": [list(span) for span in one.spans or ()]} for one in found] == [
        json.loads(line) for line in lines
    ]
    assert list(found) == list(named) and found.h == tuple(one.h for one in found) and len(found[:1]) == 1
    assert (found.detector, found.version) == ("grounding", mashq.detect([], cache=False).version)
    assert found.to_frame(library="pyarrow").column("h").to_pylist() == list(found.h)
    assert f"{found[0].h:.4f}" in found._repr_html_()  # pyright: ignore[reportPrivateUsage]
    exact = mashq.detect([("", "Iron", "iron")], detector="exact-match", cache=False)
    assert exact[0].h == 1.0 and exact[0].spans is None
    for wrong in ([("alone",)], ["text"], [{"source": "x"}]):
        with pytest.raises(mashq.DataError, match='pair 1 needs "source" and "answer"'):
            mashq.detect(wrong, cache=False)


def test_a_report_is_a_page_that_can_be_saved(run: mashq.MatchRun, tmp_path: Path) -> None:
    pytest.importorskip("vl_convert", reason="the extra 'charts' is not installed")
    page = mashq.report(run, tables=tmp_path / "tables")
    assert page.html.startswith("<!doctype html>") and page.path is None and list((tmp_path / "tables").iterdir())
    saved = page.save(tmp_path / "r.html")
    assert saved.path is not None and saved.path.read_text("utf-8") == page.html
    shown = page._repr_html_()  # pyright: ignore[reportPrivateUsage]
    assert shown.startswith("<iframe") and "<!doctype" not in shown
    with pytest.raises(mashq.ConfigError, match="a report needs a run"):
        mashq.report()
    with pytest.raises(mashq.StoreError, match="there is no folder"):
        page.save(tmp_path / "none" / "r.html")
    with pytest.raises(mashq.StoreError, match="cannot be written"):
        page.save(tmp_path)


async def test_everything_works_inside_a_running_loop(tmp_path: Path) -> None:
    first = mashq.play(CONFIG, tmp_path / "blocking")
    beats = 0

    async def beat() -> None:
        nonlocal beats
        while True:
            beats += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(beat())
    second = await mashq.play_async(CONFIG, tmp_path / "awaited")
    found = await mashq.detect_async([("a b", "a b")], cache=False)
    assert (await mashq.resume_async(second)) == second and mashq.resume(second) == second
    task.cancel()
    assert beats > 1 and len(found) == 1
    assert [player.q for player in first.players] == [player.q for player in second.players]


async def test_an_interrupt_in_a_notebook_stops_the_match(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mashq.api import calls

    ended = threading.Event()

    async def endless() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    class Interrupted(calls.ThreadPoolExecutor):
        def submit(self, *arguments: Any, **options: Any) -> Any:
            done = super().submit(*arguments, **options)
            while not started.is_set():
                started.wait(0.01)

            def interrupted() -> None:
                raise KeyboardInterrupt

            return SimpleNamespace(result=interrupted, of=done)

    started = threading.Event()

    async def work() -> None:
        started.set()
        await endless()

    monkeypatch.setattr(calls, "ThreadPoolExecutor", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        calls._run_to_end(work())  # pyright: ignore[reportPrivateUsage]
    assert ended.is_set()


class Cells:
    """A notebook's display: what each cell showed, in order."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def display(self, data: dict[str, str], *, raw: bool, display_id: bool) -> "Cells":
        assert raw and display_id
        return self.update(data, raw=True)

    def update(self, data: dict[str, str], *, raw: bool) -> "Cells":
        assert raw
        self.shown.append(data["text/plain"])
        return self


@contextmanager
def notebook(monkeypatch: pytest.MonkeyPatch) -> Generator[Cells]:
    """A process that looks like a notebook's kernel."""
    cells, shell, display = Cells(), ModuleType("IPython"), ModuleType("IPython.display")
    shell.__dict__["get_ipython"] = lambda: SimpleNamespace(kernel=True)
    display.__dict__["display"] = cells.display
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    monkeypatch.setattr(progress, "EVERY", 0.0)
    yield cells


def test_a_notebook_shows_how_it_goes_in_its_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with notebook(monkeypatch) as cells:
        run = mashq.play(CONFIG, tmp_path / "run")
        assert len(cells.shown) > 6 and "A: items 6/6" in cells.shown[-2] and "simulated" in cells.shown[0]
        count = len(cells.shown)
        mashq.play(CONFIG, tmp_path / "quiet", progress=False)
    assert len(cells.shown) == count and run.finished


def test_progress_is_shown_where_it_is_wanted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mashq.play(CONFIG, tmp_path / "silent")
    assert capsys.readouterr() == ("", "")


def test_importing_loads_nothing_heavy() -> None:
    code = "import sys, mashq; print(sorted(sys.modules)); mashq.play; mashq.report"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded: list[str] = eval(done.stdout)
    for heavy in ("asyncio", "numpy", "pydantic", "rich", "click", "pandas", "aiohttp", "mashq.api"):
        assert heavy not in loaded


def test_report_is_a_function_and_a_package() -> None:
    assert callable(mashq.report) and importlib.import_module("mashq.report.html") is not None
    assert mashq.report is sys.modules["mashq.report"] and mashq.export is sys.modules["mashq.export"]
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        getattr(mashq, "nothing")  # noqa: B009


def test_every_public_name_is_documented() -> None:
    for name in mashq.__all__:
        found: Any = getattr(mashq, name)
        assert name.startswith("__") or inspect.getdoc(found), name
        assert name in dir(mashq)


@pytest.mark.slow
def test_the_example_runs(tmp_path: Path) -> None:
    pytest.importorskip("vl_convert", reason="the extra 'charts' is not installed")
    pytest.importorskip("pandas")
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "notebook.py")],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "calls expected" in done.stdout and "{'rules.T': (0.85, 0.95)}" in done.stdout
    assert done.stdout.rstrip().endswith("report.html") and Path(done.stdout.split()[-1]).stat().st_size > 100_000
