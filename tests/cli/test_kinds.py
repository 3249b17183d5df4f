"""Every command on every kind of run: it uses all the matches that the run is made of, or says in a sentence why not.

That it uses them all is seen by changing an answer's H in the last match: what the command says has to change too.
Beside that stand numbers that count all matches.
"""

import csv
import hashlib
import io
import json
import re
import shutil
import sqlite3
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.arena.helpers import write_items
from tests.pinned.door import Dashboard, Said, command
from tests.pinned.stage import CONFIGS, copied

pytestmark = pytest.mark.slow

# By kind of run, where one is stored; the imported one is a file, as `mashq import` makes it.
STORED = {
    "match": "match",
    "trials": "trials",
    "sweep": "sweep",
    "tournament": "tournament",
    "swiss": "swiss",
    "game": "game",
    "vision": "vision",
    "metered": "metered",
    "imported": "imported",
    "unfinished": "stopped",
    "unfinished trials": "stopped-trials",
}
MATCHES = ("match", "trials", "unfinished", "unfinished trials")
SEASONS = ("sweep", "tournament", "swiss", "game", "vision")
RUNS = (*MATCHES, *SEASONS)
LEDGER = r"metered is the ledger of a gateway, not a match: 'mashq show \S+' says what was spent"
NO_RUN = r"rows\.csv is not a run of mashq: it has no manifest\.json"
FORMATS = ("csv", "jsonl", "parquet", "latex", "otel", "inspect")


@dataclass(frozen=True, slots=True)
class Place:
    """A run of some kind, alone in a directory of runs."""

    kind: str
    run: Path
    out: Path

    def sql(self, query: str) -> Any:
        """One value of the run's file."""
        with closing(sqlite3.connect(self.run / "run.db")) as file:
            return file.execute(query).fetchone()[0]

    @property
    def ended(self) -> int:
        """How many matches have ended."""
        return self.sql("SELECT count(*) FROM matches WHERE ended IS NOT NULL")

    @property
    def matches(self) -> int:
        """How many were begun."""
        return self.sql("SELECT count(*) FROM matches")

    @property
    def answers(self) -> int:
        """How many answers there are to score, in all matches."""
        return self.sql("SELECT count(*) FROM events WHERE kind = 'answer' AND json_extract(move, '$.status') = 'ok'")

    def do(self, *arguments: object) -> Said:
        """A command on the run; what it wrote before is gone."""
        shutil.rmtree(self.out, ignore_errors=True)
        self.out.mkdir()
        done = command([str(argument) for argument in arguments], 200)
        assert "Traceback" not in done.err, done.err
        return done

    def document(self, *arguments: object) -> dict[str, Any]:
        """The document of a command that ends well."""
        done = self.do(*arguments, "--json")
        assert done.code == 0, done.err
        return json.loads(done.out)

    def written(self) -> Iterator[tuple[str, str]]:
        """What was written: the files with a fingerprint each; an archive by what is in it."""
        for path in sorted(self.out.rglob("*")):
            if path.suffix == ".eval":
                with zipfile.ZipFile(path) as archive:
                    yield path.name, str([(part.filename, part.CRC) for part in archive.infolist()])
            elif path.is_file():
                yield path.name, hashlib.sha256(path.read_bytes()).hexdigest()

    def said(self, *arguments: object) -> list[object]:
        """All that a command says and writes."""
        done = self.do(*arguments)
        assert done.code == 0, done.err
        return [done.out, *self.written()]


def placed(kind: str, folder: Path) -> Place:
    """A stored run, in a place of its own."""
    run = copied(STORED[kind], folder / "runs" / STORED[kind])
    return Place(kind, run / "rows.csv" if kind == "imported" else run, folder / "out")


