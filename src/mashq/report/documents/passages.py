"""Answers over documents, from the matches of a run."""

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
    """What the answers of the trials of a match came to, on the items that are scored; None without passages."""
    if not played or played[0].config.task.kind != "rag":
        return None
    from mashq.detectors.grounding.detector import Grounding  # heavy, and only for answers over documents

    names = [row.name for row in players]
    dropped = [_dropped(match, names) if refusals == "intersection" else frozenset[int]() for match in played]
    views = [
        player_view(
            row.name,
            [one for match, out in zip(played, dropped, strict=True) for one in _given(match, row.name, out)],
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
    """The items that one of these players refused or failed."""
    broken = ("refused", "failed", "cut")
    players = [player for player in match.state.players if player.name in names]
    return frozenset(
        at for player in players for at, work in zip(player.order, player.items, strict=True) if work.status in broken
    )


def _given(match: Played, name: str, dropped: frozenset[int]) -> list[Given]:
    state = match.state
    own = state.players[state.seat_of(name)]
    config = next(player for player in match.config.players if player.name == name)
    selection, seed = selection_of(match.config, config), trial_seed(match.config.seed, match.fixture.trial)
    drawn = answers_are_drawn(config.agent, config.model)
    found: list[Given] = []
    for at, work in zip(own.order, own.items, strict=True):
        item, h = state.items[at], work.judge_h
        if work.status == "ok" and h is not None and at not in dropped:
            found.append(Given(item, selection.of(item, seed), h, work.abstained, None if drawn else work.text))
    return found
