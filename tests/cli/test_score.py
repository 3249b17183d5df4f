"""`mashq score`, `paper` and `compare` as a user runs them."""

import csv
import gzip
import json
import time
from pathlib import Path
from typing import Any

import pytest

import mashq as package
from tests.arena.helpers import mashq

ROWS = [
    {"player": p, "item": f"i{n}", "h": round(0.5 + 0.04 * n * (1 if p == "A" else 0.9), 3), "tokens": 10 + n}
    for p in "AB"
    for n in range(12)
]
SHARED = Path(__file__).parents[3] / "shared" / "data" / "leaderboard"


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def scored(*arguments: object) -> dict[str, Any]:
    done = mashq("score", *arguments, "--json", "--resamples", 500)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_all_formats_hold_the_same(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = write(tmp_path / "a.csv", ROWS)
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(table.read_bytes()))
    parquet.write_table(pyarrow.Table.from_pylist(ROWS), tmp_path / "a.parquet")
    lines = write(tmp_path / "a.jsonl", ROWS)
    found = [scored(path) for path in (table, tmp_path / "a.csv.gz", tmp_path / "a.parquet", lines)]
    assert all(document == found[0] for document in found)
    wanted = {"alpha", "beta", "normalise", "refusals", "items", "players", "winner", "differences", "envelope"}
    assert wanted | {"pareto", "views", "notes"} <= set(found[0])
    keys = {"name", "h", "answer_rate", "tokens", "calls", "reviews", "seconds", "dollars", "penalty", "q", "q_low"}
    assert all(keys | {"q_high", "p_win", "dollars_per_faithful"} <= set(player) for player in found[0]["players"])
    assert found[0]["envelope"][0]["beta_from"] == 0 and found[0]["envelope"][-1]["beta_to"] is None


def test_options_change_what_they_say(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", [row | {"seconds": 1, "extra": "x"} for row in ROWS])
    document = scored(path, "--alpha", 2, "--beta", 0.5, "--resources", "seconds", "--weights", "tokens=3")
    assert (document["alpha"], document["beta"], document["weights"]) == (2.0, 0.5, {"seconds": 1.0, "tokens": 3.0})
    assert "Ignored columns: extra." in document["notes"]
    (tmp_path / "reference.json").write_text('{"tokens": 1000}')
    document = scored(path, "--resources", "tokens", "--normalise", f"reference:{tmp_path / 'reference.json'}")
    assert document["normalise"] == "reference"
    assert document["players"][0]["penalty"] == pytest.approx(sum(10 + n for n in range(12)) / 1000)
    assert {v["normalise"] for v in document["views"]} == {"match", "median", "reference"}
    assert [player["name"] for player in scored(path, "--without", "A")["players"]] == ["B"]


def test_renamed_columns_trials_and_statuses(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"model": "A", "doc": "x", "run": t, "hhem": 0.5 + 0.1 * t, "status": "ok"} for t in range(3)
    ]
    rows += [{"model": "A", "doc": "y", "run": 0, "hhem": "", "status": "refused"}]
    rows += [{"model": "B", "doc": d, "run": 0, "hhem": 0.5, "status": "ok"} for d in "xy"]
    path = write(tmp_path / "a.csv", rows)
    maps = ["--map", "player=model", "--map", "item=doc", "--map", "h=hhem", "--map", "trial=run"]
    document = scored(path, *maps)
    assert (document["items"], document["trials"]) == (1, 3)
    assert document["units"] == 1, "B has no row of the other trials of x, and A refused y"
    assert document["players"][0]["h"] == pytest.approx(0.5)
    assert document["players"][0]["answer_rate"] == 0.75


def test_totals_have_no_intervals_and_say_so(tmp_path: Path) -> None:
    rows = [{"player": "A", "h": 0.9, "tokens_in": 90, "tokens_out": 10}, {"player": "B", "h": 0.8, "tokens_in": 40}]
    document = scored(write(tmp_path / "a.jsonl", rows))
    assert document["items"] is None and document["players"][0]["q_low"] is None
    assert document["players"][1]["tokens"] is None, "tokens in without tokens out are not a total"
    assert any("These are totals" in note for note in document["notes"])


