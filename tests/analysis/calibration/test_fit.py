"""Simulated players fitted to a record: what is put in comes out again, and a match of them is like the record."""

import asyncio
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as settings_of_test
from hypothesis import strategies as st

import mashq
from mashq.analysis.calibration.copula import correlation, edges, shares, table
from mashq.analysis.calibration.fit import Fitted, fit
from mashq.analysis.calibration.fit_check import likeness
from mashq.arena.simulation import Record, placeholders, recorded, settings, simulated, with_more
from mashq.config import check, parse
from mashq.errors import ConfigError, DataError
from mashq.players.external.spec import EXTERNAL
from mashq.protocol.results import REFUSED, Floats, ResultStatus
from mashq.report.documents.base import plain
from mashq.report.documents.calibrate import Calibration
from mashq.report.text.calibrate import likeness_text
from mashq.report.text.calibrated_config import calibrated_yaml
from mashq.runs.manifest import MANIFEST
from mashq.testing import FakeProvider
from tests.arena.helpers import http_config, rows, write_items

SKEWED = [0.0, 0.0, 0.1, 0.3, 0.55, 0.8, 0.9, 0.95, 1.0, 1.0, 1.0, 1.0]
REWRITES = [[0.0, 0.0], [0.0, 0.6], [0.1, 0.9], [0.3, 0.3], [0.5, 0.9], [0.8, 1.0], [0.8, 0.7], [0.84, 0.95]]
LIKE: dict[str, Any] = {
    "h_values": SKEWED,
    "item_share": 0.7,
    "rewrites": REWRITES,
    "review_rate": 0.6,
    "refusal_rate": 0.05,
    "calls": {
        "answer": {
            "tokens_in": [300, 500, 600, 1500],
            "tokens_out": [40, 80, 90, 200],
            "seconds": [0.5, 1.0, 1.5, 6.0],
            "in_share": 1.0,
            "out_share": 0.4,
            "follow": 0.9,
            "again": 0.1,
        },
        "decision": {"tokens_in": [300, 320], "tokens_out": [20, 30], "seconds": [0.3, 0.4]},
        "review": {"tokens_in": [400, 900], "tokens_out": [50, 150], "seconds": [1.0, 2.0], "in_share": 0.5},
    },
}
values = st.lists(st.floats(0, 1e6, allow_subnormal=False), min_size=1, max_size=120)


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Record]:
    """Matches played once, by what they are of."""
    found: dict[str, Record] = {}

    def record(count: int = 90, **changes: Any) -> Record:
        key = json.dumps([count, changes], sort_keys=True)
        if key not in found:
            folder = tmp_path_factory.mktemp("played")
            config: dict[str, Any] = {
                "task": {"data": str(write_items(folder / "items.jsonl", count))},
                "players": [
                    {"name": "asks", "model": "simulated/one"},
                    {"name": "rule", "model": "simulated/one", "policy": "rule"},
                    {"name": "plain", "model": "simulated/one", "agent": "plain"},
                    {"name": "loops", "model": "simulated/one", "agent": "react", "R": 2},
                ],
                "models": {"simulated/one": {"simulate": LIKE, "price": {"input": 2, "output": 8}}},
                **changes,
            }
            mashq.play(config, folder / "run")
            found[key] = recorded(folder / "run")
        return found[key]

    return record


def by_name(fitted: tuple[Fitted, ...]) -> dict[str, Fitted]:
    return {one.name: one for one in fitted}


def checked(record: Record, matches: int = 6) -> Calibration:
    drawn = asyncio.run(simulated(record, items=record.items, trials=matches))
    unfitted = {one.name: one.unfitted for one in fit(record.players)}
    return Calibration(found=likeness(record.results, drawn, record.rules, unfitted), notes={}, run="run")


def compared(record: Record, matches: int = 6) -> dict[str, Any]:
    return plain(checked(record, matches))


