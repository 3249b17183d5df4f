"""Payoffs, intervals, shares and learning of games whose results are written by hand."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from mashq.analysis.paired import mean
from mashq.protocol.results import Results
from mashq.report.documents import game
from mashq.report.documents.game import Game, Solved, Unsolved
from tests.report.hand_made import nothing_to_note, results, season

Seats = tuple[int, ...]
FREE = {"score": {"beta": 0.0}}
WAVE = [0.2, 0.4, 0.6, 0.8, 0.9, 0.3, 0.5, 0.7]


def played(
    monkeypatch: pytest.MonkeyPatch, meetings: Mapping[Seats, Results], names: Sequence[str] = "ab", items: int = 8
) -> Game:
    """The document of a game with one vision, scored by H alone."""

    def made(_season: object) -> dict[str, dict[Seats, Results]]:
        return {"never": dict(meetings)}

    monkeypatch.setattr(game, "_meetings", made)
    monkeypatch.setattr(game, "notes_on_run", nothing_to_note)
    return game.document(season(names, items, "game", **FREE))


def shifted(by: float) -> list[float | None]:
    return [value + by for value in WAVE]


def met(first: float, second: float) -> Results:
    """A meeting in which each seat has the wave, moved."""
    return results({"x": shifted(first), "y": shifted(second)})


def solved(document: Game) -> Solved:
    found = document.games["never"]
    assert isinstance(found, Solved)
    return found


def test_a_cell_is_the_mean_of_both_orders_of_the_rows_own_q(monkeypatch: pytest.MonkeyPatch) -> None:
    """The row's own seats: the first of (i, j), the second of (j, i); against itself both."""
    meetings = {(0, 0): met(0.0, 0.02), (0, 1): met(-0.1, 0.05), (1, 0): met(0.07, -0.04), (1, 1): met(0.1, 0.06)}
    found = solved(played(monkeypatch, meetings))
    middle = float(np.mean(WAVE))
    assert found.payoffs[0] == pytest.approx([middle + 0.01, middle - 0.07])
    assert found.payoffs[1] == pytest.approx([middle + 0.06, middle + 0.08])
    half = mean(np.array(WAVE), alpha=1.0)
    assert half.low is not None and half.high is not None
    width = half.high - half.low
    for i in range(2):
        for j in range(2):
            low, high = found.low[i][j], found.high[i][j]
            assert low is not None and high is not None
            assert high - low == pytest.approx(width) and (high + low) / 2 == pytest.approx(found.payoffs[i][j])
    assert found.best_responses == {"a": ["b"], "b": ["b"]}
    assert found.exploitability["a"] == pytest.approx(2 * 0.05) and found.exploitability["b"] == 0
    assert found.dominated == ["a"] and found.dominated_in == {"a": 1.0}, "b is better by as much on every item"
    (equilibrium,) = found.equilibria
    assert equilibrium.row == equilibrium.column == {"b": 1.0} and equilibrium.survives == 1.0
    assert equilibrium.payoffs == pytest.approx([middle + 0.08] * 2)
    assert found.replicator.converged and found.replicator.start == {"a": 0.5, "b": 0.5}
    assert found.replicator.end["b"] == pytest.approx(1, abs=1e-6) and found.notes == []