def test_a_run_scores_as_it_was_shown(tmp_path: Path) -> None:
    config = {
        "task": {"limit": 20},
        "players": [{"name": "A", "model": "simulated/default"}, {"name": "B", "model": "simulated/default", "R": 0}],
        "rules": {"turn": "single"},
        "score": {"beta": 0.07, "refusals": "penalised"},
        "models": {"simulated/default": {"simulate": {"refusal_rate": 0.1}}},
    }
    shown = package.play(config, tmp_path / "run")
    document = scored(tmp_path / "run")
    for one, two in zip(shown["players"], document["players"], strict=True):
        for key in ("h", "q", "penalty", "tokens", "calls", "reviews", "answer_rate"):
            assert one[key] == pytest.approx(two[key]), key
    assert (document["beta"], document["refusals"], document["winner"]) == (0.07, "penalised", shown["winner"])
    assert any("SIMULATED" in note for note in document["notes"])
    compared = mashq("compare", tmp_path / "run", tmp_path / "run", "--json")
    assert json.loads(compared.stdout)["settings"] == {}
    package.play(config | {"rules": {"T": 0.5}}, tmp_path / "other")
    text = mashq("compare", tmp_path / "run", tmp_path / "other").stdout
    assert "rules.T: 0.85, 0.5" in text and "rules.turn: single, cycle" in text
    assert max(map(len, text.splitlines())) <= 100
    package.play({"players": [{"name": "Z", "model": "simulated/default"}]}, tmp_path / "third")
    done = mashq("compare", tmp_path / "run", tmp_path / "third")
    assert (done.returncode, "no player in common" in done.stderr) == (2, True)


