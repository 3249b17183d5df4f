"""The lock-step game: who is to move, what it sees, and what its move does.

    state = initial(items, rules, seats)
    while steps := to_move(state):
        ... for any of those seats: a move for its step, made from observe(state, seat) ...
        state = apply(state, {seat: move})

A player moves through the steps of its turn at its own pace; the round closes when every player has finished its
turn. An observation holds only the player's own state and snapshots of earlier rounds, so the order in which moves of
different seats arrive within a round cannot matter.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from mashq.protocol.items import Item
from mashq.protocol.moves import Answer, Choice, Decision, Move, Rewrite, Stop, abstains
from mashq.protocol.persistent import replaced
from mashq.protocol.resources import DISCLOSED, FREE, Spend
from mashq.protocol.rules import Rules, Seat
from mashq.protocol.state import (
    BINS,
    ItemState,
    MatchState,
    Memory,
    Observation,
    PlayerState,
    Reviewed,
    Sighting,
    Snapshot,
    Step,
    fresh_player,
)

NO_MEMORY = Memory()
WANTED: dict[str, type[Answer | Decision | Rewrite]] = {"answer": Answer, "decide": Decision, "review": Rewrite}


@dataclass(frozen=True, slots=True)
class Ruling:
    """What a decision means under the rules: the choice that takes effect, at which position, and why it was
    overridden."""

    choice: Choice
    position: int | None = None
    overridden: str = ""


def initial(items: Sequence[Item], rules: Rules, seats: Sequence[Seat]) -> MatchState:
    """A match before its first move. Every seat's order must be a permutation of the items."""
    for seat in seats:
        if sorted(seat.order) != list(range(len(items))):
            raise ValueError(f"the order of player {seat.name!r} is not a permutation of the {len(items)} items")
    players = tuple(fresh_player(seat, rules, len(items)) for seat in seats)
    state = MatchState(tuple(items), rules, players)
    return state if items else replaced(state, players=tuple(replaced(p, phase="done") for p in players))


def to_move(state: MatchState) -> dict[int, Step]:
    """The seats that still have something to do in this round, and what; empty when the match is over."""
    return {seat: player.phase for seat, player in enumerate(state.players) if player.phase not in ("rest", "done")}


def observe(state: MatchState, seat: int) -> Observation:
    """What the player in `seat` may see now."""
    player = state.players[seat]
    step = player.phase
    if step in ("rest", "done"):
        raise ValueError(f"player {player.name!r} has nothing to do in this round")
    position = position_at_work(state.rules, player)
    work = player.items[position] if position is not None else ItemState()
    worst = (player.reviewable or player.ranked or (None,))[0]
    allowed = bool(player.reviewable) and _review_allowed(state, player)
    return Observation(
        step=step,
        round=state.round,
        player=player.name,
        item=None if position is None else state.items[player.order[position]],
        position=len(state.items) if position is None else position,
        total=len(state.items),
        handled=player.position,
        spend=_closed_spend(player.spend),
        average_h=player.average_h,
        worst=None if worst is None else (state.items[player.order[worst[1]]].id, worst[0]),
        recommended=allowed and player.reviewable[0][0] < player.threshold,
        threshold=player.threshold,
        max_reviews=player.max_reviews,
        review_cost=player.review_cost,
        resources=state.rules.resources,
        show_seconds=state.rules.show_seconds,
        rivals=len(state.players) - 1,
        snapshots=delivered(state, seat),
        answer=work.text if step == "review" else "",
        h=work.h if step == "review" else None,
        reviews=work.reviews,
        budget=player.budget,
        keep=state.rules.keep,
        rules=state.rules,
        memory=_memory(state, seat, allowed=allowed) if step == "decide" else NO_MEMORY,
    )


