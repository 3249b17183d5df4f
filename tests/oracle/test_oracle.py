"""The oracle itself, on cases worked out by hand."""

from dataclasses import replace
from fractions import Fraction as F

from tests.oracle.oracle import (
    REFUSALS,
    Loss,
    Row,
    Rules,
    Status,
    Stretch,
    beta_lines,
    front,
    score,
    upper_envelope,
    view,
    weight_lines,
)

TOKENS = Rules(weights={"tokens": 1.0})


def row(
    player: str, unit: str, h: float | None, tokens: float | None = None, status: Status = "ok", **costs: float
) -> Row:
    """Return a row of a unit written as item and trial ("x0")."""
    return Row(player, unit[:-1], int(unit[-1]), h, status, ({} if tokens is None else {"tokens": tokens}) | costs)


# Two items, two trials; A refuses one unit and B fails on another.
TRIALS = [
    row("A", "x0", 0.9, 100, dollars=0.1),
    row("A", "x1", 0.5, 300, dollars=0.3),
    row("A", "y0", 0.6, 100, dollars=0.1),
    row("A", "y1", None, 20, "refused", dollars=0.02),
    row("B", "x0", 0.8, 200, dollars=0.2),
    row("B", "x1", None, 40, "failed", dollars=0.04),
    row("B", "y0", 0.4, 100, dollars=0.1),
    row("B", "y1", 0.2, 100, dollars=0.1),
]


def test_a_unit_that_anyone_lacks_is_left_out_for_all_with_its_costs() -> None:
    result = score(TRIALS, TOKENS)
    a, b = result.players
    assert (result.items, result.units, result.trials) == (2, 2, 2)  # x0 and y0
    assert (a.h, b.h) == (F("0.75"), F("0.6"))
    assert (a.totals["tokens"], b.totals["tokens"]) == (200, 300)
    assert (a.penalty, b.penalty) == (F(2, 3), 1)
    assert (a.q, b.q) == (F("0.75") - F(2, 30), F("0.5"))
    assert (a.answer_rate, b.answer_rate) == (F(3, 4), F(3, 4))
    assert (a.dollars_per_faithful, b.dollars_per_faithful) == (F("0.1"), F("0.3"))
    assert (result.winner, result.tied) == ("A", ())
    assert (result.lost_units, result.lost_items) == (2, 0)
    assert result.losses == {"A": Loss(1, 1), "B": Loss(1, 1)}


def test_a_refused_unit_can_score_zero() -> None:
    result = score(TRIALS, replace(TOKENS, refusals="penalised"))
    assert (result.items, result.units) == (2, 4)
    a, b = result.players
    assert a.h == (F("0.7") + F("0.3")) / 2 and b.h == (F("0.4") + F("0.3")) / 2
    assert (a.totals["tokens"], b.totals["tokens"]) == (200 + 60, 120 + 100)
    assert (a.penalty, b.penalty) == (1, F(11, 13))
    assert a.dollars_per_faithful == F("0.26") / F("1.5")  # both trials of x, one of the two of y
    assert b.dollars_per_faithful == F("0.22") / F("0.5")


def test_a_player_can_be_averaged_over_its_own_answers() -> None:
    a, b = score(TRIALS, replace(TOKENS, refusals="answered")).players
    assert (a.h, b.h) == ((F("0.7") + F("0.6")) / 2, (F("0.8") + F("0.3")) / 2)
    assert (a.totals["tokens"], b.totals["tokens"]) == (260, 220)


def test_equal_in_the_trial_that_both_answered_is_a_tie() -> None:
    rows = [row(p, f"i{n}-{t}", 0.7 if t == 0 else 0.3, 10) for p in "AB" for n in range(6) for t in (0, 1)]
    rows = [replace(one, h=None, status="refused") if one.player == "A" and one.trial == 1 else one for one in rows]
    result = score(rows, TOKENS)
    assert [one.h for one in result.players] == [F("0.7"), F("0.7")]
    assert (result.winner, result.tied, result.lost_units, result.lost_items) == (None, ("A", "B"), 6, 0)


