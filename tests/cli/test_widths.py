"""What commands print at 60, 80, 100 and 140 columns: no line is longer, and every number is there, whole."""

import re
from collections.abc import Generator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from mashq.analysis import score_report
from mashq.report.text.tables import Grid, fitting, written
from tests.pinned.cases import KINDS, MATCHES, UNFINISHED
from tests.pinned.door import Said, command
from tests.pinned.stage import CONFIGS, stage

WIDTHS = (60, 80, 100, 140)
ENDLESS = 1000
NUMBER = re.compile(r"[~<>±]?[+−-]?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?[%M]?")
AROUND = "()[];:,.'\"·–→"
SCORED = (*MATCHES, "trials", "trials-troubled")
ONE_OF_EACH = (
    "match",
    "names",
    "many",
    "trials",
    "sweep",
    "tournament",
    "swiss",
    "game",
    "vision",
    "metered",
    "stopped",
)


@pytest.fixture(scope="module", autouse=True)
def place() -> Generator[Path]:
    """Stored runs of every kind, in the current directory."""
    quick = score_report.resample

    def few(seen: Any, rules: Any, pairs: Any, resamples: int, seed: int) -> Any:
        return quick(seen, rules, pairs, min(resamples, 200), seed)

    with stage() as found, pytest.MonkeyPatch.context() as patch:
        patch.setattr(score_report, "resample", few)  # intervals are as wide on paper however often is resampled
        yield found


def numbers(text: str) -> set[str]:
    """The words of a text that are numbers."""
    words = (word.strip(AROUND) for word in text.split())
    return {word for word in words if NUMBER.fullmatch(word)}


@cache
def endless(line: str) -> Said:
    """What a command prints where there is room for everything."""
    return command(line.split(" "), ENDLESS)


def fits(line: str, width: int) -> None:
    """One command, narrow and as wide as it likes."""
    narrow, wide = command(line.split(" "), width), endless(line)
    assert (narrow.code, narrow.err) == (wide.code, wide.err), narrow.err
    long = [shown for shown in narrow.out.splitlines() if cell_len(shown) > width]
    assert not long, "\n".join([line, *long])
    lost, new = numbers(wide.out) - numbers(narrow.out), numbers(narrow.out) - numbers(wide.out)
    assert not lost and not new, f"{line}: lost {lost}, new {new}\n{narrow.out}"
    assert not re.search(r"\d…", re.sub(r"[^\s\d.,]\S*…", "", narrow.out)), narrow.out


def lines(kind: str) -> list[str]:
    """What is asked of a run."""
    found = [f"show runs/{kind}"]
    if kind in SCORED:
        found += [f"score runs/{kind} --resamples 200", f"score runs/{kind} --resamples 200 --best-set"]
    if kind in SCORED and kind not in ("alone", *UNFINISHED):
        found += [f"power runs/{kind}"]
    return found if kind == "metered" else [*found, f"verify runs/{kind}"]


@pytest.mark.parametrize("kind", ONE_OF_EACH)
def test_every_kind_of_run_fits_60_columns(kind: str) -> None:
    fits(f"show runs/{kind}", 60)
    if kind in ("match", "many"):
        fits(f"score runs/{kind} --resamples 200", 60)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_command_on_every_kind_of_run_fits(kind: str) -> None:
    for line in lines(kind):
        for width in WIDTHS if kind in ONE_OF_EACH else WIDTHS[:2]:
            fits(line, width)


@pytest.mark.slow
@pytest.mark.parametrize(
    "line",
    [
        *(f"plan {path.name}" for path in sorted(CONFIGS.glob("*.yaml"))),
        "plan run match.yaml --trials 3",
        "plan sweep match.yaml --over rules.R=0,3 --over score.beta=0.1,0.2",
        "plan tournament league.yaml --trials 2",
        "plan game match.yaml --policies frugal,rule",
        "plan vision match.yaml",
        "compare runs/match runs/match-again",
        "compare runs/many runs/many-again",
        "compare runs/trials runs/trials",
        "rescore runs/summaries --detector grounding",
        "calibrate runs/match --check --matches 3",
        "paper",
        "schema",
        "detectors",
        "doctor",
    ],
)
def test_every_other_table_fits(line: str) -> None:
    for width in WIDTHS:
        fits(line, width)


def grid(monkeypatch: pytest.MonkeyPatch, width: int, *names: str, count: int = 4, left: int = 1) -> str:
    """A table of numbers at some width."""
    monkeypatch.setenv("COLUMNS", str(width))
    headings = [*(f"name {at}" for at in range(left)), *(f"cost {at}" for at in range(count))]
    rows = [[*[name] * left, *(f"{number}{at}2,345.678" for at in range(count))] for number, name in enumerate(names)]
    return written(Grid(headings, rows, left=left), "table")


