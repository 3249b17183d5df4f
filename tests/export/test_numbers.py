"""Exports against the run's own attempts and moves, added up here by hand: none of mashq's readers has a part in it.

The run: two trials of three items. A decides by a model, pays for decisions after its last item, loses a reply and
gets one without usage; B reviews by rule, refuses an item, has no price and gets a reply without usage.
"""

import csv
import io
import json
import math
import re
import sqlite3
import zipfile
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import pytest

import mashq as package
from mashq.detectors.contents import content
from mashq.testing import FakeProvider
from tests.arena.helpers import http_config, write_items
from tests.export.runs import command

ITEMS = ("item-0", "item-1", "item-2")
SCRIPTS = {
    "alpha": {"script": ["ok", "no_usage", "ok", "ok", "503", "ok", "drop_body"]},
    "beta": {"script": ["refusal", "ok", "no_usage"]},
}
Attempt = dict[str, Any]


@dataclass(frozen=True)
class Stored:
    """A run, with its attempts and moves as they stand in its file."""

    path: Path
    attempts: list[Attempt]
    events: list[dict[str, Any]]
    manifest: dict[str, Any]

    def some(self, **wanted: object) -> list[Attempt]:
        return [row for row in self.attempts if all(row[key] == value for key, value in wanted.items())]

    def moves(self, match: str, player: str, item: str) -> list[dict[str, Any]]:
        kinds = ("answer", "rewrite")
        place = (match, player, item)
        return [e for e in self.events if (e["match"], e["player"], e["item"]) == place and e["kind"] in kinds]


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Stored:
    folder = tmp_path_factory.mktemp("numbers")
    with FakeProvider(faults={"models": SCRIPTS}, seed=3) as provider:
        rules = {"show_seconds": False, "turn": "single", "T": 1.0, "R": 1}
        config = http_config(provider.base_url, write_items(folder / "items.jsonl", 3), rules=rules)
        config["models"]["my/alpha"] = config["models"]["my/alpha"] | {"price": {"input": 1, "output": 2}}
        config["players"] = [
            {"name": "A", "model": "my/alpha"},
            {"name": "B", "model": "my/beta", "policy": "rule"},
        ]
        config["score"] = {"beta": 0.2, "refusals": "penalised"}
        package.play(config, folder / "run", trials=2)
    connection = sqlite3.connect(folder / "run" / "run.db")
    connection.row_factory = sqlite3.Row
    try:
        attempts = [dict(row) for row in connection.execute("SELECT * FROM attempts ORDER BY id")]
        events = [dict(row) for row in connection.execute("SELECT * FROM events ORDER BY seq")]
    finally:
        connection.close()
    for event in events:
        event["move"] = json.loads(event["move"])
    reviewed = {(e["match"], e["round"], e["player"]): e["item"] for e in events if e["kind"] == "rewrite"}
    for row in attempts:  # a decision to review belongs to the item that it reviews, unless all were answered before
        place = (row["match"], row["round"], row["player"])
        row["at"] = reviewed.get(place, row["item"]) if row["item"] is not None else None
    found = Stored(folder / "run", attempts, events, json.loads((folder / "run" / "manifest.json").read_text()))
    assert any(row["item"] is None for row in found.some(player="A")), "decisions after the last item"
    assert [row["outcome"] for row in attempts].count("refused") == 1
    assert {row["outcome"] for row in attempts} == {"ok", "refused", "http", "dropped"}
    assert sum(row["tokens_in"] is None for row in attempts) == 3
    assert any(event["kind"] == "rewrite" for event in events)
    return found


def charged(stored: Stored, row: Attempt, name: str) -> float | None:
    """What an attempt is charged: what it told, else the mean of the player's others of its purpose that did."""
    if row[name] is not None:
        return row[name]
    same = stored.some(match=row["match"], player=row["player"], purpose=row["purpose"])
    known = [one[name] for one in same if one[name] is not None]
    worst = {"tokens_in": "worst_in", "tokens_out": "worst_out"}.get(name, f"worst_{name}")
    return fmean(known) if known else row[worst]


