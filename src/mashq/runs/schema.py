"""What the cells of a run can hold: a `Cell` per column for each table, and a pydantic model for the manifest.

A file may be torn, edited or written by another program. `check_file` checks every cell once, in SQLite, with the
conditions that the cells give; `check_manifest` validates the manifest. What passes can be read without further
checks; the first problem is reported in one sentence.
"""

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mashq.errors import StoreError
from mashq.gateway.profiles import Field as OptionalField
from mashq.gateway.types import Kind
from mashq.protocol.content import LEADS
from mashq.protocol.moves import KINDS
from mashq.protocol.resources import COUNTS, MAX_COST, MEASURES, RATED
from mashq.protocol.results import ResultStatus
from mashq.runs.file import columns_of

TYPES = {"integer": "= 'integer'", "number": "IN ('integer', 'real')", "text": "= 'text'"}


@dataclass(frozen=True, slots=True)
class Cell:
    """What a column can hold: a type, the range of a number, the allowed words or the JSON of a text, and null."""

    type: Literal["integer", "number", "text"]
    low: float | None = None
    high: float | None = None
    words: tuple[str, ...] = ()
    json: bool = False
    null: bool = False

    @property
    def maybe(self) -> "Cell":
        """The same, or null."""
        return replace(self, null=True)

    def condition(self, name: str) -> str:
        """The condition that a column's values must meet, in SQL."""
        parts = [f"typeof({name}) {TYPES[self.type]}"]
        if self.low is not None:
            parts.append(f"{name} >= {self.low!r}")
        if self.high is not None:
            parts.append(f"{name} <= {self.high!r}")
        if self.words:
            parts.append(f"{name} IN ({', '.join(map(repr, self.words))})")
        if self.json:
            parts.append(f"json_valid({name})")
        return f"({' AND '.join(parts)})" + (f" OR ({name} IS NULL)" if self.null else "")


def one_of(*words: str) -> Cell:
    """A text that is one of the words."""
    return Cell("text", words=words)


Row = Mapping[str, Cell]
TEXT, JSON, INTEGER, NUMBER = Cell("text"), Cell("text", json=True), Cell("integer"), Cell("number")
PLACE, FLAG = Cell("integer", 0), Cell("integer", 0, 1)
COUNT, MEASURE = Cell("number", 0, MAX_COST), Cell("number", -MAX_COST, MAX_COST)
BOUND, SHARE = Cell("number", 0), Cell("number", 0, 1)  # a bound on a cost may be infinite
AMOUNT: Row = {"": COUNT, "_known": PLACE, "_unknown": PLACE, "_worst": BOUND}
ROWS: Mapping[str, Row] = {
    # An item, as it was when the run began.
    "items": {
        "position": PLACE,
        "id": TEXT,
        "text": TEXT,
        "reference": TEXT.maybe,
        "passages": JSON.maybe,
        "answerable": FLAG.maybe,
        "evidence": JSON.maybe,
    },
    # The messages of a request, under their digest.
    "prompts": {
        "digest": TEXT,
        "messages": JSON,
    },
    # An attempt: open while `outcome` is null.
    "attempts": {
        "id": PLACE,
        "match": TEXT,
        "round": PLACE,
        "player": TEXT,
        "item": TEXT.maybe,
        "purpose": TEXT,
        "n": PLACE,
        "ask": PLACE,
        "model": TEXT,
        "prompt": TEXT,
        "opened": MEASURE,
        "worst_in": PLACE,
        "worst_out": PLACE,
        "worst_seconds": BOUND,
        "closed": MEASURE.maybe,
        "outcome": one_of(*get_args(Kind)).maybe,
        "status": INTEGER.maybe,
        "tokens_in": PLACE.maybe,
        "tokens_out": PLACE.maybe,
        "cached": PLACE.maybe,
        "reasoning": PLACE.maybe,
        "usage": TEXT.maybe,
        "seconds": COUNT.maybe,
        "first_byte": COUNT.maybe,
        "waited": COUNT.maybe,
        "reply": TEXT.maybe,
        "stop": TEXT.maybe,
        "h": SHARE.maybe,
        "retry_after": NUMBER.maybe,
        "error": TEXT.maybe,
        "body": TEXT.maybe,
        "wire": TEXT.maybe,
        **dict.fromkeys(RATED, COUNT.maybe),
        **dict.fromkeys((f"worst_{name}" for name in RATED), BOUND.maybe),
    },
    # A move, with the ruling on what it means.
    "events": {
        "seq": PLACE,
        "match": TEXT,
        "round": PLACE,
        "player": TEXT,
        "kind": one_of(*KINDS),
        "item": TEXT.maybe,
        "move": JSON,
        "ruling": JSON.maybe,
        "time": MEASURE,
    },
    # A request that was turned away.
    "refusals": {
        "id": PLACE,
        "time": MEASURE,
        "player": TEXT.maybe,
        "method": TEXT,
        "path": TEXT,
        "status": PLACE,
        "reason": TEXT,
    },
    # A match that has begun.
    "matches": {
        "id": TEXT,
        "position": PLACE,
        "started": MEASURE.maybe,
        "ended": MEASURE.maybe,
    },
    # A player of a match that has ended.
    "seats": {
        "match": TEXT,
        "seat": PLACE,
        "player": TEXT,
        "threshold": SHARE,
        "max_reviews": PLACE,
        "stopped": TEXT.maybe,
        "shared": JSON,
    },
    # The result of a player on an item, in a match that has ended.
    "results": {
        "match": TEXT,
        "seat": PLACE,
        "position": PLACE,
        "status": one_of(*get_args(ResultStatus)),
        "h": SHARE.maybe,
        "h_first": MEASURE.maybe,
        "guide": SHARE.maybe,
        "guide_first": MEASURE.maybe,
        "length": PLACE,
        "waited": COUNT,
        "abstained": FLAG,
        **dict.fromkeys(COUNTS, PLACE),
        **{f"{name}{part}": cell for name in MEASURES for part, cell in AMOUNT.items()},
    },
    # What an answer contains, in a match that has ended; null where its text is not known.
    "contents": {
        "match": TEXT,
        "seat": PLACE,
        "position": PLACE,
        "words": PLACE.maybe,
        "words_first": PLACE.maybe,
        "coverage": SHARE.maybe,
        "coverage_first": SHARE.maybe,
        "copied": SHARE.maybe,
    },
    # The scores of a text made without a model on an item; `h` is null where no free detector judges.
    "floors": {
        "name": one_of(*LEADS),
        "position": PLACE,
        "h": SHARE.maybe,
        "coverage": SHARE,
        "words": PLACE,
    },
    # The attempts of a match that has ended, counted by player and purpose.
    "spent": {
        "match": TEXT,
        "player": TEXT,
        "purpose": TEXT,
        "opened": PLACE,
        "closed": PLACE,
        "unresolved": PLACE,
        "failed": PLACE,
        "tokens": COUNT,
        "seconds": COUNT,
        "waited": COUNT,
    },
    # What is charged for attempts of unknown cost, by player, item and measure, in a match that has ended.
    "charges": {
        "match": TEXT,
        "player": TEXT,
        "item": TEXT.maybe,
        "measure": one_of(*MEASURES),
        "charged": COUNT,
        "attempts": PLACE,
    },
    # The id that no attempt of a match may exceed.
    "marks": {
        "match": TEXT,
        "base": PLACE,
        "upto": PLACE,
        "boot": TEXT,
    },
    # A model does not accept an optional field; or, for an output limit, only values up to `most`.
    "learnt": {
        "model": TEXT,
        "field": one_of(*get_args(OptionalField)),
        "most": PLACE.maybe,
        "why": TEXT,
        "noticed": MEASURE,
    },
    # How many attempts of a match may have been sent without a trace.
    "lost": {
        "match": TEXT,
        "attempts": PLACE,
        "noticed": MEASURE,
    },
    # A link of the hash chain.
    "chain": {
        "n": PLACE,
        "covers": JSON,
        "head": TEXT,
    },
}