def test_names_are_cut_before_tables_are_stacked(monkeypatch: pytest.MonkeyPatch) -> None:
    long = "a-name-that-is-rather-long-for-a-table"
    whole = grid(monkeypatch, 100, long, "short")
    assert long in whole and whole.count("name 0") == 1
    cut = grid(monkeypatch, 70, long, "short")
    assert "…" in cut and cut.count("name 0") == 1
    assert max(map(len, cut.splitlines())) == 70


def test_names_that_would_look_alike_are_not_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("a-model-of-2026-with-a-long-name-x", "a-model-of-2026-with-a-long-name-y")
    found = grid(monkeypatch, 70, *names)
    assert "…" not in found and found.count("name 0") == 2 and all(found.count(name) == 2 for name in names)


PLAYERS = ("anthropic/claude-sonnet-4-5-20250929-thinking", "anthropic/claude-sonnet-4-5-20250929")


def test_names_that_begin_alike_are_cut_in_the_middle_at_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = grid(monkeypatch, 60, *PLAYERS, left=2)
    assert max(map(len, found.splitlines())) <= 60 and found.count("name 0") == 4
    names = {line[:44].rsplit("  ", 1)[0].strip() for line in found.splitlines() if "…" in line}
    assert len(names) == 2 and any("thinking" in name for name in names), found


@pytest.mark.parametrize("width", WIDTHS)
def test_players_are_told_apart_at_every_width(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, width: int) -> None:
    rows = [f"{name},{item},0.{item}{at},{10 + at}" for at, name in enumerate(PLAYERS) for item in range(5)]
    (tmp_path / "a.csv").write_text("\n".join(["player,item,h,tokens", *rows]) + "\n")
    for form in ("table", "md", "latex"):
        done = command(["score", str(tmp_path / "a.csv"), "--format", form], width)
        table = done.out.split("\n\n")[0]
        shown = [line for line in table.splitlines() if "anthropic" in line]
        assert len(shown) == 2 and len({re.sub("[★|& ].*", "", line.strip(" |")) for line in shown}) == 2, done.out
        if form != "table" or width > 100:
            assert PLAYERS[0] in table and "…" not in table, table


def test_names_over_columns_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    names = [*PLAYERS, "b"]
    table = Grid(["", *names], [[name, "1", "2", "3"] for name in names], named=True)
    heading = written(table, "table").splitlines()[0].split()
    assert len(set(heading)) == 3 and heading[2] == "b" and max(map(len, heading)) <= 16, heading
    assert all(name in written(table, "md").splitlines()[0] for name in names)


def test_the_winner_keeps_its_star(monkeypatch: pytest.MonkeyPatch) -> None:
    found = grid(monkeypatch, 66, "a-name-that-is-rather-long-for-a-table ★", "b")
    assert "… ★" in found and found.count("★") == 1


def test_where_nothing_fits_each_cell_has_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("x" * 20 + "1" + "x" * 20, "x" * 20 + "2" + "x" * 20)
    found = grid(monkeypatch, 60, *names, left=3)
    assert found.count("name 1: ") == 2 and "  cost 0: 002,345.678" in found.splitlines()
    assert max(map(len, found.splitlines())) <= 60


@pytest.mark.parametrize("room", range(10, 80))
def test_columns_are_in_as_few_groups_as_fit(room: int) -> None:
    widths = [5, 8, 3, 8, 8, 2, 7, 4]
    groups = fitting(widths, room)
    assert [at for group in groups for at in group] == list(range(len(widths)))
    assert all(sum(widths[at] + 2 for at in group) <= room for group in groups)
    assert len(groups) >= sum(width + 2 for width in widths) / room


def test_a_terminal_gets_colour_unless_it_asks_for_none(monkeypatch: pytest.MonkeyPatch) -> None:
    from mashq.cli import playing

    said: list[str] = []

    def echo(text: str, **_: object) -> None:
        said.append(text)

    def coloured(text: str, **style: object) -> None:
        said.append(f"{style['bold']} {style['fg']} {text}")

    monkeypatch.setattr(playing.sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(playing.click, "echo", echo)
    monkeypatch.setattr(playing.click, "secho", coloured)
    monkeypatch.delenv("NO_COLOR", raising=False)
    playing.say("SIMULATED\n a ★  1\n b    2")
    assert said == ["True yellow SIMULATED", "True None  a ★  1", "None None  b    2"]
    monkeypatch.setenv("NO_COLOR", "1")
    playing.say("SIMULATED")
    assert said[3:] == ["SIMULATED"]
