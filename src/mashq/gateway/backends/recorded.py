"""`recorded/FILE.jsonl`: answers and costs from a file, one JSON object a line.

    {"item": "a", "text": "…", "tokens_in": 512, "tokens_out": 80, "seconds": 1.2}
    {"item": "a", "purpose": "review", "n": 0, "text": "…", "status": "ok", "dollars": 0.0004, "player": "A"}

`purpose` is answer (the default), review or decision; `n` counts earlier reviews of the item (decisions: the
round); `text` may be the plain answer or the JSON a prompt asks for; `player` limits a row to one player; `status`
is ok, refused, failed or cut; a missing cost is unknown.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import IO, cast

from mashq.bounds import file_at, json_lines
from mashq.errors import DataError
from mashq.gateway.replies import json_object
from mashq.gateway.types import CUT, Call, Completion, Measure, Outcome, Request, Usage
from mashq.gateway.untrusted import as_object, count
from mashq.protocol.resources import RATED, UNKNOWN, Unknown

PURPOSES = ("answer", "review", "decision")
STATUSES = ("ok", "refused", "failed", "cut")
Row = Mapping[str, object]
Place = tuple[str | None, str | None, str, int]


class RecordedBackend:
    """Plays back a file."""

    durable = False
    simulated = False

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rows = load(path)

    async def attempt(self, request: Request, call: Call) -> Outcome:
        """The row for this call; a call the file does not have fails."""
        n = call.round if call.purpose == "decision" else call.n
        for player in (call.player, None):
            row = self._rows.get((player, call.item, call.purpose, n))
            if row is not None:
                return _outcome(row, request)
        error = f"{self._path.name} has no {call.purpose} {n} for item {call.item!r} of player {call.player!r}"
        return Outcome("missing", usage=Usage(0, 0, 0, 0), seconds=0.0, error=error)

    async def close(self) -> None:
        """Nothing to let go of."""


def load(path: Path) -> dict[Place, Row]:
    """The rows of a recording by (player, item, purpose, n)."""
    try:
        with file_at(path) as file:
            return _rows(path, file)
    except OSError as error:
        raise DataError(f"the recording {path} cannot be read ({error}): give the path of a JSONL file") from None


def _rows(path: Path, file: IO[bytes]) -> dict[Place, Row]:
    rows: dict[Place, Row] = {}
    for number, document in json_lines(file, str(path)):
        row = _row(path, number, document)
        place = (row.get("player"), row["item"], str(row.get("purpose", "answer")), row.get("n", 0))
        if place in rows:
            raise DataError(f"{path} line {number}: a second row for {place}; keep one")
        rows[cast(Place, place)] = row
    return rows


def _row(path: Path, number: int, document: object) -> Row:
    row = as_object(document)
    if row is None or not isinstance(row.get("item"), str):
        raise DataError(f'{path} line {number} needs an "item" that is a string')
    if row.get("purpose", "answer") not in PURPOSES:
        raise DataError(f"{path} line {number}: purpose is {row['purpose']!r}, must be one of {', '.join(PURPOSES)}")
    if row.get("status", "ok") not in STATUSES:
        raise DataError(f"{path} line {number}: status is {row['status']!r}, must be one of {', '.join(STATUSES)}")
    if isinstance(count(row.get("n", 0)), Unknown):
        raise DataError(f"{path} line {number}: n is {row['n']!r}, must be a whole number from 0 on")
    if not isinstance(row.get("player"), str | None):
        raise DataError(f"{path} line {number}: player is {row['player']!r}, must be a string")
    return row


def _outcome(row: Row, request: Request) -> Outcome:
    status = row.get("status", "ok")
    tokens = Usage(
        count(row.get("tokens_in")),
        count(row.get("tokens_out")),
        count(row.get("cached")),
        count(row.get("reasoning")),
    )
    seconds = _measure(row.get("seconds"))
    rated = {name: cost for name in RATED if (cost := _measure(row.get(name))) is not UNKNOWN}
    if status == "failed":
        return Outcome("missing", None, tokens, seconds, rated, error=str(row.get("error") or "recorded as failed"))
    text = str(row.get("text") or "")
    if status == "cut":
        return Outcome("ok", Completion(text, CUT), tokens, seconds, rated)
    refused = status == "refused" or not text.strip()
    reply = Completion(text if refused else _as_asked(text, request), "recorded", refused)
    return Outcome("refused" if refused else "ok", reply, tokens, seconds, rated)


def _as_asked(text: str, request: Request) -> str:
    """A recorded text in the JSON that was asked for, unless it was recorded that way."""
    keys = cast(list[str], request.schema["required"]) if request.schema is not None else []
    return text if not keys or json_object(text, keys[0]) is not None else json.dumps({keys[0]: text})


def _measure(value: object) -> Measure:
    real = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= sys.float_info.max
    return float(cast(float, value)) if real else UNKNOWN
