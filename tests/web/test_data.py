"""What the dashboard answers: the numbers of the report, the texts as they are, a page at a time."""

import json
import shutil
import sqlite3
from pathlib import Path

import pytest

import mashq
from mashq.errors import StoreError
from mashq.protocol.resources import RESOURCES, TABLE
from mashq.protocol.score import Refusals, score
from mashq.runs.open import load
from mashq.runs.setup import score_rules_of
from mashq.web.api import queries, summaries
from mashq.web.api.scores import final
from mashq.web.library import Library
from mashq.web.replay_cache import ReplayCache
from tests.arena.helpers import rows
from tests.arena.test_resources import config as resources_config
from tests.pinned.stage import copied
from tests.web.client import Dashboard, dashboard
from tests.web.conftest import NASTY


def test_the_runs_are_listed_newest_first_and_filtered(view: Dashboard) -> None:
    told = view.api("runs")
    assert {run["id"] for run in told["runs"]} == {"real", "deeper/no-reviews", "nasty", "simulated", "trials"}
    started = [run["started"] for run in told["runs"]]
    assert started == sorted(started, reverse=True)
    assert [run["id"] for run in view.api("runs", simulated="yes", text="c simulated/c")["runs"]] == ["simulated"]
    assert {run["id"] for run in view.api("runs", simulated="no")["runs"]} == {"real", "deeper/no-reviews", "nasty"}
    assert view.api("runs", text="no such thing")["of"] == 0
    assert view.api("runs", state="playing")["of"] == 0 and view.api("runs", state="finished")["of"] == 5
    assert len(told["detectors"]) == 1 and view.api("runs", detector=told["detectors"][0])["of"] == 3
    drawn = {run["id"] for run in told["runs"] if not run["detector"]}
    assert drawn == {"simulated", "trials"}, "no detector ran where everything is drawn"
    assert view.api("runs", detector="another")["of"] == 0


@pytest.mark.parametrize("name", ["real", "simulated"])
def test_the_final_figures_are_those_of_show(view: Dashboard, runs: Path, name: str) -> None:
    shown = mashq.show(runs / name)
    told = view.api("frame", run=name, match="0")
    assert told["ended"] and told["at"] == told["total"] == rows(runs / name, "SELECT count(*) FROM events")[0][0]
    assert told["final"]["winner"] == shown["winner"] and told["final"]["items"] == shown["items"]
    for own, other in zip(told["final"]["players"], shown["players"], strict=True):
        for key in (
            "h",
            "h_before_review",
            "calls",
            "tokens",
            "reviews",
            "seconds",
            "dollars",
            "penalty",
            "q",
            "q_min",
        ):
            assert own[key] == (None if other[key] is None else pytest.approx(other[key])), key
        assert own["answer_rate"] == pytest.approx(other["answer_rate"])
    listed = view.api("summary", run=name)
    assert listed["players"] == shown["players"] and listed["items"] == shown["items"]
    verdict = view.api("verdict", run=name, match="0")
    for key in ("winner", "tied", "clear", "headline"):
        assert listed[key] == verdict[key] == shown[key], key


@pytest.mark.parametrize("refusals", ["intersection", "penalised", "answered"])
def test_sums_in_the_database_score_like_the_rows(runs: Path, refusals: Refusals) -> None:
    from dataclasses import replace

    played = load(runs / "simulated")
    rules = replace(score_rules_of(played.config), refusals=refusals)
    expected = score(played.results, rules)
    with queries.opened(runs / "simulated", finished=True) as connection:
        found = final(connection, "0", rules)
    assert found is not None and found["winner"] == expected.winner and found["items"] == expected.items
    assert found["dropped"] == len(expected.dropped) > 0
    for own, row in zip(found["players"], expected.players, strict=True):
        assert own["q"] == pytest.approx(row.q) and own["penalty"] == pytest.approx(row.penalty)


def test_every_resource_of_the_table_is_answered(tmp_path: Path) -> None:
    mashq.play(resources_config(), tmp_path / "run")
    document = mashq.show(tmp_path / "run")
    with dashboard(tmp_path) as found:
        about = found.api("match", run="run", match="0")
        assert [row["name"] for row in about["table"]] == list(RESOURCES)
        assert [row["unit"] for row in about["table"]] == [row.unit for row in TABLE.values()]
        final = found.api("frame", run="run", match="0")["final"]["players"]
        drawn = found.api("chart", run="run", match="0", metric="joules")["values"]
        items = [found.api("item", run="run", match="0", item=at)["players"] for at in range(4)]
        log = found.api("frame", run="run", match="0", log=200)["log"]
    for seat, player in enumerate(document["players"]):
        joules = player["joules"]
        assert joules > 0 and [final[seat]["joules"], drawn[seat][-1]] == pytest.approx([joules, joules])
        attempts = [row["joules"] for item in items for row in item[seat]["attempts"]]
        assert sum(attempts) == pytest.approx(player["joules"])
        assert sum(row["joules"] for row in log if row["player"] == player["name"]) == pytest.approx(player["joules"])