def ruling(state: MatchState, seat: int, decision: Decision) -> Ruling:
    """What `decision` means under the rules: valid as it is, or overridden."""
    player = state.players[seat]
    finished = player.position == len(state.items)
    if decision.choice == "review":
        if not player.reviewable or not _review_allowed(state, player):
            ended = finished and state.rules.turn == "single"
            return Ruling("end" if ended else "continue", overridden="nothing can be reviewed")
        worst = player.reviewable[0][1]
        if state.rules.turn == "cycle":
            return Ruling("review", worst)
        position = _position_of(state, player, decision.previous_id)
        if position is None or not _is_reviewable(player, position):
            return Ruling("review", worst, overridden="the item named cannot be reviewed; the worst is")
        return Ruling("review", position)
    if decision.choice == "end" and not finished:
        return Ruling("continue", overridden="end is legal only when every item has been answered")
    if decision.choice == "continue" and finished and state.rules.turn == "single":
        return Ruling("end", overridden="no item is left to continue with")
    return Ruling(decision.choice)


def apply(state: MatchState, moves: Mapping[int, Move]) -> MatchState:
    """The state after one move of each of the given seats (any non-empty subset of those to move)."""
    for seat, move in moves.items():
        updated = _after_move(state, seat, move)
        players = (*state.players[:seat], updated, *state.players[seat + 1 :])
        state = MatchState(state.items, state.rules, players, state.round)
    return state if any(player.phase in WANTED for player in state.players) else _close_round(state)


def cost_of(move: Move) -> Spend:
    """What a move charges its player: a rewrite counts as a review, in addition to those made within the step."""
    if isinstance(move, Rewrite):
        return replaced(move.spend, reviews=move.spend.reviews + 1)
    return move.spend


def is_usable(move: Answer | Rewrite) -> bool:
    """Whether the move contains an answer with a score."""
    return move.status == "ok" and move.h is not None


def is_kept(rules: Rules, standing: float | None, move: Rewrite) -> bool:
    """Whether a rewrite replaces an answer that the guide scored `standing`."""
    return is_usable(move) and move.h is not None and replaces(rules, standing, move.h)


def replaces(rules: Rules, standing: float | None, h: float) -> bool:
    """Whether a usable text that the guide scored `h` replaces one that it scored `standing` (None: no text yet)."""
    return rules.keep == "latest" or standing is None or h > standing


def delivers(rules: Rules, taken: int, round_: int) -> bool:
    """Whether a player's last snapshot, taken when round `taken` closed, is shown to its rivals in round `round_`."""
    return taken < round_ and (rules.vision.keep == "latest" or taken == round_ - 1)


def delivered(state: MatchState, seat: int) -> tuple[Snapshot, ...]:
    """The rivals' snapshots that the player in `seat` is shown in this round."""
    snapshots = [
        player.snapshot for index, player in enumerate(state.players) if index != seat and player.snapshot is not None
    ]
    return tuple(snapshot for snapshot in snapshots if delivers(state.rules, snapshot.round, state.round))


def position_at_work(rules: Rules, player: PlayerState) -> int | None:
    """The position of the item a step is about: the one under review, to answer, or current for a decision."""
    if player.reviewing is not None:
        return player.reviewing
    position = player.position - 1 if player.phase == "decide" and rules.turn == "cycle" else player.position
    return position if position < len(player.items) else None


def _after_move(state: MatchState, seat: int, move: Move) -> PlayerState:
    player = state.players[seat]
    wanted = WANTED.get(player.phase)
    if isinstance(move, Stop) and wanted is not None:
        reviewed = player.reviewed or _reviewed_within(state.rules, move)
        changes = {"phase": "rest", "stopped": move.reason, "reviewing": None, "reviewed": reviewed}
        return _charge(state.rules, player, move.spend, **changes)
    if wanted is None or not isinstance(move, wanted):
        raise ValueError(f"player {player.name!r} is to {player.phase}, not to {type(move).__name__.lower()}")
    if isinstance(move, Answer):
        return _after_answer(state.rules, player, move)
    if isinstance(move, Decision):
        return _after_decision(state, player, move, ruling(state, seat, move))
    return _after_rewrite(state, player, move)