@given(values, st.integers(1, 50))
def test_a_table_keeps_the_mean_and_the_range(given: list[float], most: int) -> None:
    found = table(given, most)
    assert len(found) == min(most, len(given)) and found == sorted(found)
    assert min(given) <= found[0] and found[-1] <= max(given)
    assert np.mean(found) == pytest.approx(np.mean(given), rel=1e-9, abs=1e-6)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=80))
def test_groups_end_at_values_and_hold_all_of_them(given: list[float]) -> None:
    ends = edges(given, 10, 5)
    assert ends == sorted(set(ends)) and set(ends) <= set(given) and ends[-1] == max(given)
    assert len(ends) <= 5


def drawn(share: float, rows: int) -> Floats:
    """Rows of normal numbers that share so much by item."""
    random = np.random.default_rng(3)
    item = random.normal(size=4000)
    return np.sqrt(share) * item + np.sqrt(1 - share) * random.normal(size=(rows, 4000))


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("look", ["normal", "skewed", "yes or no", "heaped at 1"])
def test_the_share_of_an_item_is_found_whatever_the_values_look_like(share: float, look: str) -> None:
    z = drawn(share, 3)
    looks: dict[str, Any] = {
        "normal": z,
        "skewed": np.exp(z),
        "yes or no": 1.0 * (z > 1),
        "heaped at 1": np.minimum(z, 0.3),
    }
    found = shares(looks[look])
    assert found == [pytest.approx(share, abs=0.09)] * 3


def test_shares_at_the_ends_and_where_nothing_can_be_said() -> None:
    row = np.random.default_rng(1).normal(size=50)
    assert shares(np.stack([row, row])) == [pytest.approx(1.0), pytest.approx(1.0)]
    assert shares(np.stack([row, -row])) == [pytest.approx(0, abs=1e-6)] * 2
    assert shares(row[None, :]) == [None]
    assert shares(np.stack([row, np.ones(50)])) == [None, None]
    few = np.where(np.arange(50) < 4, row, np.nan)
    assert shares(np.stack([row, few])) == [None, None]
    assert correlation(row, np.exp(row)) == pytest.approx(1.0)
    assert correlation(row[:3], row[:3]) == 0.0 and correlation(row, np.ones(50)) == 0.0


def test_what_was_put_in_comes_out_again(played: Callable[..., Record]) -> None:
    record = played()
    found = by_name(fit(record.players))
    asks = found["asks"].simulate
    assert np.mean(asks["h_values"]) == pytest.approx(np.mean(SKEWED), abs=0.12)
    assert asks["h_values"][0] == 0 and asks["h_values"][-1] == 1
    assert asks["item_share"] == pytest.approx(0.7, abs=0.2)
    assert asks["review_rate"] == pytest.approx(0.6, abs=0.15) and asks["review_anyway"] == 0
    assert asks["refusal_rate"] == pytest.approx(0.05, abs=0.06)
    pairs = {(before, after) for before, after in asks["rewrites"]}
    assert {after for _, after in pairs} <= {*(after for _, after in REWRITES), *(before for before, _ in pairs)}
    answer = asks["calls"]["answer"]
    assert np.mean(answer["tokens_in"]) == pytest.approx(725, rel=0.2)
    assert answer["in_share"] > 0.9 and answer["follow"] > 0.7
    assert answer["again"] == pytest.approx(0.1, abs=0.08)
    assert found["asks"].prices == {"simulated/one": (2.0, 8.0)}
    assert "rewrites" not in found["plain"].simulate and not found["plain"].notes
    assert found["asks"].unfitted == () and "loop" in found["loops"].notes[0]


def test_a_match_of_calibrated_players_is_like_the_recorded_one(played: Callable[..., Record]) -> None:
    document = checked(played())
    found = plain(document)
    wrong = [row for row in found["rows"] if row["inside"] is not True]
    assert not wrong and found["like"] is True and found["simulated"] is True
    assert len(found["rows"]) == 4 * 6
    assert "SIMULATED" in likeness_text(document, "table")