def test_a_charge_for_unknown_attempts_is_told(tmp_path: Path) -> None:
    document = mashq.show(copied("unresolved", tmp_path / "run"))
    final = ReplayCache(Library(tmp_path)).match("run", "0")
    assert final.advance(30)
    result = final.result()
    assert result is not None and any(player["charged"] for player in document["players"])
    assert [player["charged"] for player in result["players"]] == [p["charged"] for p in document["players"]]


def test_an_attempt_of_an_earlier_version_has_no_more_than_it_stored(tmp_path: Path) -> None:
    copied("stopped", tmp_path / "run")
    with dashboard(tmp_path) as found:
        items = [found.api("item", run="run", item=at) for at in range(3)]
    attempts = [row for item in items for player in item["players"] for row in player["attempts"]]
    assert attempts and all(row["joules"] is None and row["tokens_in"] for row in attempts)


def test_an_answer_that_failed_is_not_kept(view: Dashboard) -> None:
    shown = [view.api("item", run="simulated", match="0", item=at)["players"] for at in range(5)]
    firsts = [player["versions"][0] for players in shown for player in players if player["versions"]]
    assert {(version["status"] == "ok", version["kept"]) for version in firsts} == {(True, True), (False, False)}


def test_reviews_within_a_step_are_on_the_tiles(tmp_path: Path) -> None:
    document = mashq.show(copied("best-of-n", tmp_path / "run"))
    with dashboard(tmp_path) as found:
        lanes = found.api("frame", run="run", match="0")["lanes"]
    reviews = [sum(cell[5] for cell in lane["cells"]) for lane in lanes]
    assert reviews == [player["reviews"] for player in document["players"]] and max(reviews) > 0


@pytest.mark.parametrize(
    ("kind", "match", "label"),
    [
        ("match", "0", ""),
        ("trials", "1", "trial 2"),
        ("tournament", "1-0.0", "{1} – {0}"),
        ("game", "review:1-1.0", "{1} – {1} (2) · vision review"),
        ("vision", "alone:1.0", "{1} alone"),
        ("vision", "seen:0-1.0", "all, rivals seen"),
    ],
)
def test_a_match_is_named_by_its_players(tmp_path: Path, kind: str, match: str, label: str) -> None:
    copied(kind, tmp_path / kind)
    view = ReplayCache(Library(tmp_path)).run(kind)
    names = [player.name for player in view.config.players]
    known = {fixture.id for fixture in view.season.fixtures()}
    assert match in known, known
    trial = " · trial 1" if kind not in ("match", "trials") and view.found.manifest["season"]["trials"] > 1 else ""
    assert view.label(match) == label.format(*names) + trial


def test_any_moment_can_be_asked_for(view: Dashboard) -> None:
    whole = view.api("frame", run="real", match="0")
    start = view.api("frame", run="real", match="0", at=0)
    assert (start["at"], start["round"], start["log"], start["final"]) == (0, 1, [], None)
    assert all(cell[2] == "pending" for lane in start["lanes"] for cell in lane["cells"])
    middle = view.api("frame", run="real", match="0", at=9, log=5)
    assert middle["at"] == 9 and [row["n"] for row in middle["log"]] == [5, 6, 7, 8, 9]
    assert sum(player["done"] for player in middle["players"]) == sum(
        row["kind"] == "answer" for row in view.api("frame", run="real", match="0", at=9, log=200)["log"]
    )
    assert whole["at"] > 9 and view.api("round", run="real", match="0", round=2)["at"] > 0
    drawn = view.api("chart", run="real", match="0", metric="tokens")
    assert [values[-1] for values in drawn["values"]] == [player["tokens"] for player in whole["players"]]
    highlights = view.api("story", run="real", match="0", most=5)["highlights"]
    assert 0 < len(highlights) <= 5 and all(len(one) == 5 for one in highlights)


