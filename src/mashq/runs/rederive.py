"""What `mashq verify` derives again: replies from their bodies, dollars from tokens, answers from replies, H from
answers.

Each function returns what is wrong, or an empty string. What cannot be derived again is left alone: a reply without a
body (simulated, recorded and local models, and runs of earlier versions), a price with tiers, and the answer of an
external program. If the judge is a model, every score needs a verdict in the ledger.
"""

import json
import math
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mashq.config import Config
from mashq.detectors import base as detectors
from mashq.detectors import verdicts
from mashq.detectors.base import Pair
from mashq.detectors.llm_judge import model_of
from mashq.detectors.pairs import scoring_of, stated
from mashq.errors import DetectorError, MashqError
from mashq.extensions import PLAYERS, WIRES
from mashq.gateway.replies import cut_string, json_object
from mashq.gateway.types import REFEREE, Completion, Usage
from mashq.gateway.untrusted import whole
from mashq.gateway.wire.base import DIGESTED, PASSED, STREAMED, Asked, Wire
from mashq.gateway.wire.sse import Cutter
from mashq.protocol.items import Item
from mashq.protocol.moves import Abstained, Answer, Rewrite, abstains, from_json
from mashq.protocol.resources import Unknown
from mashq.runs.file import columns_of
from mashq.runs.reading import read_items, reading

EXACT, NEURAL = 1e-6, 0.01
AT_ONCE = 256
APART = ("cost", "cache_creation", "cache_write", "audio", "search", "server_tool", "advisor", "iterations")
KEYS = ("summary", "answer")
BODIES = """SELECT id, outcome, reply, stop, tokens_in, tokens_out, cached, reasoning, usage, body, wire FROM attempts
  WHERE body IS NOT NULL AND outcome IN ('ok', 'refused') ORDER BY id"""
PRICED = """SELECT id, model, tokens_in, tokens_out, cached, usage, dollars FROM attempts
  WHERE dollars IS NOT NULL AND tokens_in IS NOT NULL AND tokens_out IS NOT NULL ORDER BY id"""
TEXTS = """SELECT e.seq, e.match, e.round, e.player, e.item, e.kind, e.move FROM events e
  WHERE e.kind IN ('answer', 'rewrite') AND e.match = ? ORDER BY e.seq"""
WRITTEN = """SELECT seq, match, round, player, item, kind, coalesce(json_extract(move, '$.text'), '') FROM events
  WHERE kind IN ('answer', 'rewrite') AND match = ? AND json_extract(move, '$.status') = 'ok' ORDER BY seq"""
REPLIES = """SELECT reply FROM attempts WHERE match = ? AND round = ? AND player = ? AND item IS ?
  AND outcome = 'ok'"""


def replies(path: Path) -> str:
    """Check that every reply is what its body says, with the usage that its body states."""
    wires = _wires()
    with reading(path) as connection:
        if "body" not in columns_of(connection, "attempts"):
            return ""
        for id_, outcome, *stored, body, wire in connection.execute(BODIES):
            decoded = _decode(wires, wire or "", body)
            if decoded is None:
                continue
            completion, usage = decoded
            derived_values = (
                whole(completion.text), whole(completion.stop),
                *map(_null, (usage.tokens_in, usage.tokens_out, usage.cached)),
                _null(usage.reasoning), whole(usage.raw),
            )  # fmt: skip
            names = ("reply", "stop", "tokens in", "tokens out", "cached", "reasoning", "usage")
            for name, value, derived in zip(names, stored, derived_values, strict=True):
                if value != derived:
                    return f"attempt {id_}: the {name} is {value!r:.60}, and its body says {derived!r:.60}"
            if completion.refused != (outcome == "refused"):
                return f"attempt {id_} is {outcome}, and its body does not say so"
    return ""


def _wires() -> Mapping[str, Wire]:
    wires: dict[str, Wire] = {}
    for name in WIRES.names():
        try:
            wire = WIRES.create(name)
        except MashqError:  # an installed wire format that cannot be loaded: its replies cannot be read here
            continue
        if wire.served is not None:
            wires[wire.served.format] = wire
    return wires