def spent(stored: Stored, match: str, player: str, item: str, name: str) -> float | None:
    """What an item took, with a third of what belongs to none of the three."""
    own = [charged(stored, row, name) for row in stored.some(match=match, player=player, at=item)]
    shared = [charged(stored, row, name) for row in stored.some(match=match, player=player, at=None)]
    if None in own or None in shared:
        return None
    return math.fsum(filter(None, own)) + math.fsum(filter(None, shared)) / 3


def charges(stored: Stored, match: str, player: str, item: str, name: str) -> float | None:
    """How much of that is a charge for attempts that did not tell; None where nothing can be charged."""
    own, shared = (stored.some(match=match, player=player, at=at) for at in (item, None))
    known = math.fsum(row[name] or 0 for row in own) + math.fsum(row[name] or 0 for row in shared) / 3
    total = spent(stored, match, player, item, name)
    return None if total is None else total - known


def count(stored: Stored, match: str, player: str, item: str, counts: Callable[[Attempt], float]) -> float:
    """How many attempts of an item there are of some sort, with a third of those that belong to none."""
    own, shared = (stored.some(match=match, player=player, at=at) for at in (item, None))
    return sum(map(counts, own)) + sum(map(counts, shared)) / 3


def expected(stored: Stored) -> list[dict[str, Any]]:
    """The rows of the results."""
    rows: list[dict[str, Any]] = []
    for match in ("0", "1"):
        for player, model in (("A", "my/alpha"), ("B", "my/beta")):
            for item in ITEMS:
                at = (stored, match, player, item)
                first, *rewrites = [event["move"] for event in stored.moves(match, player, item)]
                last = [first, *(move for move in rewrites if move["status"] == "ok")][-1]
                tokens = [spent(*at, name) for name in ("tokens_in", "tokens_out")]
                rows.append(
                    {
                        "player": player,
                        "item": item,
                        "trial": int(match),
                        "h": last.get("h") if first["status"] == "ok" else None,
                        "status": first["status"],
                        "tokens_in": tokens[0],
                        "tokens_out": tokens[1],
                        "tokens": None if None in tokens else sum(filter(None, tokens)),
                        "calls": count(*at, lambda _: 1),
                        "reviews": len(rewrites),
                        "seconds": spent(*at, "seconds"),
                        "dollars": spent(*at, "dollars"),
                        "h_first": first.get("h"),
                        "guide": None,
                        "guide_first": None,
                        "length": len(last["text"]),
                        "failed": count(*at, lambda row: row["outcome"] not in ("ok", "refused")),
                        "unknown_attempts": count(*at, lambda row: row["tokens_in"] is None),
                        "waited": count(*at, lambda row: row["waited"]),
                        "model": model,
                        "match": match,
                        **carries(stored, item, last["text"] if first["status"] == "ok" else None),
                        **{f"charged_{name}": charges(*at, name) for name in ("tokens_in", "tokens_out", "dollars")},
                    }
                )
    return rows


def carries(stored: Stored, item: str, text: str | None) -> dict[str, float | None]:
    """What an answer carries of its source."""
    if text is None:
        return {"words": None, "coverage": None, "copied": None}
    ((source,),) = rows_of(stored.path, "SELECT text FROM items WHERE id = ?", item)
    found = content("summarise", source, text)
    return {"words": len(re.findall(r"\w+", text)), "coverage": found.coverage, "copied": found.copied}


def rows_of(run: Path, query: str, *values: object) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(run / "run.db")) as connection:
        return connection.execute(query, values).fetchall()


def test_the_rows_are_what_was_spent_and_scored(stored: Stored, tmp_path: Path) -> None:
    wanted = expected(stored)
    assert [row["status"] for row in wanted].count("refused") == 1 and sum(row["reviews"] for row in wanted) > 0
    assert all((row["dollars"] is None) == (row["player"] == "B") for row in wanted), "no price, no dollars"
    command("export", stored.path, "--format", "csv", "-o", tmp_path / "r.csv")
    command("export", stored.path, "--format", "jsonl", "-o", tmp_path / "r.jsonl")
    with (tmp_path / "r.csv").open(newline="", encoding="utf-8") as file:
        cells = list(csv.DictReader(file))
    assert [list(row) for row in cells] == [list(row) for row in wanted]
    text = ("player", "item", "status", "model", "match")
    found = [{k: (v if k in text else None if v == "" else float(v)) for k, v in row.items()} for row in cells]
    lines = [json.loads(line) for line in (tmp_path / "r.jsonl").read_text("utf-8").splitlines()]
    for rows in (found, lines):
        assert len(rows) == 12
        for own, row in zip(rows, wanted, strict=True):
            assert own == {
                key: pytest.approx(value) if isinstance(value, float) else value for key, value in row.items()
            }


