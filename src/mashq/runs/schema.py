"""What the cells of a run can hold: a pydantic model for each table of the file, and one for the manifest.

A file may be torn, edited or of another program. `check_file` looks at every cell once, in SQLite, by conditions that
are derived from the models; `check_manifest` validates the manifest. What they let through can be read without
further checks; the first thing they find is told as one sentence.
"""

import math
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, create_model

from mashq.errors import StoreError
from mashq.gateway.profiles import Field as OptionalField
from mashq.gateway.types import Kind
from mashq.protocol.content import LEADS
from mashq.protocol.moves import KINDS
from mashq.protocol.resources import COUNTS, MAX_COST, MEASURES, RATED
from mashq.protocol.results import ResultStatus
from mashq.runs.database import columns_of

Place = Annotated[int, Field(ge=0)]
Flag = Annotated[int, Field(ge=0, le=1)]
Count = Annotated[float, Field(ge=0, le=MAX_COST)]
Measure = Annotated[float, Field(ge=-MAX_COST, le=MAX_COST)]
Bound = Annotated[float, Field(ge=0, le=math.inf)]
Share = Annotated[float, Field(ge=0, le=1)]
Json = Annotated[str, Field(json_schema_extra={"contentMediaType": "application/json"})]
STATUSES, OUTCOMES, FIELDS = get_args(ResultStatus), get_args(Kind), get_args(OptionalField)


