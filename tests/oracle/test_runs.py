"""Small random runs: the output of every command, the report page, the dashboard and an exported file, against the
oracle's score of their ledger and moves."""

import json
import random
import re
import shlex
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlencode

import pytest

import mashq
from mashq.testing import FakeProvider
from tests.arena.helpers import http_config, write_items
from tests.oracle.ledger import Run, Scored, read, scored
from tests.oracle.oracle import COSTS, RESOURCES, Score
from tests.oracle.test_score_files import near, strict
from tests.pinned.door import Dashboard, Said, command
from tests.pinned.pages import page
from tests.pinned.stage import copied

pytestmark = pytest.mark.slow

Document = dict[str, Any]
COUNTED = ("h", "penalty", "q")
PRINTED = re.compile(r"~?[-−]?\d[\d,]*(?:\.\d+)?M?%?|\?")


@dataclass(frozen=True)
class Known:
    """A run and the oracle's score of it."""

    path: Path
    run: Run
    result: Score
    players: Mapping[str, Scored]

    @property
    def finished(self) -> bool:
        """Whether it was played to the end."""
        return json.loads((self.path / "manifest.json").read_text())["ended"] is not None

    @property
    def planned(self) -> int:
        """The planned number of trials."""
        return json.loads((self.path / "manifest.json").read_text()).get("season", {}).get("trials", 1)


def known(path: Path) -> Known:
    """Read a run and score it by the oracle."""
    run = read(path)
    return Known(path, run, *scored(run))


def run_command(*arguments: object) -> Said:
    """Run a command that must succeed."""
    result = command([str(argument) for argument in arguments], 200)
    assert result.code == 0, result.err
    return result


# Figures


def check_player(figures: Document, expected: Scored, where: str, names: tuple[str, ...] = COSTS) -> None:
    """Check a player's H, P, Q, totals and rates in a document; figures the document does not have are skipped."""
    standing = expected.standing
    for name, value in (("h", standing.h), ("penalty", standing.penalty), ("q", standing.q)):
        near(value, figures[name], f"{name} of {standing.name} in {where}", 1)
    if "answer_rate" in figures:
        rate = figures["answer_rate"] or None
        near(standing.answer_rate or None, rate, f"answer rate of {standing.name} in {where}")
    for name in names:
        near(standing.totals[name], figures[name], f"{name} of {standing.name} in {where}")
    for name, value in (("q_min", standing.q_min), ("q_max", standing.q_max)):
        if name in figures:
            near(value, figures[name], f"{name} of {standing.name} in {where}", 1)
    if "charged" in figures:
        assert set(figures["charged"]) == set(standing.charged), f"{standing.name} in {where}"
        for name, value in standing.charged.items():
            near(value, figures["charged"][name], f"charged {name} of {standing.name} in {where}")
    if figures.get("h_before_review", ...) is not ...:
        first = None if expected.h_before_review is None else Fraction(expected.h_before_review)
        near(first, figures["h_before_review"], f"first H of {standing.name} in {where}")
    if "unknown_attempts" in figures:
        near(
            Fraction(expected.unknown), figures["unknown_attempts"], f"unknown attempts of {standing.name} in {where}"
        )


def check_document(known: Known, document: Document, where: str) -> None:
    """Check the players and the winner of a match, its trials or a score."""
    assert [player["name"] for player in document["players"]] == list(known.run.players)
    for player in document["players"]:
        check_player(player, known.players[player["name"]], where)
    assert document["items"] == known.result.items
    if "units" in document:
        assert document["units"] == known.result.units
    if known.finished:
        assert (document["winner"], document["tied"]) == (known.result.winner, list(known.result.tied))
    else:
        assert (document["winner"], document["tied"]) == (None, [])


def check_json(known: Known) -> None:
    """Check `show`, `score` and `compare` with --json."""
    check_document(known, strict(run_command("show", known.path, "--json").out), "show")
    document = strict(run_command("score", known.path, "--json").out)
    check_document(known, document, "score")
    compared = strict(run_command("compare", known.path, known.path, "--json").out)
    assert [run["items"] for run in compared["runs"]] == [known.result.items] * 2
    assert [run["trials"] for run in compared["runs"]] == [known.run.trials] * 2
    scored = {row["name"]: row for row in document["players"]}
    for player in compared["players"]:
        for figures in player["runs"]:
            check_player(figures, known.players[player["name"]], "compare", RESOURCES)
            score_figures = scored[player["name"]]
            assert [figures[end] for end in ("q_low", "q_high")] == [
                score_figures[end] for end in ("q_low", "q_high")
            ]


