"""Attempts as OpenTelemetry spans, by the semantic conventions for generative AI, as OTLP JSON lines.

A match is a trace. Its root span is the match (`invoke_workflow`), below it is one span per turn of a player in a
round (`invoke_agent`), below that one per attempt (`chat`): attempts are what is paid for, so a retry has its own
span. A failed attempt has the status error and an `error.type`: the HTTP status, or timeout, dropped, unreachable,
unparsable, missing, unresolved. Unknown values are left out. Ids are digests of the run's manifest and the position
in the match: exporting twice gives the same bytes. Messages are included only on demand, as the conventions
recommend.
"""

import hashlib
import json
import math
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import IO, Any, cast

from mashq.export.base import Options, What, check_matches
from mashq.export.files import text_to
from mashq.export.tables import reading
from mashq.gateway.providers import IN_PROCESS
from mashq.protocol.resources import RATED
from mashq.runs.file import columns_of
from mashq.runs.manifest import read_manifest
from mashq.version import __version__

LINE = 256
INTERNAL, CLIENT = 1, 3
FAILED = 2
PROVIDERS = {"gemini": "gcp.gemini", "xai": "x_ai", "mistral": "mistral_ai", "local": "llama.cpp"}
COLUMNS = (
    *("round", "player", "id", "item", "purpose", "n", "ask", "model", "opened", "closed", "outcome", "status"),
    *("tokens_in", "tokens_out", "cached", "reasoning", "seconds", "waited", "stop", "h", "error"),
    "worst_out",
)
Row = Mapping[str, Any]
Span = dict[str, Any]


class Otel:
    """Spans as OTLP JSON lines."""

    suffixes: tuple[str, ...] = (".otlp.jsonl",)
    holds: tuple[What, ...] = ("attempts",)

    def write(self, run: Path, out: Path | None, options: Options) -> list[str]:
        """Write the spans; returns how many."""
        check_matches(run, options.matches)
        with text_to(out) as file:
            count = write(run, file, options.matches, content=options.content)
        return [] if out is None else [f"{count:,} spans in {out}."]


@dataclass(frozen=True, slots=True)
class Match:
    """A match in the run's file: the run's manifest, its start and end, and the id of its trace."""

    manifest: Row
    id: str
    started: float | None
    ended: float | None
    trace: str

    def span(self, *position: object) -> str:
        """The id of the span at a position in the match."""
        return _digest("\x1f".join(map(str, (self.trace, *position))), 8)


def write(run: Path, file: IO[str], matches: Collection[str] = (), *, content: bool = False) -> int:
    """Write the spans, several per line; returns how many."""
    manifest = read_manifest(run)
    count, batch = 0, list[Span]()
    with reading(run) as connection:
        connection.row_factory = sqlite3.Row
        for match in _matches(connection, manifest):
            if matches and match.id not in matches:
                continue
            for span in _spans(connection, match, content=content):
                count += 1
                batch.append(span)
                if len(batch) >= LINE:
                    file.write(_line(manifest, batch))
                    batch = []
    if batch:
        file.write(_line(manifest, batch))
    return count


def _matches(connection: sqlite3.Connection, manifest: Row) -> list[Match]:
    """The matches that have started; a gateway's ledger is one match without a row of its own."""
    rows: list[tuple[str, float | None, float | None]] = []
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'matches'").fetchone():
        rows = [tuple(row) for row in connection.execute("SELECT id, started, ended FROM matches ORDER BY position")]
    known = {match for match, _, _ in rows}
    unlisted = connection.execute(
        "SELECT match, min(opened), max(closed) FROM attempts GROUP BY match ORDER BY min(id)"
    )
    rows += [tuple(row) for row in unlisted if row[0] not in known]
    run_key = [manifest["started"], manifest.get("digests"), manifest.get("seed"), manifest.get("models")]
    return [Match(manifest, *row, trace=_digest(json.dumps([run_key, row[0], row[1]]), 16)) for row in rows]


