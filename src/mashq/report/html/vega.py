"""Vega-Lite as plain data: what the charts are put together from. The tests hold them to Vega-Lite's schema."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from mashq.report.html.parts import Spec

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
TYPES = {"Q": "quantitative", "N": "nominal", "O": "ordinal"}
Rows = Sequence[Mapping[str, Any]]


def field(said: str, **settings: Any) -> Spec:
    """A field of the rows for a channel, by name and kind (`q:Q`); the far end of a bar has a name alone."""
    name, _, kind = said.partition(":")
    return _sorted({"field": name, **({"type": TYPES[kind]} if kind else {}), **settings})


def fields(names: Sequence[str], **settings: Any) -> list[Spec]:
    """Several numbers of the rows, for a tooltip."""
    return [field(f"{name}:Q", **settings) for name in names]


def when(test: str, then: str, otherwise: str) -> Spec:
    """One value where a test of the row holds, and another where not."""
    return {"condition": {"test": test, "value": then}, "value": otherwise}


def mark(kind: str, **settings: Any) -> Spec:
    """What is drawn of each row."""
    return {"type": kind, **_sorted(settings)}


def layer(rows: Rows, drawn: Spec, **encoding: Any) -> Spec:
    """Rows drawn by a mark; a channel given as text is the field of that name."""
    channels = {name: field(said) if isinstance(said, str) else said for name, said in encoding.items()}
    return {"data": rows, "mark": drawn, "encoding": _sorted(channels)}


def chart(one: Spec, *, height: float) -> Spec:
    """A layer by itself."""
    whole = layered(one, height=height)
    return {"data": whole.pop("data"), **whole.pop("layer")[0], **whole}


def layered(*layers: Spec, height: float, **settings: Any) -> Spec:
    """Layers over each other; rows that several of them draw are there once."""
    datasets: dict[str, Any] = {}
    named: list[Spec] = []
    for one in layers:
        rows = [dict(row) for row in one["data"]]
        name = next((known for known, there in datasets.items() if there == rows), f"data-{len(datasets) + 1}")
        datasets[name] = rows
        named.append(one | {"data": {"name": name}})
    drawn: Spec = {"layer": named}
    if all(one["data"] is layers[0]["data"] for one in layers):
        for one in named:
            drawn["data"] = one.pop("data")
    return {**drawn, "height": height, **settings, "$schema": SCHEMA, "datasets": datasets}


def _sorted(settings: Spec) -> Spec:
    """The settings in one order, however they were given: the same chart is the same text."""
    return {
        name: _sorted(cast(Spec, value)) if isinstance(value, dict) else value
        for name, value in sorted(settings.items())
    }
