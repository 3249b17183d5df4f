"""Ratings, records and reference scores of tournaments whose results are written by hand."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from mashq.protocol.results import Results
from mashq.report.documents import tournament
from mashq.report.documents.tournament import RatedPlayer, Tournament
from tests.report.hand_made import nothing_to_note, results, season

RAW = np.random.default_rng(8).normal(0.0, 0.1, (6, 30))
NOISE = RAW - RAW.mean(axis=1, keepdims=True)
Meeting = tuple[tuple[int, ...], Results]


def rated(
    monkeypatch: pytest.MonkeyPatch, meetings: Sequence[Meeting], names: str, items: int, **score: Any
) -> Tournament:
    """The document of these meetings."""

    def made(_season: object) -> list[Meeting]:
        return list(meetings)

    monkeypatch.setattr(tournament, "_meetings", made)
    monkeypatch.setattr(tournament, "notes_on_run", nothing_to_note)
    return tournament.document(season(list(names), items, "tournament", score={"beta": 0.0, **score}))


def levels(*h: float, items: int = 30, noise: int = 0) -> list[list[float | None]]:
    """H of some seats over items: their levels, with noise that each has of its own."""
    return [(level + NOISE[(noise + seat) % 6, :items]).tolist() for seat, level in enumerate(h)]


def met(*h: float, items: int = 30, noise: int = 0) -> Results:
    rows = levels(*h, items=items, noise=noise)
    return results(dict(zip("xyz", rows, strict=False)))


def by_name(document: Tournament) -> dict[str, RatedPlayer]:
    return {player.name: player for player in document.players}


def test_who_won_is_read_from_the_seats(monkeypatch: pytest.MonkeyPatch) -> None:
    """b beats a in both orders, a ties with c, and c wins one of two against b."""
    same = results({"x": [0.5] * 30, "y": [0.5] * 30})
    meetings = [
        ((0, 1), met(0.4, 0.41)),
        ((1, 0), met(0.41, 0.4, noise=2)),
        ((0, 2), same),
        ((1, 2), met(0.45, 0.46, noise=3)),
        ((2, 1), met(0.44, 0.45, noise=1)),
    ]
    found = rated(monkeypatch, meetings, "abc", 30)
    told = {(row.a, row.b): (row.won, row.tied, row.lost) for row in found.wins}
    assert told == {
        ("a", "b"): (0, 0, 2),
        ("b", "a"): (2, 0, 0),
        ("a", "c"): (0, 1, 0),
        ("c", "a"): (0, 1, 0),
        ("b", "c"): (1, 0, 1),
        ("c", "b"): (1, 0, 1),
    }
    assert [player.name for player in found.players][-1] == "a" and found.matches == 5
    ratings = by_name(found)
    assert sum(player.rating for player in found.players) == pytest.approx(4500)
    for row in found.wins:
        gap = (ratings[row.a].rating - ratings[row.b].rating) / 400
        other = next(one for one in found.wins if (one.a, one.b) == (row.b, row.a))
        assert row.predicted / other.predicted == pytest.approx(10**gap)
    assert found.notes == []
    assert all(p.low is not None and p.high is not None and p.low < p.rating < p.high for p in found.players)
    assert sum(p.p_first or 0 for p in found.players) == pytest.approx(1)


def test_an_unbeaten_player_that_is_not_first_has_its_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    meetings = [
        ((0, 1), met(0.505, 0.5)),
        ((0, 2), met(0.505, 0.5, noise=1)),
        ((0, 3), met(0.505, 0.5, noise=2)),
        ((1, 2), met(0.56, 0.5, noise=3)),
        ((1, 3), met(0.56, 0.5, noise=4)),
        ((2, 3), met(0.5, 0.5, noise=5)),
    ]
    found = rated(monkeypatch, meetings, "abcd", 30)
    assert found.players[0].name == "b"
    assert found.notes[0].startswith("The order is not that of the records, for a rating counts how surely")
    assert ": a (3-0-0) lost to nobody and is rated below b (2-0-1)" in found.notes[0]


def test_one_round_of_clear_wins_has_neither_intervals_nor_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two pairs that never met: it was printed as 1723 (1723 to 1723)."""
    meetings = [((0, 1), met(0.9, 0.1)), ((1, 0), met(0.1, 0.9)), ((2, 3), met(0.8, 0.2)), ((3, 2), met(0.2, 0.8))]
    found = rated(monkeypatch, meetings, "abcd", 30)
    for player in found.players:
        shown = player.low, player.high, player.rank_best, player.rank_worst, player.p_first
        assert shown == (None,) * 5
    assert found.notes[0] == (
        "Not all have met: ratings mean nothing between a, b | c, d; intervals and ranks are unknown."
    )
    pair = rated(monkeypatch, meetings[:2], "ab", 30)
    assert [(p.name, p.low, p.high, p.rank_best, p.rank_worst, p.p_first) for p in pair.players] == [
        ("a", None, None, 1, 1, 1.0),
        ("b", None, None, 2, 2, 0.0),
    ]
    assert pair.notes[-1] == "No interval for a, b: results so one-sided leave the rating to the prior."


