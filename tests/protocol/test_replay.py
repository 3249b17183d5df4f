"""A replay says what each move changed, as the states around it have it."""

from collections.abc import Mapping

import pytest
from hypothesis import given

from mashq.protocol import Answer, Decision, MatchState, Rewrite, Spend, Stop, apply, observe, ruling, to_move
from mashq.protocol.replay import BadMove, fold, replay
from mashq.protocol.results import results_of
from tests.protocol.strategies import Replayed, replayed


@given(replayed())
def test_the_deltas_are_the_fold_of_the_moves(made: Replayed) -> None:
    state, seats = made.first, {player.name: seat for seat, player in enumerate(made.first.players)}
    again = list(replay(made.first, made.moves))
    assert [delta.number for delta in again] == list(range(1, len(made.moves) + 1))
    for delta, (name, move) in zip(again, made.moves, strict=True):
        seat, seen = seats[name], observe(state, seats[name])
        assert (delta.before, delta.round, delta.seat, delta.phase_before) == (state, state.round, seat, seen.step)
        assert delta.item == seen.item and delta.move == move
        assert delta.ruling == (ruling(state, seat, move) if isinstance(move, Decision) else None)
        state = apply(state, {seat: move})
        assert (delta.after, delta.player, delta.phase) == (state, state.players[seat], state.players[seat].phase)
        assert delta.closed_round == (delta.after.round == delta.before.round + 1)
        assert dict(delta.snapshots) == _taken(delta.before, delta.after)
    assert fold(made.first, made.moves) == state


@given(replayed())
def test_what_the_moves_added_is_what_the_players_have(made: Replayed) -> None:
    spent = [Spend() for _ in made.first.players]
    for delta in made.deltas:
        spent[delta.seat] = spent[delta.seat] + delta.cost
        assert spent[delta.seat] == delta.player.spend
        if isinstance(delta.move, Rewrite):
            assert delta.work is not None and delta.work_before is not None
            assert delta.work.reviews == delta.work_before.reviews + 1 and delta.cost.reviews == 1
            standing = (delta.move if delta.kept else delta.work_before).h
            assert delta.work.h == standing
            assert delta.kept or delta.work.judged == delta.work_before.judged
        elif isinstance(delta.move, Answer):
            assert delta.work is not None and delta.kept == (delta.work.h is not None)
        for player, result in zip(delta.after.players, results_of(delta.after), strict=True):
            ok = [row for row in result.items if row.status == "ok"]
            assert player.answered == len(ok)
            assert player.judge_sum == pytest.approx(sum(row.h or 0.0 for row in ok), abs=1e-9)
            assert player.judge_first_sum == pytest.approx(sum(row.h_first or 0.0 for row in ok))


@given(replayed(most_players=2))
def test_a_move_that_cannot_follow_is_named(made: Replayed) -> None:
    end = made.deltas[-1].after
    due = to_move(end)
    wrong = Answer("ok", h=0.5) if due.get(0) != "answer" else Rewrite("ok", h=0.5)
    with pytest.raises(BadMove, match=f"its move {len(made.moves) + 1}, of 'p0', cannot follow") as bad:
        fold(made.first, [*made.moves, ("p0", wrong)])
    assert (bad.value.number, bad.value.player) == (len(made.moves) + 1, "p0") and "ValueError" in bad.value.why
    with pytest.raises(BadMove, match=r"of 'nobody'.*there is no such player"):
        fold(made.first, [("nobody", Stop("gone"))])


def _taken(before: MatchState, after: MatchState) -> Mapping[int, object]:
    """The snapshots of the round that closed, by seat."""
    return {
        seat: player.snapshot
        for seat, player in enumerate(after.players)
        if after.round != before.round and player.snapshot is not None and player.snapshot.round == before.round
    }