def check_export(known: Known, folder: Path) -> None:
    """Check the exported rows, scored with the flags that the export prints; bounds of Q are not exported."""
    rows = folder / "rows.csv"
    rows.unlink(missing_ok=True)
    exported = run_command("export", known.path, "--format", "csv", "-o", rows)
    if "it has not ended" in exported.err:
        assert known.run.trials < known.planned
        ended = {unit.match for unit in known.run.units}
        rows.unlink()
        exported = run_command(
            "export", known.path, "--format", "csv", "-o", rows, *(f"--match={match}" for match in ended)
        )
    flags = re.search(r"mashq score \S+ (.*)", exported.out + exported.err)
    assert flags is not None
    if "reference:FILE" in flags[1]:
        config = json.loads((known.path / "manifest.json").read_text())["config"]
        (folder / "reference.json").write_text(json.dumps(_given(config["score"]["normalise"])))
    options = shlex.split(flags[1].replace("FILE", str(folder / "reference.json")))
    document = strict(run_command("score", rows, *options, "--json").out)
    for player in document["players"]:
        for name in ("q_min", "q_max", "charged", "h_before_review", "unknown_attempts"):
            del player[name]
        check_player(player, known.players[player["name"]], "the exported rows")
    counts = (known.result.items, known.result.units, known.result.winner, list(known.result.tied))
    assert tuple(document[name] for name in ("items", "units", "winner", "tied")) == counts


def _given(value: Any) -> Any:
    """Return settings without those that are None."""
    if not isinstance(value, dict):
        return value
    return {name: _given(part) for name, part in cast(Document, value).items() if part is not None}


def check_dashboard(known: Known) -> None:
    """Check the dashboard's summary of the run, and the final frame of a match."""
    dashboard = Dashboard(known.path.parent)

    def ask(name: str, **values: object) -> Document:
        reply = dashboard.get(f"/api/{name}", urlencode({"run": known.path.name, **values}))
        assert reply.status == 200, reply.body
        return json.loads(reply.body)

    if not known.finished and not any(unit.status != "pending" for unit in known.run.units):
        return
    summary = ask("summary")
    if not summary["so_far"]:
        for player in summary["players"]:
            check_player(player, known.players[player["name"]], "the summary", RESOURCES)
        assert (summary["items"], summary["matches"]) == (known.result.items, known.run.trials)
    if known.finished and known.planned == 1:
        final = ask("frame", wait=1)["final"]
        check_document(known, final, "the final frame")


# Digits


def check_text(known: Known, folder: Path) -> None:
    """Check the tables of `show`, `score` and `compare`, and the one of the report page."""
    show = run_command("show", known.path).out
    check_table(known, show, "show")
    check_table(known, run_command("score", known.path, "--all").out, "score")
    check_table(known, run_command("compare", known.path, known.path).out, "compare")
    out = folder / "report.html"
    out.unlink(missing_ok=True)
    run_command("report", known.path, "-o", out)
    tables: list[list[str]] = [entry for entry in page(out.read_text()) if isinstance(entry, list)]
    check_rows(known, _cells(tables), "the report page")


def check_table(known: Known, text: str, where: str) -> None:
    """Check the first table of a text."""
    lines = text.splitlines()
    start = next(at for at, line in enumerate(lines) if line.lstrip().startswith("player"))
    rows = [re.split(r"\s{2,}", line.strip()) for line in [lines[start], *_until_blank(lines[start + 2 :])]]
    check_rows(known, rows, where)


def _until_blank(lines: list[str]) -> Iterator[str]:
    for line in lines:
        if not line.strip():
            return
        yield line


def _cells(tables: list[list[str]]) -> list[list[str]]:
    """Return the rows of the page's results table: the heading with "player", and those below it."""
    start = next(at for at, row in enumerate(tables) if len(row) > 1 and row[1].startswith("player"))
    width = len(tables[start])
    rows = [tables[start]]
    for row in tables[start + 1 :]:
        if len(row) != width or row[1].startswith("player"):
            break
        rows.append(row)
    return [[re.sub(r"<[^>]*>| \[[^]]*\]$", "", cell).strip() for cell in row[1:]] for row in rows]


