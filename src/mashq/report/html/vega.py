"""Vega-Lite as plain data: the building blocks of the charts. The tests validate them against Vega-Lite's schema."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from mashq.report.html.parts import Spec

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
TYPES = {"Q": "quantitative", "N": "nominal", "O": "ordinal"}
Rows = Sequence[Mapping[str, Any]]


def field(shorthand: str, **settings: Any) -> Spec:
    """Return the encoding of a field by name and type (`q:Q`); the far end of a bar has only a name."""
    name, _, kind = shorthand.partition(":")
    return _sorted({"field": name, **({"type": TYPES[kind]} if kind else {}), **settings})


def fields(names: Sequence[str], **settings: Any) -> list[Spec]:
    """Return the encodings of several numeric fields, for a tooltip."""
    return [field(f"{name}:Q", **settings) for name in names]


def when(test: str, then: str, otherwise: str) -> Spec:
    """Return one value if a test of the row holds, and another otherwise."""
    return {"condition": {"test": test, "value": then}, "value": otherwise}


def mark(kind: str, **settings: Any) -> Spec:
    """Return the mark that is drawn for each row."""
    return {"type": kind, **_sorted(settings)}


def layer(rows: Rows, drawn: Spec, **encoding: Any) -> Spec:
    """Return a layer of rows drawn by a mark; a channel given as text is a field shorthand."""
    channels = {name: field(channel) if isinstance(channel, str) else channel for name, channel in encoding.items()}
    return {"data": rows, "mark": drawn, "encoding": _sorted(channels)}


def chart(single: Spec, *, height: float) -> Spec:
    """Return a chart of a single layer."""
    combined = layered(single, height=height)
    return {"data": combined.pop("data"), **combined.pop("layer")[0], **combined}


def layered(*layers: Spec, height: float, **settings: Any) -> Spec:
    """Return a chart of several layers; rows that several of them share are stored once."""
    datasets: dict[str, Any] = {}
    parts: list[Spec] = []
    for part in layers:
        rows = [dict(row) for row in part["data"]]
        name = next((key for key, dataset in datasets.items() if dataset == rows), f"data-{len(datasets) + 1}")
        datasets[name] = rows
        parts.append(part | {"data": {"name": name}})
    combined: Spec = {"layer": parts}
    if all(part["data"] is layers[0]["data"] for part in layers):
        for part in parts:
            combined["data"] = part.pop("data")
    return {**combined, "height": height, **settings, "$schema": SCHEMA, "datasets": datasets}


def _sorted(settings: Spec) -> Spec:
    """Sort the settings recursively, so that the same chart is always the same text."""
    return {
        name: _sorted(cast(Spec, value)) if isinstance(value, dict) else value
        for name, value in sorted(settings.items())
    }