def last_changed(place: Place) -> None:
    """Give an answer of the last match that has ended (of the one match, where none has) another H."""
    with closing(sqlite3.connect(place.run / "run.db")) as file:
        order = "ORDER BY (ended IS NULL), position DESC" if place.ended else "ORDER BY position"
        match = file.execute(f"SELECT id FROM matches {order} LIMIT 1").fetchone()[0]
        columns = "seq, player, kind, item, move, ruling"
        moves = file.execute(f"SELECT {columns} FROM events WHERE match = ? ORDER BY seq", (match,)).fetchall()
        seq, player, kind, item, move = next(_last_versions(moves))
        h = 0.95 if move["h"] == 1 else 1.0
        file.execute("UPDATE events SET move = ? WHERE seq = ?", (json.dumps(move | {"h": h}), seq))
        file.execute(
            f"UPDATE results SET h = :h {', h_first = :h' if kind == 'answer' else ''} WHERE match = :match AND"
            " seat = (SELECT seat FROM seats WHERE match = :match AND player = :player) AND"
            " position = (SELECT position FROM items WHERE id = :item)",
            {"h": h, "match": match, "player": player, "item": item},
        )
        file.execute(
            "UPDATE attempts SET h = ? WHERE match = ? AND player = ? AND item = ? AND h = ?",
            (h, match, player, item, move["h"]),
        )
        file.commit()


def _last_versions(moves: Sequence[tuple[Any, ...]]) -> Iterator[tuple[int, str, str, str, dict[str, Any]]]:
    """Answers and rewrites after which their player only went on: with another H the moves would be the same."""
    for at in range(len(moves) - 1, -1, -1):
        seq, player, kind, item, text, _ = moves[at]
        move = json.loads(text)
        later = [one for one in moves[at + 1 :] if one[1] == player]
        reviews = any(one[2] == "rewrite" or '"review"' in (one[5] or "") for one in later)
        if kind in ("answer", "rewrite") and move["status"] == "ok" and "judged" not in move and not reviews:
            yield seq, player, kind, item, move


def uses_all(place: Place, *arguments: object) -> None:
    """What a command says depends on the last match; that it depends on nothing else is seen once."""
    before = place.said(*arguments)
    if place.kind == "trials":
        assert place.said(*arguments) == before
    last_changed(place)
    assert place.said(*arguments) != before


def refused(done: Said, sentence: str) -> None:
    """A command that says in one sentence why it does not do this."""
    assert (done.code, done.out) == (2, ""), done.err
    assert re.fullmatch(rf"mashq: \S*{sentence}\n", done.err), done.err


# A command by kind: how it is called, and what it says of the kinds that it is not for.


@dataclass(frozen=True, slots=True)
class Command:
    """A command: its arguments, the kinds of which it uses all matches, and what it says of others."""

    arguments: Callable[[Place], Sequence[object]]
    kinds: Sequence[str]
    season: str = ""
    others: dict[str, str] | None = None

    def sentence(self, kind: str) -> str:
        """What it says of a kind that it is not for."""
        own = (self.others or {}).get(kind)
        if own is not None:
            return own
        if kind in ("metered", "imported"):
            return LEDGER if kind == "metered" else NO_RUN
        named = "tournament" if kind == "swiss" else kind
        called = "vision study" if named == "vision" else named
        return f"{STORED[kind]} is a {called}{self.season}"


def on(*words: str) -> Callable[[Place], Sequence[object]]:
    """A command with the run where RUN stands, and the folder to write to for OUT."""
    return lambda place: [
        word.replace("RUN", str(place.run))
        .replace("OUT", str(place.out))
        .replace("ROOT", str(place.out.parent / "runs"))
        for word in words
    ]


