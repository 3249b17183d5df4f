"""One item of a player in one trial, as a sample of an Inspect log.

An item that was refused, failed, cut off or not answered has no score and a matching status; unknown usage is left
out, not 0.
"""

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from mashq.export.files import Cell
from mashq.export.tables import CHARGED
from mashq.protocol.items import Item
from mashq.protocol.resources import MEASURES
from mashq.protocol.results import COST_NAMES

SCORER = "H"
STOPS: Mapping[Cell, str] = {"ok": "stop", "refused": "content_filter", "cut": "max_tokens"}
THIN = 1024
KEPT = ("status", *COST_NAMES)
BESIDE = ("h_first", "guide", "guide_first", "length", "failed", "unknown_attempts", "waited")
Document = dict[str, Any]
Usage = dict[str, Document]


def usage_of(
    tokens_in: int | None,
    tokens_out: int | None,
    cached: int | None,
    reasoning: int | None,
    dollars: float | None,
) -> Document | None:
    """Usage in Inspect's format: input tokens without cached ones. None if unknown."""
    if tokens_in is None or tokens_out is None:
        return None
    cache_read = min(cached or 0, tokens_in)
    usage: Document = {
        "input_tokens": tokens_in - cache_read,
        "output_tokens": tokens_out,
        "total_tokens": tokens_in + tokens_out,
        "input_tokens_cache_read": None if cached is None else cache_read,
        "reasoning_tokens": reasoning,
        "total_cost": dollars,
    }
    return {key: value for key, value in usage.items() if value is not None}


def sample_of(
    log: str,
    model: str,
    item: Item,
    epoch: int,
    row: Mapping[str, Cell],
    answer: str,
    usage: Usage,
    times: list[float],
) -> Document:
    """One item in one trial, for the log with the id `log`."""
    status = row["status"]
    choices: list[Document] = []
    if status in STOPS:
        message = {"role": "assistant", "content": answer, "source": "generate", "model": model}
        choices = [{"message": message, "stop_reason": STOPS[status]}]
    seconds, waited = row["seconds"], row["waited"]
    sample: Document = {
        "id": item.id,
        "epoch": epoch,
        "input": item.shown,
        "target": item.reference or "",
        "messages": [
            {"role": "user", "content": item.shown, "source": "input"},
            *(choice["message"] for choice in choices),
        ],
        "output": {"model": model, "choices": choices, "completion": answer if choices else ""},
        "scores": {SCORER: {"value": row["h"], "answer": answer}} if row["h"] is not None else {},
        "metadata": {"mashq": _recorded(row), **_documents(item)},
        "store": {},
        "events": [],
        "model_usage": usage,
        "role_usage": {},
        "uuid": hashlib.blake2b(json.dumps([log, item.id, epoch]).encode(), digest_size=11).hexdigest(),
        "attachments": {},
    }
    if isinstance(seconds, int | float) and isinstance(waited, int | float):
        sample |= {"total_time": seconds + waited, "working_time": seconds}
    if times:
        sample |= {"started_at": _timestamp(min(times)), "completed_at": _timestamp(max(times))}
    if status == "failed":
        sample["error"] = {"message": "no usable answer", "traceback": "", "traceback_ansi": ""}
    return sample


def _recorded(row: Mapping[str, Cell]) -> Document:
    """What Inspect has no place for; under `charged`, how much of each measure is a charge for an unknown cost."""
    recorded: Document = {name: row[name] for name in (*KEPT, *BESIDE)}
    charged = {measure: row[CHARGED + measure] for measure in MEASURES if row[CHARGED + measure]}
    return recorded | {"charged": charged} if charged else recorded


def _documents(item: Item) -> Document:
    """Metadata of a question with passages."""
    return {"answerable": item.answerable, "evidence": list(item.evidence)} if item.passages else {}


def summary_of(sample: Document) -> Document:
    """The summary that Inspect lists for a sample; long texts are cut, as Inspect does."""
    fields = ("id", "epoch", "metadata", "model_usage", "role_usage", "uuid")
    times = ("started_at", "completed_at", "total_time", "working_time")
    summary = {name: sample[name] for name in (*fields, *times) if name in sample}
    scores = {name: {**score, "answer": _shortened(score["answer"])} for name, score in sample["scores"].items()}
    summary |= {"input": _shortened(sample["input"]), "target": _shortened(sample["target"]), "scores": scores}
    if "error" in sample:
        summary["error"] = sample["error"]["message"]
    return summary | {"completed": True, "message_count": len(sample["messages"])}


def _shortened(text: str) -> str:
    return text if len(text) <= THIN else text[:THIN] + "..."


def _timestamp(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).isoformat(timespec="milliseconds")
