"""A match as a story: what happened, when, to whom, and how much it matters.

    story = Story(first, rules)              from the state before the first move
    story.hear(delta)                        for each move of the replay
    story.highlights()                       all highlights, in the order of their rounds
    most_important(highlights, 12)           twelve of them, in the same order

Contract: a pure function of the replay. Every sentence follows from the moves alone: counts are exact, rounds are
counted from 1, and what followed a snapshot is said to have followed it, never to have been caused by it. H is the
judge's score; Q is the score so far, over the items each player has answered. Names and ids in the sentences are
untrusted text: escape them on output.
"""

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from mashq.analysis.story import highlights as say
from mashq.analysis.story.highlights import Highlight
from mashq.analysis.story.memory import STEADY, PlayerMemory, Reign
from mashq.analysis.story.words import named, plural
from mashq.protocol.game import delivered
from mashq.protocol.moves import Answer, Decision, Rewrite, Stop
from mashq.protocol.replay import Delta
from mashq.protocol.score import TIE, ScoreRules, counted_so_far, scores_so_far
from mashq.protocol.state import MatchState

RATIOS = (1.5, 2, 3, 5, 10, 20, 50, 100)
UNANSWERED = float("nan")
NO_TOKENS: Mapping[str, float] = MappingProxyType({})


def most_important(highlights: Sequence[Highlight], most: int) -> list[Highlight]:
    """The most important highlights, in their original order."""
    best = sorted(range(len(highlights)), key=lambda index: (-highlights[index].importance, index))[: max(0, most)]
    return [highlights[index] for index in sorted(best)]