NOT_ONE = r", not a single match: see 'mashq show \S+'"
DRAWN = r"simulated answers have no text to score: rescore a run of real models"
NOTHING = r"runs holds no finished run of mashq: play one with 'mashq run'"
COMMANDS = {
    "show": Command(on("show", "RUN"), RUNS),
    "show --json": Command(on("show", "RUN", "--json"), RUNS),
    "score": Command(on("score", "RUN"), MATCHES, NOT_ONE),
    "compare": Command(
        on("compare", "RUN", "RUN"),
        MATCHES,
        ", and compare is for matches and their trials: 'mashq report' sets whole seasons side by side",
    ),
    "report": Command(on("report", "RUN", "-o", "OUT/report.html"), RUNS),
    "rescore": Command(
        on("rescore", "RUN", "--detector", "grounding"),
        (),
        ", and rescore is for matches and their trials: give one of those",
        dict.fromkeys(MATCHES, DRAWN),
    ),
    "report --detector": Command(
        on("report", "RUN", "--detector", "grounding", "-o", "OUT/report.html"),
        (),
        ": --detector is for reports of matches and their trials",
        dict.fromkeys(MATCHES, DRAWN),
    ),
    "validate sample": Command(on("validate", "sample", "RUN", "-n", "10000", "-o", "OUT/sheet"), RUNS),
    "power": Command(
        on("power", "RUN"),
        ("match", "trials", "unfinished"),
        NOT_ONE,
        {"unfinished trials": "there are 3 scored items: at least 5 are needed to say anything"},
    ),
    "calibrate": Command(
        on("calibrate", "RUN", "-o", "OUT/like.yaml"),
        MATCHES,
        ", not a single match: calibrate from a run of one match",
    ),
    "calibrate --check": Command(
        on("calibrate", "RUN", "--check"), MATCHES, ", not a single match: calibrate from a run of one match"
    ),
    "export csv": Command(on("export", "RUN", "-o", "OUT/rows.csv"), RUNS),
    "export jsonl": Command(on("export", "RUN", "-o", "OUT/rows.jsonl"), RUNS),
    "export parquet": Command(on("export", "RUN", "-o", "OUT/rows.parquet"), RUNS),
    "export latex": Command(
        on("export", "RUN", "--format", "latex", "-o", "OUT/table.tex"),
        (*MATCHES, *(kind for kind in SEASONS if kind != "game")),
        ", not one match: export its rows with --format csv, or one of its tables with 'mashq show'",
    ),
    "export otel": Command(on("export", "RUN", "--format", "otel", "-o", "OUT/spans.jsonl"), RUNS),
    "export inspect": Command(on("export", "RUN", "--format", "inspect", "-o", "OUT/logs"), RUNS),
    "export attempts": Command(on("export", "RUN", "--what", "attempts", "-o", "OUT/attempts.csv"), RUNS),
    "export events": Command(on("export", "RUN", "--what", "events", "-o", "OUT/events.csv"), RUNS),
    "site": Command(
        on("site", "ROOT", "-o", "OUT/site"),
        ("match", "trials", *SEASONS),
        others=dict.fromkeys(("metered", "imported", "unfinished", "unfinished trials"), NOTHING),
    ),
}
# What a command does with what is no match, where it does something: another test says what.
ELSEWHERE = {
    ("show", "metered"),
    ("show --json", "metered"),
    ("score", "imported"),
    ("power", "imported"),
    ("export attempts", "metered"),
    ("export otel", "metered"),
    ("export events", "metered"),
}


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("kind", STORED)
def test_a_command_uses_all_matches_or_says_why_not(tmp_path: Path, kind: str, name: str) -> None:
    if (name, kind) in ELSEWHERE:
        return
    place, wanted = placed(kind, tmp_path), COMMANDS[name]
    if kind in wanted.kinds:
        uses_all(place, *wanted.arguments(place))
    else:
        refused(place.do(*wanted.arguments(place)), wanted.sentence(kind))


# Numbers that count all matches


def rows_in(place: Place) -> int:
    """How many rows of results there are: one for each match begun, player of it and item."""
    with closing(sqlite3.connect(place.run / "run.db")) as file:
        seats = file.execute("SELECT count(*) FROM seats").fetchone()[0]
        items = file.execute("SELECT count(*) FROM items").fetchone()[0]
    return (seats + (place.matches - place.ended) * 2) * items  # the unfinished ones are of two players