def test_a_run_of_many_matches_has_a_chooser(view: Dashboard, runs: Path) -> None:
    told = view.api("matches", run="trials")
    assert [row["id"] for row in told["matches"]] == ["0", "1", "2"] and told["ended"] == 3
    assert all(row["winner"] in ("A", "B", None) for row in told["matches"])
    assert [row["id"] for row in view.api("matches", run="trials", after=1)["matches"]] == ["2"]
    firsts = [view.api("frame", run="trials", match=match)["final"]["players"][0] for match in "012"]
    assert len({row["q"] for row in firsts}) == 3
    pooled, shown = view.api("summary", run="trials")["players"], mashq.show(runs / "trials")["players"]
    assert pooled[0]["h"] == pytest.approx(sum(row["h"] for row in firsts) / 3)
    assert pooled[0]["tokens"] == pytest.approx(sum(row["tokens"] for row in firsts) / 3)
    for key in ("h", "tokens", "penalty", "q"):
        assert [row[key] for row in pooled] == pytest.approx([row[key] for row in shown]), key
    assert view.refused("frame", run="trials", match="7") == (404, "there is no such match in this run")


def test_an_item_shows_its_versions_prompts_and_costs(view: Dashboard, runs: Path) -> None:
    shown = [view.api("item", run="real", match="0", item=at) for at in range(6)]
    assert [told["item"]["id"] for told in shown] == [f"item-{at}" for at in range(6)]
    versions = [one for told in shown for player in told["players"] for one in player["versions"]]
    stored = rows(runs / "real", "SELECT count(*) FROM events WHERE kind IN ('answer', 'rewrite')")[0][0]
    assert len(versions) == stored
    attempts = [row for told in shown for player in told["players"] for row in player["attempts"]]
    assert len(attempts) == rows(runs / "real", "SELECT count(*) FROM attempts")[0][0]
    assert any(row["outcome"] != "ok" for row in attempts) and any(one["kind"] == "rewrite" for one in versions)
    decided = [one for told in shown for player in told["players"] for one in player["decisions"]]
    assert len([one for one in decided if one["current"]]) == 12, "every round has its decision"
    first = shown[0]["players"][0]["attempts"][0]
    prompt = view.api("prompt", run="real", digest=first["prompt"])["messages"]
    assert shown[0]["item"]["text"] in prompt[-1][1]
    marked = [view.api("spans", run="real", match="0", seq=one["seq"])["spans"] for one in versions]
    low, high = min(versions, key=lambda v: v["h"] or 1.0), max(versions, key=lambda v: v["h"] or 0.0)
    assert marked[versions.index(low)] and not marked[versions.index(high)]


def test_a_simulated_answer_has_nothing_to_check(view: Dashboard) -> None:
    told = view.api("item", run="simulated", match="0", item=0)
    assert told["simulated"] and told["players"][0]["versions"][0]["simulated"]
    seq = told["players"][0]["versions"][0]["seq"]
    assert "simulated" in view.api("spans", run="simulated", match="0", seq=seq)["why"]


def test_long_texts_are_cut_and_given_whole_when_asked(view: Dashboard) -> None:
    told = view.api("item", run="nasty", match="0", item=2)["item"]
    assert len(told["text"]) == 4000 and told["length"] > 1_000_000
    status, body, headers = view.get("/api/text?run=nasty&match=0&what=source&number=2")
    assert status == 200 and len(body.decode()) == told["length"]
    assert headers["content-type"].startswith("text/plain") and headers["x-content-type-options"] == "nosniff"
    assert view.api("item", run="nasty", match="0", item=1)["item"]["text"].startswith(NASTY[1])


def test_two_runs_are_compared(view: Dashboard, runs: Path) -> None:
    told = view.api("compare", a="real", b="deeper/no-reviews")
    assert told["same_items"] and ["rules.R", 2, 0] in told["settings"]
    expected = mashq.compare(runs / "real", runs / "deeper" / "no-reviews")
    assert told["comparison"]["players"] == expected["players"] and told["comparison"]["notes"] == expected["notes"]
    for run, other in zip(told["comparison"]["runs"], expected["runs"], strict=True):
        assert {**run, "run": ""} == {**other, "run": ""}
    assert [player["runs"][1]["reviews"] for player in told["comparison"]["players"]] == [0, 0]
    changed = view.api("differences", a="real", b="deeper/no-reviews", player="A")["items"]
    gaps = [abs(after["h"] - before["h"]) for _, _, before, after in changed]
    assert gaps == sorted(gaps, reverse=True) and all(gaps)
    assert all(before["trials"] == [["0", before["h"]]] for _, _, before, _ in changed)


