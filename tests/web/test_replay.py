"""The columns of a match say what the protocol's own fold says, after every move."""

import json
from itertools import count

import pytest
from hypothesis import given

from mashq.analysis.story.tell import Event, Scene
from mashq.protocol.rules import SHOWABLE
from mashq.protocol.score import results_of, standings
from mashq.protocol.state import MatchState
from mashq.web.api.frames import chart, standing
from mashq.web.replay import Reel, Row, Shape
from tests.analysis.story.test_story import Made, matches


def shape_of(scene: Scene, state: MatchState) -> Shape:
    return Shape(
        scene,
        state.rules.turn,
        tuple(player.order for player in state.players),
        tuple(player.max_reviews for player in state.players),
        SHOWABLE,
        {item.id: at for at, item in enumerate(state.items)},
    )


def row(seq: int, event: Event) -> Row:
    ruled = None if event.ruling is None else json.dumps(event.ruling)
    return seq, event.round, event.player, event.kind, event.item, json.dumps(event.move), ruled, 0.0


@given(matches())
def test_every_moment_agrees_with_the_protocol(made: Made) -> None:
    moves, scene = made.moves, made.scene
    reel, numbers = Reel(shape_of(scene, moves[0][1])), count(5, 3)
    for event, _ in moves:
        reel.take([row(next(numbers), event)])
    for upto, (event, state) in enumerate(moves, 1):
        for seat, (own, told) in enumerate(zip(state.players, standing(reel, upto), strict=True)):
            assert (told["done"], told["reviews"]) == (own.position, own.spend.reviews)
            assert told["calls"] == own.spend.calls and told["tokens"] == own.spend.tokens.total
            assert told["h"] == (None if own.average_h is None else pytest.approx(own.average_h))
            for result in results_of(state)[seat].items:
                cell = reel.cell(seat, reel.shape.positions[result.item], upto)
                assert cell[0] == ("pending" if result.status == "unanswered" else result.status)
                assert cell[1:3] == (result.h, result.h_first)
        for told, now in zip(standing(reel, upto), standings(state, scene.rules), strict=True):
            assert told["q"] == (None if now.q is None else pytest.approx(now.q))
            assert told["p"] == pytest.approx(now.penalty)
        if event.round == state.round:
            delivered = {(seat, at): (fields, left) for seat, at, fields, left in reel.shown(state.round)}
            latest = scene.vision_keep == "latest"
            for seat, own in enumerate(state.players):
                shot = own.snapshot
                if shot is not None and (latest or shot.round == state.round - 1):
                    assert delivered.pop((seat, shot.round)) == ([value for _, value in shot.fields], shot.stopped)
            assert delivered == {}
    drawn = chart(reel, "q", len(reel), 3)
    assert drawn["moments"][-1] == len(reel) and len(drawn["moments"]) <= 3


def test_taking_it_in_parts_or_at_once_is_the_same() -> None:
    scene = Scene(("A",), 2, {"A": 0.8})
    shape = Shape(scene, "cycle", ((1, 0),), (3,), SHOWABLE, {"x": 0, "y": 1})
    events = [
        Event(0, "A", "answer", "y", {"status": "ok", "h": 0.5}),
        Event(0, "A", "decision", "y", {"choice": "review"}, {"choice": "review"}),
        Event(0, "A", "rewrite", "y", {"status": "ok", "h": 0.9}),
        Event(1, "A", "answer", "x", {"status": "failed", "error": "gone"}),
        Event(1, "stranger", "answer", "x", {"status": "ok", "h": 0.5}),
    ]
    rows = [row(n, event) for n, event in enumerate(events, 1)]
    whole, parts = Reel(shape), Reel(shape)
    assert whole.take(rows) == 4
    for one in rows:
        parts.take([one])
    assert whole.columns == parts.columns and len(whole) == 4
    assert whole.cell(0, 1, 1) == ("ok", 0.5, 0.5, 0) and whole.cell(0, 1, 4) == ("ok", 0.9, 0.5, 1)
    assert whole.cell(0, 0, 4) == ("failed", None, None, 0) and whole.cell(0, 0, 3) == ("pending", None, None, 0)
    assert whole.about(1) == [0, 1, 2]
    assert (whole.round_start(0), whole.round_start(1), whole.round_start(2)) == (0, 3, 4)
