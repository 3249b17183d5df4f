"""The ledger of a match: the gateway's attempts, in the run's SQLite file.

An attempt is in the file before its request is sent, so it survives this process. Against a crash
of the machine there is the mark: a number, synced to the disk well ahead, that no attempt's id may exceed. After a
power cut the ids between the last attempt and the mark are those that may have been sent without leaving a trace, and
the run reports how many; nobody has to wait for a disk before each request. A match that reaches its mark quickly
gets a longer lead, so that the disk is not kept busy with marks alone.
"""

import asyncio
import hashlib
import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from mashq.gateway.types import Call, Clock, Completion, Costs, Entry, Outcome, Request, Usage, Worst
from mashq.gateway.untrusted import whole
from mashq.protocol.resources import RATED, UNKNOWN, Unknown
from mashq.runs.chain import CLOSE, LEARN, OPEN, PROMPT
from mashq.runs.file import RATED_COLUMNS

MARK = "INSERT OR REPLACE INTO marks VALUES (?,?,?,?)"
PLAIN = json.JSONEncoder(ensure_ascii=False).encode
AHEAD, MAX_AHEAD, OFTEN = 128, 4096, 2.0  # attempts; seconds between marks
LATELY = 256  # prompts that are remembered as written


class Sink(Protocol):
    """Where statements go: the run's Writer, or the way to it from another process."""

    def put(self, statement: str, values: Sequence[object]) -> None:
        """Queue a statement."""
        ...

    async def durable(self) -> None:
        """Wait until what was queued survives this process."""
        ...

    async def synced(self) -> None:
        """Wait until what was queued survives a crash of the machine."""
        ...


class RunLedger:
    """Writes the attempts of a match; remembers those that a crashed process left, from the current round on.

    `base` is where the ids of the match begin, `last` is the last id that was used.
    """

    def __init__(
        self,
        sink: Sink,
        clock: Clock,
        match: str,
        base: int = 0,
        last: int | None = None,
        left: Sequence[tuple[Call, Entry]] = (),
    ) -> None:
        self._sink, self._clock, self._match, self._base = sink, clock, match, base
        self._last = self._marked = base if last is None else last
        self._left: dict[Call, list[Entry]] = defaultdict(list)
        for call, entry in left:
            self._left[call].append(entry)
        self._marking: asyncio.Task[None] | None = None
        self._prompts: dict[str, None] = {}  # written recently: retries and repeats need not write them again
        self._lead, self._advanced = AHEAD, -OFTEN

    def history(self, call: Call) -> Sequence[Entry]:
        """The attempts a crashed process made for this call; returned only once."""
        return self._left.pop(call, ())

    async def open(self, call: Call, request: Request, model: str, worst: Worst, *, durable: bool) -> int:
        """Record an attempt before it is sent, and return its id."""
        self._last = attempt = self._last + 1
        messages = whole(PLAIN([[m.role, m.content] for m in request.messages]))
        digest = hashlib.blake2b(messages.encode(), digest_size=16).hexdigest()
        if digest not in self._prompts:
            self._sink.put(PROMPT, (digest, messages))
            self._prompts[digest] = None
            if len(self._prompts) > LATELY:
                del self._prompts[next(iter(self._prompts))]
        call_values = (call.match, call.round, call.player, call.item, call.purpose, call.n, call.ask)
        reserved = (worst.tokens_in, worst.tokens_out, _real(worst.seconds), *_rated(worst.rated))
        self._sink.put(OPEN, (attempt, *call_values, model, digest, self._clock.now(), *reserved))
        if durable:
            await self._sink.durable()
            if attempt > self._marked - self._lead // 2:
                await self._mark(attempt)
        return attempt

    async def _mark(self, attempt: int) -> None:
        """Keep the mark well ahead of the attempts; wait only if this attempt is beyond it."""
        while attempt > self._marked - self._lead // 2:
            if self._marking is None:
                now = self._clock.tick()
                self._lead = min(2 * self._lead, MAX_AHEAD) if now - self._advanced < OFTEN else AHEAD
                self._advanced = now
                self._marking = asyncio.create_task(self._advance(attempt + self._lead))
                self._marking.add_done_callback(lambda task: task.cancelled() or task.exception())
            if attempt <= self._marked:
                return
            await asyncio.shield(self._marking)

    async def _advance(self, upto: int) -> None:
        try:
            self._sink.put(MARK, (self._match, self._base, upto, boot_id()))
            await self._sink.synced()
            self._marked = upto
        finally:
            self._marking = None

    def close(self, attempt: int, outcome: Outcome, waited: float) -> None:
        """Record the outcome of an attempt."""
        usage, reply = outcome.usage, outcome.completion
        tokens = (_null(usage.tokens_in), _null(usage.tokens_out), _null(usage.cached), _null(usage.reasoning))
        reply_values = (None, None, None) if reply is None else (whole(reply.text), whole(reply.stop), _real(reply.h))
        self._sink.put(
            CLOSE,
            (
                self._clock.now(),
                outcome.kind,
                outcome.status,
                *tokens,
                whole(usage.raw),
                _real(outcome.seconds),
                _real(waited),
                *_rated(outcome.rated),
                *reply_values,
                _real(outcome.retry_after),
                whole(outcome.error),
                outcome.body and whole(outcome.body),
                outcome.wire,
                _real(outcome.first_byte),
                attempt,
            ),
        )

    def learn(self, model: str, field: str, limit: int | None, why: str) -> None:
        """Record that a model does not accept a field, or only up to a limit."""
        self._sink.put(LEARN, (model, field, limit, whole(why), self._clock.now()))


