"""Intervals of many players at once, the chance of winning beside them, and what is claimed."""

import math
from itertools import product
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mashq.analysis.intervals import FEWEST, MANY_PLAYERS, METHOD, RESAMPLES, resample, unseen
from mashq.analysis.results import Row, from_rows
from mashq.analysis.score_report import Options, judge
from mashq.cli.score import RESAMPLES as said
from mashq.protocol.results import Floats
from mashq.protocol.score import ScoreRules, View, figures

RULES = ScoreRules(weights={"tokens": 1.0})


def field(players: int, items: int, seed: int, gap: float = 0.0, spread: float = 0.15) -> View:
    """Players whose H falls by `gap` from one to the next, with noise of their own on every item."""
    random = np.random.default_rng(seed)
    h = 0.8 - gap * np.arange(players)[:, None] + spread * random.standard_normal((players, items))
    ones = np.ones(h.shape)
    return View(tuple(map(str, range(items))), np.clip(h, 0, 1), ones, {"tokens": 100 * ones}, ones)


def leads(seen: View) -> list[tuple[int, int]]:
    q = figures(seen, RULES).q[0]
    order: list[int] = np.argsort(-q, kind="stable").tolist()
    return [(order[0], other) for other in order[1:]]


def test_of_two_players_the_family_is_the_pair() -> None:
    found = resample(field(2, 60, 1), RULES, [(0, 1)], 1000)
    (span,) = found.differences
    assert (span.all_low, span.all_high) == (span.low, span.high)


def test_intervals_that_hold_together_are_wider_the_more_there_are() -> None:
    widths: list[float] = []
    for players in (2, 5, 20):
        seen = field(players, 60, 2)
        span = resample(seen, RULES, leads(seen), 1000).differences[0]
        assert span.all_low is not None and span.low is not None and span.all_high is not None
        assert span.all_low <= span.low and span.value - span.all_low == pytest.approx(span.all_high - span.value)
        widths.append((span.value - span.all_low) / (span.value - span.low))
    assert widths[0] == 1.0 and 1.2 < widths[1] < widths[2] < 2.5


def test_only_the_leaders_own_interval_is_widened_and_only_among_many() -> None:
    many = field(MANY_PLAYERS + 9, 60, 3)
    best = int(np.argmax(figures(many, RULES).q[0]))
    seats = [best, *(seat for seat in range(MANY_PLAYERS + 9) if seat != best)]

    def halves(players: int) -> Floats:
        """Half the widths among the first few; all cost the same, so that Q does not depend on the field."""
        kept = seats[:players]
        seen = View(
            many.items, many.h[kept], many.h_counts[kept], {"tokens": many.costs["tokens"][kept]}, many.h_counts[kept]
        )
        found = resample(seen, RULES, leads(seen), 1000)
        assert found.low is not None and found.high is not None
        return (found.high - found.low)[:MANY_PLAYERS] / 2

    few, all_ = halves(MANY_PLAYERS), halves(len(seats))
    assert all_[1:] == pytest.approx(few[1:])
    assert 1.3 < all_[0] / few[0] < 2


@pytest.mark.parametrize("gap", [0.0, 0.02, 0.04, 0.06, 0.1])
def test_of_two_players_the_chance_of_winning_and_the_interval_say_the_same(gap: float) -> None:
    for seed in range(6):
        seen = field(2, 40, seed, gap)
        ((a, b),) = leads(seen)
        found = resample(seen, RULES, [(a, b)], 2000, seed)
        (span,) = found.differences
        assert found.p_win is not None and span.low is not None
        assert math.fsum(found.p_win) == pytest.approx(1)
        assert found.p_win[a] >= 0.5
        if abs(span.low) > 0.004:  # the two are worked out apart and agree but for the last step
            assert bool(found.p_win[a] > 0.975) is (span.low > 0)


def test_a_leader_that_varies_little_is_not_stretched_out_of_its_lead() -> None:
    """Eight right answers of eight lead three players that miss some: the resamples say so, and so does P(win)."""
    wrong = {"a": (0,), "b": (3,), "c": (), "d": (2, 5)}
    rows = [
        Row(name, f"i{n}", "", float(n not in missed), "ok", {"tokens": 50.0 + 9 * ((n * seat) % 5)})
        for seat, (name, missed) in enumerate(wrong.items(), start=1)
        for n in range(8)
    ]
    document = judge(from_rows(rows), Options(RULES))
    chances = {player.name: player.p_win or 0.0 for player in document.players}
    assert document.winner == "c" == max(chances, key=lambda name: chances[name]) and chances["c"] > 0.35
    assert math.fsum(chances.values()) == pytest.approx(1)
    assert not any("larger P(win)" in note for note in document.notes)


