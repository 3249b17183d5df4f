"""Vega-Lite as plain data: what the charts are put together from. The tests hold them to Vega-Lite's schema."""

from collections.abc import Mapping, Sequence
from typing import Any

from mashq.report.html.parts import Spec

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
TYPES = {"Q": "quantitative", "N": "nominal", "O": "ordinal"}
Rows = Sequence[Mapping[str, Any]]


def field(said: str, **settings: Any) -> Spec:
    """A field of the rows for a channel, by name and kind (`q:Q`); the far end of a bar has a name alone."""
    name, _, kind = said.partition(":")
    return {"field": name, **({"type": TYPES[kind]} if kind else {}), **settings}


def fields(names: Sequence[str], **settings: Any) -> list[Spec]:
    """Several numbers of the rows, for a tooltip."""
    return [field(f"{name}:Q", **settings) for name in names]


def when(test: str, then: str, otherwise: str) -> Spec:
    """One value where a test of the row holds, and another where not."""
    return {"condition": {"test": test, "value": then}, "value": otherwise}


def mark(kind: str, **settings: Any) -> Spec:
    """What is drawn of each row."""
    return {"type": kind, **settings}


def layer(rows: Rows, drawn: Spec, **encoding: Any) -> Spec:
    """Rows drawn by a mark; a channel given as text is the field of that name."""
    channels = {name: field(said) if isinstance(said, str) else said for name, said in encoding.items()}
    return {"data": {"values": [dict(row) for row in rows]}, "mark": drawn, "encoding": channels}


def chart(*layers: Spec, height: float, **settings: Any) -> Spec:
    """The layers over each other, or the only one; rows that several of them draw are in it once."""
    datasets: dict[str, Any] = {}
    named: list[Spec] = []
    for one in layers:
        rows = one["data"]["values"]
        name = next((known for known, there in datasets.items() if there == rows), f"rows-{len(datasets) + 1}")
        datasets[name] = rows
        named.append(one | {"data": {"name": name}})
    drawn = {"layer": named} if len(named) > 1 else named[0]
    return {"$schema": SCHEMA, **drawn, "height": height, "datasets": datasets, **settings}