def test_so_are_questions_with_a_guide_apart_and_best_rewrites_kept(
    played: Callable[..., Record], tmp_path: Path
) -> None:
    data = tmp_path / "questions.jsonl"
    data.write_text("".join(json.dumps({"id": n, "question": f"who {n}?", "answer": "x"}) + "\n" for n in range(80)))
    told = [{"up_to": 0.5, "values": [0.2, 0.6, 0.9, 0.95]}, {"up_to": 1.0, "values": [0.7, 0.9, 0.95, 1.0]}]
    like = LIKE | {"h_values": [0, 0, 0, 1, 1], "rewrites": [[0, 0], [0, 1], [1, 0], [1, 1]], "confidence": told}
    players = [{"name": "a", "model": "simulated/x"}, {"name": "b", "model": "simulated/x", "agent": "retry"}]
    mashq.play(
        {
            "task": {"kind": "qa", "data": str(data)},
            "players": players,
            "rules": {"keep": "better"},
            "models": {"simulated/x": {"simulate": like}},
        },
        tmp_path / "run",
    )
    record = recorded(tmp_path / "run")
    simulate = by_name(fit(record.players))["a"].simulate
    assert simulate["keeps_better"] is True
    low, high = (fmean(row["values"]) for row in simulate["confidence"])
    assert low < high - 0.1
    assert settings(record, fit(record.players), "x.jsonl", 5)["guide"] == "confidence"
    assert compared(record)["like"] is True


def test_answers_that_were_cut_off_are_failures_that_it_came_to(played: Callable[..., Record]) -> None:
    asks = played(count=12).players[0]
    (trial,) = asks.trials
    ends: tuple[ResultStatus, ...] = ("cut", "cut", "cut", "failed", "refused", "unanswered", "pending")
    items = tuple(
        replace(row, status=status, h=None, h_first=None) if status else row
        for row, status in zip_longest(trial.result.items, ends)
    )
    changed = replace(asks, trials=(replace(trial, result=replace(trial.result, items=items)),))
    assert [row.status for row in changed.rows] == [*ends[:5], *["ok"] * 5]
    simulate = fit([changed, *played(count=12).players[1:]])[0].simulate
    assert simulate["failure_rate"] == pytest.approx(4 / 10)


def test_failures_retries_and_unknown_usage_of_a_real_server(tmp_path: Path) -> None:
    rates = {"429": 0.1, "500": 0.05, "wrong_json": 0.1, "refusal": 0.03}
    data = write_items(tmp_path / "items.jsonl", 40)
    with FakeProvider(seed=3, faults={"rates": rates, "retry_after": 0}) as provider:
        mashq.play(http_config(provider.base_url, data), tmp_path / "run")
        provider.configure(rates={"no_usage": 0.3})
        mashq.play(http_config(provider.base_url, data), tmp_path / "untold")
    record = recorded(tmp_path / "run")
    fitted = fit(record.players)
    for one in fitted:
        query = f"FROM attempts WHERE player = '{one.name}'"
        everything, lost = rows(tmp_path / "run", f"SELECT count(*), sum(status >= 300) {query}")[0]
        assert one.simulate["retry_rate"] == pytest.approx(lost / everything, abs=0.02)
        again = "AND purpose = 'answer' AND ask = 1 AND outcome IN ('ok', 'refused')"
        twice = rows(tmp_path / "run", f"SELECT count(DISTINCT item) {query} {again}")[0][0]
        assert one.simulate["calls"]["answer"]["again"] == pytest.approx(twice / 40, abs=0.06)
        assert one.simulate["calls"]["failed"]["seconds"]
        assert one.prices == {}
    document = settings(record, fitted, "x.jsonl", 5)
    assert document["models"]["simulated/A"]["retry"] == {"attempts": 4, "base": 0.0, "cap": 0.0}
    found = compared(record)
    assert {row["figure"]: row["inside"] for row in found["rows"] if row["player"] == "A"}["calls"] is True
    untold = by_name(fit(recorded(tmp_path / "untold").players))["A"]
    assert untold.unfitted == ("tokens", "q") and "unknown" in untold.notes[-1]


