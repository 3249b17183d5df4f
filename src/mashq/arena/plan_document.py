"""Convert a plan to its document."""

from mashq.arena.plan import ASSUMED
from mashq.arena.plan_costs import Cost
from mashq.arena.plan_season import SeasonPlan
from mashq.protocol.resources import TABLE
from mashq.report.documents.base import COSTS
from mashq.report.documents.plan import (
    PlanDocument,
    PlannedCost,
    PlannedPart,
    PlannedPlayer,
    PlannedReferee,
    Repeats,
    WallTime,
)


def documented(season: SeasonPlan) -> PlanDocument:
    """The document of a plan."""
    hours = [None if (seconds := _known(duration)) is None else seconds / 3600 for duration in season.lasts]
    return PlanDocument(
        season=season.kind,
        items=season.items,
        trials=season.trials,
        matches=season.matches,
        paired_later=season.paired_later,
        players=[
            PlannedPlayer(
                name=player.name,
                model=player.model,
                matches=player.matches,
                expected=_cost(player.expected),
                worst=_cost(player.worst),
                repeats=None
                if player.repeats is None
                else Repeats(asks=player.repeats[0], attempts=player.repeats[1]),
            )
            for player in season.players
        ],
        referee=season.referee and PlannedReferee(expected=_cost(season.referee[0]), worst=_cost(season.referee[1])),
        parts=[
            PlannedPart(
                name=part.name,
                matches=part.matches,
                expected=_cost(part.expected),
                worst=_cost(part.worst),
            )
            for part in season.parts
        ],
        expected=_cost(season.expected),
        worst=_cost(season.worst),
        wall_hours=WallTime(expected=hours[0], worst=hours[1]),
        assumed=ASSUMED,
    )


def _cost(cost: Cost) -> PlannedCost:
    """Tokens as whole numbers, other counts to one decimal; the rest unchanged."""
    known = {name: _known(cost[name]) for name in COSTS}
    counts = {
        name: _count(name, value) for name, value in known.items() if value is not None and not TABLE[name].digits
    }
    seconds = known["seconds"]
    return PlannedCost(costs={**known, **counts}, service_hours=None if seconds is None else seconds / 3600)


def _count(name: str, value: float) -> float:
    rounded = round(value, 0 if name == "tokens" else 1)
    return int(rounded) if rounded == int(rounded) else rounded


def _known(amount: object) -> float | None:
    return amount if isinstance(amount, int | float) else None
