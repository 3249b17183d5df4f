"""What the attempts whose cost is unknown are charged, from the ledger of a match.

What the player's side made unknown (it left a stream) is charged at the attempt's reserved worst case. What the
provider left out, or a crash of ours left open, is charged at the mean of the player's known attempts of the same
purpose, or at the worst case when there is none: a mean of 0 is none, as all of them are then errors, which bill
nothing by rule, and say nothing of what a reply costs. A charge belongs to the item that pays for the attempt. Where
neither is known (no price) there is no charge. Charges are worked out once, when a match ends, and stored with its
results; of a match that goes on, or of an earlier version, they are worked out when asked for.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mashq.gateway.types import LEFT, REFEREE
from mashq.protocol.resources import FREE, MEASURES, Amount, Spend
from mashq.protocol.results import Columns, PlayerResult
from mashq.runs.file import Statement, columns_of

WORST = {"tokens_in": "worst_in", "tokens_out": "worst_out"}
# A decision to review made before its round's answer (turn: single) is paid by the reviewed item, not by the next.
ELSEWHERE = """SELECT whose, at, f.item AS paying FROM (
    SELECT player AS whose, round AS at, max(json_extract(ruling, '$.position')) AS place FROM events
    WHERE match = ? GROUP BY player, round
    HAVING max(kind = 'answer') = 0 AND max(json_extract(ruling, '$.choice') = 'review')
      AND max(CASE kind WHEN 'decision' THEN item END) IS NOT NULL)
  JOIN (SELECT player, item, row_number() OVER (PARTITION BY player ORDER BY seq) - 1 AS nth FROM events
    WHERE match = ? AND kind = 'answer') f ON f.player = whose AND nth = place"""
CHARGED = """SELECT match, player, item, '{measure}', sum(charge), count(*) FROM (
  SELECT match, player, coalesce(paying, item) AS item,
    CASE WHEN outcome IS 'left' OR error IS '{left}' THEN {worst}
      ELSE coalesce(nullif(mean, 0), {worst}) END AS charge
  FROM attempts LEFT JOIN (SELECT player AS who, purpose AS why, avg({measure}) AS mean FROM attempts
    WHERE match = ? AND {measure} IS NOT NULL GROUP BY player, purpose) ON who = player AND why = purpose
  LEFT JOIN ({elsewhere}) ON whose = player AND at = round AND purpose = 'decision'
  WHERE match = ? AND {measure} IS NULL AND player IS NOT '{referee}')
  WHERE charge IS NOT NULL GROUP BY match, player, item"""
STORED = "SELECT match, player, item, measure, charged, attempts FROM charges WHERE match = ?"
Key = tuple[str, str | None]


@dataclass(frozen=True, slots=True)
class Charges:
    """By player and item (None: no item in particular), a Spend whose amounts are charges and how many attempts they
    are for."""

    by: Mapping[Key, Spend] = field(default_factory=dict[Key, Spend])

    def of(self, player: str, item: str | None) -> Spend:
        """What a player is charged for an item."""
        return self.by.get((player, item), FREE)

    def on(self, results: Sequence[PlayerResult]) -> tuple[PlayerResult, ...]:
        """Results with their charges."""
        if not self.by:
            return tuple(results)
        return tuple(
            replace(
                player,
                items=tuple(replace(row, charge=self.of(player.name, row.item)) for row in player.items),
                shared_charge=self.of(player.name, None),
            )
            for player in results
        )

    def on_columns(self, players: Sequence[Columns]) -> tuple[Columns, ...]:
        """The same for columns."""
        return tuple(self._on_column(own) for own in players) if self.by else tuple(players)

    def _on_column(self, own: Columns) -> Columns:
        values = dict(own.values)
        mine = {item: spend for (player, item), spend in self.by.items() if player == own.name and item is not None}
        place = {item: at for at, item in enumerate(own.items)} if mine else {}
        for measure in MEASURES if mine else ():
            charged, covered = np.zeros(len(own.items)), np.zeros(len(own.items))
            for item, spend in mine.items():
                if item in place:
                    amount = spend.measured(measure)
                    charged[place[item]], covered[place[item]] = amount.total, amount.known
            values |= {f"{measure}_charged": charged, f"{measure}_covered": covered}
        return replace(own, values=values, shared_charge=self.of(own.name, None))


def statements(match: str) -> Iterator[Statement]:
    """What stores the charges of a match that has ended."""
    yield "DELETE FROM charges WHERE match = ?", (match,)
    for measure in MEASURES:
        yield f"INSERT INTO charges {query_of(measure, CHARGED)}", (match,) * 4


def read(connection: sqlite3.Connection, match: str) -> Charges:
    """The charges of a match: those stored when it ended, else worked out now."""
    there = columns_of(connection, "charges")
    ended = connection.execute("SELECT 1 FROM seats WHERE match = ?", (match,)).fetchone() if there else None
    return _charges(connection.execute(STORED, (match,))) if ended else worked_out(connection, match)


def worked_out(connection: sqlite3.Connection, match: str) -> Charges:
    """The charges of a match, from its attempts."""
    known = columns_of(connection, "attempts")
    rows: list[tuple[Any, ...]] = []
    for measure in MEASURES:
        if measure in known:  # a file of an earlier version may have fewer
            rows += connection.execute(query_of(measure, CHARGED), (match,) * 4).fetchall()
    return _charges(rows)


def query_of(measure: str, template: str) -> str:
    """The query of what is charged in a measure, from CHARGED or a variant of it."""
    worst = WORST.get(measure, f"worst_{measure}")
    return template.format(measure=measure, worst=worst, left=LEFT, referee=REFEREE, elsewhere=ELSEWHERE)


def _charges(rows: Iterable[tuple[Any, ...]]) -> Charges:
    found: dict[Key, Spend] = {}
    for _, player, item, measure, charged, attempts in rows:
        found[player, item] = found.get((player, item), FREE).put(measure, Amount(charged, attempts))
    return Charges(found)