def test_an_agent_that_cannot_be_followed_is_simulated_by_its_turns(played: Callable[..., Record]) -> None:
    record = played()
    foreign = tuple(replace(player, agent="external", spec=EXTERNAL) for player in record.players)
    found = by_name(fit(foreign))
    assert {one.agent for one in found.values()} == {"plain"}
    assert found["plain"].unfitted == ("calls", "q"), "an answer asked for again is a second call"
    assert found["asks"].unfitted == ("calls", "reviews", "q")
    spent = [row.spend.tokens_in.total for row in record.players[0].rows]
    assert np.mean(found["asks"].simulate["calls"]["answer"]["tokens_in"]) == pytest.approx(np.mean(spent), rel=0.01)
    document = settings(replace(record, players=foreign), tuple(found.values()), "x.jsonl", 5)
    assert all(player["agent"] == "plain" and "R" not in player for player in document["players"])
    drawn = asyncio.run(simulated(replace(record, players=foreign), items=record.items, trials=3))
    unfitted = {one.name: one.unfitted for one in found.values()}
    told = plain(likeness(record.results, drawn, record.rules, unfitted))["rows"]
    assert all(not row["fitted"] for row in told if row["figure"] == "q"), "Q rests on the others' costs"
    assert all(row["inside"] for row in told if row["figure"] in ("h", "tokens", "seconds"))


def test_a_best_of_n_agent_says_that_h_is_not_fitted(played: Callable[..., Record]) -> None:
    best = {"name": "best", "model": "simulated/one", "agent": "best-of-n", "n": 3}
    record = played(40, players=[best, {"name": "plain", "model": "simulated/one", "agent": "plain"}])
    found = by_name(fit(record.players))["best"]
    assert found.unfitted == ("h", "q") and "not picked" in found.notes[0]
    assert 0 < found.simulate["review_rate"] <= 1 and found.simulate["rewrites"]
    assert compared(record, 3)["rows"][0]["fitted"] is False


def test_an_unlike_simulation_is_called_so(played: Callable[..., Record]) -> None:
    record = played()
    now = record.results
    worse = replace(now, h=now.h * 0.7)
    check = likeness(now, [worse, worse], record.rules, {})
    document = Calibration(found=check, notes={"asks": ["a note"]}, run="run")
    found = plain(document)
    outside = [(row["player"], row["figure"]) for row in found["rows"] if row["inside"] is False]
    assert found["like"] is False and ("asks", "h") in outside and ("asks", "tokens") not in outside
    assert "NOT like the record" in likeness_text(document, "md")
    assert "a note" in likeness_text(document, "latex")


def test_trials_of_a_match_are_taken_together(played: Callable[..., Record]) -> None:
    record = played()
    twice = replace(record, players=tuple(replace(p, trials=[*p.trials, *p.trials]) for p in record.players))
    once, both = fit(record.players), fit(twice.players)
    for one, two in zip(once, both, strict=True):
        assert two.simulate["h_values"] == pytest.approx(one.simulate["h_values"], abs=0.25)
        assert two.simulate["item_share"] == pytest.approx(one.simulate["item_share"], abs=1e-6)
        assert two.simulate.get("review_rate") == one.simulate.get("review_rate")


NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=80)