def test_parquet_holds_the_same_numbers(stored: Stored, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    command("export", stored.path, "--format", "parquet", "-o", tmp_path / "r.parquet")
    rows: list[dict[str, Any]] = parquet.read_table(tmp_path / "r.parquet").to_pylist()
    for own, row in zip(rows, expected(stored), strict=True):
        assert own == {key: pytest.approx(value) if isinstance(value, float) else value for key, value in row.items()}


def test_attempts_and_events_are_the_ledger_and_the_moves(stored: Stored, tmp_path: Path) -> None:
    for what, rows in (("attempts", stored.attempts), ("events", stored.events)):
        said = command("export", stored.path, "--format", "jsonl", "--what", what)
        lines = [json.loads(line) for line in said.splitlines()]
        assert len(lines) == len(rows)
        for line, row in zip(lines, rows, strict=True):
            for key in line.keys() & row.keys() - {"status", "h", "move"}:
                assert line[key] == row[key], (what, key)
            if what == "events":
                move = row["move"]
                assert (line["status"], line["h"]) == (move.get("status"), move.get("h"))
                assert json.loads(line["move"]) == {k: v for k, v in move.items() if k not in ("text", "reason")}
            else:
                assert (line["status"], line["h"]) == (row["status"], row["h"])


# Spans


def values(attributes: list[dict[str, Any]]) -> dict[str, Any]:
    """Attributes as plain values, by the rules of OTLP's JSON."""
    plain: dict[str, Any] = {}
    for one in attributes:
        ((kind, value),) = one["value"].items()
        if kind == "arrayValue":
            plain[one["key"]] = [next(iter(inner.values())) for inner in value["values"]]
        else:
            plain[one["key"]] = int(value) if kind == "intValue" else value
    return plain


def spans(stored: Stored) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in command("export", stored.path, "--format", "otel").splitlines()]
    found = [span for line in lines for part in line["resourceSpans"] for span in part["scopeSpans"][0]["spans"]]
    return [span | {"values": values(span["attributes"])} for span in found]


def test_a_span_has_what_its_attempt_has(stored: Stored) -> None:
    chats = {one["values"]["mashq.attempt"]: one for one in spans(stored) if "mashq.attempt" in one["values"]}
    assert sorted(chats) == [row["id"] for row in stored.attempts]
    for row in stored.attempts:
        span = chats[row["id"]]
        provider, model = row["model"].split("/")
        failed = row["outcome"] not in ("ok", "refused")
        trouble = str(row["status"]) if row["outcome"] == "http" else row["outcome"]
        wanted: dict[str, Any] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": provider,
            "gen_ai.request.model": model,
            "gen_ai.request.max_tokens": row["worst_out"],
            "gen_ai.response.finish_reasons": [row["stop"]] if row["stop"] else None,
            "gen_ai.usage.input_tokens": row["tokens_in"],
            "gen_ai.usage.output_tokens": row["tokens_out"],
            "gen_ai.usage.cache_read.input_tokens": row["cached"],
            "gen_ai.usage.reasoning.output_tokens": row["reasoning"],
            "http.response.status_code": row["status"],
            "error.type": trouble if failed else None,
            "mashq.attempt": row["id"],
            "mashq.item": row["item"],
            "mashq.purpose": row["purpose"],
            "mashq.review": row["n"],
            "mashq.ask": row["ask"],
            "mashq.outcome": row["outcome"],
            "mashq.seconds": row["seconds"],
            "mashq.waited": row["waited"],
            "mashq.dollars": row["dollars"],
            "mashq.joules": row["joules"],
            "mashq.h": row["h"],
        }
        assert span["values"] == {key: value for key, value in wanted.items() if value is not None}, row["id"]
        assert span["startTimeUnixNano"] == str(round(row["opened"] * 1e9))
        assert span["endTimeUnixNano"] == str(round(row["closed"] * 1e9))
        assert (span["name"], span["kind"]) == (f"chat {model}", 3)
        assert span.get("status") == ({"code": 2, "message": row["error"]} if failed else None)


