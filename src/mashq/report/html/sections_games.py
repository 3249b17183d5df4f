"""Games and the effect of company and vision as verdicts and sections, from their documents."""

from collections.abc import Mapping, Sequence
from typing import Any

from mashq.report.html import charts_seasons as charts
from mashq.report.html.labels import labels
from mashq.report.html.parts import Block, Figure, Prose, Section, Table, Verdict
from mashq.report.html.sections_seasons import signed
from mashq.report.text.formatting import number, safe
from mashq.report.text.tables import Grid

Found = Mapping[str, Any]
EFFECTS = {"h": ("ΔH", 4), "reviews": ("Δreviews an item", 2), "tokens": ("Δtokens an item", 1), "q": ("ΔQ", 4)}


def game(found: Found) -> tuple[Verdict, list[Section]]:
    """Payoffs, equilibria and the price of disclosure."""
    known = labels(found["policies"])
    said: list[str] = []
    sections: list[Section] = []
    for when, one in found["games"].items():
        if one["payoffs"] is None:
            said += one["notes"]
            continue
        told = _equilibria(one, known)
        said.append(f"Vision {when}: {told[0][0].lower()}{told[0][1:]}")
        sections.append(
            Section(f"payoffs-{when}", f"The game with vision: {when}", _payoffs(when, one, found, known, told))
        )
    sections += _price(found, known)
    pure = {
        next(iter(e["row"]))
        for one in found["games"].values() if one["payoffs"] is not None
        for e in one["equilibria"] if e["pure"] and e["row"] == e["column"]
    }  # fmt: skip
    several = sum(len(one.get("equilibria", ())) for one in found["games"].values()) > len(found["games"])
    headline = "There is no single stable policy"
    if len(pure) == 1 and not several:
        headline = f"{known[next(iter(pure))]} against itself is the only equilibrium"
    if not found["finished"]:
        headline = "Not finished: the game so far"
    said.append(
        f"{len(known)} policies, every pair in both orders and each against itself; {found['trials']} trial(s) of "
        f"{found['items']} items; Q = {found['alpha']:g}·H − {found['beta']:g}·P."
    )
    return Verdict(headline, said), sections


def _equilibria(one: Found, known: Mapping[str, str]) -> list[str]:
    said: list[str] = []
    for found in one["equilibria"]:
        mixes = [
            ", ".join(f"{known[n]} {share:.0%}" for n, share in found[side].items()) for side in ("row", "column")
        ]
        both = mixes[0] if mixes[0] == mixes[1] else f"{mixes[0]} against {mixes[1]}"
        said.append(
            f"Equilibrium: {both}; Q {found['payoffs'][0]:.4f} and {found['payoffs'][1]:.4f}; it stands in "
            f"{found['survives']:.0%} of resampled items."
        )
    return said or ["No equilibrium was found."]


def _payoffs(when: str, one: Found, found: Found, known: Mapping[str, str], told: Sequence[str]) -> list[Block]:
    names: Sequence[str] = found["policies"]
    order = [known[name] for name in names]
    values = [value for row in one["payoffs"] for value in row]
    high = min(values) + 0.7 * (max(values) - min(values))
    rows = [
        {"row": order[i], "column": order[j], "value": value, "label": f"{value:.3f}", "light": value > high}
        for i, row in enumerate(one["payoffs"])
        for j, value in enumerate(row)
    ]
    caption = f"Q of the row against the column, vision: {when}; darker is better for the row."
    figure = Figure(f"payoffs-{when}", charts.matrix(rows, order, "against", "Q"), caption, caption)
    cells = [
        [order[i], *(f"{v:.4f} ± {(one['high'][i][j] - one['low'][i][j]) / 2:.4f}" for j, v in enumerate(row))]
        for i, row in enumerate(one["payoffs"])
    ]
    said = [*told]
    if one["dominated"]:
        said.append(f"Never worth playing (dominated): {', '.join(known[name] for name in one['dominated'])}.")
    for against, best in one["best_responses"].items():
        said.append(f"Best against {known[against]}: {', '.join(known[name] for name in best)}.")
    ends = ", ".join(f"{known[n]} {share:.0%}" for n, share in one["replicator"]["end"].items() if share > 0.005)
    said += [f"Learning from an even start leads to: {ends}.", *(f"Note: {note}" for note in one["notes"])]
    half = "Q of the row against the column; ± is half a 95% interval over resampled items."
    return [figure, Table(f"payoffs-{when}", Grid(["", *order], cells), half), Prose(said, listed=True)]