def _after_answer(rules: Rules, player: PlayerState, move: Answer) -> PlayerState:
    position = player.position
    work = player.items[position]
    usable = is_usable(move)
    updated = ItemState(
        move.status,
        move.text,
        move.h,
        move.text if move.text_first is None else move.text_first,
        move.h if move.h_first is None else move.h_first,
        move.judged,
        move.judged if move.judged_first is None else move.judged_first,
        work.reviews,
        work.spend + move.spend,
        abstains(move.abstained),
        abstains(move.abstained if move.text_first is None else move.abstained_first),
    )
    ranked, reviewable, firsts = player.ranked, player.reviewable, player.firsts
    if usable:
        entry = (cast(float, move.h), position)
        firsts = _with_first(firsts, entry[0])
        ranked = ranked.add(entry)
        if player.max_reviews > 0:
            reviewable = reviewable.add(entry)
    return replaced(
        player,
        items=player.items.put(position, updated),
        ranked=ranked,
        reviewable=reviewable,
        position=position + 1,
        answered=player.answered + usable,
        h_sum=player.h_sum + (cast(float, move.h) if usable else 0.0),
        judge_sum=player.judge_sum + (cast(float, updated.judge_h) if usable else 0.0),
        judge_first_sum=player.judge_first_sum + (cast(float, updated.judge_h_first) if usable else 0.0),
        spend=player.spend + move.spend,
        phase="decide" if rules.turn == "cycle" else "rest",
        firsts=firsts,
        reviewed=player.reviewed or _reviewed_within(rules, move),
    )


def _reviewed_within(rules: Rules, move: Answer | Stop) -> bool:
    """Whether a player made reviews inside a step, which rivals are shown like reviews by decision."""
    return rules.version > 1 and move.spend.reviews > 0


def _after_decision(state: MatchState, player: PlayerState, move: Decision, ruled: Ruling) -> PlayerState:
    if ruled.choice == "review":
        changes: dict[str, object] = {"phase": "review", "reviewing": ruled.position, "reviewed": True}
    elif ruled.choice == "end":
        changes = {"phase": "rest", "ended": True}
    else:
        changes = {"phase": "rest" if state.rules.turn == "cycle" else "answer"}
    if ruled.choice == "review" and state.rules.turn == "single" and player.position < len(state.items):
        return _charge_item(player, cast(int, ruled.position), move.spend, **changes)
    return _charge(state.rules, player, move.spend, **changes)


def _after_rewrite(state: MatchState, player: PlayerState, move: Rewrite) -> PlayerState:
    position = cast(int, player.reviewing)
    work = player.items[position]
    old = cast(float, work.h)
    kept = is_kept(state.rules, old, move)
    h = cast(float, move.h) if kept else old
    cost = cost_of(move)
    reviews = work.reviews + 1
    updated = replaced(
        work,
        text=move.text if kept else work.text,
        h=h,
        judged=move.judged if kept else work.judged,
        abstained=abstains(move.abstained) if kept else work.abstained,
        reviews=reviews,
        spend=work.spend + cost,
    )
    ranked = player.ranked.without((old, position)).add((h, position))
    reviewable = player.reviewable.without((old, position))
    if reviews < player.max_reviews:
        reviewable = reviewable.add((h, position))
    spend = player.spend + cost
    again = state.rules.turn == "cycle" and h < player.threshold and reviews < player.max_reviews
    again = again and _review_allowed(state, player, spend.reviews)
    return replaced(
        player,
        items=player.items.put(position, updated),
        ranked=ranked,
        reviewable=reviewable,
        h_sum=player.h_sum - old + h,
        judge_sum=player.judge_sum - cast(float, work.judge_h) + cast(float, updated.judge_h),
        spend=spend,
        past=_with_review(player.past, old, h, cost),
        phase="review" if again else "rest",
        reviewing=position if again else None,
    )


def _close_round(state: MatchState) -> MatchState:
    """Take the snapshots, then open the next round for the players that continue."""
    players: list[PlayerState] = []
    for player in state.players:
        if player.phase == "done":
            players.append(player)
            continue
        when = state.rules.vision.when
        if (player.reviewed and when != "never") or (when == "always" and player.stopped is None):
            player = replaced(player, snapshot=_snapshot(state, player))
        if player.stopped is not None and player.snapshot is not None:
            player = replaced(player, snapshot=replaced(player.snapshot, round=state.round, stopped=True))
        first_phase = "answer" if state.rules.turn == "cycle" else "decide"
        phase = first_phase if _continues(state, player) else "done"
        past = replaced(player.past, rounds=player.past.rounds + 1) if player.reviewed else player.past
        players.append(replaced(player, phase=phase, reviewed=False, past=past))
    return MatchState(state.items, state.rules, tuple(players), state.round + 1)