@settings_of_test(max_examples=30)
@given(st.lists(NAMES, min_size=2, max_size=3, unique=True))
def test_the_written_configuration_is_read_back_as_it_was(names: list[str]) -> None:
    simulate = LIKE | {"scale": 1.0}
    document: dict[str, Any] = {
        "task": {"kind": "summarise", "data": "x.jsonl", "limit": 3},
        "players": [{"name": name, "agent": "plain", "model": f"simulated/{name}"} for name in names],
        "rules": {"T": 0.9, "vision": {"when": "never"}},
        "score": {"beta": 0.1},
        "seed": 3,
        "models": {
            f"simulated/{name}": {"simulate": simulate, "price": {"input": 1.5, "output": 2}} for name in names
        },
    }
    if "referee" in names:
        return
    notes = {f"simulated/{name}": (f"a note on\n{name}",) for name in names}
    text = calibrated_yaml(document, [f"of\n{names[0]}", "SIMULATED"], notes)
    assert parse(text, "it") == check(document)
    more = with_more(document, 2)
    assert parse(calibrated_yaml(more, [], {}), "it") == check(more)


def test_more_players_are_variants_each_with_its_name(played: Callable[..., Record]) -> None:
    record = played()
    document = settings(record, fit(record.players), "x.jsonl", 5)
    more = with_more(document, 60)
    names = [player["name"] for player in more["players"]]
    assert len(set(names)) == 64 and names[:4] == ["asks", "rule", "plain", "loops"]
    assert {"asks R0", "rule R1", "plain cost x0.5", "plain cost x2"} <= set(names)
    assert not any(name.startswith("plain R") for name in names), "it never reviews"
    assert more["models"]["simulated/plain x2"]["simulate"]["scale"] == 2
    assert len(check(more).players) == 64 and len(document["players"]) == 4
    with pytest.raises(ConfigError, match="variants of these players"):
        with_more(document, 100_000)


def test_items_are_as_long_as_the_recorded_ones_where_a_budget_counts_their_bytes(
    played: Callable[..., Record],
) -> None:
    assert len(json.loads(placeholders(played(), 1))["text"]) < 30
    players = [{"name": "a", "model": "simulated/one", "budget": {"tokens": 20_000}}]
    record = played(30, players=players)
    texts = [json.loads(line)["text"] for line in placeholders(record, 31).splitlines()]
    assert [len(text) for text in texts] == [*record.lengths, record.lengths[0]]
    document = settings(record, fit(record.players), "x.jsonl", 5)
    assert document["players"][0]["budget"] == {"tokens": 20_000.0}
    assert document["models"]["simulated/a"]["max_tokens"] is None
    assert compared(record, 4)["like"] is True, "it stops when the recorded one did"


def test_a_player_without_an_answer_cannot_be_simulated(played: Callable[..., Record]) -> None:
    dead = {"simulated/dead": {"simulate": {"failure_rate": 1.0}}, "simulated/one": {"simulate": LIKE}}
    players = [{"name": "dead", "model": "simulated/dead"}, {"name": "one", "model": "simulated/one"}]
    record = played(10, players=players, models=dead)
    with pytest.raises(DataError, match="'dead' answered nothing"):
        fit(record.players)
    left = recorded(record.season.path, ["dead"])
    assert [one.name for one in fit(left.players)] == ["one"]
    for wrong, said in ((["nobody"], "no such player"), (["dead", "one"], "leaves no player")):
        with pytest.raises(ConfigError, match=said):
            recorded(record.season.path, wrong)


def test_too_little_to_compare_is_said(played: Callable[..., Record]) -> None:
    record = played(4, players=[{"name": "a", "model": "simulated/one"}])
    document = checked(record, 2)
    found = plain(document)
    assert found["like"] is None and {row["inside"] for row in found["rows"]} == {None}
    assert "too few items" in likeness_text(document, "table")
    nothing = replace(record.results, status=np.full_like(record.results.status, REFUSED))
    with pytest.raises(DataError, match="Q is undefined: nobody answered any item"):
        likeness(nothing, [nothing], record.rules, {})