def boot_id() -> str:
    """An id of the machine's current boot; an empty string if the system does not provide one."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return ""


def entries(
    connection: sqlite3.Connection, where: str = "1", values: Sequence[object] = ()
) -> list[tuple[Call, Entry]]:
    """The attempts in a run's file, oldest first."""
    return list(each_entry(connection, where, values))


def each_entry(
    connection: sqlite3.Connection, where: str = "1", values: Sequence[object] = ()
) -> Iterator[tuple[Call, Entry]]:
    """The same, one by one."""
    cursor = connection.execute(f"SELECT * FROM attempts WHERE {where} ORDER BY id", values)
    names = [column[0] for column in cursor.description]
    # A file of an earlier version may have fewer columns: what it lacks is unknown.
    defaults = dict.fromkeys((*RATED_COLUMNS, "first_byte"))
    for row in cursor:
        yield _entry(defaults | dict(zip(names, row, strict=True)))


def _entry(row: dict[str, Any]) -> tuple[Call, Entry]:
    """A row as an attempt: its call and its entry."""
    call = Call(row["match"], row["round"], row["player"], row["item"], row["purpose"], row["n"], row["ask"])
    reserved = {name: cost for name in RATED if (cost := row[f"worst_{name}"]) is not None}
    worst = Worst(row["worst_in"], row["worst_out"], row["worst_seconds"], reserved)
    if row["outcome"] is None:
        return call, Entry(row["id"], row["model"], worst)
    completion = None
    if row["outcome"] in ("ok", "refused"):
        completion = Completion(row["reply"] or "", row["stop"] or "", row["outcome"] == "refused", row["h"])
    tokens = [_unknown(row[name]) for name in ("tokens_in", "tokens_out", "cached", "reasoning")]
    outcome = Outcome(
        row["outcome"],
        completion,
        Usage(*tokens, raw=row["usage"] or ""),
        _unknown(row["seconds"]),
        {name: cost for name in RATED if (cost := row[name]) is not None},
        row["status"],
        row["retry_after"],
        row["error"] or "",
        first_byte=row["first_byte"],
    )
    return call, Entry(row["id"], row["model"], worst, outcome, row["waited"] or 0.0)


def _rated(costs: Costs) -> tuple[float | None, ...]:
    return tuple(_real(costs.get(name, UNKNOWN)) for name in RATED)


def _real(value: float | Unknown | None) -> float | None:
    """A number as it is read back from the file: a float, and no negative zero."""
    return None if value is None or isinstance(value, Unknown) else float(value) + 0.0


def _null(value: float | Unknown) -> float | None:
    return None if isinstance(value, Unknown) else value


def _unknown(value: Any) -> Any:
    return UNKNOWN if value is None else value
