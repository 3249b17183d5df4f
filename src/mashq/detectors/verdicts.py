"""The judge's prompt, and parsing its verdict. An unreadable verdict gives no grade at all.

With a reference answer the judge gives a three-way grade (correct scores 1, the others 0); else the text is judged
claim by claim, and H is the share of claims that are supported.
"""

import hashlib
import re
from collections.abc import Mapping
from importlib.resources import files
from typing import cast

from mashq.detectors.base import Pair
from mashq.gateway.replies import json_object

NAME = "llm-judge"
VERSION = "1"
GRADES = {"correct": 1.0, "incorrect": 0.0, "not attempted": 0.0}
CLAIM: Mapping[str, object] = {
    "type": "object",
    "properties": {"claim": {"type": "string"}, "supported": {"type": "boolean"}},
    "required": ["claim", "supported"],
    "additionalProperties": False,
}
CLAIMS: Mapping[str, object] = {
    "type": "object",
    "properties": {"claims": {"type": "array", "items": CLAIM}},
    "required": ["claims"],
    "additionalProperties": False,
}
GRADE: Mapping[str, object] = {
    "type": "object",
    "properties": {"grade": {"type": "string", "enum": list(GRADES)}},
    "required": ["grade"],
    "additionalProperties": False,
}
_FIELD = re.compile(r"\$\{(source|answer|reference)\}")


def question(pair: Pair) -> tuple[str, Mapping[str, object]]:
    """Return the prompt for a pair and the schema of its verdict."""
    name = "judge" if pair.reference is None else "grade"
    text = files("mashq.detectors").joinpath(f"prompts/{name}.txt").read_text("utf-8")
    values = {"source": pair.source, "answer": pair.answer, "reference": pair.reference or ""}
    return _FIELD.sub(lambda match: values[match[1]], text), CLAIMS if pair.reference is None else GRADE


def purpose(prompt: str) -> str:
    """What a judge's attempt is recorded under in the ledger: one purpose per prompt."""
    return f"judge {hashlib.sha256(prompt.encode('utf-8', 'replace')).hexdigest()[:16]}"


def verdict(pair: Pair, reply: str) -> float | None:
    """Return H from a judge's reply, or None when it contains no verdict."""
    if pair.reference is not None:
        document = json_object(reply, "grade") or {}
        grade = document.get("grade")
        return GRADES.get(grade.strip().lower()) if isinstance(grade, str) else None
    claims = (json_object(reply, "claims") or {}).get("claims")
    if not isinstance(claims, list) or not claims:
        return None
    supported: list[bool] = []
    for claim in cast(list[object], claims):
        value = cast(dict[str, object], claim).get("supported") if isinstance(claim, dict) else None
        if not isinstance(value, bool):
            return None
        supported.append(value)
    return sum(supported) / len(supported)