def test_a_unit_without_a_row_was_not_answered() -> None:
    rows = [row("A", "x0", 0.5, 10), row("A", "y0", 0.7, 30), row("B", "x0", 0.4, 10)]
    result = score(rows, TOKENS)
    assert (result.items, result.lost_items, result.losses) == (1, 1, {"B": Loss(1, 1)})
    assert [player.answer_rate for player in result.players] == [1, 1]
    a, b = score(rows, replace(TOKENS, refusals="penalised")).players
    assert (a.h, b.h, a.penalty, b.penalty) == (F("0.6"), F("0.4"), 1, F(1, 2))  # 20 and 10 an item asked
    assert (a.totals["tokens"], b.totals["tokens"]) == (40, 10)


def test_who_lost_what_alone() -> None:
    rows = [row("A", "x0", 0.5), row("B", "x0", None, status="failed"), row("C", "x0", None, status="refused")]
    rows += [row("A", "y0", 0.5), row("B", "y0", 0.5), row("C", "y0", None, status="refused")]
    assert score(rows, TOKENS).losses == {"B": Loss(1, 0), "C": Loss(2, 1)}


def test_what_a_player_did_not_come_to_scores_0_under_every_rule() -> None:
    rows = [row("A", "x0", 0.5, 20), row("A", "y0", 0.7, 20), row("B", "x0", 0.9, 10)]
    rows.append(row("B", "y0", None, 0, "unanswered"))
    for refusals in REFUSALS:
        result = score(rows, replace(TOKENS, refusals=refusals))
        assert (result.items, result.lost_units, result.losses) == (2, 0, {})
        assert [(player.h, player.answer_rate) for player in result.players] == [(F("0.6"), 1), (F("0.45"), F(1, 2))]
        assert [player.penalty for player in result.players] == [1, F(1, 4)]


def test_nothing_in_common_is_no_score() -> None:
    result = score([row("A", "x0", 0.5, 1), row("B", "y0", 0.5, 1)], TOKENS)
    assert result.items == 0 and result.winner is None and result.tied == ()
    assert all(
        player.h is player.q is player.penalty is player.q_min is player.totals["tokens"] is None
        for player in result.players
    )


def test_who_answered_nothing_has_no_mean_of_its_answers() -> None:
    rows = [row("A", "x0", 0.5, 10), row("B", "x0", None, 5, "refused")]
    a, b = score(rows, replace(TOKENS, refusals="answered")).players
    assert (a.q, b.h, b.q, b.penalty) == (F("0.4"), None, None, F(1, 2))
    penalised = score(rows, replace(TOKENS, refusals="penalised"))
    assert penalised.of("B").q == -F("0.05")


MISSING = [
    row("A", "x0", 0.5, 100),
    row("A", "y0", 0.5),
    row("A", "z0", 0.5, 300),
    row("B", "x0", 0.5, 200),
    row("B", "y0", 0.5, 200),
    row("B", "z0", 0.5),
]


def test_a_missing_cost_is_the_mean_of_the_known_ones_and_bounded() -> None:
    a, b = score(MISSING, TOKENS).players
    assert (a.totals["tokens"], b.totals["tokens"]) == (600, 600)
    assert a.charged == b.charged == {"tokens": 200}
    assert (a.q, a.q_min, a.q_max) == (F("0.4"), F("0.4"), F("0.5") - F("0.1") * F(400, 700))
    assert (b.q, b.q_min, b.q_max) == (a.q, a.q_min, a.q_max)


def test_the_mean_is_over_rows_that_are_not_scored_too() -> None:
    rows = [*MISSING, row("A", "w0", None, 800, "refused"), row("B", "w0", 0.9, 10)]
    a, b = score(rows, TOKENS).players
    assert (a.totals["tokens"], b.totals["tokens"]) == (400 + 400, 400 + F(410, 3))
    assert a.q_min == F("0.4") and a.q_max == F("0.5") - F("0.1") * F(400, 1200)  # the worst row is 800
    assert b.q_min == F("0.5") - F("0.1") * 1 and b.q_max == F("0.5") - F("0.1") * F(400, 1200)


