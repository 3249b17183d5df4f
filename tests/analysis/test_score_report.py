"""Intervals, flips, views and conditions, by hand."""

import json
import math
import re
from dataclasses import replace
from importlib.resources import files

import numpy as np
import pytest

from mashq.analysis.flips import chance_along, envelope, simplex_shares
from mashq.analysis.intervals import draws
from mashq.analysis.paper import paper
from mashq.analysis.results import Row, from_rows
from mashq.analysis.score_report import Options, judge
from mashq.protocol.content import ANSWERS, Contents
from mashq.protocol.score import ScoreRules, figures, view
from mashq.report.documents.base import dumped
from mashq.report.text.score import leads, score_text

RANDOM = np.random.default_rng(5)


def rows(player: str, count: int, h: float, spread: float = 0.1, tokens: float = 100.0) -> list[Row]:
    drawn = np.clip(h + spread * RANDOM.standard_normal(count), 0, 1)
    return [Row(player, f"i{n}", "", float(value), "ok", {"tokens": tokens}) for n, value in enumerate(drawn)]


def options(**changes: object) -> Options:
    return Options(ScoreRules(weights={"tokens": 1.0}, **changes), resamples=2000)  # pyright: ignore[reportArgumentType]


def test_a_clear_difference_is_sure_and_a_small_one_is_not() -> None:
    clear = dumped(judge(from_rows(rows("A", 100, 0.9) + rows("B", 100, 0.6)), options()))
    (difference,) = clear["differences"]
    assert (difference["a"], difference["b"]) == ("A", "B")
    assert 0.2 < difference["low"] < difference["dq"] < difference["high"] < 0.4
    assert clear["players"][0]["p_win"] > 0.999 and clear["clear"]
    close = dumped(judge(from_rows(rows("A", 40, 0.8) + rows("B", 40, 0.79)), options()))["differences"][0]
    assert close["low"] < 0 < close["high"]


def test_the_interval_shrinks_as_items_grow_and_repeats_with_the_seed() -> None:
    widths: list[float] = []
    for count in (20, 100, 500):
        document = dumped(judge(from_rows(rows("A", count, 0.8) + rows("B", count, 0.7)), options()))
        again = document["differences"][0]
        widths.append(again["high"] - again["low"])
    assert widths[0] > 1.8 * widths[1] > 3.2 * widths[2]
    results = from_rows(rows("A", 30, 0.8) + rows("B", 30, 0.7))
    assert dumped(judge(results, options())) == dumped(judge(results, options()))


def test_pairing_by_item_removes_what_the_items_share() -> None:
    """Two players whose scores move together by item: the difference is known far better than either Q."""
    hard = RANDOM.uniform(0.2, 0.8, 200)
    both = [
        Row(p, f"i{n}", "", float(h + shift), "ok", {})
        for p, shift in (("A", 0.1), ("B", 0.0))
        for n, h in enumerate(hard)
    ]
    document = dumped(judge(from_rows(both), options()))
    (difference,) = document["differences"]
    assert difference["low"] > 0.09 and difference["high"] < 0.11
    assert document["players"][0]["q_high"] - document["players"][0]["q_low"] > 0.03


def test_trials_are_averaged_first_so_repeats_do_not_narrow_the_interval() -> None:
    once = rows("A", 50, 0.8) + rows("B", 50, 0.7)
    often = [Row(r.player, r.item, str(t), r.h, r.status, r.costs) for r in once for t in range(20)]
    one, many = dumped(judge(from_rows(once), options())), dumped(judge(from_rows(often), options()))
    assert one["differences"][0]["low"] == pytest.approx(many["differences"][0]["low"])
    assert one["differences"][0]["high"] == pytest.approx(many["differences"][0]["high"])
    assert many["trials"] == 20 and any("the intervals are over items" in note for note in many["notes"])


