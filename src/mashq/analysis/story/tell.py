"""A match told as a story: what happened, when, to whom, and how much it matters.

    beats = story(events, scene)             all of them, in the order of their rounds
    beats = told(beats, 12)                  the most important twelve, in the same order

Contract: a pure function of the moves and the rules. Every sentence follows from the moves alone: counts are exact,
rounds are counted from 1, and what followed a snapshot is said to have followed it, never to have been caused by it.
H is the judge's score; Q is the score so far, over the items each player has answered (`q_now`). Names and ids in the
sentences are other people's text: escape them where they are shown. `Teller` does the same move by move.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from mashq.analysis.story.highlights import Beat, cycle_beat, reaction_beat, trouble_beat
from mashq.analysis.story.parts import STEADY, Part, Reign, listed, named, plural
from mashq.protocol.score import TIE, ScoreRules

RATIOS = (1.5, 2, 3, 5, 10, 20, 50, 100)


@dataclass(frozen=True, slots=True)
class Event:
    """One move as it is stored: `move` and `ruling` are its JSON, `round` is counted from 0."""

    round: int
    player: str
    kind: str
    item: str | None
    move: Mapping[str, Any]
    ruling: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Scene:
    """What must be known beside the moves: who plays, over how many items, under which rules."""

    players: tuple[str, ...]
    items: int
    thresholds: Mapping[str, float] = field(default_factory=dict[str, float])
    keep: str = "latest"
    vision: str = "review"
    vision_keep: str = "fresh"
    rules: ScoreRules = field(default_factory=ScoreRules)


def story(events: Iterable[Event], scene: Scene, *, ended: bool = True) -> list[Beat]:
    """The whole story; `ended` says whether these are all the moves there will be."""
    teller = Teller(scene)
    for event in events:
        teller.hear(event)
    return teller.beats(ended=ended)


def told(beats: Sequence[Beat], most: int) -> list[Beat]:
    """The most important beats, still in order."""
    best = sorted(range(len(beats)), key=lambda at: (-beats[at].importance, at))[: max(0, most)]
    return [beats[at] for at in sorted(best)]


def q_now(rules: ScoreRules, h: Sequence[float | None], totals: Sequence[Mapping[str, float]]) -> list[float | None]:
    """Q of each player so far, from its mean H and its known totals."""
    return [
        None if own is None else rules.alpha * own - rules.beta * penalty
        for own, penalty in zip(h, p_now(rules, totals), strict=True)
    ]


def p_now(rules: ScoreRules, totals: Sequence[Mapping[str, float]]) -> list[float]:
    """P of each player so far, from its known totals."""
    out = [0.0] * len(totals)
    for name, weight in rules.weights.items():
        largest = max((own[name] for own in totals), default=0.0)
        if rules.reference is not None:
            largest = rules.reference.get(name, 0.0)
        if weight and largest > 0:
            for seat, own in enumerate(totals):
                out[seat] += weight * (own[name] / largest)
    return out


class Teller:
    """Hears the moves of a match one by one and tells what came of them so far."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self._parts = {name: Part(name, scene.thresholds.get(name), scene.keep) for name in scene.players}
        self._done: list[Beat] = []
        self._round = 0
        self._reigns: list[Reign] = []
        self._ratio = 0
        self._seen: dict[str, list[str]] = {}

    def hear(self, event: Event) -> None:
        """Take one move in; a player that the scene does not name is passed over."""
        part = self._parts.get(event.player)
        if part is None:
            return
        if event.round != self._round:
            self._close_round(event.round)
        if event.kind != "rewrite":
            self._close_cycle(part)
        part.charge(event.kind, event.move.get("spend") or {}, event.round)
        if event.kind == "answer":
            part.answer(event.round, event.item, event.move)
        elif event.kind == "decision":
            self._decide(part, event)
        elif event.kind == "rewrite":
            part.rewrite(event.round, event.item, event.move)
        elif event.kind == "stop":
            part.stopped = True
            left = self.scene.items - part.handled
            said = f"{named(part.name)} left the match ({named(str(event.move.get('reason', '')), 160)})"
            said += f" with {plural(left, 'item')} unanswered." if left else " after its last answer."
            self._tell(event.round, (part.name,), said, 0.95, "stop")

    def beats(self, *, ended: bool = True) -> list[Beat]:
        """The story so far, in the order of the rounds; with `ended`, what only the end can tell as well."""
        found = list(self._done)
        for part in self._parts.values():
            found += [beat for beat in (cycle_beat(part, part.cycle),) if beat is not None]
            found += [trouble_beat(part, trouble) for trouble in part.troubles.values()]
            found += [reaction_beat(part, reaction, ended) for reaction in part.reactions]
        parts = list(self._parts.values())
        found += self._opening(parts)
        found += self._leads(self._led(parts) if ended else self._reigns)
        if ended:
            found += self._closing()
        return sorted(found, key=lambda beat: beat.round)

    def _tell(self, round_: int, players: tuple[str, ...], sentence: str, importance: float, kind: str) -> None:
        self._done.append(Beat(round_ + 1, players, sentence, importance, kind))

    def _decide(self, part: Part, event: Event) -> None:
        ruled = event.ruling or {}
        choice = ruled.get("choice") or event.move.get("choice")
        source = event.move.get("source", "llm")
        if source == "fallback":
            part.trouble("fallback", event.round, "")
        elif ruled.get("overridden"):
            part.trouble(f"override {event.move.get('choice')} {choice}", event.round, str(ruled["overridden"]))
        if choice == "end":
            said = f"{named(part.name)} ended its play after {plural(part.handled, 'answer')}."
            self._tell(event.round, (part.name,), said, 0.5, "end")
        shown = [(rival, self._parts[rival].last_work) for rival in self._seen.get(part.name, ())]
        part.decide(event.round, choice == "review", source == "llm", shown)

    def _close_cycle(self, part: Part) -> None:
        beat = cycle_beat(part, part.cycle)
        if beat is not None:
            self._done.append(beat)
        part.close_cycle()

    def _close_round(self, next_: int) -> None:
        """A round is over: who leads, who spent how much more, and whose snapshot the next round shows."""
        parts = list(self._parts.values())
        for part in parts:
            self._close_cycle(part)
        self._reigns = self._led(parts)
        self._compare_costs(parts)
        for part in parts:
            part.close_round(self._round, self.scene.vision)
        fresh = self.scene.vision_keep == "fresh"
        for part in parts:
            self._seen[part.name] = [
                rival.name
                for rival in parts
                if rival is not part and rival.shown_at is not None and (not fresh or rival.shown_at == self._round)
            ]
        self._round = next_

    def _led(self, parts: Sequence[Part]) -> list[Reign]:
        """The times in the lead, with the round at hand as if it were over."""
        scores = q_now(self.scene.rules, [part.h for part in parts], [part.totals for part in parts])
        known = sorted(((q, p.name) for q, p in zip(scores, parts, strict=True) if q is not None), reverse=True)
        if len(known) < 2 or known[0][0] - known[1][0] < TIE:
            return self._reigns
        (best, leader), (second, rival) = known[:2]
        if self._reigns and self._reigns[-1].player == leader:
            same = self._reigns[-1]
            return [*self._reigns[:-1], replace(same, rounds=same.rounds + 1)]
        return [*self._reigns, Reign(leader, self._round, 1, best, second, rival)]

    def _leads(self, reigns: Sequence[Reign]) -> Iterable[Beat]:
        """The changes of the lead; those that lasted weigh more."""
        whole = max(sum(reign.rounds for reign in reigns), 1)
        for at, reign in enumerate(reigns):
            verb = "takes the lead" if at else "is ahead first"
            said = f"{named(reign.player)} {verb}: Q {reign.q:.3f} against {named(reign.rival)}'s {reign.second:.3f}"
            said += f" over the items answered so far; it leads for {plural(reign.rounds, 'round')}."
            weight = (0.25 if at else 0.2) + 0.5 * min(1.0, reign.rounds / whole)
            yield Beat(reign.first + 1, (reign.player, reign.rival), said, weight, "lead")

    def _opening(self, parts: Sequence[Part]) -> Iterable[Beat]:
        first = [(part.name, part.opening) for part in parts if part.opening is not None]
        if len(first) > 1:
            scores = listed([f"{named(name)}'s scored H {h:.3f}" for name, h in first])
            yield Beat(1, tuple(name for name, _ in first), f"The first answers: {scores}.", 0.3, "opening")

    def _compare_costs(self, parts: Sequence[Part]) -> None:
        """The first time one player has spent so many times the tokens of another."""
        if self._round < STEADY or len(parts) < 2 or any(part.unknown for part in parts):
            return
        low, high = min(parts, key=lambda p: p.totals["tokens"]), max(parts, key=lambda p: p.totals["tokens"])
        if low.totals["tokens"] <= 0:
            return
        ratio = high.totals["tokens"] / low.totals["tokens"]
        reached = sum(ratio >= step for step in RATIOS)
        if reached > self._ratio:
            self._ratio = reached
            said = f"{named(high.name)} has spent {ratio:.1f} times the tokens of {named(low.name)} so far: "
            said += f"{high.totals['tokens']:,.0f} against {low.totals['tokens']:,.0f}."
            self._tell(self._round, (high.name, low.name), said, min(0.8, 0.35 + 0.1 * reached), "cost")

    def _closing(self) -> Iterable[Beat]:
        """What only the end can tell: what the reviews bought, the worst answer, the item that divides most."""
        parts, last = list(self._parts.values()), self._round + 1
        for part in parts:
            if part.reviews and part.h is not None and part.h_before is not None:
                change = part.h - part.h_before
                verb = "raised" if change > 0 else "lowered" if change < 0 else "left"
                said = f"{named(part.name)}'s {plural(part.reviews, 'review')} {verb} its mean H"
                said += f" from {part.h_before:.3f} to {part.h:.3f}" if change else f" at {part.h:.3f}"
                cost = f"{part.review_tokens:,.0f} tokens" + (" at least" if part.unknown else "")
                yield Beat(last, (part.name,), f"{said}; the rewrites took {cost}.", 0.85, "reviews")
        worst = min(
            ((own.h, part.name, item, own.round) for part in parts for item, own in part.work.items()),
            default=None,
        )
        if worst is not None and worst[0] < 0.5:
            said = f"The lowest score that stood at the end: {named(worst[1])}'s answer to {named(worst[2])}, "
            yield Beat(worst[3] + 1, (worst[1],), f"{said}H {worst[0]:.3f}.", 0.55, "worst")
        yield from self._divided(parts)

    def _divided(self, parts: Sequence[Part]) -> Iterable[Beat]:
        best: tuple[float, str, Part, Part] | None = None
        for item in parts[0].work if len(parts) > 1 else ():
            own = [(part.work[item].h, at) for at, part in enumerate(parts) if item in part.work]
            (low, worse), (high, better) = min(own), max(own)
            if best is None or high - low > best[0]:
                best = (high - low, item, parts[better], parts[worse])
        if best is not None and best[0] >= 0.1:
            _, item, up, down = best
            said = f"{named(item)} divided them most: {named(up.name)} ended at H {up.work[item].h:.3f}, "
            said += f"{named(down.name)} at {down.work[item].h:.3f}."
            at = max(up.work[item].round, down.work[item].round)
            yield Beat(at + 1, (up.name, down.name), said, 0.6, "divided")


__all__ = ["Beat", "Event", "Scene", "Teller", "p_now", "q_now", "story", "told"]
