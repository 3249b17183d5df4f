"""What the dashboard shows of a match is what the protocol's state says, after every move."""

import json
from typing import Literal

import pytest
from hypothesis import given

from mashq.protocol import (
    Answer,
    Budget,
    Decision,
    Item,
    Move,
    Rewrite,
    Rules,
    Seat,
    Stop,
    Vision,
    initial,
)
from mashq.protocol.moves import kind_of, to_json
from mashq.protocol.replay import Delta
from mashq.protocol.replay import replay as replays
from mashq.protocol.resources import RESOURCES
from mashq.protocol.results import results_of
from mashq.protocol.score import ScoreRules, standings
from mashq.protocol.state import MatchState, PlayerState
from mashq.web.api.frames import chart, players_at
from mashq.web.replay import MatchReplay, Row
from tests.protocol.strategies import Replayed, replayed

RULES = ScoreRules(beta=0.3)


def row_of(delta: Delta) -> Row:
    """A move as the events table has it; its sequence numbers have gaps."""
    body = json.dumps(to_json(delta.move))
    return 5 + 3 * delta.number, delta.player.name, kind_of(delta.move), body, float(delta.number)


def taken(made: Replayed) -> MatchReplay:
    replay = MatchReplay(made.first, RULES)
    assert replay.take(map(row_of, made.deltas)) == len(made.deltas)
    return replay


@given(replayed())
def test_every_moment_agrees_with_the_protocol(made: Replayed) -> None:
    replay = taken(made)
    for upto, state in enumerate([made.first, *(delta.after for delta in made.deltas)]):
        check_players(replay, upto, state)
        check_cells(replay, upto, state)
    assert replay.state.players[0].spend == made.deltas[-1].after.players[0].spend
    drawn = chart(replay, "q", len(replay), 3)
    assert drawn["moments"][-1] == len(replay) and len(drawn["moments"]) <= 3
    assert [values[-1] for values in drawn["values"]] == [row["q"] for row in players_at(replay, len(replay))]


def check_players(replay: MatchReplay, upto: int, state: MatchState) -> None:
    shown = players_at(replay, upto)
    places = zip(state.players, results_of(state), standings(state, RULES), shown, strict=True)
    for own, result, standing, row in places:
        answered = [item.h or 0.0 for item in result.items if item.status == "ok"]
        h = sum(answered) / len(answered) if answered else None
        assert row["phase"] == doing(own), upto
        assert (row["name"], row["done"], row["unknown"]) == (own.name, own.position, own.spend.unknown)
        for name in RESOURCES:
            amount = own.spend.amount(name)
            assert row[name] == (amount.total if amount.is_known else None), name
        assert row["h"] == (None if h is None else pytest.approx(h, abs=1e-9))
        assert row["p"] == pytest.approx(standing.penalty)
        assert row["q"] == (None if h is None else pytest.approx(h - RULES.beta * standing.penalty, abs=1e-9))


def doing(player: PlayerState) -> str:
    """What the page says of a player: its phase, but for one that has left or ended its play."""
    return "stopped" if player.stopped is not None else "done" if player.ended else player.phase


def check_cells(replay: MatchReplay, upto: int, state: MatchState) -> None:
    for seat, player in enumerate(state.players):
        for place, work in zip(player.order, player.items, strict=True):
            cell = replay.cell(seat, place, upto)
            assert (cell.status, cell.h, cell.h_first) == (work.status, work.judge_h, work.judge_h_first)
            assert cell.reviews == work.spend.reviews, "those within a step as well"


@given(replayed())
def test_the_snapshots_are_those_that_the_players_were_shown(made: Replayed) -> None:
    replay = taken(made)
    for delta in made.deltas:
        delivered = {(shot.seat, shot.round): shot for shot in replay.shown(delta.round)}
        latest = made.first.rules.vision.keep == "latest"
        for seat, own in enumerate(delta.before.players):
            shot = own.snapshot
            if shot is not None and (latest or shot.round == delta.round - 1):
                same = delivered.pop((seat, shot.round))
                assert (tuple(same.fields.items()), same.stopped) == (shot.fields, shot.stopped)
        assert delivered == {}