def test_a_missing_cost_of_a_unit_left_out_estimates_nothing() -> None:
    rows = [
        *MISSING[:3],
        replace(MISSING[3], item="x"),
        row("B", "y0", None, 200, "refused"),
        row("B", "z0", 0.5, 50),
    ]
    a, b = score(rows, TOKENS).players
    assert (a.totals["tokens"], a.charged, b.charged) == (400, {}, {})
    assert a.q == a.q_min == a.q_max


def test_a_charge_is_averaged_over_the_trials_like_any_cost() -> None:
    rows = [
        row("A", "x0", 0.5, 100),
        row("A", "x1", 0.5),
        row("A", "y0", 0.5, 50, tokens_in=20),
        row("A", "y1", 0.5, 60),
    ]
    a = score(rows, TOKENS).of("A")
    assert (a.totals["tokens"], a.charged["tokens"]) == (F(170, 2) + 55, 35)
    assert (a.totals["tokens_in"], a.charged["tokens_in"]) == (40, 30)


def test_what_can_be_nothing_else_is_no_estimate() -> None:
    a = score([row("A", "x0", 0.5, 0), row("A", "y0", 0.5)], TOKENS).of("A")
    assert (a.totals["tokens"], a.charged) == (0, {})


def test_a_resource_that_one_player_never_tells_is_left_out_for_all() -> None:
    rules = Rules(weights={"tokens": 1.0, "calls": 2.0})
    rows = [row("A", "x0", 0.5, 10, calls=1), row("B", "x0", 0.4, calls=4)]
    result = score(rows, rules)
    assert result.weights == {"calls": 2}
    assert [player.penalty for player in result.players] == [F(1, 2), 2]
    assert [player.totals["tokens"] for player in result.players] == [10, None]
    assert [player.penalty for player in score(rows, TOKENS).players] == [0, 0]


def test_references() -> None:
    for rule, rows in (("totals", TRIALS), ("totals", TRIALS[:4]), ("per_item", TRIALS), ("per_item", TRIALS[:4])):
        a = score(rows, replace(TOKENS, normaliser=rule, reference={"tokens": 400})).of("A")
        alone = len(rows) == 4
        # Alone: x0, x1 and y0 count, 200 + 100; with B x0 and y0, 100 + 100.
        assert a.totals["tokens"] == (300 if alone else 200)
        assert a.penalty == F(300 if alone else 200, 400 if rule == "totals" else 800)


def test_a_rivals_refusals_change_nothing_with_a_reference_per_item() -> None:
    steady = [row("A", f"{item}0", 0.5, 100) for item in "xyzw"]
    rules = replace(TOKENS, normaliser="per_item", reference={"tokens": 100})
    for refused in ("", "x", "xyz"):
        rival = [
            row("B", f"{i}0", None if i in refused else 1, 7, "refused" if i in refused else "ok") for i in "xyzw"
        ]
        assert score([*steady, *rival], rules).of("A").penalty == 1


def test_a_reference_total_meets_the_mean_of_what_was_asked() -> None:
    rows = [row("A", "x0", 0.5, 10), row("A", "y0", 0.7, 30), row("B", "x0", 0.4, 10)]
    rules = Rules(weights={"tokens": 1.0}, refusals="answered", normaliser="totals", reference={"tokens": 100})
    assert [player.penalty for player in score(rows, rules).players] == [F("0.4"), F("0.2")]


def test_weights_zero_costs_and_one_player() -> None:
    rules = Rules(alpha=2.0, beta=0.5, weights={"tokens": 3.0, "calls": 1.0, "reviews": 5.0})
    solo = score([row("A", "x0", 0.25, 1e15, calls=0.5, reviews=0)], rules).of("A")
    assert (solo.penalty, solo.q) == (4, F("-1.5"))
    assert solo.q_min == solo.q_max == solo.q