def test_turns_and_matches_hold_their_attempts_and_scores(stored: Stored) -> None:
    found = spans(stored)
    by_id = {span["spanId"]: span for span in found}
    turns = [span for span in found if span["values"]["gen_ai.operation.name"] == "invoke_agent"]
    roots = [span for span in found if "parentSpanId" not in span]
    assert [root["values"]["mashq.match"] for root in roots] == ["0", "1"]
    assert all(
        root["values"]["mashq.finished"] is True and root["values"]["mashq.simulated"] is False for root in roots
    )
    made: dict[tuple[str, int, str], list[Attempt]] = {}
    for row in stored.attempts:
        made.setdefault((row["match"], row["round"], row["player"]), []).append(row)
    told: dict[tuple[str, int, str], dict[str, Any]] = {}
    for turn in turns:
        match = by_id[turn["parentSpanId"]]["values"]["mashq.match"]
        told[match, turn["values"]["mashq.round"], turn["values"]["gen_ai.agent.name"]] = turn
    assert told.keys() == made.keys()
    for key, rows in made.items():
        turn, (match, round_, player) = told[key], key
        inside = {span["values"]["mashq.attempt"] for span in found if span.get("parentSpanId") == turn["spanId"]}
        assert inside == {row["id"] for row in rows}
        assert turn["startTimeUnixNano"] == str(round(min(row["opened"] for row in rows) * 1e9))
        assert turn["endTimeUnixNano"] == str(round(max(row["closed"] for row in rows) * 1e9))
        place = (match, round_, player)
        judged = [
            (event["item"], event["kind"], event["move"]["h"], str(round(event["time"] * 1e9)))
            for event in stored.events
            if (event["match"], event["round"], event["player"]) == place and event["move"].get("h") is not None
        ]
        said = [(values(event["attributes"]), event["timeUnixNano"]) for event in turn["events"]]
        assert [
            (one["mashq.item"], one["mashq.move"], one["gen_ai.evaluation.score.value"], when) for one, when in said
        ] == judged
        assert {one["gen_ai.evaluation.name"] for one, _ in said} <= {stored.manifest["detector"]["name"]}


# Inspect's logs


def logs(stored: Stored, folder: Path) -> dict[str, dict[str, Any]]:
    """By player, every member of its log."""
    command("export", stored.path, "--format", "inspect", "-o", folder)
    found: dict[str, dict[str, Any]] = {}
    for path in folder.iterdir():
        with zipfile.ZipFile(path) as archive:
            members = {name: json.loads(archive.read(name)) for name in archive.namelist()}
        found[members["header.json"]["eval"]["metadata"]["mashq"]["player"]] = members
    return found


def score_of(stored: Stored) -> dict[str, dict[str, float]]:
    """H, P and Q of both: an item is the mean of its trials, a refused one counts 0, a cost is a sum over items."""
    rows = expected(stored)
    h = {
        p: fmean(fmean(r["h"] or 0.0 for r in rows if (r["player"], r["item"]) == (p, i)) for i in ITEMS)
        for p in "AB"
    }
    total = {
        (p, name): sum(fmean(r[name] for r in rows if (r["player"], r["item"]) == (p, i)) for i in ITEMS)
        for p in "AB"
        for name in ("tokens", "calls", "reviews", "seconds")
    }
    found: dict[str, dict[str, float]] = {}
    for player in "AB":
        penalty = sum(
            total[player, n] / max(total["A", n], total["B", n]) for n in ("tokens", "calls", "reviews", "seconds")
        )
        found[player] = {"h": h[player], "penalty": penalty, "q": h[player] - 0.2 * penalty}
    return found


