"""Floors beside players: the sentence says why a text that takes no model has the higher Q, and nothing false."""

import pytest

from mashq.analysis.substance import Floor, beaten
from mashq.protocol.score import PlayerScore, ScoreRules

LEADING = ScoreRules()


def player(name: str, h: float, q: float) -> PlayerScore:
    return PlayerScore(name, h, h, 1.0, {}, {}, 0, None, q, q, q, None, None, None)


def floor(name: str, q: float) -> Floor:
    return Floor(name=name, h=q, coverage=0.1, words=20, q=q)


@pytest.mark.parametrize(
    ("name", "q", "sentence"),
    [
        (
            "lead-1",
            0.9991,
            "The first sentence alone would have Q 0.9991, more than any player (the best has 0.7036): it costs "
            "nothing, and H does not see what it leaves out.",
        ),
        (
            "copy",
            0.7036,
            "A copy of the source would have Q 0.7036, as much as any player (the best has 0.7036): it costs "
            "nothing, and H does not see how long it is.",
        ),
    ],
)
def test_players_that_h_tells_apart_are_not_said_to_be_alike(name: str, q: float, sentence: str) -> None:
    players = [player("A", 0.9991, 0.7036), player("B", 0.6873, 0.3)]
    assert beaten([floor(name, q)], players, LEADING) == [sentence]


def test_saying_nothing_wins_where_no_h_is_worth_its_cost() -> None:
    for h in ("faithful", "adequate"):
        (note,) = beaten([floor("lead-1", -0.2), floor("silence", 0.0)], [player("A", 0.2, -0.1)], ScoreRules(h=h))
        assert note.endswith("more than any player (the best has -0.1000): no player's H is worth what it costs.")