def test_what_ties_on_paper_ties() -> None:
    rows = [row("A", f"{i}0", h, 1) for i, h in zip("xyz", (0.1, 0.2, 0.3))]
    rows += [row("B", f"{i}0", h, 1) for i, h in zip("xyz", (0.3, 0.3, 0.0))]
    rows += [row("C", f"{i}0", h, 1) for i, h in zip("xyz", (0.3, 0.3, 0.000000006))]
    result = score(rows, TOKENS)
    assert (result.winner, result.tied) == ("C", ())
    assert score(rows[:6], TOKENS).tied == ("A", "B")
    near = [replace(one, h=0.000000002) if one.h == 0.000000006 else one for one in rows]
    assert score(near, TOKENS).tied == ("A", "B", "C")


def test_the_winners_along_beta() -> None:
    lines = {
        "slow": (F("0.9"), F(3)),
        "quick": (F("0.5"), F(1)),
        "never": (F("0.6"), F("2.9")),
        "twin": (F("0.5"), F(2)),
    }
    assert upper_envelope(lines) == [Stretch(F(0), F("0.2"), "slow"), Stretch(F("0.2"), None, "quick")]
    lines["middle"] = (F("0.8"), F(2))
    assert upper_envelope(lines) == [
        Stretch(F(0), F("0.1"), "slow"),
        Stretch(F("0.1"), F("0.3"), "middle"),
        Stretch(F("0.3"), None, "quick"),
    ]
    assert upper_envelope({"a": (F(1), F(2)), "b": (F(1), F(1))}) == [Stretch(F(0), None, "b")]


def test_lines_meet_q_where_the_rules_are() -> None:
    rules = Rules(alpha=2.0, beta=0.3, weights={"tokens": 3.0, "dollars": 0.5}, refusals="penalised")
    result = score(TRIALS, rules)
    for player in result.players:
        height, slope = beta_lines(result, rules)[player.name]
        assert height - F("0.3") * slope == player.q
        height, slope = weight_lines(result, rules, "dollars")[player.name]
        assert height - F("0.5") * slope == player.q


def test_whom_nobody_beats() -> None:
    points = {
        "best": (F("0.9"), F(2)),
        "cheap": (F("0.5"), F(1)),
        "twin": (F("0.5"), F(1)),
        "beaten": (F("0.5"), F(2)),
    }
    assert front(points) == {"best", "cheap", "twin"}
    near = {"a": (F("0.9"), F(1)), "b": (F("0.9") - F("1e-12"), F(1))}
    assert front(near) == {"a"}
    assert front(near, F("1e-9")) == {"a", "b"} and front(near, -F("1e-9")) == set()


def test_views_apply_the_other_rules() -> None:
    for refusals in REFUSALS:
        result = score(TRIALS, replace(TOKENS, refusals=refusals))
        assert view(TRIALS, TOKENS, refusals, "match") == {player.name: player.q for player in result.players}
    assert view(TRIALS, TOKENS, "intersection", "median") == {"A": F("0.67"), "B": F("0.48")}  # 200, 300 over 250


def test_what_a_player_has_yet_to_come_to_counts_for_the_others_alone() -> None:
    rows = [row("A", "x0", 0.5, 10), row("A", "y0", 0.7, 30), row("A", "z0", 0.3, 10)]
    rows += [row("B", "z0", 0.4, 40), row("B", "y0", None, 8, "refused"), row("B", "x0", None, status="pending")]
    result = score(rows, TOKENS)
    assert [(player.h, player.totals["tokens"], player.penalty) for player in result.players] == [
        (F("0.4"), 20, F(1, 4)),
        (F("0.4"), 40, 1),
    ]
    assert [player.answer_rate for player in result.players] == [1, F(1, 2)]
    assert (result.items, result.units, result.lost_units, result.losses) == (2, 2, 1, {"B": Loss(1, 1)})


def test_who_has_played_nothing_has_no_score_and_takes_none_away() -> None:
    a, b = score([row("A", "x0", 0.5, 10), row("B", "x0", None, status="pending")], TOKENS).players
    assert (a.h, a.penalty, b.h, b.penalty, b.q, b.answer_rate) == (F("0.5"), 1, None, None, None, None)
