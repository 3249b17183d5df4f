"""A stored run under another judge: the same answers, scored again, without any calls by players."""

from dataclasses import replace
from pathlib import Path

from mashq.detectors.base import Detector, Pair
from mashq.detectors.contents import SUMMARISE
from mashq.detectors.pairs import scoring_of
from mashq.errors import ConfigError, DetectorError
from mashq.players.registry import answers_are_drawn
from mashq.protocol.persistent import persistent_list
from mashq.protocol.state import MatchState, PlayerState
from mashq.runs.contents import floor_pairs, floors_of
from mashq.runs.open import Played


def rescored(played: Played, detector: Detector) -> Played:
    """The run as if `detector` had been the judge; the scores that guided its players stay as they were."""
    by_reference = bool(getattr(detector, "needs_reference", False))
    if by_reference and any(item.reference is None and item.answerable is not False for item in played.state.items):
        raise ConfigError(
            f"the detector {detector.name!r} needs reference answers, and the run's items have none: choose another"
        )
    if any(answers_are_drawn(player.agent, player.model) for player in played.config.players):
        raise ConfigError("simulated answers have no text to score: rescore a run of real models")
    pairs: list[Pair] = []
    scores: list[float | None] = []
    abstention = played.config.task.abstention
    for player in played.state.players:
        for index, work in zip(player.order, player.items, strict=True):
            item = played.state.items[index]
            if work.status == "ok":
                for text, abstained in ((work.text, work.abstained), (work.text_first, work.abstained_first)):
                    judge = scoring_of(
                        item, text, "judge", abstained=abstained, abstention=abstention, by_reference=by_reference
                    ).judge
                    scores.append(None if isinstance(judge, Pair) else judge)
                    pairs += [judge] if isinstance(judge, Pair) else []
    floors = floor_pairs(played.state.items) if played.config.task.kind == SUMMARISE else {}
    new_scores = detector.score([*pairs, *(pair for group in floors.values() for pair in group)])
    floor_scores = iter(new_scores[len(pairs) :])
    if not all(0 <= h <= 1 for h in new_scores):
        raise DetectorError(f"the detector {detector.name!r} gave a score outside of [0, 1]")
    answer_scores = iter(new_scores)
    judged_h = iter([next(answer_scores) if h is None else h for h in scores])
    players = tuple(
        _with_scores(player, [next(judged_h) for _ in range(2 * _answer_count(player))])
        for player in played.state.players
    )
    state: MatchState = replace(played.state, players=players)
    detector_info = {"name": detector.name, "version": detector.version}
    h = {name: [next(floor_scores) for _ in group] for name, group in floors.items()}
    floors_judged = floors_of(played.config.task.kind, played.state.items, h)
    return replace(
        played, changed=state, floors=floors_judged, manifest=played.manifest | {"detector": detector_info}
    )


def _answer_count(player: PlayerState) -> int:
    return sum(work.status == "ok" for work in player.items)


def _with_scores(player: PlayerState, scores: list[float]) -> PlayerState:
    remaining = iter(scores)
    items = persistent_list(
        replace(work, judged=next(remaining), judged_first=next(remaining)) if work.status == "ok" else work
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
    """The path of the score cache in a folder."""
    return folder / "scores.db"