def _continues(state: MatchState, player: PlayerState) -> bool:
    if player.stopped is not None or player.ended:
        return False
    if player.position < len(state.items):
        return True
    return state.rules.turn == "single" and bool(player.reviewable) and _review_allowed(state, player)


def _snapshot(state: MatchState, player: PlayerState) -> Snapshot:
    closed = _closed_spend(player.spend)
    values: dict[str, float | None] = {
        "average_h": player.average_h,
        "worst_h": player.ranked[0][0] if player.ranked else None,
        "items_done": player.position,
        **{name: closed.amount(name).total for name in DISCLOSED},
    }
    return Snapshot(player.name, state.round, tuple((name, values[name]) for name in state.rules.shown))


def _memory(state: MatchState, seat: int, *, allowed: bool) -> Memory:
    player, vision = state.players[seat], state.rules.vision
    reviews_shown = vision.when == "review" or (vision.when == "always" and "reviews" in vision.show)
    return Memory(
        state.rules.turn,
        vision,
        player.reviewable if allowed else (),
        player.firsts,
        player.past,
        None if player.snapshot is None else player.snapshot.round,
        tuple(
            [
                Sighting(rival.snapshot, rival.past.rounds if reviews_shown else None)
                for index, rival in enumerate(state.players)
                if index != seat
            ]
        ),
    )


def _review_allowed(state: MatchState, player: PlayerState, made: int | None = None) -> bool:
    """Whether one more review fits the budgets, given the reviews made so far."""
    limit, shared_limit = player.budget.limit("reviews"), state.rules.shared_budget.limit("reviews")
    if limit is None and shared_limit is None:
        return True
    # A rival that has decided to review has reserved one review.
    rivals = sum(
        rival.spend.reviews + (rival.reviewing is not None) for rival in state.players if rival.name != player.name
    )
    count = (player.spend.reviews if made is None else made) + 1
    return (limit is None or count <= limit) and (shared_limit is None or rivals + count <= shared_limit)


def _is_reviewable(player: PlayerState, position: int) -> bool:
    work = player.items[position]
    return work.status == "ok" and work.reviews < player.max_reviews


def _position_of(state: MatchState, player: PlayerState, item_id: str | None) -> int | None:
    for position in range(player.position):
        if state.items[player.order[position]].id == item_id:
            return position
    return None


def _charge(rules: Rules, player: PlayerState, spend: Spend, **changes: object) -> PlayerState:
    """Charge the item being worked on, or all items evenly if there is none; `changes` are applied to the player as
    well."""
    position = position_at_work(rules, player)
    if position is None:
        return replaced(player, spend=player.spend + spend, shared=player.shared + spend, **changes)
    return _charge_item(player, position, spend, **changes)


def _charge_item(player: PlayerState, position: int, spend: Spend, **changes: object) -> PlayerState:
    if spend == FREE:
        return replaced(player, **changes)
    work = player.items[position]
    items = player.items.put(position, replaced(work, spend=work.spend + spend))
    return replaced(player, items=items, spend=player.spend + spend, **changes)


def _closed_spend(spend: Spend) -> Spend:
    """The part of a cost that a player is shown: closed attempts only."""
    return replaced(spend, unresolved=0) if spend.unresolved else spend


def _with_first(firsts: tuple[int, ...], h: float) -> tuple[int, ...]:
    counts = list(firsts)
    counts[min(int(h * BINS), BINS - 1)] += 1
    return tuple(counts)


def _with_review(past: Reviewed, before: float, after: float, cost: Spend) -> Reviewed:
    room = 1 - before
    return Reviewed(
        past.count + 1,
        past.room + room * room,
        past.gained + room * (after - before),
        past.spend + _closed_spend(cost),
        past.rounds,
    )