def test_the_normaliser_is_recomputed_in_every_resample() -> None:
    """A has one hugely expensive item: whether it is drawn decides who sets the normaliser."""
    table = [Row("A", f"i{n}", "", 0.5, "ok", {"tokens": 1000.0 if n == 0 else 0.0}) for n in range(10)]
    table += [Row("B", f"i{n}", "", 0.5, "ok", {"tokens": 50.0}) for n in range(10)]
    seen = view(from_rows(table), "intersection", ("tokens",))
    (drawn,) = draws(10, 1000, 1)
    q = figures(seen, ScoreRules(weights={"tokens": 1.0}), drawn).q
    assert ((q[:, 0] > q[:, 1]) == (drawn[:, 0] == 0)).all(), "A wins just when its item is not drawn"
    assert ((q[:, 0] > q[:, 1]).mean()) == pytest.approx((1 - 1 / 10) ** 10, abs=0.05)


def test_draws_are_items_with_replacement() -> None:
    (block,) = draws(50, 300, 1)
    assert (block.sum(axis=1) == 50).all() and block.shape == (300, 50)
    assert block.mean() == 1.0 and block.var() == pytest.approx(1 - 1 / 50, abs=0.05)


def test_too_few_items_have_no_interval() -> None:
    few = dumped(judge(from_rows(rows("A", 4, 0.9) + rows("B", 4, 0.5)), options()))
    assert few["players"][0]["q_low"] is None and few["differences"][0]["low"] is None
    assert any("too few" in note for note in few["notes"])


def test_an_envelope_by_hand() -> None:
    stretches = envelope([0.9, 0.8, 0.5], [2.0, 1.0, 0.0])
    wanted = [(0.0, (0,)), (pytest.approx(0.1), (1,)), (pytest.approx(0.3), (2,))]
    assert [(s.start, s.winners) for s in stretches] == wanted
    assert [s.winners for s in envelope([0.5, 0.5], [1.0, 1.0])] == [(0, 1)], "equal lines share the lead"
    assert [s.winners for s in envelope([0.5, 0.5], [2.0, 1.0])] == [(1,)]
    assert [s.winners for s in envelope([0.5, 0.5, 0.4], [1.0, 1.0 + 1e-16, 0.0])] == [(0, 1), (2,)]


def test_shares_of_the_simplex_by_hand() -> None:
    """Equal H; A is cheap in one resource, B in the other: each wins half of the weightings."""
    shares = simplex_shares(np.array([0.5, 0.5]), np.array([[1.0, 0.0], [0.0, 1.0]]), 1.0, 0.1, 20_000, 0)
    assert shares == pytest.approx([0.5, 0.5], abs=0.02)
    same = simplex_shares(np.array([0.5, 0.5, 0.2]), np.array([[1.0, 1.0]] * 3), 1.0, 0.1, 100, 0)
    assert same == pytest.approx([0.5, 0.5, 0.0]), "a tie is shared"
    along = chance_along(np.array([[0.5, 0.5, 0.2]] * 4), np.ones((4, 3)), 1.0, [0.0, 0.1])
    assert along == pytest.approx(np.array([[0.5, 0.5, 0.0]] * 2))


def test_a_player_alone_wins_and_leads_nothing() -> None:
    alone = judge(from_rows(rows("A", 8, 0.9)), options())
    assert alone.players[0].p_win is None and alone.players[0].q_low is not None
    assert not alone.envelope and not alone.weight_envelopes
    assert alone.simplex is None and alone.chance_along_beta is None
    said = score_text(alone, "table")
    assert "A played alone" in said and not re.search("P.win.|lead|[^_]wins|★|Pareto", said)


