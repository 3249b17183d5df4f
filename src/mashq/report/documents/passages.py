"""Evaluation of answers over documents, from the matches of a run."""

from collections.abc import Sequence

from mashq.analysis.passages import Given, PassageViews, player_view, rule_note
from mashq.analysis.score_types import ScoredPlayer
from mashq.gateway.model import trial_seed
from mashq.players.registry import all_drawn, answers_are_drawn
from mashq.protocol.resources import RESOURCES
from mashq.protocol.score import Refusals
from mashq.runs.open import Played
from mashq.runs.reading import read_abstentions
from mashq.runs.setup import selection_of

DRAWN = "Simulated answers keep the H they were drawn with, whether or not the passages hold an answer."


def passage_views(
    played: Sequence[Played], players: Sequence[ScoredPlayer], refusals: Refusals
) -> PassageViews | None:
    """Evaluate the answers of a match's trials on the scored items; None for tasks without passages."""
    if not played or played[0].config.task.kind != "rag":
        return None
    from mashq.detectors.grounding.detector import Grounding  # slow to import; only answers over documents need it

    names = [row.name for row in players]
    dropped = [_dropped(match, names) if refusals == "intersection" else frozenset[int]() for match in played]
    views = [
        player_view(
            row.name,
            [
                answer
                for match, dropped_items in zip(played, dropped, strict=True)
                for answer in _answers(match, row.name, dropped_items)
            ],
            {name: row.costs[name] for name in RESOURCES if row.costs.get(name) is not None},
            Grounding(),
            len(played),
        )
        for row in players
    ]
    counts = [read_abstentions(match.path, match.fixture.id) for match in played]
    read, stated = sum(count[0] for count in counts), sum(count[1] for count in counts)
    return PassageViews(
        players=views,
        abstention=played[0].config.task.abstention,
        read=read,
        stated=stated,
        note=rule_note(read, stated) or (DRAWN if all_drawn(played[0].config) else None),
    )


def _dropped(match: Played, names: Sequence[str]) -> frozenset[int]:
    """Return the items that at least one of these players refused or failed."""
    failed_statuses = ("refused", "failed", "cut")
    players = [player for player in match.state.players if player.name in names]
    return frozenset(
        index
        for player in players
        for index, work in zip(player.order, player.items, strict=True)
        if work.status in failed_statuses
    )


def _answers(match: Played, name: str, dropped: frozenset[int]) -> list[Given]:
    state = match.state
    player = state.players[state.seat_of(name)]
    config = next(candidate for candidate in match.config.players if candidate.name == name)
    selection, seed = selection_of(match.config, config), trial_seed(match.config.seed, match.fixture.trial)
    drawn = answers_are_drawn(config.agent, config.model)
    answers: list[Given] = []
    for index, work in zip(player.order, player.items, strict=True):
        item, h = state.items[index], work.judge_h
        if work.status == "ok" and h is not None and index not in dropped:
            answers.append(Given(item, selection.of(item, seed), h, work.abstained, None if drawn else work.text))
    return answers