class Story:
    """Takes the moves of a match one by one and summarises what has happened so far."""

    state: "MatchState"

    def __init__(self, first: MatchState, rules: ScoreRules) -> None:
        self.state = first
        self._rules = rules
        self._players = [PlayerMemory(player.name, player.threshold) for player in first.players]
        self._seats = {player.name: seat for seat, player in enumerate(first.players)}
        self._done: list[Highlight] = []
        self._round = 0
        self._counted = counted_so_far(rules)
        self._unscored: array[float] = array("d")
        self._scored = 0
        self._reigns: list[Reign] = []
        self._ratio = 0

    def hear(self, delta: Delta) -> None:
        """Process one move."""
        if delta.round != self._round:
            self._close_round(delta.before)
            self._round = delta.round
        memory, move = self._players[delta.seat], delta.move
        if not isinstance(move, Rewrite):
            self._close_cycle(memory)
        memory.charge(delta)
        match move:
            case Answer():
                memory.answer(delta, move)
            case Decision():
                self._decide(memory, delta, move)
            case Rewrite():
                memory.rewrite(delta, move)
            case Stop():
                self._done.append(say.left(delta, move.reason))
        self.state = delta.after

    @property
    def reviewed_within_steps(self) -> tuple[str, ...]:
        """The players whose reviews are not all moves, so that only the ledger knows their cost."""
        return tuple(player.name for player in self.state.players if say.reviews_within_steps(player))

    def highlights(self, *, ended: bool = True, review_tokens: Mapping[str, float] = NO_TOKENS) -> list[Highlight]:
        """The story so far, in the order of rounds; with `ended`, also the highlights that need the final state.

        `review_tokens`: tokens spent on reviews, by the ledger, for the players in `reviewed_within_steps`.
        """
        every = list(self._done)
        for memory in self._players:
            if memory.cycle is not None:
                every.append(say.review_cycle(memory, memory.cycle))
            every += [say.trouble(memory, trouble) for trouble in memory.troubles.values()]
            every += [say.reaction(memory, reaction, ended) for reaction in memory.reactions]
        every += say.opening(self._players)
        every += say.leads(self._all_reigns(ended))
        if ended:
            every += self._closing(review_tokens)
        return sorted(every, key=lambda highlight: highlight.round)

    def _closing(self, review_tokens: Mapping[str, float]) -> Iterable[Highlight]:
        yield from say.bought(self.state, self._round + 1, review_tokens)
        yield from say.worst(self.state, self._players)
        yield from say.divided(self.state, self._players)

    def _decide(self, memory: PlayerMemory, delta: Delta, move: Decision) -> None:
        ruling = delta.ruling
        if move.source == "fallback":
            memory.trouble("fallback", delta.round, "")
        elif ruling is not None and ruling.overridden:
            memory.trouble(f"override {move.choice} {ruling.choice}", delta.round, ruling.overridden)
        if ruling is not None and ruling.choice == "end":
            text = f"{named(memory.name)} finished after {plural(delta.player.position, 'answer')}."
            self._done.append(Highlight(delta.round + 1, (memory.name,), text, 0.5, "end"))
        reaction = memory.reaction(delta, move)
        if reaction is not None:
            seats = [self._seats[shot.player] for shot in delivered(delta.before, delta.seat)]
            rivals = [(self._players[seat].name, self._players[seat].last_work) for seat in seats]
            shown = tuple((rival, work) for rival, work in rivals if work is not None)
            if shown:
                memory.reactions.append(replace(reaction, shown=shown))
        memory.decide(delta)

    def _close_cycle(self, memory: PlayerMemory) -> None:
        if memory.cycle is not None:
            self._done.append(say.review_cycle(memory, memory.cycle))
            memory.cycle = None

    def _close_round(self, state: MatchState) -> None:
        """End a round: record who leads, and who spent how much more."""
        for memory in self._players:
            self._close_cycle(memory)
        self._note_scores(state)
        self._compare_costs(state)
        for memory in self._players:
            memory.close_round()

    def _note_scores(self, state: MatchState) -> None:
        """Record what determines the lead: each player's mean H and its counted costs."""
        for player in state.players:
            h = player.average_judge_h
            self._unscored.extend((UNANSWERED if h is None else h, player.position))
            self._unscored.extend([player.spend.amount(name).total for name in self._counted])

    def _all_reigns(self, ended: bool) -> list[Reign]:
        """All periods in the lead; with `ended`, the current round counts as complete."""
        self._reigns = self._extended_reigns(self._reigns, self._scored)
        self._scored += len(self._unscored) // (len(self._players) * (2 + len(self._counted)))
        del self._unscored[:]
        if not ended:
            return self._reigns
        self._note_scores(self.state)
        reigns = self._extended_reigns(self._reigns, self._round)
        del self._unscored[:]
        return reigns

    def _extended_reigns(self, reigns: Sequence[Reign], first: int) -> list[Reign]:
        """The periods in the lead, extended by the rounds not scored yet, starting at round `first`."""
        shape = (-1, len(self._players), 2 + len(self._counted))
        rows = np.array(self._unscored, dtype=np.float64).reshape(shape)
        totals = {name: rows[:, :, at] for at, name in enumerate(self._counted, start=2)}
        _, scores = scores_so_far(self._rules, rows[:, :, 0], totals, rows[:, :, 1])
        extended = list(reigns)
        names = [memory.name for memory in self._players]
        for round_, row in enumerate(scores.tolist(), first):
            known = sorted(((q, name) for q, name in zip(row, names, strict=True) if q == q), reverse=True)
            if len(known) < 2 or known[0][0] - known[1][0] < TIE:
                continue
            (best, leader), (second, rival) = known[:2]
            if extended and extended[-1].player == leader:
                extended[-1] = replace(extended[-1], rounds=extended[-1].rounds + 1)
            else:
                extended.append(Reign(leader, round_, 1, best, second, rival))
        return extended

    def _compare_costs(self, state: MatchState) -> None:
        """Note the first time one player has spent a multiple of another's tokens."""
        players = state.players
        if self._round < STEADY or len(players) < 2 or any(player.spend.unknown for player in players):
            return
        tokens = [(player.spend.tokens.total, player.name) for player in players]
        (least, low), (most, high) = min(tokens, key=lambda entry: entry[0]), max(tokens, key=lambda entry: entry[0])
        if least <= 0:
            return
        reached = sum(most / least >= step for step in RATIOS)
        if reached > self._ratio:
            self._ratio = reached
            text = f"{named(high)} has spent {most / least:.1f} times the tokens of {named(low)} so far: "
            text += f"{most:,.0f} against {least:,.0f}."
            weight = min(0.8, 0.35 + 0.1 * reached)
            self._done.append(Highlight(self._round + 1, (high, low), text, weight, "cost"))
