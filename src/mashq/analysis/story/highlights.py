"""Single events of a match, one sentence each. Pure functions."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from mashq.analysis.story.memory import STEADY, Cycle, PlayerMemory, Reaction, Reign, Trouble
from mashq.analysis.story.words import listed, named, plural
from mashq.protocol.replay import Delta
from mashq.protocol.state import ItemState, MatchState, PlayerState


@dataclass(frozen=True, slots=True)
class Highlight:
    """One event: its round (from 1), the players involved, a sentence, and its importance (0 to 1)."""

    round: int
    players: tuple[str, ...]
    sentence: str
    importance: float
    kind: str


def opening(players: Sequence[PlayerMemory]) -> Iterable[Highlight]:
    """The scores of the first answers."""
    first = [(player.name, player.opening) for player in players if player.opening is not None]
    if len(first) > 1:
        scores = listed([f"{named(name)}'s scored H {h:.3f}" for name, h in first])
        yield Highlight(1, tuple(name for name, _ in first), f"The first answers: {scores}.", 0.3, "opening")


def review_cycle(player: PlayerMemory, cycle: Cycle) -> Highlight:
    """A completed review cycle, or the current one if the moves end within it."""
    count, gain = cycle.rewrites, cycle.h - cycle.before
    times = {1: "once", 2: "twice"}.get(count, f"{count} times")
    before, after = f"{cycle.before:.3f}", f"{cycle.h:.3f}"
    text = f"{named(player.name)} rewrote {named(cycle.item)} {times}: H "
    text += f"stayed at {after}" if before == after else f"{before} → {after}"
    weight = 0.12 + 0.48 * abs(gain) + (0.12 * min(count, 3) if gain <= 0 else 0.0)
    if not player.guided_apart:
        if cycle.before >= player.threshold:
            text += f", which was over its threshold {player.threshold:g} before"
            weight += 0.15
        elif cycle.h >= player.threshold:
            text += f", over its threshold {player.threshold:g}"
        else:
            text += f", still under its threshold {player.threshold:g}"
            weight += 0.1
    if cycle.unusable:
        text += f"; {plural(cycle.unusable, 'rewrite was', 'rewrites were')} refused or failed"
    return Highlight(cycle.round + 1, (player.name,), text + ".", min(0.9, weight), "review")


def trouble(player: PlayerMemory, trouble: Trouble) -> Highlight:
    """A problem that occurred once or several times."""
    who, times = named(player.name), trouble.count
    why = f" ({named(trouble.why, 160)})" if trouble.why else ""
    often = "once" if times == 1 else f"{times} times, first here and last in round {trouble.last + 1}"
    if trouble.kind == "fallback":
        text, weight = f"{who}'s policy gave no usable decision {often}; that counts as continue.", 0.4
    elif trouble.kind.startswith("override"):
        _, chosen, ruled = trouble.kind.split(" ")
        text, weight = f"{who} chose '{chosen}' {often}, and the rules made it '{ruled}'{why}.", 0.45
    elif trouble.kind == "attempts":
        text = f"{plural(times, 'attempt')} of {who} failed"
        text += f", {trouble.most} of them in round {trouble.most_round + 1}." if times > trouble.most else "."
        weight = 0.35
    else:
        item = f" {named(trouble.item)}" if times == 1 and trouble.item else f" {plural(times, 'item')}"
        why = f" (the first: {named(trouble.why, 160)})" if trouble.why and times > 1 else why
        start = f"{who}'s reply was cut off on" if trouble.kind == "cut" else f"{who} {trouble.kind}"
        text, weight = f"{start}{item}{why}.", 0.6
    return Highlight(trouble.first + 1, (player.name,), text, min(0.9, weight + 0.02 * min(times, 15)), "trouble")


def reaction(player: PlayerMemory, reaction: Reaction, ended: bool) -> Highlight:
    """What a player did right after it was shown a rival."""
    shown = [
        f"{named(rival)}'s state after {plural(work.count, 'review')} of {named(work.item)}"
        for rival, work in reaction.shown
    ]
    text, habit = f"{named(player.name)} was shown {listed(shown)} and ", plural(reaction.streak, "round")
    since = player.decided - reaction.decided
    final = ended and not reaction.reviews and player.last_review < reaction.round and since >= STEADY
    if reaction.reviews:
        text += f"reviewed, which it had not done for {habit}"
    elif final:
        text += f"stopped reviewing: it had reviewed for {habit} in a row, and in none of the {since} that followed"
    else:
        text += f"did not review, after {habit} of reviewing in a row"
    weight = min(0.9, 0.3 + 0.05 * min(reaction.streak, 8) + (0.2 if final else 0.0))
    players = (player.name, *(rival for rival, _ in reaction.shown))
    return Highlight(reaction.round + 1, players, text + ".", weight, "reaction")


def left(delta: Delta, reason: str) -> Highlight:
    """A player left the match."""
    player = delta.player
    unanswered = len(player.items) - player.position
    text = f"{named(player.name)} left the match ({named(reason, 160)})"
    text += f" with {plural(unanswered, 'item')} unanswered." if unanswered else " after its last answer."
    return Highlight(delta.round + 1, (player.name,), text, 0.95, "stop")


def leads(reigns: Sequence[Reign]) -> Iterable[Highlight]:
    """Changes of the lead; the longer a lead lasted, the more important it is."""
    total_rounds = max(sum(reign.rounds for reign in reigns), 1)
    for index, reign in enumerate(reigns):
        verb = "takes the lead" if index else "takes the first lead"
        text = f"{named(reign.player)} {verb}: Q {reign.q:.3f} against {named(reign.rival)}'s {reign.second:.3f}"
        text += f" over the items answered so far; it leads for {plural(reign.rounds, 'round')}."
        weight = (0.25 if index else 0.2) + 0.5 * min(1.0, reign.rounds / total_rounds)
        yield Highlight(reign.first + 1, (reign.player, reign.rival), text, weight, "lead")


def bought(state: MatchState, round_: int, within_steps: Mapping[str, float]) -> Iterable[Highlight]:
    """The effect of each player's reviews on H, and their tokens if known."""
    for player in state.players:
        h, before = player.average_judge_h, player.average_judge_h_first
        if not player.spend.reviews or h is None or before is None:
            continue
        verb = "raised" if h > before else "lowered" if h < before else "left"
        text = f"{named(player.name)}'s {plural(player.spend.reviews, 'review')} {verb} its mean H"
        text += f" from {before:.3f} to {h:.3f}" if h != before else f" at {h:.3f}"
        tokens = within_steps.get(player.name) if reviews_within_steps(player) else player.past.spend.tokens.total
        if tokens is not None:
            text += f"; the rewrites took {tokens:,.0f} tokens" + (" at least" if player.spend.unknown else "")
        yield Highlight(round_, (player.name,), f"{text}.", 0.85, "reviews")


