"""What a match looked like at every move: recorded moves, applied one by one under the rules they were played by.

    for delta in replay(first, moves):      what each move changed, with the states before and after it
    delta = step(state, 7, "A", move)       the same for one move
    state = fold(first, moves)              the final state

Pure. A move that is not allowed after the moves before it raises BadMove, which identifies the move.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from mashq.protocol.game import Ruling, apply, cost_of, is_kept, is_usable, position_at_work, ruling
from mashq.protocol.items import Item
from mashq.protocol.moves import Answer, Decision, Move, Rewrite
from mashq.protocol.resources import Spend
from mashq.protocol.state import ItemState, MatchState, Phase, PlayerState, Snapshot

NOBODY = "there is no such player"


class BadMove(ValueError):
    """A recorded move that the state of the match does not allow; moves are numbered from 1."""

    number: int
    player: str
    why: str

    def __init__(self, number: int, player: str, why: str) -> None:
        super().__init__(f"its move {number}, of {player!r:.80}, cannot follow those before it ({why})")
        self.number, self.player, self.why = number, player, why


@dataclass(frozen=True, slots=True)
class Delta:
    """One move: its number (from 1), who made it, at which position of the player's own order, and the states around
    it.

    `round` is the round the move was made in; `ruling` is what a decision means under the rules.
    """

    number: int
    round: int
    seat: int
    position: int | None
    move: Move
    ruling: Ruling | None
    before: MatchState
    after: MatchState

    @property
    def player_before(self) -> PlayerState:
        """The player that moved, before the move."""
        return self.before.players[self.seat]

    @property
    def player(self) -> PlayerState:
        """The player that moved, after the move (and after the round, if the move closed it)."""
        return self.after.players[self.seat]

    @property
    def phase_before(self) -> Phase:
        """What the player had to do."""
        return self.player_before.phase

    @property
    def phase(self) -> Phase:
        """What the player has to do next."""
        return self.player.phase

    @property
    def place(self) -> int | None:
        """The index of the move's item among the items of the match; None if the move is about no item."""
        return None if self.position is None else self.player.order[self.position]

    @property
    def item(self) -> Item | None:
        """The item of the move."""
        return None if self.place is None else self.after.items[self.place]

    @property
    def work_before(self) -> ItemState | None:
        """The player's work on that item before the move: both detectors' scores, its reviews, its cost."""
        return None if self.position is None else self.player_before.items[self.position]

    @property
    def work(self) -> ItemState | None:
        """The player's work on that item after the move."""
        return None if self.position is None else self.player.items[self.position]

    @property
    def cost(self) -> Spend:
        """What the move added to the player's costs, including the review that a rewrite counts as."""
        return cost_of(self.move)

    @property
    def kept(self) -> bool:
        """Whether the text of the move became the player's answer."""
        if isinstance(self.move, Rewrite):
            return self.work_before is not None and is_kept(self.before.rules, self.work_before.h, self.move)
        return isinstance(self.move, Answer) and is_usable(self.move)

    @property
    def closed_round(self) -> bool:
        """Whether the move was the last one of its round."""
        return self.after.round != self.before.round

    @property
    def snapshots(self) -> tuple[tuple[int, Snapshot], ...]:
        """The snapshots taken because the round closed, each with the seat of the player it shows."""
        if not self.closed_round:
            return ()
        pairs = zip(self.before.players, self.after.players, strict=True)
        shots = [(seat, new.snapshot) for seat, (old, new) in enumerate(pairs) if new.snapshot is not old.snapshot]
        return tuple((seat, shot) for seat, shot in shots if shot is not None)


def step(state: MatchState, number: int, name: str, move: Move) -> Delta:
    """What one move changes, given its number and its player's name."""
    seat = next((seat for seat, player in enumerate(state.players) if player.name == name), None)
    if seat is None:
        raise BadMove(number, name, NOBODY)
    try:
        position = position_at_work(state.rules, state.players[seat])
        ruled = ruling(state, seat, move) if isinstance(move, Decision) else None
        return Delta(number, state.round, seat, position, move, ruled, state, apply(state, {seat: move}))
    except (LookupError, TypeError, ValueError) as error:
        raise BadMove(number, name, f"{type(error).__name__}: {error}") from None


def replay(state: MatchState, moves: Iterable[tuple[str, Move]]) -> Iterator[Delta]:
    """Yield what each recorded move changes; moves come with the names of their players."""
    for number, (name, move) in enumerate(moves, 1):
        delta = step(state, number, name, move)
        state = delta.after
        yield delta


def fold(state: MatchState, moves: Iterable[tuple[str, Move]]) -> MatchState:
    """The state after all recorded moves: the last state that `replay` yields."""
    seats = {player.name: seat for seat, player in enumerate(state.players)}
    for number, (name, move) in enumerate(moves, 1):
        if name not in seats:
            raise BadMove(number, name, NOBODY)
        try:
            state = apply(state, {seats[name]: move})
        except (LookupError, TypeError, ValueError) as error:
            raise BadMove(number, name, f"{type(error).__name__}: {error}") from None
    return state
