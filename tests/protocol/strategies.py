"""Random matches for property tests: items, rules, seats, and moves drawn for whatever step is due."""

from dataclasses import dataclass

from hypothesis import strategies as st

from mashq.protocol import (
    Amount,
    Answer,
    Budget,
    Decision,
    Item,
    MatchState,
    Move,
    Rewrite,
    Rules,
    Seat,
    Spend,
    Status,
    Stop,
    Vision,
    apply,
    initial,
    observe,
    order_of,
    to_move,
)
from mashq.protocol.moves import Choice
from mashq.protocol.rules import SHOWABLE

scores = st.one_of(st.sampled_from([0.0, 0.5, 0.85, 1.0]), st.floats(0, 1))


def call(tokens: int = 10, seconds: float = 1.0) -> Spend:
    """The cost of one successful call."""
    one = Amount(tokens, 1)
    return Spend.of(calls=1, tokens_in=one, tokens_out=one, seconds=Amount(seconds, 1), dollars=Amount(0.001, 1))


@dataclass(frozen=True)
class Setting:
    """A match to be played, and whether decisions cost a call."""

    state: MatchState
    decisions_cost: bool


@st.composite
def settings(draw: st.DrawFn, most_items: int = 6, most_players: int = 4, *, budgets: bool = False) -> Setting:
    """Any rules, 1..N players, any orders."""
    count = draw(st.integers(1, most_items))
    items = [Item(f"i{n}", f"text {n}") for n in range(count)]
    vision = Vision(
        draw(st.sampled_from(["never", "review", "always"])),
        tuple(draw(st.lists(st.sampled_from(SHOWABLE), unique=True))),
        draw(st.sampled_from(["fresh", "latest"])),
    )
    limit = st.one_of(st.none(), st.integers(0, 5)) if budgets else st.none()
    rules = Rules(
        turn=draw(st.sampled_from(["cycle", "single"])),
        threshold=draw(scores),
        max_reviews=draw(st.integers(0, 3)),
        keep=draw(st.sampled_from(["latest", "better"])),
        vision=vision,
        budget=Budget.of(reviews=draw(limit)),
        shared_budget=Budget.of(reviews=draw(limit)),
        show_seconds=draw(st.booleans()),
    )
    seats: list[Seat] = []
    for at in range(draw(st.integers(1, most_players))):
        kind = draw(st.sampled_from(["forward", "reverse", "shuffle", "rotate 1", "rotate -2"]))
        shuffled = tuple(draw(st.permutations(range(count))))
        own = draw(st.one_of(st.none(), st.integers(0, 3)))
        seats.append(Seat(f"p{at}", order_of(kind, count, shuffled), max_reviews=own))
    return Setting(initial(items, rules, seats), draw(st.booleans()))


def move_for(data: st.DataObject, setting: Setting, state: MatchState, seat: int, *, failures: bool) -> Move:
    """A legal kind of move for the step at hand, with drawn content."""
    seen = observe(state, seat)
    if failures and data.draw(st.integers(0, 19)) == 0:
        return Stop("no money left", call() if data.draw(st.booleans()) else Spend())
    if seen.step == "decide":
        choices: list[Choice] = ["continue", "review", "review", "end"]
        choice = data.draw(st.sampled_from(choices))
        named = data.draw(st.sampled_from([*(item.id for item in state.items), "nonsense", None]))
        return Decision(choice, None, named, spend=call() if setting.decisions_cost else Spend())
    statuses: list[Status] = ["ok", "ok", "ok", "refused", "failed"] if failures else ["ok"]
    status = data.draw(st.sampled_from(statuses))
    h = data.draw(scores) if status == "ok" else None
    kind = Answer if seen.step == "answer" else Rewrite
    return kind(status, f"text {h}", h, spend=call(data.draw(st.integers(1, 50))))


def played(
    data: st.DataObject, setting: Setting, *, failures: bool = False
) -> tuple[MatchState, list[tuple[int, Move]]]:
    """A whole match with the moves that made it, in the order they were made."""
    state, moves = setting.state, list[tuple[int, Move]]()
    while steps := to_move(state):
        seat = data.draw(st.sampled_from(sorted(steps)))
        move = move_for(data, setting, state, seat, failures=failures)
        moves.append((seat, move))
        state = apply(state, {seat: move})
    return state, moves
