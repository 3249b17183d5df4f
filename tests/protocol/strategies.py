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
    Step,
    Stop,
    Vision,
    apply,
    initial,
    observe,
    order_of,
    to_move,
)
from mashq.protocol.moves import Choice
from mashq.protocol.replay import Delta, step
from mashq.protocol.resources import MEASURES
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
        order = order_of(kind, count, shuffled)
        threshold = draw(st.one_of(st.none(), scores)) if budgets else None
        budget = draw(st.one_of(st.none(), st.builds(_review_budget, limit))) if budgets else None
        seats.append(Seat(f"p{at}", order, threshold, own, budget=budget))
    return Setting(initial(items, rules, seats), draw(st.booleans()))


def _review_budget(reviews: float | None) -> Budget:
    return Budget.of(reviews=reviews) if reviews is not None else Budget()


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


@dataclass(frozen=True)
class Replayed:
    """A match that was drawn: its first state, and what each of its moves changed."""

    first: MatchState
    deltas: tuple[Delta, ...]

    def __repr__(self) -> str:
        return f"{self.first.rules}: {self.moves}"

    @property
    def moves(self) -> list[tuple[str, Move]]:
        """The moves, with the names of their players."""
        return [(delta.player.name, delta.move) for delta in self.deltas]


@st.composite
def replayed(draw: st.DrawFn, most_items: int = 4, most_players: int = 3) -> Replayed:
    """A match of random moves under any rules and budgets of reviews: reviews by decision and within steps, a judge
    beside the guide, unknown costs, refusals, failures, stops; played to the end or cut off."""
    setting = draw(settings(most_items, most_players, budgets=True))
    state, deltas = setting.state, list[Delta]()
    apart, most = draw(st.booleans()), draw(st.integers(1, 60))
    while (steps := to_move(state)) and len(deltas) < most:
        seat = draw(st.sampled_from(sorted(steps)))
        move = _drawn_move(draw, steps[seat], state, apart=apart)
        delta = step(state, len(deltas) + 1, state.players[seat].name, move)
        deltas.append(delta)
        state = delta.after
    return Replayed(setting.state, tuple(deltas))


def _drawn_move(draw: st.DrawFn, due: Step, state: MatchState, *, apart: bool) -> Move:
    if draw(st.integers(0, 24)) == 0:
        return Stop("no money left", _drawn_cost(draw))
    if due == "decide":
        named = draw(st.sampled_from([*(item.id for item in state.items), "nonsense", None]))
        choices: list[Choice] = ["continue", "review", "review", "end"]
        return Decision(draw(st.sampled_from(choices)), None, named, spend=_drawn_cost(draw))
    statuses: list[Status] = ["ok", "ok", "ok", "refused", "failed"]
    status = draw(st.sampled_from(statuses))
    h = draw(scores) if status == "ok" else None
    judged = draw(scores) if status == "ok" and apart else None
    if due == "review":
        return Rewrite(status, "r", h, judged=judged, spend=_drawn_cost(draw))
    if status == "ok" and draw(st.integers(0, 3)) == 0:
        first, reviews = draw(scores), draw(st.integers(0, 3))
        judged_first = draw(scores) if apart else None
        spend = _drawn_cost(draw, reviews)
        return Answer(
            status, "a", h, judged=judged, h_first=first, text_first="d", judged_first=judged_first, spend=spend
        )
    return Answer(status, "a", h, judged=judged, spend=_drawn_cost(draw))


def _drawn_cost(draw: st.DrawFn, reviews: int = 0) -> Spend:
    """A cost whose sums are exact, in part unknown now and then."""
    if draw(st.integers(0, 3)) == 0:
        return Spend(reviews=reviews)
    unknown = draw(st.sampled_from([0, 0, 0, 1]))
    known = Amount(0, 0, 1, 99) if unknown else Amount(draw(st.integers(0, 50)), 1)
    amounts = (known,) * len(MEASURES)
    return Spend(draw(st.integers(1, 3)), draw(st.sampled_from([0, 0, 1])), unknown, unknown, reviews, amounts)
