"""A stored run under another judge: the same answers, scored anew, with no calls of any player."""

from dataclasses import replace
from pathlib import Path

from mashq.detectors.base import Detector, Pair
from mashq.detectors.contents import SUMMARISE
from mashq.detectors.pairs import pair_of
from mashq.errors import ConfigError, DetectorError
from mashq.players.registry import answers_are_drawn
from mashq.protocol.items import known_score
from mashq.protocol.persistent import persistent_list
from mashq.protocol.state import MatchState, PlayerState
from mashq.runs.contents import floor_pairs, floors_of
from mashq.runs.open import Played


def rescored(played: Played, detector: Detector) -> Played:
    """The run as if `detector` had been the judge; its players were guided as they were."""
    compares = bool(getattr(detector, "needs_reference", False))
    if compares and any(item.reference is None and item.answerable is not False for item in played.state.items):
        raise ConfigError(
            f"the detector {detector.name!r} needs reference answers, and the run's items have none: choose another"
        )
    if any(answers_are_drawn(player.agent, player.model) for player in played.config.players):
        raise ConfigError("simulated answers have no text to score: rescore a run of real models")
    pairs: list[Pair] = []
    scores: list[float | None] = []
    abstention = played.config.task.abstention
    for player in played.state.players:
        for at, work in zip(player.order, player.items, strict=True):
            item = played.state.items[at]
            if work.status == "ok":
                for text, said in ((work.text, work.abstained), (work.text_first, work.abstained_first)):
                    known = known_score(item, abstained=said, abstention=abstention)
                    scores.append(known)
                    pairs += [pair_of(item, text, by_reference=compares)] if known is None else []
    floors = floor_pairs(played.state.items) if played.config.task.kind == SUMMARISE else {}
    found = detector.score([*pairs, *(pair for own in floors.values() for pair in own)])
    rest = iter(found[len(pairs) :])
    if not all(0 <= h <= 1 for h in found):
        raise DetectorError(f"the detector {detector.name!r} gave a score outside of [0, 1]")
    asked = iter(found)
    told = iter([next(asked) if h is None else h for h in scores])
    players = tuple(
        _judged(player, [next(told) for _ in range(2 * _answers(player))]) for player in played.state.players
    )
    state: MatchState = replace(played.state, players=players)
    named = {"name": detector.name, "version": detector.version}
    h = {name: [next(rest) for _ in own] for name, own in floors.items()}
    judged = floors_of(played.config.task.kind, played.state.items, h)
    return replace(played, changed=state, floors=judged, manifest=played.manifest | {"detector": named})


def _answers(player: PlayerState) -> int:
    return sum(work.status == "ok" for work in player.items)


def _judged(player: PlayerState, scores: list[float]) -> PlayerState:
    told = iter(scores)
    items = persistent_list(
        replace(work, judged=next(told), judged_first=next(told)) if work.status == "ok" else work
        for work in player.items
    )
    answered = [work for work in items if work.status == "ok"]
    return replace(
        player,
        items=items,
        judge_sum=sum(work.judge_h or 0.0 for work in answered),
        judge_first_sum=sum(work.judge_h_first or 0.0 for work in answered),
    )


def cache_file(folder: Path) -> Path:
    """Where scores are remembered."""
    return folder / "scores.db"