def check_rows(known: Known, rows: list[list[str]], where: str) -> None:
    """Check that every printed figure of a player is the oracle's, to the last printed digit."""
    headings, seen = rows[0], set[str]()
    for row in rows[1:]:
        cells = dict(zip(headings, row, strict=True))
        name = cells["player"].removesuffix(" ★")
        if name.endswith("…"):
            name = next(player for player in known.run.players if player.startswith(name[:-1]))
        seen.add(name)
        standing = known.players[name].standing
        expected: dict[str, Fraction | None] = {
            "P": standing.penalty,
            "Q": standing.q,
            "Q ± sd": standing.q,
            "H": standing.h,
            "H ± sd": standing.h,
        }
        expected |= {resource: standing.totals[resource] for resource in COSTS} | {"answered": standing.answer_rate}
        expected |= {"tok in": standing.totals["tokens_in"], "tok out": standing.totals["tokens_out"]}
        for heading, cell in cells.items():
            if heading in expected:
                printed(cell.partition(" ± ")[0], expected[heading], f"{heading} of {name} in {where}")
                marked = heading in standing.charged or (heading.replace("tok ", "tokens_") in standing.charged)
                assert cell.startswith("~") == marked, f"{heading} of {name} in {where}: {cell}"
        if "H before → after" in cells:
            first = known.players[name].h_before_review
            before, after = cells["H before → after"].split(" → ")
            printed(before, None if first is None else Fraction(first), f"first H of {name} in {where}")
            printed(after, standing.h, f"H of {name} in {where}")
        assert {"P", "Q"} <= set(cells) or {"P", "Q ± sd"} <= set(cells), where
    assert seen == set(known.run.players), where


def printed(text: str, expected: Fraction | None, label: str) -> None:
    """Check that a printed number is the expected one, rounded."""
    assert PRINTED.fullmatch(text), f"{label}: {text!r}"
    if text == "?":
        assert expected is None, label
        return
    assert expected is not None, label
    digits = text.lstrip("~").replace(",", "").replace("−", "-")
    scale = Fraction(1, 100) if digits.endswith("%") else Fraction(10**6) if digits.endswith("M") else Fraction(1)
    digits = digits.rstrip("%M")
    half = Fraction(1, 2 * 10 ** len(digits.partition(".")[2])) * scale
    assert abs(Fraction(digits) * scale - expected) <= half + Fraction("1e-9") * (1 + abs(expected)), (
        f"{label}: {text}"
    )


def check_everything(path: Path, folder: Path) -> Known:
    """Check every output of a run."""
    scored_run = known(path)
    check_json(scored_run)
    check_text(scored_run, folder)
    check_export(scored_run, folder)
    check_dashboard(scored_run)
    return scored_run


# Runs


REFERENCES: tuple[Any, ...] = (
    "match",
    "match",
    {"per_item": {"tokens": 700, "calls": 3, "reviews": 1, "seconds": 4, "dollars": 0.01}},
    {"tokens": 9000, "calls": 30, "reviews": 5, "seconds": 60, "dollars": 0.1},
)


def config_of(seed: int) -> tuple[Document, int]:
    """Return a random small match of simulated players, and its number of trials."""
    draw = random.Random(seed)
    models: Document = {}
    players: list[Document] = []
    for seat in range(draw.choice([1, 2, 2, 3])):
        model = f"simulated/m{seat}"
        models[model] = {
            "simulate": {
                "h": draw.choice([0.5, 0.7, 0.9]),
                "refusal_rate": draw.choice([0, 0, 0.2, 0.5]),
                "failure_rate": draw.choice([0, 0, 0.1]),
                "review_rate": draw.choice([0.2, 0.9]),
            }
        }
        if draw.random() < 0.4:
            models[model]["price"] = {"input": draw.choice([0.5, 3]), "output": 10}
        player: Document = {"name": f"p{seat}", "model": model, "policy": draw.choice(["llm", "rule"])}
        if draw.random() < 0.3:
            player["budget"] = {draw.choice(["calls", "tokens"]): draw.choice([5, 12])}
            if "tokens" in player["budget"]:
                player["budget"] = {"tokens": draw.choice([4000, 12000])}
        players.append(player)
    config = {
        "task": {"limit": draw.choice([1, 3, 6, 8])},
        "players": players,
        "models": models,
        "rules": {
            "turn": draw.choice(["cycle", "cycle", "single"]),
            "keep": draw.choice(["latest", "better"]),
            "R": draw.choice([0, 1, 3]),
        },
        "score": {
            "alpha": draw.choice([1, 0.5]),
            "beta": draw.choice([0.1, 0.01, 0.7]),
            "resources": draw.choice([["tokens", "calls", "reviews", "seconds"], ["tokens", "dollars"], ["calls"]]),
            "refusals": draw.choice(["intersection", "penalised", "answered"]),
            "normalise": draw.choice(REFERENCES),
        },
        "seed": seed,
    }
    return config, draw.choice([1, 1, 2, 3])


