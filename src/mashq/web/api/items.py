"""One item of a match: its source, every version of every player's answer, and their costs.

Contract: long texts are cut at CUT characters, with their full length alongside; `text` returns a full text. Nothing
here is HTML: texts are sent to the page unchanged and shown there as text.
"""

import json
from typing import Any

from mashq.detectors.base import Pair
from mashq.detectors.citations import blanked, cited
from mashq.detectors.grounding.detector import Grounding, evidence
from mashq.gateway.types import REFEREE
from mashq.protocol.game import is_kept, is_usable
from mashq.protocol.items import Item
from mashq.protocol.moves import Answer, Rewrite, abstains
from mashq.protocol.rules import Rules
from mashq.web.api import queries
from mashq.web.api.resources import amounts, table
from mashq.web.api.summaries import detector_of
from mashq.web.replay_cache import LiveReplay

PASSAGE = "passage "
CUT, LONGEST_CHECKED, PATIENCE = 4000, 200_000, 0.15


def item_document(live: LiveReplay, place: int) -> dict[str, Any]:
    """Return everything about an item, with long texts cut."""
    view, match = live.view, live.match
    entry = view.found
    is_complete = live.advance(PATIENCE)
    first = live.replay.first
    with live.lock:
        seqs = [live.replay.seq_of(index) for index in live.replay.about(place)] if is_complete else None
    with queries.opened(entry.path, finished=entry.finished) as connection:
        item = queries.item(connection, place)
        if item is None:
            raise LookupError("there is no such item in this run")
        name = item.id
        moves = queries.item_moves(connection, match, name, seqs)
        rounds = {move[1] for move in moves}
        rounds |= {player.order.index(place) for player in first.players}
        attempts = queries.attempts(connection, match, name, sorted(rounds), CUT)
    config = view.fixture(match).config
    seats = {player.name: seat for seat, player in enumerate(first.players)}
    players: list[dict[str, Any]] = [
        {
            "name": player.name,
            "model": player.model,
            "agent": player.agent,
            "place": state.order.index(place) + 1,
            "T": state.threshold,
            "versions": [],
            "decisions": [],
            "attempts": [row for row in attempts if row["player"] == player.name],
        }
        for player, state in zip(config.players, first.players, strict=True)
    ]
    for seq, round_, player, kind, item_id, move_json, ruling_json, time in moves:
        if player in seats:
            document, move = players[seats[player]], json.loads(move_json)
            ruling: dict[str, Any] = json.loads(ruling_json) if ruling_json else {}
            if kind == "decision":
                decision = _decision(seq, round_, move, ruling, item_id == name)
                if decision["current"] or decision["meant"] == "review":
                    document["decisions"].append(decision)
            elif kind in ("answer", "rewrite") and item_id == name:
                _add_version(document["versions"], (seq, round_, kind, time), move, first.rules)
    return {
        "item": {
            "position": place,
            "id": name,
            **cut("text", item.text),
            "reference": item.reference,
            **_passages(item),
        },
        "of": len(view.item_ids),
        "task": config.task.kind,
        "keep": first.rules.keep,
        "checkable": config.task.kind in ("summarise", "rag"),
        "detector": detector_of(entry.manifest),
        "label": view.label(match),
        "table": table(),
        "guide": entry.manifest.get("guide", "judge"),
        "simulated": bool(entry.manifest.get("simulated")),
        "players": players,
        "referee": [row for row in attempts if row["player"] == REFEREE],
    }


def spans(live: LiveReplay, seq: int) -> dict[str, Any]:
    """Return the spans of an answer that its source does not support, as UTF-16 offsets for JavaScript."""
    entry = live.view.found
    with queries.opened(entry.path, finished=entry.finished) as connection:
        move = queries.move(connection, live.match, seq)
        if move is None or move[0] is None:
            raise LookupError("there is no such answer")
        item = queries.item(connection, live.view.places.get(move[0], -1))
    answer = str(move[1].get("text", ""))
    if item is None or move[1].get("simulated") or not answer:
        return {"spans": [], "why": "There is no text to check: this answer was simulated."}
    if len(answer) + len(item.source) > LONGEST_CHECKED:
        return {"spans": [], "why": "The texts are too long to be checked while you wait."}
    if abstains(move[1].get("abstained", "")):
        return {"spans": [], "why": "It says that the passages do not hold the answer."}
    texts = {passage.id: passage.text for passage in item.passages}
    unsupported = Grounding().spans(Pair(item.source, blanked(answer, texts) if texts else answer, item.reference))
    result: dict[str, Any] = {
        "spans": [[_utf16_offset(answer, start), _utf16_offset(answer, end)] for start, end in unsupported],
        "why": "",
    }
    return result | ({"lit": _cited_evidence(answer, texts)} if texts else {})


