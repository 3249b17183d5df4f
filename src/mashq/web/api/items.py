"""One item of a match: its source, every version of every player's answer, and what each of them cost.

Contract: long texts are cut at CUT characters, with their whole length beside; `text` gives the whole of one. Nothing
here is HTML: texts go to the page as they are and are shown there as text.
"""

import json
from typing import Any

from mashq.detectors.base import Pair
from mashq.detectors.citations import blanked, cited
from mashq.detectors.grounding.detector import Grounding, evidence
from mashq.gateway.types import REFEREE
from mashq.protocol.game import is_kept
from mashq.protocol.items import Item
from mashq.protocol.moves import Rewrite, abstains
from mashq.protocol.rules import Rules
from mashq.web.api import queries
from mashq.web.replay_cache import LiveReplay

PASSAGE = "passage "
CUT, LONGEST_CHECKED, PATIENCE = 4000, 200_000, 0.15


def item_document(live: LiveReplay, place: int) -> dict[str, Any]:
    """All there is about an item, cut."""
    view, match = live.view, live.match
    found = view.found
    whole = live.advance(PATIENCE)
    first = live.replay.first
    with live.lock:
        seqs = [live.replay.seq_of(at) for at in live.replay.about(place)] if whole else None
    with queries.opened(found.path, finished=found.finished) as connection:
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
            "place": own.order.index(place) + 1,
            "T": own.threshold,
            "versions": [],
            "decisions": [],
            "attempts": [row for row in attempts if row["player"] == player.name],
        }
        for player, own in zip(config.players, first.players, strict=True)
    ]
    for seq, round_, player, kind, about, body, ruled, time in moves:
        if player in seats:
            own, move = players[seats[player]], json.loads(body)
            ruling: dict[str, Any] = json.loads(ruled) if ruled else {}
            if kind == "decision":
                one = _decision(seq, round_, move, ruling, about == name)
                if one["current"] or one["meant"] == "review":
                    own["decisions"].append(one)
            elif kind in ("answer", "rewrite") and about == name:
                _add_version(own["versions"], (seq, round_, kind, time), move, first.rules)
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
        "detector": found.manifest.get("detector", {}),
        "guide": found.manifest.get("guide", "judge"),
        "simulated": bool(found.manifest.get("simulated")),
        "players": players,
        "referee": [row for row in attempts if row["player"] == REFEREE],
    }


def spans(live: LiveReplay, seq: int) -> dict[str, Any]:
    """Where a version of an answer says what its source does not: offsets as JavaScript counts them."""
    found = live.view.found
    with queries.opened(found.path, finished=found.finished) as connection:
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
    marked = Grounding().spans(Pair(item.source, blanked(answer, texts) if texts else answer, item.reference))
    told: dict[str, Any] = {
        "spans": [[_units(answer, start), _units(answer, end)] for start, end in marked],
        "why": "",
    }
    return told | ({"lit": _lit(answer, texts)} if texts else {})


def _lit(answer: str, texts: dict[str, str]) -> dict[str, list[list[int]]]:
    """By passage, the sentences of it that hold what sentences of the answer cite it for."""
    lit: dict[str, set[tuple[int, int]]] = {}
    for sentence in cited(answer, texts):
        for name in sentence.ids:
            span = evidence(texts[name], sentence.text) if name in texts else None
            if span is not None:
                lit.setdefault(name, set()).add(span)
    return {name: [[_units(texts[name], at) for at in span] for span in sorted(spans)] for name, spans in lit.items()}


def _passages(item: Item) -> dict[str, Any]:
    """The passages of a question, and what is known of where its answer is."""
    if not item.passages:
        return {}
    rows = [{"id": one.id, "title": one.title, **cut("text", one.text)} for one in item.passages]
    return {"passages": rows, "answerable": item.answerable, "evidence": list(item.evidence)}


def text(live: LiveReplay, what: str, number: int) -> str:
    """One whole text: the `source` or `passage ID` of an item, the `answer` or `draft` of a move, or a `reply`."""
    found = live.view.found
    with queries.opened(found.path, finished=found.finished) as connection:
        if what == "source":
            item = queries.item(connection, number)
            said = None if item is None else item.text
        elif what.startswith(PASSAGE):
            item, name = queries.item(connection, number), what.removeprefix(PASSAGE)
            said = next((one.text for one in item.passages if one.id == name), None) if item is not None else None
        elif what == "reply":
            said = queries.reply(connection, number)
        elif what in ("answer", "draft"):
            move = queries.move(connection, live.match, number)
            said = None if move is None else str(move[1].get("text" if what == "answer" else "text_first") or "")
        else:
            said = None
    if said is None:
        raise LookupError("there is no such text")
    return said


def cut(name: str, said: str) -> dict[str, Any]:
    """A text, cut, with its length."""
    return {name: said[:CUT], "length": len(said)}


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
        "spend": move.get("spend", {}),
    }


def _add_version(
    versions: list[dict[str, Any]], where: tuple[int, int, str, float], move: dict[str, Any], rules: Rules
) -> None:
    """A version of the answer, and whether it was kept."""
    seq, round_, kind, time = where
    guide = move.get("h")
    standing = next((one["h"] for one in reversed(versions) if one["kept"]), None)
    kept = kind == "answer" or is_kept(rules, standing, Rewrite(move["status"], h=guide))
    one = {
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
        "spend": move.get("spend", {}),
        **cut("text", str(move.get("text", ""))),
    }
    if move.get("cut"):
        one["cut"] = True
    if move.get("abstained"):
        one["abstained"] = move["abstained"]
    if move.get("text_first"):
        one |= {"draft": cut("text", str(move["text_first"])) | {"h": move.get("h_first")}}
    versions.append(one)


def _units(said: str, at: int) -> int:
    """A place in a text in UTF-16 units."""
    return len(said[:at].encode("utf-16-le", "surrogatepass")) // 2