@pytest.mark.parametrize("kind", RUNS)
def test_every_match_is_exported_and_sampled(tmp_path: Path, kind: str) -> None:
    place = placed(kind, tmp_path)
    rows = list(csv.DictReader(io.StringIO(place.do("export", place.run, "--format", "csv").out)))
    assert len(rows) == rows_in(place) and len({row["match"] for row in rows}) == place.matches
    assert sum(row["status"] == "ok" for row in rows) == place.answers
    for what in ("attempts", "events"):
        text = place.do("export", place.run, "--format", "csv", "--what", what).out
        assert len(list(csv.reader(io.StringIO(text)))) - 1 == place.sql(f"SELECT count(*) FROM {what}")
    place.do("validate", "sample", place.run, "-n", 10_000, "-o", place.out / "sheet")
    key = json.loads((place.out / "sheet" / "key.json").read_text())
    assert (key["answers"], len(key["rows"])) == (place.answers, place.answers)


@pytest.mark.parametrize("kind", MATCHES)
def test_a_score_is_over_every_trial(tmp_path: Path, kind: str) -> None:
    place = placed(kind, tmp_path)
    over = max(place.ended, 1)
    shown, score = place.document("show", place.run), place.document("score", place.run)
    compared = place.document("compare", place.run, place.run)
    assert score["trials"] == over == shown.get("trials", 1)
    assert [run["trials"] for run in compared["runs"]] == [over, over]
    for name in ("h", "q", "penalty", "tokens"):
        values = [[one[name] for one in document["players"]] for document in (shown, score)]
        assert values[0] == values[1] == [player["runs"][0][name] for player in compared["players"]], name
    if place.ended:
        query = "SELECT sum(h) / count(*) FROM results JOIN seats USING (match, seat) WHERE player = '{}'"
        means = [place.sql(query.format(one["name"])) for one in shown["players"]]
        assert [one["h"] for one in shown["players"]] == pytest.approx(means)


@pytest.mark.parametrize("kind", SEASONS)
def test_the_tables_of_a_season_are_over_every_match(tmp_path: Path, kind: str) -> None:
    place = placed(kind, tmp_path)
    shown = place.document("show", place.run)
    assert shown["trials"] == place.sql("SELECT count(*) FROM matches") / matches_of(kind, shown)
    if kind in ("tournament", "swiss"):
        query = "SELECT avg(h) FROM results JOIN seats USING (match, seat) WHERE player = '{}'"
        means = [place.sql(query.format(one["name"])) for one in shown["players"]]
        assert [one["h"] for one in shown["players"]] == pytest.approx(means)
        played = sum(row["won"] + row["tied"] + row["lost"] for row in shown["wins"])
        assert played == 2 * shown["matches"], "each is a win of one and a loss of another"


def matches_of(kind: str, shown: dict[str, Any]) -> int:
    """How many matches there are of one trial, by what the document says."""
    if kind == "sweep":  # betas score the same matches
        return len({json.dumps({**cell["settings"], "score.beta": None}) for cell in shown["cells"]})
    if kind == "game":
        return sum(len(game["payoffs"]) * len(game["payoffs"][0]) for game in shown["games"].values())
    if kind == "vision":  # each player alone, and all of them with and without vision
        return len(shown["players"]) + 2
    return shown["matches"]


@pytest.mark.parametrize("kind", STORED)
def test_verify_checks_every_match(tmp_path: Path, kind: str) -> None:
    place = placed(kind, tmp_path)
    done = place.do("verify", place.run)
    if kind == "imported":
        refused(done, NO_RUN)
        return
    # file, manifest, items, prompts, replies; costs and answers of each match, results of those that are over
    checks = 4 if kind == "metered" else 5 + 2 * place.matches + place.ended  # a ledger has no items
    assert (done.code, done.out) == (0, f"{checks} checks, all hold.\n")
    if kind == "metered":  # of a version without a chain: nothing says how many attempts there were
        return
    with closing(sqlite3.connect(place.run / "run.db")) as file:
        file.execute("DELETE FROM attempts WHERE id = (SELECT max(id) FROM attempts)")
        file.commit()
    assert place.do("verify", place.run).code == 1