def test_a_runner_up_that_varies_more_may_win_more_resamples_and_a_note_says_so() -> None:
    swings = [0.05, 0.15, 0.3, 0.9, 0.95, 1.0, 0.2, 0.95]
    h = {"even": [0.57] * 8, "swings": swings, "back": [1.05 - value for value in swings]}
    rows = [Row(p, f"i{n}", "", value, "ok", {"tokens": 1.0}) for p, own in h.items() for n, value in enumerate(own)]
    document = judge(from_rows(rows), Options(RULES))
    chances = {player.name: player.p_win or 0.0 for player in document.players}
    assert document.winner == "even" and chances["swings"] > chances["even"]
    assert [note for note in document.notes if "larger P(win)" in note] == [
        "swings has a larger P(win) than even, whose Q is higher: swings's Q varies more with the items."
    ]


def test_equal_differences_on_every_item_leave_room_for_what_was_not_seen() -> None:
    """The same H for both and a fixed gap in cost: no spread at all, and yet no certainty from eight items."""
    rows = [Row(p, f"i{n}", "", 0.0, "ok", {"tokens": t}) for p, t in (("a", 10.0), ("b", 20.0)) for n in range(8)]
    document = judge(from_rows(rows), Options(RULES))
    (lead,) = document.differences
    assert lead.low is not None and lead.dq - lead.low == pytest.approx(1 - 0.05 ** (1 / 8))
    assert not document.clear and document.headline.startswith("No clear winner: a leads b by 0.0500 in Q")
    assert 0.5 < (document.players[0].p_win or 0) < 0.975


def test_the_term_for_the_unseen_by_hand() -> None:
    assert unseen(30, 1.0) == pytest.approx(2.04523 * 0.5 / 30, rel=1e-5)
    assert unseen(120, 2.0) == pytest.approx(1.980100 * 2 * 0.5 / 120 * 30 / 120, rel=1e-5)


def right_or_wrong(*rows: list[int]) -> View:
    h = np.array(rows, dtype=float)
    return View(tuple(map(str, range(h.shape[1]))), h, np.ones(h.shape), {}, np.ones(h.shape))


@pytest.mark.parametrize("count", [6, 8, 10, 15, 30])
def test_scores_of_0_and_1_are_covered_however_many_are_right(count: int) -> None:
    """Exactly, by the binomial: also where a sample may well have every answer right."""
    rules = ScoreRules(weights={}, beta=0.0)
    ends: list[tuple[float, float]] = []
    for right in range(count + 1):
        found = resample(right_or_wrong([1] * right + [0] * (count - right)), rules, [], 1000)
        assert found.low is not None and found.high is not None
        ends.append((float(found.low[0]), float(found.high[0])))
    assert ends[-1][0] == pytest.approx(0.05 ** (1 / count))
    for p in (0.5, 0.7, 0.75, 0.85, 0.9, 0.95, 0.98):
        chances = [math.comb(count, k) * p**k * (1 - p) ** (count - k) for k in range(count + 1)]
        held = math.fsum(chance for chance, (low, high) in zip(chances, ends, strict=True) if low <= p <= high)
        assert held >= 0.93, (p, held)


@pytest.mark.parametrize(("one", "two"), [(0.98, 0.75), (0.95, 0.85), (0.99, 0.9)])
def test_a_difference_of_scores_of_0_and_1_is_covered(one: float, two: float) -> None:
    """Exactly, by the multinomial of who is right: eight items may well show no difference at all."""
    count, held, rules = 8, 0.0, ScoreRules(weights={}, beta=0.0)
    for both, first, second in product(range(count + 1), repeat=3):
        none = count - both - first - second
        if none < 0:
            continue
        ways = math.factorial(count) // math.prod(map(math.factorial, (both, first, second, none)))
        chance = (one * two) ** both * (one * (1 - two)) ** first * ((1 - one) * two) ** second
        rows = [1] * (both + first) + [0] * (second + none), [1] * both + [0] * first + [1] * second + [0] * none
        (span,) = resample(right_or_wrong(*rows), rules, [(0, 1)], 300).differences
        assert span.low is not None and span.high is not None
        held += ways * chance * ((1 - one) * (1 - two)) ** none * (span.low <= one - two <= span.high)
    assert held >= 0.93


