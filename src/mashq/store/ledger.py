"""The ledger of a run: the gateway's attempts, in the run's SQLite file."""

import hashlib
import json
import sqlite3
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from mashq.gateway.types import Call, Clock, Completion, Entry, Outcome, Request, Usage, Worst
from mashq.gateway.untrusted import whole
from mashq.protocol.resources import UNKNOWN, Unknown
from mashq.store.db import Writer

OPEN = (
    "INSERT INTO attempts (id, match, round, player, item, purpose, n, ask, model, prompt, opened, worst_in,"
    " worst_out, worst_seconds, worst_dollars) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
)
CLOSE = (
    "UPDATE attempts SET closed=?, outcome=?, status=?, tokens_in=?, tokens_out=?, cached=?, reasoning=?, usage=?,"
    " seconds=?, waited=?, dollars=?, reply=?, stop=?, h=?, retry_after=?, error=? WHERE id=?"
)


class RunLedger:
    """Writes attempts; remembers those a crashed process left for the round at hand."""

    def __init__(self, writer: Writer, clock: Clock, next_id: int, left: Sequence[tuple[Call, Entry]] = ()) -> None:
        self._writer, self._clock, self._next = writer, clock, next_id
        self._left: dict[Call, list[Entry]] = defaultdict(list)
        for call, entry in left:
            self._left[call].append(entry)
        self.opened = next_id - 1

    def history(self, call: Call) -> Sequence[Entry]:
        """The attempts a crashed process made for this call; told once."""
        return self._left.pop(call, ())

    async def open(self, call: Call, request: Request, model: str, worst: Worst, *, durable: bool) -> int:
        """Write the attempt down before it leaves."""
        attempt, self._next = self._next, self._next + 1
        self.opened = attempt
        messages = json.dumps([[m.role, m.content] for m in request.messages], ensure_ascii=False)
        digest = hashlib.sha256(messages.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        self._writer.put("INSERT OR IGNORE INTO prompts VALUES (?,?)", (digest, whole(messages)))
        values = (
            attempt,
            call.match,
            call.round,
            call.player,
            call.item,
            call.purpose,
            call.n,
            call.ask,
            model,
            digest,
        )
        reserved = (worst.tokens_in, worst.tokens_out, worst.seconds, _null(worst.dollars))
        self._writer.put(OPEN, (*values, self._clock.now(), *reserved))
        if durable:
            await self._writer.durable()
        return attempt

    def close(self, attempt: int, outcome: Outcome, waited: float) -> None:
        """Write down what came of it."""
        usage, reply = outcome.usage, outcome.completion
        tokens = (_null(usage.tokens_in), _null(usage.tokens_out), _null(usage.cached), _null(usage.reasoning))
        said = (None, None, None) if reply is None else (whole(reply.text), reply.stop, reply.h)
        self._writer.put(
            CLOSE,
            (
                self._clock.now(),
                outcome.kind,
                outcome.status,
                *tokens,
                usage.raw,
                _null(outcome.seconds),
                waited,
                _null(outcome.dollars),
                *said,
                outcome.retry_after,
                whole(outcome.error),
                attempt,
            ),
        )


def entries(
    connection: sqlite3.Connection, where: str = "1", values: Sequence[object] = ()
) -> list[tuple[Call, Entry]]:
    """The attempts in a run's file, oldest first."""
    cursor = connection.execute(f"SELECT * FROM attempts WHERE {where} ORDER BY id", values)
    names = [column[0] for column in cursor.description]
    return [_entry(dict(zip(names, row, strict=True))) for row in cursor]


def _entry(row: dict[str, Any]) -> tuple[Call, Entry]:
    call = Call(row["match"], row["round"], row["player"], row["item"], row["purpose"], row["n"], row["ask"])
    worst = Worst(row["worst_in"], row["worst_out"], row["worst_seconds"], _unknown(row["worst_dollars"]))
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
        _unknown(row["dollars"]),
        row["status"],
        row["retry_after"],
        row["error"] or "",
    )
    return call, Entry(row["id"], row["model"], worst, outcome, row["waited"] or 0.0)


def _null(value: float | Unknown) -> float | None:
    return None if isinstance(value, Unknown) else value


def _unknown(value: Any) -> Any:
    return UNKNOWN if value is None else value