def test_who_caused_what_is_left_out_is_told_apart_from_who_stopped() -> None:
    """B refused one item, C stopped after five: the second is no reason to leave anything out."""
    status = {"A": ["ok"] * 9, "B": ["refused"] + ["ok"] * 8, "C": ["ok"] * 5 + ["unanswered"] * 4}
    table = [
        Row(player, f"i{n}", "", 0.5 if how == "ok" else None, how, {"tokens": 1.0})
        for player, own in status.items()
        for n, how in enumerate(own)
    ]
    notes = judge(from_rows(table), options()).notes
    assert "1 of 9 items are left out for all because a player refused or failed them: B (1)." in notes
    assert "What a player did not get to, as when its budget ends, is not left out: it scores 0." in notes


def test_equal_players_share_every_place() -> None:
    """A and B are the same, C is worse and cheaper: nothing names A alone."""
    table = [
        Row(player, f"i{n}", "", h, "ok", {"tokens": tokens, "calls": 2.0})
        for player, h, tokens in (("A", 0.8, 20.0), ("B", 0.8, 20.0), ("C", 0.5, 10.0))
        for n in range(6)
    ]
    rules = ScoreRules(weights={"tokens": 1.0, "calls": 1.0})
    found = judge(from_rows(table), Options(rules, resamples=100))
    assert found.tied == ["A", "B"] and found.simplex == {"A": 0.5, "B": 0.5}
    assert [(s.winner, s.names) for s in found.envelope] == [(None, ["A", "B"]), ("C", ["C"])]
    by_weight = {name: [tuple(s.names) for s in part] for name, part in found.weight_envelopes.items()}
    assert by_weight == {"tokens": [("A", "B"), ("C",)], "calls": [("A", "B")]}
    assert all(view.tied == [["A", "B"]] and view.leaders == ("A", "B") for view in found.views)
    written = dumped(found)["envelope"]
    assert written[0]["tied"] == ["A", "B"] and "tied" not in written[1]


def test_a_tie_at_one_beta_is_not_a_tie_at_every_beta() -> None:
    """The same H, and costs that do not count: A is the cheaper, and leads wherever they do."""
    table = [Row(p, f"i{n}", "", 0.6, "ok", {"tokens": t}) for p, t in (("A", 10.0), ("B", 30.0)) for n in range(5)]
    found = judge(from_rows(table), Options(ScoreRules(beta=0.0, weights={"tokens": 1.0}), resamples=100))
    assert found.tied == ["A", "B"] and [s.winner for s in found.envelope] == ["A"]
    assert leads(found) == "A, B tie at beta 0 alone; A leads at every other."


def test_the_leader_may_depend_on_the_rule_for_refusals_and_a_sentence_says_so() -> None:
    table = [Row("A", f"i{n}", "", 0.9, "ok", {"tokens": 1.0}) for n in range(5)]
    table += [Row("A", f"i{n}", "", None, "refused", {"tokens": 1.0}) for n in range(5, 10)]
    table += [Row("B", f"i{n}", "", 0.7, "ok", {"tokens": 1.0}) for n in range(10)]
    document = dumped(judge(from_rows(table), options()))
    assert (document["winner"], document["items"]) == ("A", 5)
    assert "B leads only if refusals score 0." in document["notes"]
    assert document["dropped"] == {"items": 5, "units": 5, "by": {"A": {"missing": 5, "alone": 5}}}
    assert any("refused or failed them: A (5)." in note for note in document["notes"])
    views = {(v["refusals"], v["normalise"]): v["ranking"] for v in document["views"]}
    assert views["penalised", "match"] == ["B", "A"] and views["answered", "match"] == ["A", "B"]


def test_players_that_were_not_asked_the_same_items_are_compared_by_the_item() -> None:
    table = rows("A", 20, 0.8) + rows("B", 10, 0.8)
    document = dumped(judge(from_rows(table), options(refusals="answered")))
    assert [player["penalty"] for player in document["players"]] == [1.0, 1.0], "a hundred tokens an item, both"
    assert any("not asked every item" in note for note in document["notes"])
    assert document["players"][1]["answer_rate"] == 1.0