def check_file(connection: sqlite3.Connection, path: Path) -> None:
    """Raise StoreError, naming the first cell whose value its column cannot hold."""
    for table, row in ROWS.items():
        existing = columns_of(connection, table)
        columns = {name: cell.condition(name) for name, cell in row.items() if name in existing}
        names, valid = ", ".join(columns), " AND ".join(f"({condition})" for condition in columns.values())
        if not columns or not connection.execute(f"SELECT 1 FROM {table} WHERE NOT ({valid}) LIMIT 1").fetchone():
            continue
        conditions = ", ".join(columns.values())
        bad_row = connection.execute(
            f"SELECT {conditions}, {names} FROM {table} WHERE NOT ({valid}) LIMIT 1"
        ).fetchone()
        name, value = next((n, v) for n, holds, v in zip(columns, bad_row, bad_row[len(columns) :]) if not holds)
        raise StoreError(f"{path} is damaged ({name!r} of {table!r} is {value!r:.60}): restore it from a copy")


Place = Annotated[int, Field(ge=0)]


class Part(BaseModel):
    """A part of a manifest. Keys that this version does not know are ignored."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        extra="allow", strict=True, frozen=True, allow_inf_nan=False, defer_build=True
    )


class Detector(Part):
    """The judge."""

    name: str
    version: str


class Digests(Part):
    """Digests of what the run began with."""

    config: str
    items: str
    prompts: dict[str, str] = {}
    package: str = ""


class PriceRow(Part):
    """Prices in dollars per million tokens."""

    input: float
    output: float
    cached: float


class Model(Part):
    """How a model was reached."""

    backend: str
    base_url: str | None
    simulated: bool
    price: str | None = None
    price_row: PriceRow | None = None
    energy: str | None = None


class Accepted(Part):
    """A change of the manifest that was accepted openly: when, and of which parts."""

    time: float
    changed: list[str]


class Played(Part):
    """The keys that the manifest of any run has."""

    format: Literal[1] = 1
    rules_of_play: Place = 1
    started: str
    ended: str | None
    simulated: bool
    config: dict[str, Any]
    models: dict[str, Model] = {}
    digest: str = ""
    accepted: list[Accepted] = []


class MatchManifest(Played):
    """The manifest of a run of matches."""

    seed: Place
    items: Place
    detector: Detector
    guide: str = "judge"
    digests: Digests
    versions: dict[str, str]
    prompts: dict[str, dict[str, str]]
    season: dict[str, Any] = {}
    matches: Place = 0


class GatewayManifest(Played):
    """The manifest of a gateway's ledger."""

    kind: Literal["gateway"]
    player: str


def check_manifest(manifest: Mapping[str, Any], path: Path) -> None:
    """Raise StoreError, naming the first key that is missing or whose value is not allowed."""
    model = GatewayManifest if manifest.get("kind") == "gateway" else MatchManifest
    try:
        model.model_validate(manifest)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        wrong = "is missing" if first["type"] == "missing" else f"is {first['input']!r:.60}"
        raise StoreError(f"{path} is damaged ({where!r} {wrong}): restore it from a copy") from None