def play(config: Document, trials: int, out: Path, folder: Path) -> Document:
    """What `run --json` prints."""
    (folder / "match.json").write_text(json.dumps(config))
    arguments = ["run", folder / "match.json", "--out", out, "--json", *(["--trials", trials] if trials > 1 else [])]
    return strict(run_command(*arguments).out)


@pytest.mark.parametrize("seed", range(24))
def test_simulated_players(tmp_path: Path, seed: int) -> None:
    config, trials = config_of(seed)
    document = play(config, trials, tmp_path / "runs" / "run", tmp_path)
    scored_run = check_everything(tmp_path / "runs" / "run", tmp_path)
    check_document(scored_run, document, "run")


FAULTS = ("no_usage", "refusal", "429", "500", "drop_body", "wrong_json", "empty", "bad_usage")


@pytest.mark.parametrize("seed", range(8))
def test_players_whose_costs_are_not_all_told(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    data = write_items(tmp_path / "items.jsonl", draw.choice([3, 5]))
    rates = {name: round(draw.uniform(0, 0.2), 3) for name in draw.sample(FAULTS, 4)} | {"no_usage": 0.3}
    faults = {"models": {"alpha": {"rates": rates}, "beta": {"rates": {"no_usage": draw.choice([0, 0.2, 1.0])}}}}
    rules = {"turn": "single" if seed % 2 else "cycle", "show_seconds": False}
    score = {
        "refusals": draw.choice(["intersection", "penalised", "answered"]),
        "normalise": draw.choice(REFERENCES),
        "resources": ["tokens", "calls", "reviews", "seconds"],
    }
    with FakeProvider(seed=seed, faults=faults) as provider:
        config = http_config(provider.base_url, data, rules=rules, score=score)
        if draw.random() < 0.5:
            config["models"]["my/alpha"]["price"] = {"input": 2, "output": 8}
        document = play(config, draw.choice([1, 2]), tmp_path / "runs" / "run", tmp_path)
    scored_run = check_everything(tmp_path / "runs" / "run", tmp_path)
    check_document(scored_run, document, "run")
    assert any(player.standing.charged for player in scored_run.players.values()), (
        "nothing unknown: the test shows nothing"
    )


def test_what_the_agent_left_is_charged_at_its_worst(tmp_path: Path) -> None:
    run = tmp_path / "runs" / "run"
    players = [{"name": name, "model": "simulated/default", "policy": "rule"} for name in ("p0", "p1")]
    mashq.play({"task": {"limit": 4}, "players": players, "rules": {"R": 0}}, run)
    with closing(sqlite3.connect(run / "run.db")) as file, file:
        first = "player = 'p0' AND {0} = (SELECT min({0}) FROM {1} WHERE player = 'p0')"
        first_attempt = first.format("id", "attempts")
        worst_in, worst_out = file.execute(
            f"SELECT worst_in, worst_out FROM attempts WHERE {first_attempt}"
        ).fetchone()
        move = json.loads(
            file.execute(f"SELECT move FROM events WHERE {first.format('seq', 'events')}").fetchone()[0]
        )
        move["spend"] |= {"tokens_in": [0, 0, 1, worst_in], "tokens_out": [0, 0, 1, worst_out], "unknown": 1}
        file.execute(f"UPDATE events SET move = ? WHERE {first.format('seq', 'events')}", (json.dumps(move),))
        file.execute(
            f"UPDATE attempts SET tokens_in = NULL, tokens_out = NULL, outcome = 'left' WHERE {first_attempt}"
        )
        for rows in ("results", "seats"):
            file.execute(f"DELETE FROM {rows}")
    file.close()
    scored_run = known(run)
    check_json(scored_run)
    check_text(scored_run, tmp_path)
    check_export(scored_run, tmp_path)
    assert scored_run.players["p0"].standing.charged["tokens"] == worst_in + worst_out


STORED = (
    *(
        "match",
        "troubles",
        "refusals",
        "questions",
        "guided",
        "budget",
        "three",
        "tie",
        "alone",
        "single",
    ),
    *(
        "faults",
        "unresolved",
        "cut-off",
        "stopped",
        "trials",
        "trials-troubled",
        "stopped-trials",
        "best-of-n",
        "referee",
    ),
)


@pytest.mark.parametrize("name", STORED)
def test_stored_runs(tmp_path: Path, name: str) -> None:
    check_everything(copied(name, tmp_path / "runs" / name), tmp_path)