def _decode(wires: Mapping[str, Wire], wire_name: str, body: str) -> tuple[Completion, Usage] | None:
    """Decode a body again as it was decoded first; None if that is not possible here."""
    if wire_name.endswith(DIGESTED):
        return None
    format_name = wire_name.removesuffix(PASSED).removesuffix(STREAMED)
    wire = wires.get(format_name)
    if wire is None or wire.served is None:
        return None
    request = Asked("chat", {}, None)
    if wire_name.endswith(STREAMED):
        reader, cutter = wire.served.reader(replace(request, stream=True)), Cutter()
        for event in (*cutter.feed(body.encode()), cutter.rest):
            if event.strip():
                reader.take(event)
        _, completion, _ = reader.ending()
        return None if completion is None else (completion, reader.usage)
    try:
        document: object = json.loads(body)
    except (ValueError, RecursionError):
        return Completion(""), Usage()
    decoded = wire.served.decode(request, document) if wire_name.endswith(PASSED) else wire.decode(document)
    return (Completion(""), Usage()) if isinstance(decoded, str) else decoded


def dollars(path: Path, manifest: Mapping[str, Any]) -> str:
    """Check that every cost in dollars follows from its tokens and the prices in the manifest."""
    rows = {name: entry["price_row"] for name, entry in manifest.get("models", {}).items() if entry.get("price_row")}
    if not rows:
        return ""
    with reading(path) as connection:
        for id_, model, tokens_in, tokens_out, cached, usage, cost in connection.execute(PRICED):
            row = rows.get(model)
            if row is None or any(word in (usage or "") for word in APART):
                continue  # as billed by the provider, or with parts that are priced separately
            cached_in = min(cached or 0, tokens_in)
            due = (
                (tokens_in - cached_in) * row["input"] + cached_in * row["cached"] + tokens_out * row["output"]
            ) / 1e6
            if not math.isclose(due, cost, rel_tol=1e-9, abs_tol=1e-12):
                return (
                    f"attempt {id_}: {tokens_in} tokens in and {tokens_out} out come to ${due:.6g}, not ${cost:.6g}"
                )
    return ""


def answers(path: Path, match: str, config: Config) -> str:
    """Check that every answer of a built-in player is in a reply that it got for that item in that round."""
    ours = {player.name for player in config.players if player.agent in PLAYERS.built_in}
    with reading(path) as connection:
        for seq, *place, kind, answer in connection.execute(WRITTEN, (match,)):
            if place[2] not in ours:
                continue
            received = [reply for (reply,) in connection.execute(REPLIES, place)]
            if received and not any(answer == text for reply in received for text in _possible_answers(reply or "")):
                return f"move {seq}: the {kind} of {place[2]} is in none of the replies that it got for it"
    return ""


def _possible_answers(reply: str) -> Iterator[str]:
    """The answers that an agent may have taken from a reply."""
    yield reply.strip()
    for key in KEYS:
        document = json_object(reply, key)
        if document is not None:
            yield from (value.strip() for value in document.values() if isinstance(value, str))
        yield (cut_string(reply, key) or "").strip()


@dataclass(frozen=True, slots=True)
class _Claim:
    """A recorded score to check, with its detector and its pair."""

    seq: int
    kind: str
    detector: str
    pair: Pair
    h: float