@given(replayed(most_items=2, most_players=2))
def test_taking_it_in_parts_or_at_once_is_the_same(made: Replayed) -> None:
    whole, parts = taken(made), MatchReplay(made.first, RULES)
    for delta in made.deltas:
        assert parts.take([row_of(delta)]) == 1 and parts.last == 5 + 3 * delta.number
        assert parts.round(len(parts)) == delta.round and parts.time(len(parts)) == delta.number
    for upto in range(len(whole) + 1):
        assert players_at(whole, upto) == players_at(parts, upto) and whole.seq(upto) == parts.seq(upto)
    assert whole.story.highlights() == parts.story.highlights()
    rounds = [delta.round for delta in made.deltas]
    assert [whole.round_start(n) for n in set(rounds)] == [rounds.index(n) for n in set(rounds)]


@given(replayed(most_items=2, most_players=2))
def test_the_moves_about_an_item_are_its_versions_and_the_decisions_beside_them(made: Replayed) -> None:
    replay = taken(made)
    for place in range(len(made.first.items)):
        about = [made.deltas[at] for at in replay.about(place)]
        versions = [delta for delta in about if kind_of(delta.move) in ("answer", "rewrite")]
        kinds = ("answer", "rewrite")
        own = [delta for delta in made.deltas if delta.place == place and kind_of(delta.move) in kinds]
        assert versions == own
        assert all(kind_of(delta.move) == "decision" for delta in about if delta not in versions)


@given(replayed(most_items=2, most_players=2))
def test_a_move_that_cannot_follow_leaves_those_before_it(made: Replayed) -> None:
    replay = MatchReplay(made.first, RULES)
    rows = [row_of(delta) for delta in made.deltas]
    with pytest.raises(ValueError, match=f"its move {len(rows) + 1}, of 'stranger'"):
        replay.take([*rows, (999, "stranger", "stop", '{"reason": "gone"}', 0.0)])
    assert len(replay) == len(rows) and replay.state.round == made.deltas[-1].after.round


@pytest.mark.parametrize(("keep", "seen"), [("fresh", [0]), ("latest", [0, 0])])
def test_a_snapshot_is_shown_in_the_next_round_or_until_the_next_one(
    keep: Literal["fresh", "latest"], seen: list[int]
) -> None:
    order = (0, 1, 2)
    rules = Rules(vision=Vision("review", keep=keep), max_reviews=1)
    state = initial([Item(f"i{at}", "") for at in order], rules, [Seat("A", order)])
    moves: list[Move] = [Answer("ok", h=0.5), Decision("review"), Rewrite("ok", h=0.9)]
    moves += [Answer("ok", h=0.9), Decision("continue")] * 2
    replay = taken(Replayed(state, tuple(replays(state, [("A", move) for move in moves]))))
    assert [shot.round for round_ in order for shot in replay.shown(round_)] == seen


def test_one_that_ended_its_play_or_left_says_so_before_the_round_closes() -> None:
    state = initial([Item("i", "")], Rules(), [Seat(name, (0,)) for name in "ABC"])
    moves: list[tuple[str, Move]] = [("A", Answer("ok", h=0.5)), ("A", Decision("end")), ("B", Stop("poor"))]
    replay = taken(Replayed(state, tuple(replays(state, moves))))
    assert [row["phase"] for row in players_at(replay, 3)] == ["done", "stopped", "answer"]


def test_no_review_is_due_that_the_budget_forbids() -> None:
    rules = Rules(budget=Budget.of(reviews=1))
    state = initial([Item("i", ""), Item("j", "")], rules, [Seat("A", (0, 1)), Seat("B", (0, 1))])
    moves: list[Move] = [Answer("ok", h=0.1), Decision("review"), Rewrite("ok", h=0.2)]
    replay = taken(Replayed(state, tuple(replays(state, [("A", move) for move in moves]))))
    assert [players_at(replay, upto)[0]["phase"] for upto in range(4)] == ["answer", "decide", "review", "rest"]
