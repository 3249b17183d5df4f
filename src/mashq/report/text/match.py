"""The result of a match as a person reads it in a terminal."""

from collections.abc import Iterable, Sequence
from typing import Any

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from mashq.report.text.formatting import dollars, number, safe
from mashq.report.text.score import flips

NARROWEST = 100


def result(document: dict[str, Any], attempts: Sequence[dict[str, Any]]) -> RenderableType:
    """The table, the winner, and what must be said with it."""
    parts: list[RenderableType] = []
    drawn = [safe(p["name"]) for p in document["players"] if p["model"].startswith("simulated/")]
    if drawn:
        real = "no real model answered" if len(drawn) == len(document["players"]) else f"not real: {', '.join(drawn)}"
        parts.append(Text(f"SIMULATED, {real}; scores, costs and times are drawn.", style="bold yellow"))
    parts += [_table(document), *(Text(line) for line in _sentences(document, attempts))]
    return Group(*parts)


def table_width(document: dict[str, Any]) -> int:
    """What the table needs so that no number is cut."""
    console = Console(width=1000)
    return console.measure(_table(document)).maximum


def _table(document: dict[str, Any]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("player", no_wrap=True, min_width=12)
    for heading in ("H before → after", "calls", "tok in", "tok out", "reviews", "seconds", "dollars", "P", "Q"):
        table.add_column(heading, justify="right", no_wrap=True)
    for player in document["players"]:
        won = document["finished"] and player["name"] == document["winner"]
        before, after = number(player["h_before_review"], 4), number(player["h"], 4)
        table.add_row(
            Text(safe(player["name"], 24) + (" ★" if won else "")),
            f"{before} → {after}",
            number(player["calls"]),
            number(player["tokens_in"]),
            number(player["tokens_out"]),
            "n/a" if player["agent"] == "external" else number(player["reviews"]),
            number(player["seconds"], 1),
            dollars(player["dollars"]),
            number(player["penalty"], 3),
            number(player["q"], 4),
            style="bold" if won else "",
        )
    return table


def _sentences(document: dict[str, Any], attempts: Sequence[dict[str, Any]]) -> Iterable[str]:
    players = document["players"]
    detector = document["detector"]
    by = f"scored by {safe(detector['name'])} {safe(detector['version'])}"
    if all(player["model"].startswith("simulated/") for player in players):
        by = "scored as drawn (no detector ran)"
    yield (
        f"{document['items']} items {by}; "
        f"Q = {document['alpha']:g}·H − {document['beta']:g}·P, costs relative to "
        + ("the largest in the match" if document["normalise"] == "match" else "a fixed reference")
        + f", refusals: {document['refusals']}."
    )
    for player in players:
        name, model = safe(player["name"]), safe(player["model"])
        yield f"{name}: {safe(player['agent'])} on {model}, T {player['T']:g}, R {player['R']}"
    yield from _guides(document)
    yield ""
    bill = document["referee"]
    if bill is not None:
        yield (
            f"The referee's own bill, charged to nobody: {bill['opened']} calls, {number(bill['tokens'])} tokens, "
            f"{number(bill['seconds'], 1)} s."
        )
    if document["finished"]:
        yield _verdict(document)
        yield from _sure(document)
    else:
        yield f"This match is not finished, so nobody has won yet: mashq resume {safe(document['run'])}"
    yield _bought(players, attempts)
    rates = [f"{safe(p['name'])} {p['answer_rate']:.1%}" for p in players if p["answer_rate"] < 1]
    if rates:
        yield (
            f"Answered: {', '.join(rates)}; the others everything."
            if len(rates) < len(players)
            else (f"Answered: {', '.join(rates)}.")
        )
    for note in document["notes"]:
        yield f"Note: {safe(note, 400)}"
    if document["dropped"]:
        yield from _views(document)


def _guides(document: dict[str, Any]) -> Iterable[str]:
    """What the players were told, when it was not the judge's score; and what that misled them by."""
    if document["guide"] == "judge":
        if document["task"] == "qa":
            yield "Guide: the judge itself, so every player was told whether it was right."
        return
    told = "their own stated confidence" if document["guide"] == "confidence" else safe(document["guide"])
    yield f"Guide: {told}; the judge's scores were not shown to the players."
    for player in document["players"]:
        if player["overfit"] is not None:
            yield (
                f"  {safe(player['name'])}: guide {player['h_guide_before_review']:.4f} → {player['h_guide']:.4f}; "
                f"gained on the guide but not on the judge: {player['overfit']:+.4f}"
            )


def _sure(document: dict[str, Any]) -> Iterable[str]:
    """How sure the verdict is, and where it would be another."""
    first = next(iter(document["differences"]), None)
    if first is not None and first["low"] is not None:
        chance = document["p_win"].get(document["winner"])
        won = "" if chance is None else f"; it wins {chance:.0%} of resampled matches"
        won += " (few items make the interval wide)" if document["items"] < 30 else ""
        yield f"The lead of {first['dq']:.4f} has the 95% interval {first['low']:.4f} to {first['high']:.4f}{won}."
    if len(document["envelope"]) > 1:
        yield flips("beta", document["envelope"])


def _verdict(document: dict[str, Any]) -> str:
    ranked = sorted((p for p in document["players"] if p["q"] is not None), key=lambda p: -p["q"])
    if not ranked:
        return "No winner: Q is undefined."
    if document["tied"]:
        return f"A tie between {', '.join(safe(name) for name in document['tied'])} at Q {ranked[0]['q']:.4f}."
    if len(ranked) == 1:
        how = "played alone" if len(document["players"]) == 1 else "is the only one with a score"
        return f"{safe(ranked[0]['name'])} {how}: Q {ranked[0]['q']:.4f}."
    first, second = ranked[:2]
    return (
        f"Winner: {safe(first['name'])}, with Q {first['q']:.4f} against {second['q']:.4f} "
        f"({safe(second['name'])}); in H {first['h']:.4f} against {second['h']:.4f}."
    )


def _bought(players: Sequence[dict[str, Any]], attempts: Sequence[dict[str, Any]]) -> str:
    """One sentence on what the reviews bought, and what they cost."""
    parts: list[str] = []
    for player in players:
        if not player["reviews"] or player["h"] is None:
            continue
        gain = player["h"] - player["h_before_review"]
        cost = [row for row in attempts if row["player"] == player["name"] and row["purpose"] == "review"]
        tokens, seconds = sum(row["tokens"] for row in cost), sum(row["seconds"] for row in cost)
        moved = (
            f"raised its H by {gain:.4f}"
            if gain > 0
            else f"lowered its H by {-gain:.4f}"
            if gain < 0
            else ("left its H as it was")
        )
        parts.append(
            f"{safe(player['name'])}'s {number(player['reviews'])} review(s) {moved} "
            f"for {number(tokens)} tokens and {number(seconds, 1)} s"
        )
    return f"What the reviews bought: {'; '.join(parts)}." if parts else "Nobody reviewed."


def _views(document: dict[str, Any]) -> Iterable[str]:
    """The score under each rule for refusals, when they differ."""
    blamed: dict[str, int] = {}
    for dropped in document["dropped"]:
        for name in dropped["by"]:
            blamed[name] = blamed.get(name, 0) + 1
    yield f"Refused or failed items: {', '.join(f'{safe(name)} {count}' for name, count in blamed.items())}."
    for view in document["views"]:
        figures = ", ".join(
            f"{safe(name)} Q {number(row['q'], 4)} (H {number(row['h'], 4)})" for name, row in view["players"].items()
        )
        yield f"  {view['refusals']:>12}, {view['items']} items: {figures}"
