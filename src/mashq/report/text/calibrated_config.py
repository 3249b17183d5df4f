"""What `mashq calibrate` writes: a readable, editable configuration of simulated players."""

import json
import re
from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import Any, cast

from mashq.report.text.formatting import safe

WIDTH = 116
PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*( [A-Za-z0-9_./-]+)*")
WORDS = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"}
COMMENTS = {
    "h_values": "H of its first answers: equally likely values, in ascending order",
    "item_share": "how much of H is the item's difficulty, the same for every player",
    "rewrites": "H before and after its rewrites, as recorded: a new one repeats one of the nearest",
    "rewrite_share": "how much of a rewrite's luck stays with the answer",
    "keeps_better": "a rewrite is kept only when it is better, as in the rules below",
    "confidence": "what the guide said of answers, by their H",
    "review_rate": "how often its policy reviewed when a review was recommended",
    "review_anyway": "and when none was",
    "end_rate": "how often it ended its loop",
    "refusal_rate": "refused answers",
    "refusal_share": "how much of that is the item's",
    "failure_rate": "failed answers",
    "retry_rate": "attempts that failed and were repeated",
    "scale": "tokens and seconds times this",
}


def calibrated_yaml(document: Mapping[str, Any], header: Sequence[str], notes: Mapping[str, Sequence[str]]) -> str:
    """Return the configuration as commented YAML. `notes` lists, by player, what could not be fitted."""
    lines = [line for note in header for line in _comment(note, 0)]
    lines.append(f"task: {_flow(document['task'])}")
    lines.append("players:")
    lines += [f"  - {_flow(player)}" for player in document["players"]]
    for key in ("guide", "rules", "score", "seed"):
        if key in document:
            lines.append(f"{key}: {_flow(document[key])}")
    lines.append("models:")
    anchors: list[tuple[str, Mapping[str, Any]]] = []
    for name, model in document["models"].items():
        lines += [f"  {_scalar(name)}:"]
        for note in notes.get(name, ()):
            lines += _comment(f"Note: {note}.", 4)
        lines += [f"    {key}: {_flow(value)}" for key, value in model.items() if key != "simulate"]
        lines += _simulate(model["simulate"], anchors)
    return "\n".join(lines) + "\n"


def _simulate(settings: Mapping[str, Any], anchors: list[tuple[str, Mapping[str, Any]]]) -> list[str]:
    """Write a model's settings; settings equal to an earlier model's, except for the scale, become a YAML alias."""
    scale = settings.get("scale")
    unscaled = {key: value for key, value in settings.items() if key != "scale"}
    anchor_name = next((anchor for anchor, written_settings in anchors if written_settings == unscaled), None)
    if anchor_name is not None:
        return [
            f"    simulate: *{anchor_name}"
            if scale is None
            else f"    simulate: {{<<: *{anchor_name}, scale: {scale:g}}}"
        ]
    anchors.append((f"m{len(anchors) + 1}", unscaled))
    lines = [f"    simulate: &{anchors[-1][0]}"]
    for key, value in settings.items():
        if key == "calls":
            lines.append("      calls:  # tokens and seconds of its calls: equally likely values, in ascending order")
            for purpose, cost in value.items():
                lines.append(f"        {purpose}:")
                lines += [line for name, amounts in cost.items() for line in _entry(name, amounts, 10)]
            continue
        lines += [f"      # {COMMENTS[key]}", *_entry(key, value, 6)]
    return lines


def _entry(key: str, value: object, indent: int) -> list[str]:
    """Format `key: value`, wrapping a long list over several lines."""
    text = f"{key}: {_flow(value)}"
    return fill(
        text,
        WIDTH,
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + 2),
        break_long_words=False,
        break_on_hyphens=False,
    ).split("\n")


def _comment(note: str, indent: int) -> list[str]:
    lead = " " * indent + "# "
    clean = safe(" ".join(note.split()), 2000)
    return fill(clean, WIDTH, initial_indent=lead, subsequent_indent=lead, break_on_hyphens=False).split("\n")


def _flow(value: object) -> str:
    """Format a value on one line."""
    if isinstance(value, Mapping):
        pairs = cast(Mapping[str, object], value).items()
        return "{" + ", ".join(f"{_scalar(key)}: {_flow(inner)}" for key, inner in pairs) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_flow(inner) for inner in cast(Sequence[object], value)) + "]"
    return _scalar(value)


def _scalar(value: object) -> str:
    """Write plain words unquoted, and anything else as JSON, which is valid YAML."""
    if isinstance(value, str) and PLAIN.fullmatch(value) and value.lower() not in WORDS:
        return value
    return json.dumps(value)