def test_what_was_never_seen_is_named(played: Callable[..., Record]) -> None:
    good = {"simulated/good": {"simulate": {"h_values": [1.0], "review_rate": 1.0}}}
    players = [{"name": "a", "model": "simulated/good"}, {"name": "b", "model": "simulated/good"}]
    notes = " ".join(fit(played(6, players=players, models=good).players)[0].notes)
    for said in ("only 6 answers", "needs two players whose H varies", "no rewrite was recorded", "ever recommended"):
        assert said in notes


def test_a_resource_that_is_unknown_for_someone_is_left_out_of_the_score(tmp_path: Path) -> None:
    data = write_items(tmp_path / "items.jsonl", 6)
    with FakeProvider(seed=1, faults={"rates": {"no_usage": 1.0}}) as provider:
        score = {"resources": ["tokens", "calls"], "weights": {"tokens": 2.0, "calls": 3.0}}
        mashq.play(http_config(provider.base_url, data, score=score), tmp_path / "run")
    record = recorded(tmp_path / "run")
    document = settings(record, fit(record.players), "x.jsonl", 5)
    assert document["score"] == {"resources": ["calls"], "weights": {"calls": 3.0}, "beta": 0.1}
    assert "tokens_in" not in document["models"]["simulated/A"]["simulate"]["calls"]["answer"]
    assert not any(row["figure"] == "tokens" for row in compared(record, 2)["rows"])


def test_a_stronger_model_to_escalate_to_has_its_own_price(played: Callable[..., Record]) -> None:
    models = {
        "simulated/small": {"simulate": LIKE | {"h_values": [0.2, 0.5, 0.9]}, "price": {"input": 1, "output": 4}},
        "simulated/large": {"simulate": LIKE, "price": {"input": 5, "output": 20}},
    }
    one = {"name": "a", "agent": "escalate", "model": "simulated/small", "to": "simulated/large"}
    record = played(30, players=[one], models=models)
    document = settings(record, fit(record.players), "x.jsonl", 5)
    prices = {name: model["price"]["input"] for name, model in document["models"].items()}
    assert prices == {"simulated/a": 1.0, "simulated/a, stronger": 5.0}
    text = calibrated_yaml(document, [], {})
    assert "simulate: *m1" in text and parse(text, "it") == check(document)
    scaled = with_more(document, 20)
    assert "simulated/a, stronger x2" in scaled["models"] and len(check(scaled).players) == 21


def test_models_have_names_of_their_own(played: Callable[..., Record]) -> None:
    large = LIKE | {"h_values": [1.0]}
    models = {"simulated/one": {"simulate": LIKE}, "simulated/large": {"simulate": large}}
    players = [
        {"name": "a", "agent": "escalate", "model": "simulated/one", "to": "simulated/large"},
        {"name": "a, stronger", "agent": "plain", "model": "simulated/large"},
        {"name": "a x2", "agent": "plain", "model": "simulated/large"},
    ]
    record = played(12, players=players, models=models)
    document = settings(record, fit(record.players), "x.jsonl", 5)
    assert document["players"][0]["to"] == "simulated/a, stronger'" and len(document["models"]) == 4
    assert document["models"]["simulated/a x2"]["simulate"]["h_values"][0] == 1
    more = with_more(document, 30)
    twice = next(player for player in more["players"] if player["name"] == "a cost x2")
    assert (
        twice["model"] == "simulated/a x2'"
        and more["models"]["simulated/a x2"] == document["models"]["simulated/a x2"]
    )


def test_only_a_match_that_was_begun_can_be_calibrated_from(tmp_path: Path, played: Callable[..., Record]) -> None:
    path = played(4, players=[{"name": "a", "model": "simulated/one"}]).season.path
    copy = shutil.copytree(path, tmp_path / "sweep")
    manifest: dict[str, Any] = json.loads((copy / MANIFEST).read_text())
    (copy / MANIFEST).write_text(json.dumps(manifest | {"season": {"kind": "sweep", "over": [], "trials": 1}}))
    with pytest.raises(ConfigError, match="is a sweep"):
        recorded(copy)