def _spans(connection: sqlite3.Connection, match: Match, *, content: bool) -> Iterator[Span]:
    """The spans of a match, children first, because the end of the root is known last."""
    text_columns = ", p.messages, a.reply" if content else ""
    join = " LEFT JOIN prompts p ON p.digest = a.prompt" if content else ""
    existing = columns_of(connection, "attempts")  # files of earlier versions lack some columns
    optional = [f"a.{name}" if name in existing else f"NULL AS {name}" for name in (*RATED, "first_byte")]
    names = ", ".join([*(f"a.{name}" for name in COLUMNS), *optional])
    query = f"SELECT {names}{text_columns} FROM attempts a{join} WHERE a.match = ? ORDER BY a.round, a.player, a.id"
    start, end = match.started, match.ended
    moves = _Moves(connection, match.id)
    for (round_, player), attempts in groupby(connection.execute(query, (match.id,)), lambda row: (row[0], row[1])):
        turn = _Turn(match, round_, player)
        for row in attempts:
            yield turn.attempt(row, content=content)
        yield turn.done(moves.of(round_, player))
        start = turn.begun if start is None else min(start, turn.begun)
        end = turn.ended if end is None else max(end, turn.ended)
    finished = match.ended is not None or match.manifest["ended"] is not None
    yield {
        "traceId": match.trace,
        "spanId": match.span("match"),
        "name": "invoke_workflow match",
        "kind": INTERNAL,
        "startTimeUnixNano": _nanoseconds(start or 0.0),
        "endTimeUnixNano": _nanoseconds(end or start or 0.0),
        "attributes": _attributes(
            {
                "gen_ai.operation.name": "invoke_workflow",
                "gen_ai.workflow.name": "match",
                "mashq.match": match.id,
                "mashq.finished": finished,
                "mashq.simulated": match.manifest["simulated"],
                **{f"mashq.detector.{key}": value for key, value in match.manifest.get("detector", {}).items()},
            }
        ),
    }


class _Moves:
    """The scored moves of a match, one turn at a time, in step with its attempts."""

    def __init__(self, connection: sqlite3.Connection, match: str) -> None:
        query = """SELECT round, player, time, kind, item,
          coalesce(json_extract(move, '$.judged'), json_extract(move, '$.h')) AS h,
          json_extract(move, '$.simulated') AS simulated FROM events
          WHERE match = ? AND kind IN ('answer', 'rewrite') ORDER BY round, player, seq"""
        self._rows = connection.execute(query, (match,))
        self._next: Row | None = self._rows.fetchone()

    def of(self, round_: int, player: str) -> Iterator[Row]:
        """The moves of one turn."""
        while self._next is not None and (self._next["round"], self._next["player"]) <= (round_, player):
            if (self._next["round"], self._next["player"]) == (round_, player):
                yield self._next
            self._next = self._rows.fetchone()


class _Turn:
    """The span of a player's turn in a round, built while its attempts are processed."""

    def __init__(self, match: Match, round_: int, player: str) -> None:
        self._match, self._round, self._player = match, round_, player
        self._id = match.span(round_, player)
        self._models: list[str] = []
        self.begun, self.ended = math.inf, 0.0

    def attempt(self, row: Row, *, content: bool) -> Span:
        """The span of one attempt; one that was never closed ends at its start, with the error type unresolved."""
        ended = max(row["opened"], row["closed"] or row["opened"])
        self.begun, self.ended = min(self.begun, row["opened"]), max(self.ended, ended)
        if row["model"] not in self._models:
            self._models.append(row["model"])
        _, model = provider_and_model(row["model"])
        span: Span = {
            "traceId": self._match.trace,
            "spanId": self._match.span("attempt", row["id"]),
            "parentSpanId": self._id,
            "name": f"chat {model}",
            "kind": INTERNAL if provider_of(row["model"]) in IN_PROCESS else CLIENT,
            "startTimeUnixNano": _nanoseconds(row["opened"]),
            "endTimeUnixNano": _nanoseconds(ended),
            "attributes": _attributes(_figures(row) | (_messages(row) if content else {})),
        }
        problem = _error_type(row)
        if problem is not None:
            span["status"] = {"code": FAILED, "message": row["error"] or problem}
        return span

    def done(self, moves: Iterator[Row]) -> Span:
        """The turn's own span, with the judge's scores of its answers as events."""
        provider, model = provider_and_model(self._models[0])
        judge = self._match.manifest.get("detector", {}).get("name", "judge")
        return {
            "traceId": self._match.trace,
            "spanId": self._id,
            "parentSpanId": self._match.span("match"),
            "name": f"invoke_agent {self._player}",
            "kind": INTERNAL,
            "startTimeUnixNano": _nanoseconds(self.begun),
            "endTimeUnixNano": _nanoseconds(self.ended),
            "attributes": _attributes(
                {
                    "gen_ai.operation.name": "invoke_agent",
                    "gen_ai.provider.name": provider,
                    "gen_ai.request.model": model if len(self._models) == 1 else None,
                    "gen_ai.agent.name": self._player,
                    "mashq.round": self._round,
                }
            ),
            "events": [_evaluation(judge, move) for move in moves if move["h"] is not None],
        }