def _cited_evidence(answer: str, texts: dict[str, str]) -> dict[str, list[list[int]]]:
    """Return, by passage, the spans of its sentences that support the answer's citations."""
    spans_by_passage: dict[str, set[tuple[int, int]]] = {}
    for sentence in cited(answer, texts):
        for name in sentence.ids:
            span = evidence(texts[name], sentence.text) if name in texts else None
            if span is not None:
                spans_by_passage.setdefault(name, set()).add(span)
    return {
        name: [[_utf16_offset(texts[name], offset) for offset in span] for span in sorted(passage_spans)]
        for name, passage_spans in spans_by_passage.items()
    }


def _passages(item: Item) -> dict[str, Any]:
    """Return the passages of a question, and what is known about where its answer is."""
    if not item.passages:
        return {}
    rows = [{"id": passage.id, "title": passage.title, **cut("text", passage.text)} for passage in item.passages]
    return {"passages": rows, "answerable": item.answerable, "evidence": list(item.evidence)}


def text(live: LiveReplay, what: str, number: int) -> str:
    """Return a full text: `source` or `passage ID` of an item, `answer` or `draft` of a move, or a `reply`."""
    entry = live.view.found
    with queries.opened(entry.path, finished=entry.finished) as connection:
        if what == "source":
            item = queries.item(connection, number)
            body = None if item is None else item.text
        elif what.startswith(PASSAGE):
            item, name = queries.item(connection, number), what.removeprefix(PASSAGE)
            body = (
                next((passage.text for passage in item.passages if passage.id == name), None)
                if item is not None
                else None
            )
        elif what == "reply":
            body = queries.reply(connection, number)
        elif what in ("answer", "draft"):
            move = queries.move(connection, live.match, number)
            body = None if move is None else str(move[1].get("text" if what == "answer" else "text_first") or "")
        else:
            body = None
    if body is None:
        raise LookupError("there is no such text")
    return body


def cut(name: str, text: str) -> dict[str, Any]:
    """Return a text, cut, with its full length."""
    return {name: text[:CUT], "length": len(text)}


def _decision(seq: int, round_: int, move: dict[str, Any], ruling: dict[str, Any], current: bool) -> dict[str, Any]:
    return {
        "seq": seq,
        "round": round_ + 1,
        "choice": move["choice"],
        "meant": ruling.get("choice", move["choice"]),
        "overridden": ruling.get("overridden", ""),
        "source": move.get("source", "llm"),
        "reason": str(move.get("reason", ""))[:2000],
        "named": move.get("previous_id"),
        "current": current,
        "spend": amounts(move.get("spend", {})),
    }


def _add_version(
    versions: list[dict[str, Any]], origin: tuple[int, int, str, float], move: dict[str, Any], rules: Rules
) -> None:
    """Append a version of the answer, with whether it was kept."""
    seq, round_, kind, time = origin
    guide = move.get("h")
    kept_h = next((version["h"] for version in reversed(versions) if version["kept"]), None)
    kept = (
        is_usable(Answer(move["status"], h=guide))
        if kind == "answer"
        else is_kept(rules, kept_h, Rewrite(move["status"], h=guide))
    )
    version = {
        "seq": seq,
        "round": round_ + 1,
        "kind": kind,
        "time": time,
        "status": move["status"],
        "h": guide,
        "judged": move.get("judged"),
        "confidence": move.get("confidence"),
        "plain": move.get("plain", False),
        "simulated": move.get("simulated", False),
        "error": str(move.get("error", ""))[:2000],
        "kept": kept,
        "spend": amounts(move.get("spend", {})),
        **cut("text", str(move.get("text", ""))),
    }
    if move.get("cut"):
        version["cut"] = True
    if move.get("abstained"):
        version["abstained"] = move["abstained"]
    if move.get("text_first"):
        version |= {"draft": cut("text", str(move["text_first"])) | {"h": move.get("h_first")}}
    versions.append(version)


def _utf16_offset(text: str, offset: int) -> int:
    """Convert an offset in a text to UTF-16 units."""
    return len(text[:offset].encode("utf-16-le", "surrogatepass")) // 2