def test_scores_between_0_and_1_keep_the_usual_term() -> None:
    found = resample(
        View(tuple("abcdefgh"), np.full((1, 8), 0.6), np.ones((1, 8)), {}, np.ones((1, 8))), RULES, [], 100
    )
    assert found.low is not None and 0.6 - found.low[0] == pytest.approx(unseen(8, 1.0))


def test_few_items_say_nothing() -> None:
    seen = field(3, FEWEST - 1, 1)
    found = resample(seen, RULES, leads(seen))
    assert found.low is None and found.high is None and found.p_win is None
    assert all(span.low is None and span.all_low is None for span in found.differences)


@given(st.integers(2, 6), st.integers(5, 40), st.integers(0, 1000), st.floats(0, 0.1))
@settings(max_examples=40, deadline=None)
def test_a_winner_is_claimed_just_when_all_its_differences_exclude_zero(
    players: int, items: int, seed: int, gap: float
) -> None:
    seen = field(players, items, seed, gap)
    rows = [
        Row(f"p{p}", f"i{n}", "", float(seen.h[p, n]), "ok", {"tokens": 100.0})
        for p in range(players)
        for n in range(items)
    ]
    document = judge(from_rows(rows), Options(RULES, resamples=300))
    own = [lead for lead in document.differences if lead.a == document.winner]
    assert document.clear is all((lead.all_low or -1) > 0 for lead in own)
    assert document.clear is (document.best_set == [document.winner])
    assert document.clear is document.headline.startswith("Winner: ")
    close = {lead.b for lead in own if (lead.all_low or -1) <= 0}
    assert set(document.best_set) == close | {document.winner}


def test_a_runner_up_may_be_told_and_a_third_not() -> None:
    """The second is behind on every item, the third is far better or far worse by turns."""
    count = 40
    h = {"a": [0.8] * count, "b": [0.75] * count, "c": [0.99 if n % 2 else 0.45 for n in range(count)]}
    rows = [Row(p, f"i{n}", "", value, "ok", {"tokens": 1.0}) for p, own in h.items() for n, value in enumerate(own)]
    document = judge(from_rows(rows), Options(RULES))
    first, second = (lead for lead in document.differences if lead.a == "a")
    assert (first.b, second.b) == ("b", "c") and (first.all_low or 0) > 0 > (second.all_low or 0)
    assert document.winner == "a" and not document.clear and document.best_set == ["a", "c"]
    assert document.headline.endswith("; it cannot be told apart from c.")


def test_one_seed_and_one_count_serve_everyone() -> None:
    assert Options(RULES).resamples == RESAMPLES == said == 10_000 and Options(RULES).seed == 0


def test_the_docs_state_the_method_as_the_report_does() -> None:
    docs = (Path(__file__).parents[2] / "docs" / "score.md").read_text("utf-8")
    assert METHOD in " ".join(docs.split())


@pytest.mark.parametrize(("share", "noted"), [(0.09, False), (0.11, True)])
def test_a_cost_that_one_item_makes_a_tenth_of_gets_a_note(share: float, noted: bool) -> None:
    count = 100
    huge = share * (count - 1) * 10 / (1 - share)
    rows = [Row("a", f"i{n}", "", 0.5, "ok", {"tokens": huge if n == 7 else 10.0}) for n in range(count)]
    notes = [note for note in judge(from_rows(rows), Options(RULES, resamples=100)).notes if "One item makes" in note]
    assert bool(notes) is noted
    if noted:
        assert "11% of a's tokens" in notes[0] and "item i7" in notes[0]


def test_a_familys_multiple_is_within_bonferroni() -> None:
    """Independent players: the raised multiple is close to what independence gives, and never above Bonferroni's."""
    seen = field(12, 200, 5)
    spans = resample(seen, RULES, leads(seen), 2000).differences
    ratios = [((s.all_high or 0) - s.value) / ((s.high or 0) - s.value) for s in spans]
    most = NormalDist().inv_cdf(1 - 0.025 / 66) / NormalDist().inv_cdf(0.975)
    assert all(1.3 < ratio <= most * 1.03 for ratio in ratios)