def test_a_sample_has_what_its_item_has(stored: Stored, tmp_path: Path) -> None:
    texts = {json.loads(line)["id"]: json.loads(line)["text"] for line in _items(stored)}
    found = logs(stored, tmp_path / "logs")
    assert set(found) == {"A", "B"}
    charged_cells = 0
    for row in expected(stored):
        sample = found[row["player"]][f"samples/{row['item']}_epoch_{row['trial'] + 1}.json"]
        first, *rewrites = [event["move"] for event in stored.moves(row["match"], row["player"], row["item"])]
        answer = [first, *(move for move in rewrites if move["status"] == "ok")][-1]["text"]
        assert (sample["id"], sample["epoch"], sample["input"]) == (row["item"], row["trial"] + 1, texts[row["item"]])
        assert sample["messages"][0] == {"role": "user", "content": texts[row["item"]], "source": "input"}
        assert sample["messages"][1]["content"] == sample["output"]["completion"] == answer
        if row["status"] == "refused":
            assert sample["scores"] == {} and sample["output"]["choices"][0]["stop_reason"] == "content_filter"
        else:
            assert sample["scores"] == {"H": {"value": row["h"], "answer": answer}}
            assert sample["output"]["choices"][0]["stop_reason"] == "stop"
        left_out = ("player", "item", "trial", "h", "model", "match", "words", "coverage", "copied")
        kept = {key: value for key, value in row.items() if key not in left_out and not key.startswith("charged_")}
        kept["joules"] = None
        charged = {name: row[f"charged_{name}"] for name in ("tokens_in", "tokens_out", "dollars")}
        charged = {name: pytest.approx(amount) for name, amount in charged.items() if amount}
        charged_cells += bool(charged)
        assert sample["metadata"]["mashq"].pop("charged", {}) == charged
        assert sample["metadata"]["mashq"] == {
            key: pytest.approx(value) if isinstance(value, float) else value for key, value in kept.items()
        }
        assert sample["working_time"] == pytest.approx(row["seconds"])
        assert sample["total_time"] == pytest.approx(row["seconds"] + row["waited"])
        own = stored.some(match=row["match"], player=row["player"], item=row["item"])
        assert sample["model_usage"] == usage(own)
    assert charged_cells


def usage(rows: Sequence[Attempt]) -> dict[str, dict[str, Any]]:
    """The usage of the attempts that told theirs, by model."""
    known = [row for row in rows if row["tokens_in"] is not None]
    if not known:
        return {}
    total_in, total_out = (sum(row[name] for row in known) for name in ("tokens_in", "tokens_out"))
    cached = [row["cached"] for row in known if row["cached"] is not None]
    found: dict[str, Any] = {"input_tokens": total_in - sum(cached), "output_tokens": total_out}
    found |= {"total_tokens": total_in + total_out}
    if cached:
        found["input_tokens_cache_read"] = sum(cached)
    for name, column in (("reasoning_tokens", "reasoning"), ("total_cost", "dollars")):
        told = [row[column] for row in known if row[column] is not None]
        if told:
            found[name] = pytest.approx(sum(told))
    return {known[0]["model"]: found}


def _items(stored: Stored) -> list[str]:
    return (stored.path.parent / "items.jsonl").read_text().splitlines()


def test_a_log_has_the_score_of_its_player(stored: Stored, tmp_path: Path) -> None:
    wanted = score_of(stored)
    for player, members in logs(stored, tmp_path / "logs").items():
        header = members["header.json"]
        h, q = header["results"]["scores"]
        own = {key: pytest.approx(value) for key, value in wanted[player].items()}
        about = header["eval"]["metadata"]["mashq"]
        assert {key: about[key] for key in own} == own
        assert h["metrics"]["mean"]["value"] == own["h"]
        assert (q["metrics"]["Q"]["value"], q["metrics"]["P"]["value"]) == (own["q"], own["penalty"])
        answered = sum(row["h"] is not None for row in expected(stored) if row["player"] == player)
        assert (h["scored_samples"], h["unscored_samples"]) == (answered, 6 - answered)
        assert (header["results"]["total_samples"], header["eval"]["config"]["epochs"]) == (6, 2)
        assert (header["status"], header["eval"]["model"]) == (
            "success",
            f"my/{'alpha' if player == 'A' else 'beta'}",
        )
        assert header["eval"]["dataset"]["sample_ids"] == list(ITEMS)
        assert (about["alpha"], about["beta"], about["refusals"], about["normalise"]) == (
            1.0,
            0.2,
            "penalised",
            "match",
        )
        assert header["stats"]["model_usage"] == usage(stored.some(player=player))
        assert len(members["summaries.json"]) == 6
        for summary in members["summaries.json"]:
            sample = members[f"samples/{summary['id']}_epoch_{summary['epoch']}.json"]
            for key in ("uuid", "metadata", "model_usage", "working_time", "input", "scores"):
                assert summary[key] == sample[key], key
            assert summary["message_count"] == 2