def _price(found: Found, known: Mapping[str, str]) -> list[Section]:
    """What showing one's state changes."""
    disclosed: Sequence[Found] = found["disclosure"]
    if not disclosed:
        return []
    moved = [row for row in disclosed if any(row[name]["value"] for name in EFFECTS if name in row)]
    if not moved:
        said = "Disclosure changed nothing: no policy here reacts to what it is shown."
        return [Section("disclosure", "The price of disclosure", [Prose([said])])]
    rows = [
        [
            row["vision"],
            known[row["policy"]],
            known[row["against"]],
            str(row["seat"] + 1),
            *(signed(row.get(name), digits) for name, (_, digits) in EFFECTS.items()),
        ]
        for row in moved
    ]
    points = [
        {
            "label": f"{known[row['policy']]} v. {known[row['against']]}, seat {row['seat'] + 1}",
            "effect": row["vision"],
            **row["q"],
        }
        for row in moved
        if "q" in row
    ]
    caption = "With snapshots shown minus without, paired by item: what disclosure does to Q."
    blocks: list[Block] = [Figure("disclosure", charts.changes(points, "ΔQ"), caption, caption)] if points else []
    headings = ["vision", "policy", "against", "seat", *(title for title, _ in EFFECTS.values())]
    blocks.append(Table("disclosure", Grid(headings, rows, left=3), "Differences with half a 95% interval."))
    return [Section("disclosure", "The price of disclosure", blocks)]


def vision(found: Found) -> tuple[Verdict, list[Section]]:
    """What company and vision change."""
    known = labels(player["name"] for player in found["players"])
    sure: list[str] = []
    rows: list[list[str]] = []
    points: dict[str, list[dict[str, Any]]] = {name: [] for name in EFFECTS}
    for player in found["players"]:
        for effect, change in player["changes"].items():
            rows.append([known[player["name"]], effect, *(signed(change.get(n), d) for n, (_, d) in EFFECTS.items())])
            for name, (title, _) in EFFECTS.items():
                one = change.get(name)
                if one is None:
                    continue
                points[name].append({"label": f"{known[player['name']]}: {effect}", "effect": effect, **one})
                if one["low"] is not None and (one["low"] > 0 or one["high"] < 0):
                    sure.append(
                        f"{effect.capitalize()} changes {known[player['name']]}: {title} {one['value']:+.4g}."
                    )
    headline = (
        "Company or vision changes how some play" if sure else "Neither company nor vision is seen to change anyone"
    )
    if not found["finished"]:
        headline = "Not finished: the comparison so far"
    told = [*sure[:6]] or ["No difference leaves zero out of its 95% interval."]
    told.append(
        f"Company: playing beside rivals unseen instead of alone. Vision: seeing the rivals' state "
        f"({safe(found['when'])}) instead of not. {number(found['items'])} items, {found['trials']} trial(s)."
    )
    blocks: list[Block] = [
        Figure(f"vision-{name}", charts.changes(some, EFFECTS[name][0]), said, said, small=True)
        for name, some in points.items()
        if any(row["value"] for row in some)
        for said in (f"{EFFECTS[name][0]} from one condition to the next, with 95% intervals.",)
    ]
    note = "Means an item, paired by item. Alone, a player is its own normaliser, so Q does not compare with company."
    headings = ["player", "effect of", *(title for title, _ in EFFECTS.values())]
    blocks.append(Table("vision", Grid(headings, rows, left=2), note))
    return Verdict(headline, told), [Section("vision", "What changes", blocks)]
