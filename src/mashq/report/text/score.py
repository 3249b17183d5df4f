"""What `mashq score` prints: the table first, then what must be said with it."""

from collections.abc import Iterable, Iterator
from textwrap import fill
from typing import Any

from mashq.report.text.formatting import dollars, number, safe
from mashq.report.text.tables import WIDTH, Format, Grid, best, markdown, written

COSTS = ("tokens", "calls", "reviews", "seconds", "dollars")
MAX_SHOWN = 40


def score_text(document: dict[str, Any], form: Format, everyone: bool = False) -> str:
    """The whole output as text."""
    parts = [written(table(document, everyone), form)]
    if len(document["players"]) > 1 and document["differences"]:
        parts.append(written(differences(document), form))
    parts.append(prose(sentences(document), form))
    return "\n\n".join(parts)


def prose(lines: Iterable[str], form: Format) -> str:
    """Sentences: wrapped in a terminal, paragraphs in Markdown, comments in LaTeX."""
    if form == "table":
        return "\n".join(fill(line, WIDTH, subsequent_indent="  ") for line in lines)
    return "\n\n".join(map(markdown, lines)) if form == "md" else "\n".join("% " + line for line in lines)


def table(document: dict[str, Any], everyone: bool = False) -> Grid:
    """The result table, best Q first."""
    players = sorted(document["players"], key=lambda p: -(p["q"] if p["q"] is not None else -9e9))
    shown = players if everyone else players[:MAX_SHOWN]
    costs = [name for name in COSTS if any(player[name] is not None for player in players)]
    interval = any(player["q_low"] is not None for player in players)
    chance = any(player["p_win"] is not None for player in players)
    headings = ["player", "H", "answered", *costs, "P", "Q"]
    headings += (["± 95%"] if interval else []) + (["P(win)"] if chance else [])
    rows: list[list[str]] = []
    for player in shown:
        won = player["name"] == document["winner"] or player["name"] in document["tied"]
        row = [f"{player['name'][:34]}{' ★' if won else ''}", number(player["h"], 4), _percent(player["answer_rate"])]
        row += [_cost(name, player[name]) for name in costs]
        row += [number(player["penalty"], 3), number(player["q"], 4)]
        if interval:
            row.append(_half(player["q_low"], player["q_high"]))
        if chance:
            row.append(number(player["p_win"], 3))
        rows.append(row)
    values = [[p["h"] for p in shown], [p["answer_rate"] for p in shown]]
    values += [[p[name] for p in shown] for name in costs]
    values += [[p["penalty"] for p in shown], [p["q"] for p in shown]]
    bold = best(values, [True, True, *(False for _ in costs), False, True])
    shaded = frozenset(at for at, p in enumerate(shown) if p["name"] == document["winner"])
    return Grid(headings, rows, bold=bold, shaded=shaded)


def differences(document: dict[str, Any]) -> Grid:
    """The differences in Q that matter: all among few players, else the winner's over the next ones."""
    rows = [
        [d["a"][:30], d["b"][:30], _signed(d["dq"]), _span(d), _verdict(d)]
        for d in document["differences"][:MAX_SHOWN]
    ]
    return Grid(["player", "against", "difference in Q", "95% interval", "sure"], rows, left=2)


def sentences(document: dict[str, Any]) -> Iterator[str]:
    """What the table alone would hide."""
    items = "totals" if document["items"] is None else f"{document['items']:,} items"
    costs = ", ".join(f"{n}" + (f" x {w:g}" if w != 1 else "") for n, w in document["weights"].items()) or "nothing"
    relative = "the largest in the match" if document["normalise"] == "match" else "the reference"
    yield (
        f"{items}; Q = {document['alpha']:g}·H − {document['beta']:g}·P; P counts {costs}, relative to {relative}; "
        f"refusals: {document['refusals']}."
    )
    yield _winner(document)
    yield flips("beta", document["envelope"])
    for name, stretches in document["weight_envelopes"].items():
        if len(stretches) > 1:
            yield flips(f"the weight of {name}", stretches, "weight")
    if document["simplex"]:
        shares = sorted(document["simplex"].items(), key=lambda pair: -pair[1])[:5]
        yield "Of all weightings of the resources " + ", ".join(f"{safe(n)} wins {s:.0%}" for n, s in shares) + "."
    yield f"Not beaten in both H and P: {_names(document['pareto'])}."
    for name, front in document["pareto_by"].items():
        if set(front) != set(document["pareto"]):
            yield f"Not beaten in both H and {name}: {_names(front)}."
    priced = [p for p in document["players"] if p["dollars_per_faithful"] is not None]
    if priced:
        told = ", ".join(f"{safe(p['name'])} {dollars(p['dollars_per_faithful'])}" for p in priced[:8])
        yield f"Dollars a faithful answer (H of 0.5 or more): {told}."
    for note in document["notes"]:
        yield f"Note: {safe(note, 500)}"


def _winner(document: dict[str, Any]) -> str:
    if document["tied"]:
        return f"A tie: {_names(document['tied'])}."
    if len(document["players"]) == 1:
        return f"{safe(document['winner'])} stands alone."
    first = next(d for d in document["differences"])
    won = f"Winner: {safe(document['winner'])}, ahead of {safe(first['b'])} by {first['dq']:.4f}"
    if first["low"] is None:
        return won + "."
    sure = "sure at 95%" if first["low"] > 0 else "not sure at 95%, more items would tell"
    return f"{won} (95%: {first['low']:.4f} to {first['high']:.4f}): {sure}."


def flips(what: str, stretches: list[dict[str, Any]], key: str = "beta") -> str:
    """Who leads where, in a sentence."""
    if len(stretches) == 1:
        return f"{safe(stretches[0]['winner'])} leads at every {what}."
    parts = [
        f"{safe(s['winner'])} "
        + (f"from {s[key + '_from']:.4g}" if s[key + "_from"] else "from 0")
        + (f" to {s[key + '_to']:.4g}" if s[key + "_to"] is not None else " on")
        for s in stretches
    ]
    shown = parts if len(parts) <= 8 else [*parts[:7], f"… {len(parts) - 8} more …", parts[-1]]
    return f"Leads by {what}: {', '.join(shown)}."


def _cost(name: str, value: float | None) -> str:
    if name == "dollars":
        return dollars(value)
    if value is not None and value >= 1e6:
        return f"{value / 1e6:.3f}M"
    return number(value, 1 if name == "seconds" else 0)


def _percent(value: float | None) -> str:
    return "?" if value is None else f"{100 * value:.1f}%"


def _half(low: float | None, high: float | None) -> str:
    return "?" if low is None or high is None else f"{(high - low) / 2:.4f}"


def _signed(value: float) -> str:
    return f"{value:+.4f}"


def _span(difference: dict[str, Any]) -> str:
    if difference["low"] is None:
        return "?"
    return f"{difference['low']:+.4f} to {difference['high']:+.4f}"


def _verdict(difference: dict[str, Any]) -> str:
    if difference["low"] is None:
        return "?"
    return "yes" if difference["low"] > 0 or difference["high"] < 0 else "no"


def _names(names: list[str], most: int = 8) -> str:
    more = len(names) - most
    return ", ".join(safe(name) for name in names[:most]) + (f" and {more} more" if more > 0 else "")