def _evaluation(judge: str, move: Row) -> dict[str, Any]:
    values = {
        "gen_ai.evaluation.name": "simulated" if move["simulated"] else judge,
        "gen_ai.evaluation.score.value": float(move["h"]),
        "mashq.item": move["item"],
        "mashq.move": move["kind"],
    }
    when = _nanoseconds(move["time"])
    return {"timeUnixNano": when, "name": "gen_ai.evaluation.result", "attributes": _attributes(values)}


def _error_type(row: Row) -> str | None:
    """The error type as a short word; None for a reply, including a refusal."""
    outcome = row["outcome"] or "unresolved"
    if outcome in ("ok", "refused"):
        return None
    return str(row["status"]) if outcome == "http" and row["status"] is not None else outcome


def _figures(row: Row) -> dict[str, Any]:
    """The request and cost attributes of an attempt; None values are left out later."""
    provider, model = provider_and_model(row["model"])
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": provider,
        "gen_ai.request.model": model,
        "gen_ai.request.max_tokens": row["worst_out"],
        "gen_ai.response.finish_reasons": [row["stop"]] if row["stop"] else None,
        "gen_ai.usage.input_tokens": row["tokens_in"],
        "gen_ai.usage.output_tokens": row["tokens_out"],
        "gen_ai.usage.cache_read.input_tokens": row["cached"],
        "gen_ai.usage.reasoning.output_tokens": row["reasoning"],
        "http.response.status_code": row["status"],
        "error.type": _error_type(row),
        "mashq.attempt": row["id"],
        "mashq.item": row["item"],
        "mashq.purpose": row["purpose"],
        "mashq.review": row["n"],
        "mashq.ask": row["ask"],
        "mashq.outcome": row["outcome"] or "unresolved",
        "mashq.seconds": _real(row["seconds"]),
        "mashq.first_byte": _real(row["first_byte"]),
        "mashq.waited": _real(row["waited"]),
        **{f"mashq.{name}": _real(row[name]) for name in RATED},
        "mashq.h": _real(row["h"]),
    }


def _messages(row: Row) -> dict[str, Any]:
    """The messages in the format of the conventions."""
    prompt: list[list[str]] = json.loads(row["messages"]) if row["messages"] else []
    attributes: dict[str, Any] = {
        "gen_ai.input.messages": [
            {"role": role, "parts": [{"type": "text", "content": text}]} for role, text in prompt
        ]
        or None
    }
    if row["reply"] is not None:
        parts = [{"type": "text", "content": row["reply"]}]
        reply = {"role": "assistant", "parts": parts, "finish_reason": row["stop"] or "stop"}
        attributes["gen_ai.output.messages"] = [reply]
    return attributes


def provider_of(model: str) -> str:
    """The provider in a model's name."""
    return model.partition("/")[0] if "/" in model else "unknown"


def provider_and_model(model: str) -> tuple[str, str]:
    """The provider as named by the conventions, and the model."""
    provider = provider_of(model)
    return PROVIDERS.get(provider, provider), model.partition("/")[2] or model


def _attributes(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _value(value)} for key, value in values.items() if value is not None]


def _value(value: Any) -> dict[str, Any]:
    """A value in OTLP's JSON: integers as strings, lists and mappings as structures."""
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [_value(element) for element in cast(list[Any], value)]}}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": _attributes(cast(dict[str, Any], value))}}
    return {"stringValue": str(value)}


def _line(manifest: Row, spans: Iterable[Span]) -> str:
    resource = {
        "service.name": "mashq",
        "service.version": manifest.get("versions", {}).get("mashq"),
        "mashq.run.started": manifest["started"],
        "mashq.run.config": manifest.get("digests", {}).get("config"),
    }
    document = {
        "resourceSpans": [
            {
                "resource": {"attributes": _attributes(resource)},
                "scopeSpans": [
                    {
                        "scope": {"name": "mashq.export", "version": __version__},
                        "spans": list(spans),
                    }
                ],
            }
        ]
    }
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False) + "\n"


def _digest(text: str, size: int) -> str:
    """A hexadecimal id derived from the text."""
    return hashlib.blake2b(text.encode(), digest_size=size).hexdigest()


def _nanoseconds(time: float) -> str:
    return str(round(time * 1e9))


def _real(value: float | None) -> float | None:
    return None if value is None else float(value)