def test_items_that_one_order_lacks_weigh_what_they_should(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first order has eight items, the second six: each order counts half, whatever its items are."""
    some: list[float | None] = [*shifted(0.05)[:6], None, None]
    meetings = {
        (0, 0): met(0, 0),
        (0, 1): met(0.0, 0.0),
        (1, 0): results({"y": some, "x": some}),
        (1, 1): met(0, 0),
    }
    found = solved(played(monkeypatch, meetings))
    six = np.array(WAVE[:6]) + 0.05
    assert found.payoffs[0][1] == pytest.approx((np.mean(WAVE) + six.mean()) / 2)
    parts = np.array(WAVE) / 2
    parts[:6] += 8 / 6 * six / 2 - (8 / 6 - 1) * six.mean() / 2
    parts[6:] += six.mean() / 2
    expected = mean(parts, alpha=1.0)
    assert (found.low[0][1], found.high[0][1]) == (pytest.approx(expected.low), pytest.approx(expected.high))


def test_a_doubtful_gap_is_not_called_dominance(monkeypatch: pytest.MonkeyPatch) -> None:
    """b is better by a hair, on some items and not on others; the shares are those of resamples drawn here again."""
    random = np.random.default_rng(3)
    noise = random.normal(0.0, 0.15, 8)
    noise += 0.03 - noise.mean()
    better: list[float | None] = (0.4 + noise).tolist()
    even: list[float | None] = [0.4] * 8
    pair = results({"x": even, "y": better})
    meetings = {
        (0, 0): results({"x": even, "y": even}),
        (0, 1): pair,
        (1, 0): results({"y": better, "x": even}),
        (1, 1): results({"x": better, "y": better}),
    }
    found = solved(played(monkeypatch, meetings))
    again = [random.choice(noise, 8).mean() > 0 for _ in range(4000)]
    assert found.dominated == [] and list(found.dominated_in) == ["a"]
    share = found.dominated_in["a"]
    assert share == pytest.approx(np.mean(again), abs=0.06) and share is not None and 0.5 < share < 0.95
    (equilibrium,) = found.equilibria
    assert equilibrium.survives == pytest.approx(share)
    assert found.replicator.converged and found.replicator.end["b"] > 1 - 1e-6


def test_a_wheel_is_said_not_to_settle_or_to_rest_in_the_middle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rock, paper, scissors in which losing hurts more than winning pays, and rock is a little better on its own."""
    beats = {(0, 2): (0.1, -0.3), (1, 0): (0.1, -0.3), (2, 1): (0.1, -0.3)}
    meetings = {
        (i, j): met(*(beats[i, j] if (i, j) in beats else beats[j, i][::-1] if (j, i) in beats else (0.0, 0.0)))
        for i in range(3)
        for j in range(3)
    }
    middle = solved(played(monkeypatch, meetings, "abc"))
    assert middle.replicator.converged and middle.replicator.end == pytest.approx(
        {"a": 1 / 3, "b": 1 / 3, "c": 1 / 3}
    )
    meetings[0, 0] = met(-0.02, -0.02)
    turning = solved(played(monkeypatch, meetings, "abc"))
    assert not turning.replicator.converged and turning.replicator.steps == 4000
    assert [one.pure for one in turning.equilibria] == [False]


def test_too_few_items_leave_everything_in_doubt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four of the items count in one meeting: no interval where it takes part, and no share anywhere."""
    few: list[float | None] = [*shifted(0.1)[:4], None, None, None, None]
    meetings = {(0, 0): met(0, 0), (0, 1): met(0, 0.1), (1, 0): met(0.1, 0), (1, 1): results({"x": few, "y": few})}
    found = solved(played(monkeypatch, meetings))
    assert (found.low[1][1], found.high[1][1]) == (None, None) and found.low[0][1] is not None
    assert found.dominated == []
    assert all(one.survives is None for one in found.equilibria) and set(found.dominated_in.values()) <= {None}
    assert found.notes[-1] == (
        "? is for what too few items cannot say: a pair has 4 that count, an interval takes 5."
    )
    uneven = {**meetings, (1, 1): met(0, 0), (1, 0): results({"y": few, "x": few})}
    mixed = solved(played(monkeypatch, uneven))
    assert mixed.low == [[mixed.low[0][0], None], [None, mixed.low[1][1]]] and None not in (
        mixed.low[0][0],
        mixed.low[1][1],
    )
    assert "a pair has 4 that count" in mixed.notes[-1], (
        "eight items in one order do not make up for four in the other"
    )
    five: list[float | None] = [*shifted(0.1)[:5], None, None, None]
    enough = solved(played(monkeypatch, {**meetings, (1, 1): results({"x": five, "y": five})}))
    assert None not in enough.low[1] and enough.equilibria[0].survives is not None and enough.notes == []


def test_one_item(monkeypatch: pytest.MonkeyPatch) -> None:
    one = results({"x": [0.5], "y": [0.7]})
    two = results({"x": [0.7], "y": [0.5]})
    found = solved(played(monkeypatch, {(0, 0): one, (0, 1): one, (1, 0): two, (1, 1): two}, items=1))
    assert found.payoffs == [[0.6, 0.5], [0.7, 0.6]] and found.low == [[None, None], [None, None]] == found.high
    assert found.dominated == [] and found.dominated_in == {"a": None}


def test_no_item_or_a_missing_meeting_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = results({"x": [None] * 8, "y": shifted(0)})
    every = {(0, 0): met(0, 0), (0, 1): nothing, (1, 0): met(0, 0), (1, 1): met(0, 0)}
    found = played(monkeypatch, every).games["never"]
    assert found == Unsolved(notes=["x and y have no item that both answered: play more items"])
    del every[0, 1]
    missing = played(monkeypatch, every).games["never"]
    assert missing == Unsolved(notes=["not every pair has played under this vision: resume the run"])


def test_policies_that_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    found = solved(played(monkeypatch, {(i, j): met(0, 0) for i in range(2) for j in range(2)}))
    assert found.dominated_in == {} and found.degenerate
    assert found.notes == ["The game is degenerate: there may be equilibria beside these."]
    assert found.replicator.converged and found.replicator.end == {"a": 0.5, "b": 0.5}
    assert [one.survives for one in found.equilibria] == [1.0] * 4