def test_a_player_that_answered_almost_nothing_still_has_an_interval() -> None:
    table = [
        Row("A", f"i{n}", "", 0.5 if n == 0 else None, "ok" if n == 0 else "refused", {"tokens": 1.0})
        for n in range(8)
    ]
    table += [Row("B", f"i{n}", "", 0.7, "ok", {"tokens": 1.0}) for n in range(8)]
    document = dumped(judge(from_rows(table), options(refusals="answered")))
    for player in document["players"]:
        assert player["q_low"] <= player["q"] <= player["q_high"]
    assert document["differences"][0]["low"] <= document["differences"][0]["dq"]


def test_players_without_a_common_item_cannot_be_compared() -> None:
    table = [Row("A", "x", "", 0.5, "ok", {}), Row("B", "y", "", 0.5, "ok", {})]
    document = dumped(judge(from_rows(table), options()))
    assert [(p["q"], p["h"], p["q_low"], p["p_win"]) for p in document["players"]] == [(None, None, None, None)] * 2
    assert (document["winner"], document["clear"], document["items"]) == (None, False, 0)
    assert document["headline"] == "No winner: Q is undefined."
    assert any("no item was answered by every player" in note and "--without" in note for note in document["notes"])


def test_unknown_resources_are_left_out_with_a_note_and_never_zero() -> None:
    table = [Row("A", "x", "", 0.5, "ok", {"tokens": 5.0}), Row("B", "x", "", 0.5, "ok", {})]
    rules = ScoreRules(weights={"tokens": 1.0, "seconds": 1.0})
    document = dumped(judge(from_rows(table), Options(rules, resamples=100)))
    assert "tokens left out of P: unknown for B." in document["notes"]
    assert "seconds left out of P: the results do not have it." in document["notes"]
    assert document["players"][1]["tokens"] is None
    assert document["weights"] == {}


def test_dollars_a_faithful_answer() -> None:
    table = [Row("A", f"i{n}", "", h, "ok", {"dollars": 0.5}) for n, h in enumerate([0.9, 0.5, 0.4, 0.1])]
    assert dumped(judge(from_rows(table), options()))["players"][0]["dollars_per_faithful"] == 1.0


def test_chances_along_beta_go_from_the_factual_to_the_frugal() -> None:
    table = rows("rich", 60, 0.9, tokens=1000.0) + rows("poor", 60, 0.8, tokens=10.0)
    along = dumped(judge(from_rows(table), options()))["chance_along_beta"]
    assert along[0]["beta"] == 0 and along[0]["p"]["rich"] > 0.99
    assert along[-1]["p"]["poor"] > 0.99
    climbing = [row["p"]["poor"] for row in along]
    assert climbing == sorted(climbing)


def test_the_papers_scores_follow() -> None:
    printed = json.loads(files("mashq.analysis").joinpath("paper_figures.json").read_text())
    document = dumped(paper(printed))
    assert document["recomputed"] == {"follow": 32, "total": 33}
    assert document["by_beta"] == [
        {"follow": 28, "total": 28, "beta": 0.1},
        {"follow": 1, "total": 1, "beta": 0.01},
        {"follow": 3, "total": 4, "beta": 0.001},
    ]
    assert document["consistent"] == {"follow": 16, "total": 16}
    assert len(document["not_recomputable"]) == 8
    (apart,) = [row for row in document["rows"] if not row["follows"]]
    assert (apart["match"], apart["player"], apart["basis"]) == ("simpleqa gpt-4o-mini", "B", "counts")
    assert apart["q"] == pytest.approx(0.0076, abs=0.00005)
    stated = [row for row in document["rows"] if row["basis"] == "printed penalty"]
    assert {row["table"] for row in stated} == {"hyper_ablation", "sota_results", "architecture"}
    assert [row["q"] for row in stated] == [row["h"] - row["penalty"] for row in printed["penalties"]]
    assert {row["beta"] for row in stated} == {None}