def reviews_within_steps(player: PlayerState) -> bool:
    """Whether an agent reviewed within its own steps: the moves record how often, but not at what cost."""
    return player.spend.reviews != player.past.count


def worst(state: MatchState, players: Sequence[PlayerMemory]) -> Iterable[Highlight]:
    """The lowest final score."""
    scores = (
        (h, memory.name, state.items[at].id, changed)
        for memory, player in zip(players, state.players, strict=True)
        for at, work, changed in zip(player.order, player.items, memory.changed_in, strict=False)
        if (h := _score(work)) is not None
    )
    h, name, item, round_ = min(scores, default=(1.0, "", "", 0))
    if h < 0.5:
        text = f"The lowest final score: {named(name)}'s answer to {named(item)}, H {h:.3f}."
        yield Highlight(round_ + 1, (name,), text, 0.55, "worst")


def divided(state: MatchState, players: Sequence[PlayerMemory]) -> Iterable[Highlight]:
    """The item with the largest difference between players."""
    if len(players) < 2:
        return
    positions = [{at: position for position, at in enumerate(player.order)} for player in state.players]
    best: tuple[float, int, int, int] | None = None
    for at, first in zip(state.players[0].order, state.players[0].items, strict=True):
        if _score(first) is None:
            continue
        scores = [
            (_score(p.items[position_of[at]]), seat)
            for seat, (p, position_of) in enumerate(zip(state.players, positions, strict=True))
        ]
        known_scores = [(h, seat) for h, seat in scores if h is not None]
        (low, worse), (high, better) = min(known_scores), max(known_scores)
        if best is None or high - low > best[0]:
            best = (high - low, at, better, worse)
    if best is not None and best[0] >= 0.1:
        _, at, up, down = best
        ends = [_score(state.players[seat].items[positions[seat][at]]) for seat in (up, down)]
        text = (
            f"{named(state.items[at].id)} separated them most: {named(players[up].name)} ended at H {ends[0]:.3f}, "
        )
        text += f"{named(players[down].name)} at {ends[1]:.3f}."
        round_ = max(players[seat].changed_in[positions[seat][at]] for seat in (up, down))
        yield Highlight(round_ + 1, (players[up].name, players[down].name), text, 0.6, "divided")


def _score(work: ItemState) -> float | None:
    return work.judge_h if work.status == "ok" and work.h is not None else None