def scores(path: Path, match: str, config: Config) -> str:
    """Check that every H is what its detector gives for the answer, what the verdicts of a judge model say, or what
    the rules say where no detector is asked."""
    items = {item.id: item for item in read_items(path)}
    by_reference = model_of(config.judge) is None and bool(
        getattr(detectors.load(config.judge), "needs_reference", False)
    )
    claims: list[_Claim] = []
    with reading(path) as connection:
        for seq, _, _, _, item, kind, body in connection.execute(TEXTS, (match,)):
            move = from_json(kind, json.loads(body))
            if not isinstance(move, Answer | Rewrite) or move.status != "ok" or move.simulated or item not in items:
                continue
            for draft in _drafts(move):
                for detector, expected, h in draft.claims(items[item], config, by_reference=by_reference):
                    if isinstance(expected, Pair):
                        claims.append(_Claim(seq, kind, detector, expected, h))
                    elif abs(expected - h) > EXACT:
                        return (
                            f"move {seq}: the {kind} has H {h:.6f}, and by the rules of the task it is {expected:.6f}"
                        )
            if len(claims) >= AT_ONCE:
                problem = _check_claims(connection, match, claims)
                if problem:
                    return problem
                claims = []
        return _check_claims(connection, match, claims)


@dataclass(frozen=True, slots=True)
class _Draft:
    """An answer with its recorded scores; `judged` is None where the guide's score counts for both."""

    text: str
    h: float | None
    judged: float | None
    abstained: Abstained
    confidence: float | None

    def claims(self, item: Item, config: Config, *, by_reference: bool) -> Iterator[tuple[str, Pair | float, float]]:
        """Each recorded score, with its detector and either the pair it was given for or the value it must have."""
        scoring = scoring_of(
            item,
            self.text,
            config.guided_by,
            abstained=abstains(self.abstained),
            abstention=config.task.abstention,
            by_reference=by_reference,
        )
        judged = self.h if self.judged is None else self.judged
        if judged is not None:
            yield config.judge, scoring.judge, judged
        if self.h is None or self.judged is None:
            return
        if scoring.guide == "judge":
            yield config.judge, self.judged, self.h
        elif scoring.guide == "confidence":
            yield config.judge, stated(self.confidence), self.h
        else:
            yield config.judge if config.guided_by == "judge" else config.guided_by, scoring.guide, self.h


def _drafts(move: Answer | Rewrite) -> Iterator[_Draft]:
    yield _Draft(move.text, move.h, move.judged, move.abstained, move.confidence)
    if isinstance(move, Answer) and move.text_first is not None:
        yield _Draft(move.text_first, move.h_first, move.judged_first, move.abstained_first, move.confidence)


def _check_claims(connection: sqlite3.Connection, match: str, claims: Sequence[_Claim]) -> str:
    for name in dict.fromkeys(claim.detector for claim in claims):
        group = [claim for claim in claims if claim.detector == name]
        if model_of(name) is not None:
            scores = [_verdict(connection, match, claim.pair, claim.h) for claim in group]
            tolerance = EXACT
        else:
            detector = detectors.load(name)
            try:
                scores: list[float] = detector.score([claim.pair for claim in group])
            except DetectorError as error:
                return f"{name} cannot score the answers: {error}"
            tolerance = NEURAL if ".neural." in type(detector).__module__ else EXACT
        for claim, h in zip(group, scores, strict=True):
            if abs(h - claim.h) > tolerance:
                says = f"{name} says {h:.6f}" if math.isfinite(h) else f"no verdict of {name} on it is in the ledger"
                return f"move {claim.seq}: the {claim.kind} has H {claim.h:.6f}, and {says}"
    return ""


def _verdict(connection: sqlite3.Connection, match: str, pair: Pair, h: float) -> float:
    """The verdict on a pair in the ledger, infinity if there is none; of several, the one closest to `h`, which was
    used."""
    if not pair.answer.strip():
        return 0.0
    query = "SELECT reply FROM attempts WHERE match = ? AND player = ? AND purpose = ? AND outcome = 'ok'"
    prompt, _ = verdicts.question(pair)
    rows = connection.execute(query, (match, REFEREE, verdicts.purpose(prompt))).fetchall()
    verdicts_given = [score for (reply,) in rows if (score := verdicts.verdict(pair, reply or "")) is not None]
    return min(verdicts_given, key=lambda score: abs(score - h), default=math.inf)


def _null(value: float | Unknown) -> float | None:
    return None if isinstance(value, Unknown) else value