def test_the_papers_supplementary_row_follows_beta_as_stated() -> None:
    printed = json.loads(files("mashq.analysis").joinpath("paper_figures.json").read_text())
    (row,) = [row for row in dumped(paper(printed))["rows"] if row["table"] == "main_results_supp"]
    a, b = (own for own in printed["counts"] if own["match"] == "gpt-4o-mini")
    by_hand = sum(a[name] / max(a[name], b[name]) for name in ("tokens", "calls", "reviews", "seconds"))
    assert by_hand == pytest.approx(3.8868, abs=0.00005)
    assert row["q"] == pytest.approx(0.9103 - 0.01 * by_hand) == pytest.approx(0.8714, abs=0.00005)
    assert row == {
        "table": "main_results_supp",
        "match": "gpt-4o-mini",
        "player": "A",
        "printed_q": 0.8715,
        "basis": "counts",
        "beta": 0.01,
        "penalty": pytest.approx(by_hand),
        "q": row["q"],
        "follows": True,
    }


def test_the_papers_best_of_n_as_one_match_of_all_five_players() -> None:
    printed = json.loads(files("mashq.analysis").joinpath("paper_figures.json").read_text())
    best = dumped(paper(printed))["best_of_n"]
    assert (best["most_factual"], best["winner"]) == ("Best-of-4", "Q-Agent B")
    assert [(row["player"], row["h"], row["q"]) for row in best["as_printed"]] == [
        ("Q-Agent A", 0.9103, 0.5217),
        ("Best-of-4", 0.9169, 0.5169),
        ("Best-of-2", 0.9167, 0.5167),
        ("Best-of-1", 0.9144, 0.5144),
        ("Q-Agent B", 0.9132, 0.5132),
    ]
    found = [(row["player"], round(row["penalty"], 3), round(row["q"], 4)) for row in best["one_match"]]
    assert found == [
        ("Q-Agent B", 0.980, 0.8152),
        ("Q-Agent A", 0.953, 0.8150),
        ("Best-of-1", 1.026, 0.8118),
        ("Best-of-2", 2.155, 0.7012),
        ("Best-of-4", 4.0, 0.5169),
    ]
    assert best["reversal"]["beta_from"] == pytest.approx(0.00011, abs=0.000005)
    for row in best["one_match"]:
        assert math.isclose(row["q"], row["h"] - 0.1 * row["penalty"])


def test_faithful_answers_are_counted_by_the_h_in_use() -> None:
    table = [Row("A", f"i{n}", "", 0.9, "ok", {"dollars": 0.5}) for n in range(4)]
    texts = {name: np.ones((1, 4)) for name in ANSWERS} | {"coverage": np.array([[1.0, 0.5, 0.0, 0.0]])}
    results = replace(from_rows(table), content=Contents(texts, {}))
    rules = {0.5: ScoreRules(h="faithful"), 2.0: ScoreRules(h="adequate")}
    for dollars, own in rules.items():
        document = dumped(judge(results, Options(own, resamples=100)))
        assert document["players"][0]["dollars_per_faithful"] == dollars


def test_the_chance_at_the_beta_of_the_rules_is_the_chance_of_winning() -> None:
    table = rows("rich", 20, 0.9, tokens=1000.0) + rows("poor", 20, 0.86, tokens=600.0)
    for beta in (0.1, 0.123):
        document = dumped(judge(from_rows(table), Options(ScoreRules(beta=beta, weights={"tokens": 1.0}))))
        (own,) = [entry["p"] for entry in document["chance_along_beta"] if entry["beta"] == beta]
        assert own == {player["name"]: pytest.approx(player["p_win"]) for player in document["players"]}


def test_a_tie_is_even_at_every_beta() -> None:
    table = rows("a", 20, 0.9, spread=0.0) + rows("b", 20, 0.9, spread=0.0)
    for entry in dumped(judge(from_rows(table), options()))["chance_along_beta"]:
        assert entry["p"] == {"a": pytest.approx(0.5), "b": pytest.approx(0.5)}
