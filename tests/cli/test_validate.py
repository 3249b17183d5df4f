"""`mashq validate` as a user runs it: a blind sheet, ratings, a report."""

import csv
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats  # pyright: ignore[reportMissingTypeStubs]

import mashq as package
from mashq.cli import cli
from mashq.errors import MashqError
from mashq.report.annotation_sheet import SheetRow, policy, sheet_csv, sheet_html
from tests.arena.helpers import mashq, write_items

scipy: Any = stats
PLAYERS = ("Quillfeather", "Brackenmoor")
HOSTILE = '</div><script>alert("x")</script><img src=x onerror=alert(1)> @@rows@@ \u202e & \x00'


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("played")
    config = {
        "task": {"data": str(write_items(folder / "items.jsonl", 40))},
        "players": [{"name": name, "model": "simulated/default"} for name in PLAYERS],
        "models": {"simulated/default": {"simulate": {"h": 0.6, "h_spread": 0.3, "refusal_rate": 0.1}}},
    }
    package.play(config, folder / "run")
    return folder / "run"


@pytest.fixture(scope="module")
def sheet(run: Path) -> Path:
    out = run.parent / "sheet"
    done = mashq("validate", "sample", run, "-n", 50, "-o", out)
    assert done.returncode == 0, done.stderr
    assert "50 answers" in done.stdout and "keep key.json" in done.stdout
    return out


def key_of(sheet: Path) -> dict[str, Any]:
    return json.loads((sheet / "key.json").read_text("utf-8"))


def rated(sheet: Path, path: Path, noise: float, seed: int = 0, **changes: str) -> Path:
    """Ratings that follow the scores, more or less."""
    random = np.random.default_rng(seed)
    rows = {
        name: str(round(2 * min(max(row["h"] + random.normal(0, noise), 0), 1)) / 2)
        for name, row in key_of(sheet)["rows"].items()
    }
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("id", "comment", "rating"), *((n, "x", r) for n, r in (rows | changes).items())])
    return path