def test_fail_if_exits_with_1(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", ROWS)
    passed = mashq("score", path, "--fail-if", "q(A) < q(B)", "--resamples", 200)
    assert passed.returncode == 0, passed.stderr
    failed = mashq("score", path, "--fail-if", "q(B) < q(A)", "--fail-if", "h(A) < 0.1", "--resamples", 200, "--json")
    assert failed.returncode == 1
    assert "failed: q(B) < q(A)" in failed.stderr and json.loads(failed.stdout)["winner"] == "A"
    assert mashq("score", path, "--fail-if", "dollars(A) > 1").returncode == 2


@pytest.mark.parametrize("form", ["table", "md", "latex"])
def test_tables_are_readable(tmp_path: Path, form: str) -> None:
    rows = [row | {"player": f"{row['player']}_name & 50% <b>|x|</b> $\\" + "y" * 30} for row in ROWS]
    rows = [row | {"calls": 123456, "reviews": 99999, "seconds": 98765.4, "dollars": 12.5} for row in rows]
    done = mashq("score", write(tmp_path / "a.csv", rows), "--format", form, "--resamples", 200)
    assert done.returncode == 0, done.stderr
    if form == "table":
        lines = done.stdout.splitlines()
        headings = " ".join(line for line in lines if line.startswith(" player") and "against" not in line)
        assert [word for word in headings.split() if word != "player"] == [
            *("H", "answered", "tokens", "calls", "reviews", "seconds", "dollars", "P", "Q", "±", "95%", "P(win)"),
        ]
        words = done.stdout.split()
        assert all(word in words for word in ("4.000", "0.3200", "0.1296", "0.690")), "no number is cut"
        assert max(map(len, lines)) <= 100
    if form == "latex":
        assert r"\begin{tabular}" in done.stdout and r"\cellcolor{gray!20}" in done.stdout
        assert r"\textbf{" in done.stdout and r"\_name \& 50\%" in done.stdout
    if form == "md":
        assert "| player |" in done.stdout and "\\|x\\|" in done.stdout and "<b>" not in done.stdout


def test_nothing_in_common_is_a_document_without_a_score(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("player,item,h\nA,x,0.5\nB,y,0.5\n")
    document = scored(tmp_path / "a.csv")
    assert [(one["h"], one["penalty"], one["q"]) for one in document["players"]] == [(None, None, None)] * 2
    assert (document["items"], document["units"], document["winner"], document["clear"]) == (0, 0, None, False)
    assert document["headline"] == "No winner: Q is undefined."
    assert document["dropped"] == {
        "items": 2,
        "units": 2,
        "by": {"A": {"missing": 1, "alone": 1}, "B": {"missing": 1, "alone": 1}},
    }
    assert any("no item was answered by every player (of 2, A answered 1)" in note for note in document["notes"])
    text = mashq("score", tmp_path / "a.csv")
    assert text.returncode == 0 and "Pareto" not in text.stdout
    stopped = mashq("score", tmp_path / "a.csv", "--fail-if", "q(A) < 1")
    assert (stopped.returncode, stopped.stderr) == (
        2,
        "mashq: --fail-if 'q(A) < 1': q of 'A' is unknown, so the condition cannot be checked: use another figure\n",
    )


def test_paper_prints_and_counts() -> None:
    document = json.loads(mashq("paper", "--json").stdout)
    assert (document["recomputed"], document["consistent"]) == (
        {"follow": 32, "total": 33},
        {"follow": 16, "total": 16},
    )
    text = mashq("paper").stdout
    said = " ".join(text.split())
    assert "Recomputed from the row's counts: 32 of 33 printed Q-Scores follow (28 of 28 at beta 0.1, 1 of 1" in said
    assert "Consistent with the printed penalty: 16 of 16 are H minus the penalty that the row prints" in said
    assert "simpleqa, simpleqa gpt-4o-mini, B prints 0.0086, and its counts give 0.0076." in said
    assert "prints 0.8715, which follows beta = 0.01: its counts give P = 3.8868, and H - 0.01 * P = 0.8714." in said
    rows = [line.split() for line in text.splitlines() if line.rstrip().endswith((" yes", " no"))]
    assert len(rows) == 49 == len(document["rows"])
    for row, own in zip(rows, document["rows"], strict=True):
        assert row[-3:] == [f"{own['printed_q']:.4f}", f"{own['q']:.4f}", "yes" if own["follows"] else "no"]
    assert max(map(len, text.splitlines())) <= 100
    for words in (text, mashq("paper", "--help").stdout, json.dumps(document)):
        assert not any(word in words.lower() for word in ("misprint", "honest", "wrong"))


@pytest.mark.parametrize(
    ("name", "body", "sentence"),
    [
        ("a.csv", "player,item,h\nA,x,1.5\n", "line 2: h is 1.5, must be a number from 0 to 1"),
        ("a.csv", "player,item,h\nA,x,nan\n", "line 2: h is nan"),
        ("a.csv", "player,item,h\nA,x,high\n", "h is 'high', must be a number"),
        ("a.csv", "player,item,h\nA,x,\n", "h is empty"),
        ("a.csv", "player,item,h,status\nA,x,0.5,refused\n", "leave h empty"),
        ("a.csv", "player,item,h,status\nA,x,0.5,fine\n", "must be one of ok, refused"),
        ("a.csv", "player,item,h,tokens\nA,x,0.5,-1\n", "tokens is -1.0, must be a number that is not negative"),
        ("a.csv", "player,item,h\nA,x,0.5\nA,x,0.6\n", "player 'A', item 'x' is there already ("),
        ("a.csv", "model,item,h\nA,x,0.5\n", "no column 'player': did you mean 'model'?"),
        ("a.csv", "player,item,hhem_score\nA,x,0.5\n", "no column 'h': did you mean 'hhem_score'?"),
        ("a.csv", "player,item,h\nA,,0.5\n", "the item is empty"),
        ("a.csv", "player,item,h\n", "is empty"),
        ("a.csv", "", "is empty"),
        ("a.csv", "player,item,h\nA,x,0.5,9\n", "more cells than columns"),
        ("a.csv", "player,item,h,h\nA,x,0.5,0.6\n", "a.csv has two columns 'h': rename or remove one"),
        ("a.csv", "player,item,h,tokens,tokens_in,tokens_out\nA,x,1,10,99,99\n", "tokens_out come to 198: correct"),
        ("a.csv", "player,item,h,tokens,tokens_in\nA,x,1,10,99\n", "tokens is 10, and tokens_in and tokens_out come"),
        ("a.jsonl", '{"player": "A", "h": 0.5, "h": 0.6}\n', "line 1 is not JSON (the key 'h' stands in it twice)"),
        ("a.jsonl", "[]\n", "is not a JSON object"),
        ("a.jsonl", "{\n", "is not JSON"),
        ("a.csv.gz", "not gzip", "cannot be read"),
        ("a.parquet", "not parquet", "Parquet"),
        ("a.xlsx", "x", "unknown ending"),
    ],
)
def test_bad_results_are_one_sentence(tmp_path: Path, name: str, body: str, sentence: str) -> None:
    (tmp_path / name).write_text(body)
    done = mashq("score", tmp_path / name)
    assert done.returncode == 2, done.stdout
    assert (done.stdout, done.stderr.count("\n")) == ("", 1)
    assert sentence in done.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--map", "h"], "write it as name=value"),
        (["--map", "hh=h"], "did you mean 'h'?"),
        (["--map", "h=hhem"], "has no column 'hhem'"),
        (["--weights", "tokns=1"], "did you mean 'tokens'?"),
        (["--weights", "tokens=-1"], "must be a positive number"),
        (["--normalise", "mean"], "write match, or reference:FILE"),
        (["--normalise", "reference:nowhere"], "cannot be read"),
        (["--seed", "-1"], "--seed"),
        (["--alpha", "nan"], "the value of alpha is nan"),
        (["--beta", "nan"], "the value of beta is nan"),
        (["--beta", "inf"], "the value of beta is inf"),
        (["--weights", "tokens=1,tokens=2"], "--weights names tokens twice: keep one"),
        (["--map", "h=h", "--map", "h=item"], "--map names h twice"),
        (["--resources", ""], "resources names none"),
        (["--resources", "tokens,tokens"], "resources names one twice"),
        (["--without", "Z"], "there is no such player"),
        (["--fail-if", "A < B"], "--fail-if"),
    ],
)
def test_bad_options_are_one_sentence(tmp_path: Path, arguments: list[str], sentence: str) -> None:
    done = mashq("score", write(tmp_path / "a.csv", ROWS), *arguments)
    assert (done.returncode, sentence in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize(
    ("reference", "sentence"),
    [
        ("[]", "it is no mapping"),
        ("5", "it is no mapping"),
        ('{"per_item": [1]}', "it is no mapping"),
        ("{}", "the reference is empty"),
        ('{"per_item": {}}', "the reference is empty"),
        ('{"per_item": {"tokens": 1}, "calls": 1}', "per_item stands beside totals"),
        ('{"tokens": "5"}', "the value of tokens is '5', must be a positive number"),
        ('{"tokens": true}', "the value of tokens is True"),
        ('{"x": 5}', "'x' is not a resource"),
        ('{"tokens": 5, "tokens": 6}', "the key 'tokens' stands in it twice"),
        ('{"tokens": 1e-320}', "is larger than any number: give a larger reference"),
    ],
)
def test_a_bad_reference_is_one_sentence(tmp_path: Path, reference: str, sentence: str) -> None:
    (tmp_path / "ref.json").write_text(reference)
    done = mashq("score", write(tmp_path / "a.csv", ROWS), "--normalise", f"reference:{tmp_path / 'ref.json'}")
    assert (done.returncode, done.stderr.count("\n"), sentence in done.stderr) == (2, 1, True), done.stderr


def test_tokens_that_fit_are_read(tmp_path: Path) -> None:
    head = "player,item,h,tokens,tokens_in,tokens_out,,\n"
    (tmp_path / "a.csv").write_text(head + "A,x,1,10,4,6,,\nA,y,1,10,4,,,\nA,z,1,,4,6,,\n")
    assert scored(tmp_path / "a.csv")["players"][0]["tokens"] == 30


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_an_export_of_a_simulated_run_says_so(tmp_path: Path, ending: str) -> None:
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    (tmp_path / "m.yaml").write_text("task: {limit: 2}\nplayers: [{name: A, model: simulated/default}]\n")
    assert mashq("run", tmp_path / "m.yaml", "--out", tmp_path / "r").returncode == 0
    assert mashq("export", tmp_path / "r", "-o", tmp_path / f"x.{ending}").returncode == 0
    (own, found) = (scored(place)["notes"] for place in (tmp_path / "r", tmp_path / f"x.{ending}"))
    assert own[0].startswith("SIMULATED: ") and found[0] == own[0]
    assert not any("SIMULATED" in note for note in scored(write(tmp_path / "a.csv", ROWS))["notes"])


def test_two_columns_of_one_name_are_one_sentence_in_parquet(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = arrow.table([["A"], [0.5], [0.6]], names=["player", "h", "h"])
    parquet.write_table(columns, tmp_path / "a.parquet")
    done = mashq("score", tmp_path / "a.parquet")
    assert (done.returncode, "has two columns 'h'" in done.stderr) == (2, True), done.stderr


def test_a_missing_file_is_one_sentence(tmp_path: Path) -> None:
    for name in ("nowhere.csv", "nowhere.parquet", "nowhere"):
        done = mashq("score", tmp_path / name)
        assert done.returncode == 2 and done.stderr.count("\n") == 1


@pytest.mark.skipif(not SHARED.exists(), reason="the leaderboard data is not here")
def test_the_whole_leaderboard_is_scored_in_seconds(tmp_path: Path) -> None:
    from examples.leaderboard import prepare

    rows = prepare(SHARED / "results.csv.gz", tmp_path / "rows.csv")
    started = time.monotonic()
    document = json.loads(mashq("score", rows, "--json", "--resources", "tokens").stdout)
    assert time.monotonic() - started < 60
    assert (len(document["players"]), document["items"]) == (153, 259)
    assert next(iter(document["dropped"]["by"])) == "CohereLabs/command-a-reasoning"