def test_who_has_not_played_is_not_rated_and_spoils_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    meetings = [((0, 2), met(0.5, 0.52)), ((2, 0), met(0.5, 0.52, noise=2))]
    found = rated(monkeypatch, meetings, "abc", 30, beta=0.1)
    assert sorted(player.name for player in found.players) == ["a", "c"]
    assert {(row.a, row.b) for row in found.wins} == {("a", "c"), ("c", "a")}
    assert found.notes == ["Not rated, for want of a match that counts: b."]
    assert found.reference == pytest.approx({"tokens": 3000, "calls": 30, "reviews": 0, "seconds": 30})
    assert all(p.q_reference == pytest.approx((p.h or 0) - 0.3) for p in found.players)


def test_nothing_ended_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    found = rated(monkeypatch, [], "ab", 30)
    assert found.players == [] and found.wins == [] and found.reference is None and found.matches == 0
    assert found.notes == ["there are no games to rate: play some first"]


def test_a_meeting_without_a_common_item_counts_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its H is not a number, and must not make the mean of the others one either."""
    row = levels(0.5, 0.52)
    apart = results({"x": [None] * 15 + row[0][15:], "y": [*row[1][:15], *([None] * 15)]})
    meetings = [((0, 1), met(0.5, 0.52)), ((1, 0), apart), ((0, 2), met(0.5, 0.4)), ((1, 2), met(0.5, 0.4, noise=1))]
    found = rated(monkeypatch, meetings, "abc", 30)
    assert found.notes[0] == "x and y have no item that all answered: their match is left out."
    assert next((row.won, row.tied, row.lost) for row in found.wins if (row.a, row.b) == ("a", "b")) == (0, 0, 1)
    means = by_name(found)
    assert means["a"].h == pytest.approx(0.5) and means["a"].q_reference == pytest.approx(0.5)
    assert means["b"].h == pytest.approx(0.51) and means["c"].h == pytest.approx(0.4)
    assert means["a"].costs["tokens"] == pytest.approx(3000), "spent in vain, but spent"
    assert all(player.rating == player.rating for player in found.players)


def test_items_that_do_not_count_cost_nothing_in_the_reference_score(monkeypatch: pytest.MonkeyPatch) -> None:
    """b spends ten times as much on the items that a refuses: they are left out for both, costs included."""
    row = levels(0.5, 0.52)
    dear = {"x": [100.0] * 30, "y": [100.0] * 20 + [1000.0] * 10}
    refused = results({"x": [*row[0][:20], *([None] * 10)], "y": row[1]}, dear)
    found = by_name(rated(monkeypatch, [((0, 1), refused)], "ab", 30, beta=0.1))
    assert found["b"].costs["tokens"] == pytest.approx(3000) and found["a"].costs["tokens"] == pytest.approx(3000)
    for name, seat in (("a", 0), ("b", 1)):
        own = float(np.mean([value for value in row[seat][:20] if value is not None]))
        assert found[name].h == pytest.approx(own) and found[name].q_reference == pytest.approx(own - 0.3)


def test_the_reference_score_follows_from_the_figures_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each match leaves out other items, on which the costs are others."""
    row, random = levels(0.5, 0.52, 0.6), np.random.default_rng(4)
    meetings: list[Meeting] = []
    for seats, lost in (((0, 1), 7), ((1, 2), 12), ((2, 0), 0)):
        spent = {name: random.integers(50, 2000, 30).astype(float).tolist() for name in "xy"}
        first = [None if at < lost else h for at, h in enumerate(row[seats[0]])]
        meetings.append((seats, results({"x": first, "y": row[seats[1]]}, spent)))
    found = rated(monkeypatch, meetings, "abc", 30, beta=0.1)
    reference = found.reference
    assert reference is not None and reference["tokens"] > 0
    for player in found.players:
        shares = [(player.costs[name] or 0.0) / most for name, most in reference.items() if most]
        assert player.q_reference == pytest.approx((player.h or 0.0) - 0.1 * sum(shares), abs=1e-12)
    kept = meetings[0][1].costs["tokens"].value[0, 7:], meetings[2][1].costs["tokens"].value[1]
    assert by_name(found)["a"].costs["tokens"] == pytest.approx(15 * (kept[0].mean() + kept[1].mean()))
    assert found.notes[0] == (
        "19 of 90 units (an item in a trial of a match) are left out because not everyone answered them: H, costs "
        "and Q (ref.) are over the others, the costs taken to a match of all items."
    )