def reported(*arguments: object) -> dict[str, Any]:
    done = mashq("validate", "report", *arguments, "--resamples", 500, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_sheet_is_blind_and_the_key_maps_it_back(run: Path, sheet: Path) -> None:
    assert {path.name for path in sheet.iterdir()} == {"sheet.csv", "sheet.html", "key.json"}
    table, form = (sheet / "sheet.csv").read_text("utf-8-sig"), (sheet / "sheet.html").read_text("utf-8")
    rows = key_of(sheet)["rows"]
    for text in (table, form):
        assert not any(name in text for name in PLAYERS)
        assert "simulated/default" not in text and "refus" not in text
        for row in rows.values():
            assert str(row["h"]) not in text and f"{row['h']:.4f}" not in text
    read = list(csv.DictReader(table.splitlines()))
    assert [row["id"] for row in read] == list(rows) == re.findall(r'<article data-id="(\w+)"', form)
    assert set(read[0]) == {"id", "source", "answer", "rating"} and not any(row["rating"] for row in read)
    assert all(rows[row["id"]]["item"] in row["answer"] for row in read), "simulated answers name their item"
    order = [row["item"] for row in rows.values()]
    assert order != sorted(order)


def test_the_sample_is_spread_and_repeats(run: Path, sheet: Path, tmp_path: Path) -> None:
    rows = key_of(sheet)["rows"].values()
    assert {row["player"] for row in rows} == set(PLAYERS)
    low, high = min(row["h"] for row in rows), max(row["h"] for row in rows)
    assert sum(row["h"] < (low + high) / 2 for row in rows) >= 12
    assert sum(row["weight"] for row in rows) == pytest.approx(key_of(sheet)["answers"])
    assert mashq("validate", "sample", run, "-n", 50, "-o", tmp_path / "again").returncode == 0
    assert all((tmp_path / "again" / path.name).read_bytes() == path.read_bytes() for path in sheet.iterdir())
    assert mashq("validate", "sample", run, "-n", 50, "--seed", 1, "-o", tmp_path / "other").returncode == 0
    assert not set(key_of(tmp_path / "other")["rows"]) & set(key_of(sheet)["rows"])
    every = mashq("validate", "sample", run, "-n", 5000, "-o", tmp_path / "all")
    assert f"{key_of(sheet)['answers']} answers (all that" in every.stdout


class Page(HTMLParser):
    """What a browser would make of a page: its tags and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def policy_in(page: str) -> str:
    found = [a["content"] for _, a in Page(page).tags if a.get("http-equiv") == "Content-Security-Policy"]
    assert len(found) == 1 and found[0] is not None
    return found[0]


def test_hostile_text_is_only_text() -> None:
    rows = [SheetRow("a1", HOSTILE, HOSTILE + "2", "=HYPERLINK(1)"), SheetRow("b2", "plain", "-1+cmd|' /C calc'!A0")]
    form = sheet_html(rows)
    page = Page(form)
    assert [tag for tag, _ in page.tags].count("script") == 1 and "img" not in {tag for tag, _ in page.tags}
    assert '</div><script>alert("x")</script><img src=x onerror=alert(1)> @@rows@@ � & �2' in page.text
    assert form.count("<article") == 2 and "@@policy@@" not in form
    table = list(csv.DictReader(sheet_csv(rows).splitlines()))
    assert table[0]["reference"] == "'=HYPERLINK(1)" and table[1]["answer"].startswith("'-1")


@pytest.mark.parametrize("kind", ["summarise", "qa"])
def test_the_form_needs_nothing_from_outside(kind: str) -> None:
    form = sheet_html([SheetRow("a1", "source", "answer")], kind)
    assert not re.search(r"https?:|//[a-z]|@import|url\(|\bsrc=|\bhref=|\son\w+=|\sstyle=", form)
    meta = policy_in(form)
    assert meta == policy(form) and "default-src 'none'" in meta and "unsafe" not in meta
    assert meta.count("sha256-") == 2
    ratings = [attributes["data-rating"] for _, attributes in Page(form).tags if "data-rating" in attributes]
    assert ratings == ["1", "0.5", "0"]


def test_the_report_of_two_annotators(sheet: Path, tmp_path: Path) -> None:
    one, two = rated(sheet, tmp_path / "anna.csv", 0.1), rated(sheet, tmp_path / "ben.csv", 0.4, 1)
    document = reported(sheet / "key.json", one, two, "--positive", 0.75, "--plot", tmp_path / "plot.html")
    assert (document["n"], document["rows"]) == (50, 50)
    assert [a["name"] for a in document["annotators"]] == ["anna", "ben"]
    scores = [row["h"] for row in key_of(sheet)["rows"].values()]
    given = [[float(row["rating"]) for row in csv.DictReader(path.read_text().splitlines())] for path in (one, two)]
    for found, own in zip([*document["annotators"], document["mean"]], [*given, np.mean(given, axis=0)], strict=True):
        assert found["pearson"]["value"] == pytest.approx(float(scipy.pearsonr(scores, own)[0]))
        assert found["spearman"]["value"] == pytest.approx(float(scipy.spearmanr(scores, own)[0]))
        assert all(found[name]["low"] < found[name]["value"] < found[name]["high"] for name in ("pearson", "auc"))
    assert document["annotators"][0]["pearson"]["value"] > document["annotators"][1]["pearson"]["value"]
    assert 0 < document["alpha"]["value"] < 1 and document["rated_twice"] == 50
    assert document["in_run"]["pearson"]["value"] is not None
    plot = (tmp_path / "plot.html").read_text("utf-8")
    assert plot.count('class="bin"') == len(document["calibration"]) and plot.count('class="row"') == 50
    assert policy_in(plot) == policy(plot) and not re.search(r"https?:|\bsrc=|\bhref=|\sstyle=", plot)


@pytest.mark.parametrize(("form", "sign"), [("table", "Pearson r"), ("md", "|---"), ("latex", r"\begin{tabular}")])
def test_the_text_says_it_all(sheet: Path, tmp_path: Path, form: str, sign: str) -> None:
    one, two = rated(sheet, tmp_path / "anna.csv", 0.1), rated(sheet, tmp_path / "ben.csv", 0.4, 1)
    done = mashq("validate", "report", sheet / "key.json", one, two, "--format", form, "--resamples", 200)
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    for part in (sign, "mean rating", "Krippendorff", "r = 0.96 between HHEM and people on 100", "SIMULATED"):
        assert part in said
    assert form != "table" or max(map(len, done.stdout.splitlines())) <= 100


def test_other_spreadsheets_and_unfinished_ratings(sheet: Path, tmp_path: Path) -> None:
    ids = list(key_of(sheet)["rows"])
    lines = [f"{name};{str(0.1 * (n % 11)).replace('.', ',')};Caf\xe9" for n, name in enumerate(ids)]
    path = tmp_path / "semicolons.csv"
    path.write_bytes("\ufeff".encode() + "\r\n".join(["ID;Rating;Note", *lines]).encode("latin-1"))
    assert reported(sheet / "key.json", path)["n"] == 50
    partial = rated(sheet, tmp_path / "partial.csv", 0.2, 0, **{ids[0]: "", ids[1]: ""})
    document = reported(sheet / "key.json", partial, "--partial")
    assert document["n"] == 48 and document["alpha"] is None
    assert "2 of 50 rows have no rating." in document["notes"]


def test_uniform_ratings_have_no_correlation(sheet: Path, tmp_path: Path) -> None:
    ids = key_of(sheet)["rows"]
    path = rated(sheet, tmp_path / "same.csv", 0, 0, **dict.fromkeys(ids, "1"))
    document = reported(sheet / "key.json", path)
    assert document["mean"]["pearson"]["value"] is None and document["mean"]["auc"]["value"] is None
    said = mashq("validate", "report", sheet / "key.json", path, "--resamples", 200, "--plot", tmp_path / "p.html")
    assert said.returncode == 0 and "cannot be computed" in said.stdout


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("id,rating\n", "has no ratings"),
        ("name,rating\na,1\n", "no column 'id'"),
        ("id,score\na,1\n", "no column 'rating'"),
        ("id,rating\nnobody,1\n", "'nobody' is not in"),
        ("id,rating\nFIRST,1\nFIRST,0\n", "line 3: the id"),
        ("id,rating\nFIRST,1.5\n", "must be a number from 0 to 1"),
        ("id,rating\nFIRST,nan\n", "must be a number from 0 to 1"),
        ("id,rating\nFIRST,good\n", "must be a number from 0 to 1"),
        ("id,rating\nFIRST,1\n", "rates 1 of 50 rows"),
    ],
)
def test_bad_ratings_are_one_sentence(sheet: Path, tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(text.replace("FIRST", next(iter(key_of(sheet)["rows"]))))
    refused(said, "report", sheet / "key.json", path)


def test_other_bad_input_is_one_sentence(run: Path, sheet: Path, tmp_path: Path) -> None:
    good = rated(sheet, tmp_path / "good.csv", 0.1)
    refused("exists already", "sample", run, "-o", sheet)
    refused("is not a run", "sample", tmp_path, "-o", tmp_path / "new")
    assert not (tmp_path / "new").exists()
    refused("cannot be written", "sample", run, "-o", good / "under")
    refused("cannot be read", "report", tmp_path / "none.json", good)
    refused("cannot be read", "report", sheet / "key.json", tmp_path / "none.csv")
    refused("given twice", "report", sheet / "key.json", good, good)
    refused("cannot be written", "report", sheet / "key.json", good, "--plot", good / "plot.html")
    refused("is not the key", "report", run / "manifest.json", good)
    for change, said in (({"format": 9}, "format 9"), ({"rows": {"a": {"h": 7}}}, "damaged")):
        (tmp_path / "key.json").write_text(json.dumps(key_of(sheet) | change))
        refused(said, "report", tmp_path / "key.json", good)


def refused(said: str, *arguments: object) -> None:
    with pytest.raises(MashqError) as caught:
        cli.main(["validate", *map(str, arguments)], standalone_mode=False)
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_an_error_exits_with_2(sheet: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.csv").touch()
    done = mashq("validate", "report", sheet / "key.json", tmp_path / "empty.csv")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("mashq: ") and "is empty" in done.stderr
