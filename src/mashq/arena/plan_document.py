"""A plan as the document has it."""

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
    """A plan as the document has it."""
    hours = [None if (seconds := _known(lasts)) is None else seconds / 3600 for lasts in season.lasts]
    return PlanDocument(
        season=season.kind,
        items=season.items,
        trials=season.trials,
        matches=season.matches,
        paired_later=season.paired_later,
        players=[
            PlannedPlayer(
                name=own.name,
                model=own.model,
                matches=own.matches,
                expected=_cost(own.expected),
                worst=_cost(own.worst),
                repeats=None if own.repeats is None else Repeats(asks=own.repeats[0], attempts=own.repeats[1]),
            )
            for own in season.players
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
    """Tokens as whole numbers, other counts to a tenth; the rest as it is."""
    known = {name: _known(cost[name]) for name in COSTS}
    counts = {
        name: _count(name, value) for name, value in known.items() if value is not None and not TABLE[name].digits
    }
    seconds = known["seconds"]
    return PlannedCost(costs={**known, **counts}, service_hours=None if seconds is None else seconds / 3600)


def _count(name: str, value: float) -> float:
    tenths = round(value, 0 if name == "tokens" else 1)
    return int(tenths) if tenths == int(tenths) else tenths


def _known(amount: object) -> float | None:
    return amount if isinstance(amount, int | float) else None