# LaTeX


def test_the_table_for_a_paper(stored: Stored) -> None:
    text = command("export", stored.path, "--format", "latex")
    plain = text.replace(r"\cellcolor{gray!20}", "")
    bold = re.compile(r"\\textbf\{([^{}]*)\}")
    body = [bold.sub(r"\1", line) for line in plain.splitlines() if line.startswith(("A ", "B "))]
    rows, wanted = expected(stored), score_of(stored)
    best = max(wanted, key=lambda name: wanted[name]["q"])
    each = {match: _one_trial(rows, match) for match in (0, 1)}
    for line, player in zip(body, "AB", strict=True):
        cells = [cell.strip() for cell in line.removesuffix(r"\\").split("&")]
        assert cells[0] == player + (r" \checkmark" if player == best else "")
        spread = stdev(each[match][player]["h"] for match in (0, 1))
        assert cells[1] == f"{wanted[player]['h']:.4f} ± {spread:.4f}"
        for at, (name, digits) in enumerate((("calls", 1), ("tokens", 0), ("reviews", 1), ("seconds", 1)), start=5):
            total = sum(fmean(r[name] for r in rows if (r["player"], r["item"]) == (player, i)) for i in ITEMS)
            sums = [sum(r[name] for r in rows if (r["player"], r["trial"]) == (player, t)) for t in (0, 1)]
            estimated = name == "tokens" and any(r["unknown_attempts"] for r in rows if r["player"] == player)
            mark = r"\textasciitilde{}" if estimated else ""
            assert cells[at] == f"{mark}{total:,.{digits}f} ± {stdev(sums):,.{digits}f}", name
        assert (cells[9] == "?") == (player == "B"), "no price, no dollars"
        assert cells[10] == f"{wanted[player]['penalty']:.3f}"
        assert cells[11] == f"{wanted[player]['q']:.4f} ± {stdev(each[match][player]['q'] for match in (0, 1)):.4f}"
        assert cells[12:] == ["?", str(sum(_first(each[match]) == player for match in (0, 1)))]
    assert r"\caption{2 trials of 3 items, means ± standard deviation over trials; H by grounding" in text
    assert r"Q = 1$\cdot$H $-$ 0.2$\cdot$P; A: " in text


def _one_trial(rows: Sequence[dict[str, Any]], trial: int) -> dict[str, dict[str, float]]:
    """The score of one trial."""
    own = {player: [row for row in rows if (row["player"], row["trial"]) == (player, trial)] for player in "AB"}
    names = ("tokens", "calls", "reviews", "seconds")
    total = {(player, name): sum(row[name] for row in own[player]) for player in "AB" for name in names}
    found: dict[str, dict[str, float]] = {}
    for player in "AB":
        penalty = sum(
            total[player, name] / most if (most := max(total["A", name], total["B", name])) else 0.0 for name in names
        )
        h = fmean(row["h"] or 0.0 for row in own[player])
        found[player] = {"h": h, "q": h - 0.2 * penalty}
    return found


def _first(scores: dict[str, dict[str, float]]) -> str:
    return max(scores, key=lambda name: scores[name]["q"])


def test_standard_output_is_the_file(stored: Stored, tmp_path: Path) -> None:
    command("export", stored.path, "--format", "csv", "-o", tmp_path / "r.csv")
    printed = command("export", stored.path, "--format", "csv")
    with (tmp_path / "r.csv").open(newline="", encoding="utf-8") as file:
        assert list(csv.reader(io.StringIO(printed))) == list(csv.reader(file))