def test_an_item_of_several_trials_is_their_mean(view: Dashboard, runs: Path, tmp_path: Path) -> None:
    h = dict(
        rows(
            runs / "trials",
            "SELECT match, r.h FROM results r JOIN seats s USING (match, seat)"
            " WHERE s.player = 'A' AND position = 0 AND r.h IS NOT NULL",
        )
    )
    for name in ("one", "two"):
        shutil.copytree(runs / "trials", tmp_path / name)
    connection = sqlite3.connect(tmp_path / "two" / "run.db")
    connection.execute("UPDATE results SET h = 0.0 WHERE match = '0' AND position = 0 AND seat = 0")
    connection.commit()
    connection.close()
    changed = summaries.differences(ReplayCache(Library(tmp_path)), ("one", "two"), "A")
    ((place, _, before, after),) = changed
    assert place == 0 and before == {"h": pytest.approx(sum(h.values()) / 3), "of": 3, "trials": list(h.items())}
    assert after["h"] == pytest.approx((sum(h.values()) - h["0"]) / 3) and after["trials"][0] == ("0", 0.0)


@pytest.mark.parametrize(("headers", "shown"), [({"X-Team": "blue", "A": "1"}, "A, X-Team"), ("blue", "…")])
def test_what_could_be_a_secret_is_not_among_the_settings(
    runs: Path, tmp_path: Path, headers: object, shown: str
) -> None:
    for name in ("one", "two"):
        shutil.copytree(runs / "simulated", tmp_path / name)
    manifest = tmp_path / "two" / "manifest.json"
    document = json.loads(manifest.read_text())
    document["config"]["models"]["simulated/B"]["headers"] = headers
    manifest.write_text(json.dumps(document))
    cache = ReplayCache(Library(tmp_path))
    views = [summaries.public_settings(cache.run(name).found.manifest) for name in ("one", "two")]
    assert views[1]["models"]["simulated/B"]["headers"] == shown and "blue" not in json.dumps(views)


def test_matches_that_cannot_be_compared_say_why(view: Dashboard) -> None:
    told = view.api("compare", a="real", b="simulated")
    assert told["comparison"] is None and "in common" in told["why"] and "/" not in told["why"]
    assert told["why"][0].isupper() and told["why"].endswith(".")
    assert [run["outcome"]["lines"][0]["name"] for run in told["runs"]] == ["A", "A"]


def test_bad_questions_get_a_sentence(view: Dashboard) -> None:
    assert view.refused("frame", match="0") == (400, "the request does not name its run")
    assert view.refused("frame", run="nothing", match="0") == (404, "there is no such run here")
    assert view.refused("item", run="real", match="0", item=99)[0] == 404
    assert view.refused("frame", run="real", match="0", at="x")[0] == 400
    assert view.refused("chart", run="real", match="0", metric="passwd")[0] == 400
    assert view.get("/api/text?run=real&match=0&what=manifest&number=0")[0] == 404
    assert view.get("/api/nothing")[0] == 404 and view.get("/static/../app.py")[0] == 404


def test_looking_changes_nothing_in_a_finished_run(runs: Path, tmp_path: Path) -> None:
    copy = tmp_path / "runs" / "copy"
    shutil.copytree(runs / "real", copy)
    for end in ("-wal", "-shm"):
        (copy / f"run.db{end}").unlink(missing_ok=True)
    before = {path.name: path.stat().st_mtime_ns for path in copy.iterdir()}
    cache = ReplayCache(Library(tmp_path / "runs"))
    live = cache.match("copy", "0")
    assert live.advance(30) and live.result() is not None
    assert summaries.summary(cache, "copy")["lines"] and summaries.verdict_of(cache, "copy", "0")["headline"]
    assert {path.name: path.stat().st_mtime_ns for path in copy.iterdir()} == before


def test_a_damaged_move_is_a_sentence(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "real", tmp_path / "bad")
    connection = sqlite3.connect(tmp_path / "bad" / "run.db")
    connection.execute("UPDATE events SET move = '[1, 2' WHERE seq = (SELECT max(seq) FROM events)")
    connection.commit()
    connection.close()
    with pytest.raises(StoreError, match="bad holds a move that cannot be read"):
        ReplayCache(Library(tmp_path)).match("bad", "0").advance(30)


def test_a_damaged_run_is_a_sentence(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "real", tmp_path / "bad")
    (tmp_path / "bad" / "run.db").write_bytes(b"SQLite format 3\0" + b"junk" * 500)
    with pytest.raises(sqlite3.DatabaseError):
        sqlite3.connect(tmp_path / "bad" / "run.db").execute("SELECT * FROM events")
    with dashboard(tmp_path) as found:
        status, why = found.refused("frame", run="bad", match="0")
    assert status == 409 and "cannot be" in why and "\n" not in why