@pytest.mark.parametrize("kind", STORED)
def test_resume_plays_every_match_to_its_end(tmp_path: Path, kind: str) -> None:
    place = placed(kind, tmp_path)
    if kind not in RUNS:
        refused(place.do("resume", place.run), LEDGER if kind == "metered" else NO_RUN)
        return
    planned = json.loads((place.run / "manifest.json").read_text()).get("season", {}).get("trials", 1)
    document = place.document("resume", place.run)
    assert document == place.document("show", place.run) and document["finished"]
    assert place.ended == place.matches
    if kind in MATCHES:
        assert place.ended == planned == document.get("trials", 1)


@pytest.mark.parametrize("kind", STORED)
def test_the_dashboard_counts_every_match(tmp_path: Path, kind: str) -> None:
    place = placed(kind, tmp_path)
    run = STORED[kind]

    def ask(name: str, status: int = 200, **values: object) -> Any:
        reply = Dashboard(tmp_path / "runs").get(f"/api/{name}", urlencode({"run": run, **values}))
        assert reply.status == status, (reply.status, reply.body[:300])
        return json.loads(reply.body)

    if kind == "imported":
        refused(place.do("view", tmp_path / "runs"), r"runs holds no runs: play one with 'mashq run … --out \S+'")
        return
    summary = ask("summary")
    if kind == "metered":
        assert (summary["players"], summary["matches"]) == ([], 0)
        assert ask("match", 404)["error"] == "this run is the ledger of a gateway: it has no match to show"
        return
    listed = ask("matches")
    assert (listed["begun"], listed["ended"], summary["matches"]) == (place.matches, place.ended, place.ended)
    assert len(listed["matches"]) == place.matches
    if kind in MATCHES and place.ended:
        shown = place.document("show", place.run)["players"]
        assert [(one["h"], one["q"]) for one in summary["players"]] == [(one["h"], one["q"]) for one in shown]
    last = listed["matches"][-1]["id"]
    assert ask("frame", match=last)["total"] == place.sql(f"SELECT count(*) FROM events WHERE match = '{last}'")
    assert ask("story", match=last)["whole"] is True
    assert ask("story", 404, match="none such")["error"] == "there is no such match in this run"
    last_changed(place)
    assert ask("summary") != summary
    names = [player["name"] for player in json.loads((place.run / "manifest.json").read_text())["config"]["players"]]
    other = shutil.copytree(place.run, tmp_path / "runs" / "other")
    last_changed(Place(kind, other, place.out))
    gaps = [ask("differences", a=run, b="other", player=name)["items"] for name in names]
    assert bool(place.ended) == any(gaps), names


@pytest.mark.parametrize(
    ("kind", "config", "words"),
    [
        ("match", "match", "run"),
        ("trials", "two", "run --trials 3"),
        ("sweep", "two", "sweep --over rules.T=0.7,0.9 --over score.beta=0.01,0.1 --trials 2"),
        ("tournament", "league", "tournament --trials 2"),
        ("swiss", "league", "tournament --system swiss --rounds 2"),
        ("game", "three", "game --trials 2"),
        ("vision", "match", "vision --trials 2"),
    ],
)
def test_the_plan_of_a_run_is_for_all_its_matches(tmp_path: Path, kind: str, config: str, words: str) -> None:
    place = placed(kind, tmp_path)
    verb, *options = words.split()
    planned = place.document("plan", verb, CONFIGS / f"{config}.yaml", *options)
    assert planned["matches"] == place.matches