class Row(BaseModel):
    """A row of a table."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", strict=True, frozen=True)


class ItemRow(Row):
    """An item, as it was when the run began."""

    position: Place
    id: str
    text: str
    reference: str | None
    passages: Json | None
    answerable: Flag | None
    evidence: Json | None


class PromptRow(Row):
    """The messages of a request, under their digest."""

    digest: str
    messages: Json


class AttemptBase(Row):
    """An attempt: open while `outcome` is null."""

    id: Place
    match: str
    round: Place
    player: str
    item: str | None
    purpose: str
    n: Place
    ask: Place
    model: str
    prompt: str
    opened: Measure
    worst_in: Place
    worst_out: Place
    worst_seconds: Bound
    closed: Measure | None
    outcome: Annotated[str, Field(json_schema_extra={"enum": list(OUTCOMES)})] | None
    status: int | None
    tokens_in: Place | None
    tokens_out: Place | None
    cached: Place | None
    reasoning: Place | None
    usage: str | None
    seconds: Count | None
    first_byte: Count | None
    waited: Count | None
    reply: str | None
    stop: str | None
    h: Share | None
    retry_after: float | None
    error: str | None
    body: str | None
    wire: str | None


class EventRow(Row):
    """A move, with what it was ruled to mean."""

    seq: Place
    match: str
    round: Place
    player: str
    kind: Annotated[str, Field(json_schema_extra={"enum": list(KINDS)})]
    item: str | None
    move: Json
    ruling: Json | None
    time: Measure


class RefusalRow(Row):
    """A request that was turned away."""

    id: Place
    time: Measure
    player: str | None
    method: str
    path: str
    status: Place
    reason: str


class MatchRow(Row):
    """A match that was begun."""

    id: str
    position: Place
    started: Measure | None
    ended: Measure | None


class SeatRow(Row):
    """A player of a match that has ended."""

    match: str
    seat: Place
    player: str
    threshold: Share
    max_reviews: Place
    stopped: str | None
    shared: Json


class ResultBase(Row):
    """What a player made of an item in a match that has ended."""

    match: str
    seat: Place
    position: Place
    status: Annotated[str, Field(json_schema_extra={"enum": list(STATUSES)})]
    h: Share | None
    h_first: Measure | None
    guide: Share | None
    guide_first: Measure | None
    length: Place
    waited: Count
    abstained: Flag


class ContentRow(Row):
    """What an answer carries, in a match that has ended; null where its text is not known."""

    match: str
    seat: Place
    position: Place
    words: Place | None
    words_first: Place | None
    coverage: Share | None
    coverage_first: Share | None
    copied: Share | None


class FloorRow(Row):
    """What a text that takes no model would have on an item; `h` is null where no free detector judges."""

    name: Annotated[str, Field(json_schema_extra={"enum": list(LEADS)})]
    position: Place
    h: Share | None
    coverage: Share
    words: Place


class SpentRow(Row):
    """The attempts of a match that has ended, counted by player and purpose."""

    match: str
    player: str
    purpose: str
    opened: Place
    closed: Place
    unresolved: Place
    failed: Place
    tokens: Count
    seconds: Count
    waited: Count


class ChargeRow(Row):
    """What the attempts of unknown cost are charged, by player, item and measure, in a match that has ended."""

    match: str
    player: str
    item: str | None
    measure: Annotated[str, Field(json_schema_extra={"enum": list(MEASURES)})]
    charged: Count
    attempts: Place


class MarkRow(Row):
    """The id that no attempt of a match may pass."""

    match: str
    base: Place
    upto: Place
    boot: str


class LearntRow(Row):
    """That a model does not take an optional field; or, of an output limit, only up to `most`."""

    model: str
    field: Annotated[str, Field(json_schema_extra={"enum": list(FIELDS)})]
    most: Place | None
    why: str
    noticed: Measure


class LostRow(Row):
    """How many attempts of a match may have been sent without a trace."""

    match: str
    attempts: Place
    noticed: Measure


class LinkRow(Row):
    """A link of the hash chain."""

    n: Place
    covers: Json
    head: str


_AMOUNTS = {
    f"{name}{part}": (kind, ...)
    for name in MEASURES
    for part, kind in (("", Count), ("_known", Place), ("_unknown", Place), ("_worst", Bound))
}
_RATED: dict[str, Any] = {
    **dict.fromkeys(RATED, (Count | None, ...)),
    **dict.fromkeys((f"worst_{name}" for name in RATED), (Bound | None, ...)),
}
AttemptRow: type[AttemptBase] = create_model("AttemptRow", __base__=AttemptBase, **_RATED)
_COSTS: Any = dict.fromkeys(COUNTS, (Place, ...)) | _AMOUNTS
ResultRow: type[ResultBase] = create_model("ResultRow", __base__=ResultBase, **_COSTS)
ROWS: Mapping[str, type[Row]] = {
    "items": ItemRow,
    "prompts": PromptRow,
    "attempts": AttemptRow,
    "events": EventRow,
    "refusals": RefusalRow,
    "matches": MatchRow,
    "seats": SeatRow,
    "results": ResultRow,
    "contents": ContentRow,
    "floors": FloorRow,
    "spent": SpentRow,
    "charges": ChargeRow,
    "marks": MarkRow,
    "learnt": LearntRow,
    "lost": LostRow,
    "chain": LinkRow,
}


def check_file(connection: sqlite3.Connection, path: Path) -> None:
    """A StoreError that names the first cell that holds what its column cannot."""
    for table in ROWS:
        columns = dict(conditions(table, columns_of(connection, table)))
        names, possible = ", ".join(columns), " AND ".join(f"({condition})" for condition in columns.values())
        if not columns or not connection.execute(f"SELECT 1 FROM {table} WHERE NOT ({possible}) LIMIT 1").fetchone():
            continue
        each = ", ".join(columns.values())
        row = connection.execute(f"SELECT {each}, {names} FROM {table} WHERE NOT ({possible}) LIMIT 1").fetchone()
        name, value = next((n, v) for n, holds, v in zip(columns, row, row[len(columns) :]) if not holds)
        raise StoreError(f"{path} is damaged ({name!r} of {table!r} is {value!r:.60}): restore it from a copy")


def conditions(table: str, there: set[str]) -> Iterator[tuple[str, str]]:
    """What must hold of each column of a table, in SQL."""
    schema = TypeAdapter(ROWS[table]).json_schema(ref_template="{model}")
    for name, field in schema["properties"].items():
        if name in there:
            kinds = field.get("anyOf", [field])
            yield name, " OR ".join(f"({_condition(name, kind)})" for kind in kinds)


def _condition(name: str, kind: Mapping[str, Any]) -> str:
    types = {
        "integer": "typeof({0}) = 'integer'",
        "number": "typeof({0}) IN ('integer', 'real')",
        "string": "typeof({0}) = 'text'",
        "null": "{0} IS NULL",
    }
    parts = [types[kind["type"]].format(name)]
    if "minimum" in kind:
        parts.append(f"{name} >= {kind['minimum']!r}")
    if "maximum" in kind and math.isfinite(kind["maximum"]):
        parts.append(f"{name} <= {kind['maximum']!r}")
    if "enum" in kind:
        parts.append(f"{name} IN ({', '.join(repr(word) for word in kind['enum'])})")
    if "contentMediaType" in kind:
        parts.append(f"json_valid({name})")
    return " AND ".join(parts)


class Part(BaseModel):
    """A part of a manifest. Keys that this version does not know are left alone."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="allow", strict=True, frozen=True, allow_inf_nan=False)


class Detector(Part):
    """The judge."""

    name: str
    version: str


class Digests(Part):
    """Fingerprints of what the run was begun with."""

    config: str
    items: str
    prompts: dict[str, str] = {}
    package: str = ""


class PriceRow(Part):
    """Dollars a million tokens."""

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
    """A change of the manifest that was gone on with openly: when, and of which parts."""

    time: float
    changed: list[str]


class Played(Part):
    """What the manifest of any run says."""

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
    """A StoreError that names the first key that holds what it cannot."""
    model = GatewayManifest if manifest.get("kind") == "gateway" else MatchManifest
    try:
        model.model_validate(manifest)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        wrong = "is missing" if first["type"] == "missing" else f"is {first['input']!r:.60}"
        raise StoreError(f"{path} is damaged ({where!r} {wrong}): restore it from a copy") from None
