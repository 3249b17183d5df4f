"""The rules of a match, as pure values and functions.

Nothing here waits, reads, writes, looks at a clock or draws a random number: a match is a fold of moves over an
initial state, so playing, resuming, replaying and re-scoring all use the same mechanism.
"""

from mashq.protocol.game import apply, initial, observe, ruling, to_move
from mashq.protocol.items import Item
from mashq.protocol.moves import Answer, Decision, Move, Rewrite, Status, Stop
from mashq.protocol.resources import UNKNOWN, Amount, Spend, Unknown
from mashq.protocol.rules import Budget, Rules, Seat, Vision, order_of
from mashq.protocol.score import Score, ScoreRules, score
from mashq.protocol.state import ItemState, MatchState, Observation, PlayerState, Snapshot, Step

__all__ = [
    "UNKNOWN",
    "Amount",
    "Answer",
    "Budget",
    "Decision",
    "Item",
    "ItemState",
    "MatchState",
    "Move",
    "Observation",
    "PlayerState",
    "Rewrite",
    "Rules",
    "Score",
    "ScoreRules",
    "Seat",
    "Snapshot",
    "Spend",
    "Status",
    "Step",
    "Stop",
    "Unknown",
    "Vision",
    "apply",
    "initial",
    "observe",
    "order_of",
    "ruling",
    "score",
    "to_move",
]