def test_a_cost_that_is_missing_on_some_rows_is_no_discount_in_the_totals(monkeypatch: pytest.MonkeyPatch) -> None:
    row = levels(0.5, 0.52)
    half: list[float | None] = [100.0 if at % 2 else None for at in range(30)]
    found = rated(
        monkeypatch, [((0, 1), results({"x": row[0], "y": row[1]}, {"x": half, "y": [100.0] * 30}))], "ab", 30
    )
    assert [player.costs["tokens"] for player in found.players] == [pytest.approx(3000)] * 2
    unknown = results({"x": row[0], "y": row[1]}, {"x": [None] * 30, "y": [100.0] * 30})
    told = by_name(rated(monkeypatch, [((0, 1), unknown)], "ab", 30, beta=0.1))
    assert told["a"].costs["tokens"] is None and told["b"].costs["tokens"] == pytest.approx(3000)
    assert set(rated(monkeypatch, [((0, 1), unknown)], "ab", 30, beta=0.1).reference or {}) == {
        *("calls", "reviews", "seconds")
    }
    full = results({"x": row[0], "y": row[1]})
    both = by_name(rated(monkeypatch, [((0, 1), full), ((1, 0), unknown)], "ab", 30, beta=0.1))
    assert both["a"].costs["tokens"] == pytest.approx(3000) and both["b"].costs["tokens"] is None, "of one of two"
    assert told["b"].charged == {} and found.players[0].charged.keys() | found.players[1].charged.keys() == {"tokens"}


def test_few_items_say_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    found = rated(monkeypatch, [((0, 1), met(0.5, 0.52, items=1)), ((1, 0), met(0.52, 0.5, items=1))], "ab", 1)
    assert [(p.low, p.high, p.rank_best, p.rank_worst, p.p_first) for p in found.players] == [(None,) * 5] * 2
    assert found.notes[-1] == "Too few items count for an interval and ranks of a, b: use 5 or more."


def test_a_player_without_an_answer_loses_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where each is scored over its own answers, one that has none has no score: it lost, and the other won."""
    row = levels(0.5, 0.52)
    silent = results({"x": [None] * 30, "y": row[1]})
    found = rated(monkeypatch, [((0, 1), silent)], "ab", 30, refusals="answered")
    assert [(r.a, r.b, r.won, r.tied, r.lost) for r in found.wins] == [("a", "b", 0, 0, 1), ("b", "a", 1, 0, 0)]
    assert [player.name for player in found.players] == ["b", "a"] and by_name(found)["a"].h is None
    assert by_name(found)["a"].q_reference is None


def test_three_seats_are_counted_pair_by_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    meetings = [((0, 1, 2), met(0.5, 0.51, 0.49)), ((2, 0, 1), met(0.52, 0.5, 0.51, noise=2))]
    found = rated(monkeypatch, meetings, "abc", 30)
    by_player = [{0: 0.5, 1: 0.51, 2: 0.49}, {2: 0.52, 0: 0.5, 1: 0.51}]
    for row in found.wins:
        one, two = "abc".index(row.a), "abc".index(row.b)
        assert row.won == sum(scores[one] > scores[two] for scores in by_player)
        assert (row.tied, row.lost) == (0, 2 - row.won)
    assert len(found.wins) == 6