def test_answers_with_texts_are_scored_anew_and_measured_in_every_trial(tmp_path: Path) -> None:
    data, answers = write_items(tmp_path / "items.jsonl", 6), tmp_path / "answers.jsonl"
    items = [json.loads(line) for line in data.read_text().splitlines()]
    costs = {"tokens_in": 9, "tokens_out": 9, "seconds": 1.0}
    replies = [{"item": item["id"], "text": item["text"].partition(". ")[0] + ".", **costs} for item in items]
    answers.write_text("".join(json.dumps(reply) + "\n" for reply in replies))
    players = [{"name": name, "model": f"recorded/{answers}", "policy": "rule", "R": 0} for name in ("A", "B")]
    (tmp_path / "match.json").write_text(json.dumps({"task": {"data": str(data)}, "players": players}))
    place = Place("trials", tmp_path / "runs" / "run", tmp_path / "out")
    place.document("run", tmp_path / "match.json", "--trials", 3, "--out", place.run)
    documents: list[Any] = json.loads(place.do("rescore", place.run, "--detector", "grounding", "--json").out)
    assert [(one["trials"], one["units"]) for one in documents] == [(3, 18), (3, 18)]
    before = [one["h"] for one in documents[1]["players"]]
    page = place.do("report", place.run, "--detector", "grounding", "-o", place.out / "report.html")
    assert page.code == 0 and "The first of 3 trials, told by its moves" in (place.out / "report.html").read_text()
    measured = lengths(place)
    with closing(sqlite3.connect(place.run / "run.db")) as file:
        last = "seq = (SELECT max(seq) FROM events WHERE match = '2' AND kind = 'answer' AND player = 'B')"
        text = "Nothing of the kind was ever said by anybody at 99 Elsewhere Road. " * 20
        file.execute(f"UPDATE events SET move = json_set(move, '$.text', ?) WHERE {last}", (text,))
        file.execute("UPDATE contents SET words = 10 * words WHERE match = '2' AND seat = 1")
        file.commit()
    after: list[Any] = json.loads(place.do("rescore", place.run, "--detector", "grounding", "--json").out)
    changed = [one["h"] for one in after[1]["players"]]
    assert changed[0] == before[0] and changed[1] < before[1] and before[1] - changed[1] < 1 / 17
    assert lengths(place)[0] == measured[0] and lengths(place)[1] != measured[1]


def lengths(place: Place) -> list[str]:
    """The rows of the report's table of lengths."""
    place.do("report", place.run, "-o", place.out / "report.html")
    page = (place.out / "report.html").read_text()
    table = page[page.index('id="run1-lengths"') :]
    return re.findall(r"<tr>.*?</tr>", table[: table.index("</table>")], re.DOTALL)[-2:]


def test_what_is_no_match_is_shown_for_what_it_is(tmp_path: Path) -> None:
    metered, imported = placed("metered", tmp_path / "metered"), placed("imported", tmp_path / "imported")
    attempts = metered.sql("SELECT count(*) FROM attempts")
    assert sum(row["attempts"] for row in metered.document("show", metered.run)["spent"]) == attempts
    text = metered.do("export", metered.run, "--format", "csv", "--what", "attempts").out
    assert len(list(csv.reader(io.StringIO(text)))) - 1 == attempts
    spans = json.loads(metered.do("export", metered.run, "--format", "otel").out)["resourceSpans"][0]["scopeSpans"]
    asked = [span for scope in spans for span in scope["spans"] if span["name"].startswith("chat ")]
    assert len(asked) == attempts
    events = metered.do("export", metered.run, "--format", "csv", "--what", "events").out
    assert events.count("\n") == 1, "nobody moved"
    with imported.run.open() as file:
        rows = list(csv.DictReader(file))
    document = imported.document("score", imported.run)
    assert {one["name"] for one in document["players"]} == {row["player"] for row in rows}
    assert document["items"] + document["dropped"]["items"] == len({row["item"] for row in rows})
