"""Several runs side by side: the players they have in common, and how the runs differ."""

import json
from collections.abc import Sequence
from itertools import compress
from typing import Any

from mashq.analysis.paired import scored as scored_in
from mashq.analysis.paired import units
from mashq.report.documents.compare import flattened
from mashq.report.html import charts_seasons as charts
from mashq.report.html.chapters import title
from mashq.report.html.facts import Facts
from mashq.report.html.labels import labels
from mashq.report.html.methods import without_folders
from mashq.report.html.parts import Block, Chapter, Figure, Prose, Section, Table
from mashq.report.html.style import MAX_COST
from mashq.report.text.formatting import charged, cost_columns, number, safe
from mashq.report.text.tables import Grid, half

MAX_SETTINGS = 24


def comparison(chapters: Sequence[Chapter], matches: Sequence[Facts]) -> Section:
    """The verdicts of all runs and, of the matches among them, the players they have in common."""
    rows = [
        [chapter.title, chapter.subtitle, chapter.verdict.headline, _MARKS[chapter.verdict.mark]]
        for chapter in chapters
    ]
    blocks: list[Block] = [Table("runs", Grid(["run", "what", "verdict", "clear (95%)"], rows, left=4), "The runs.")]
    scored = [facts for facts in matches if facts.judged is not None]
    if len(scored) > 1:
        blocks += _common(scored)
    return Section("comparison", "The runs side by side", blocks)


_MARKS = {"sure": "yes", "unsure": "no", "": "–"}


def _common(scored: Sequence[Facts]) -> list[Block]:
    common = [name for name in scored[0].names if all(name in facts.names for facts in scored)]
    if not common:
        return [Prose(["These matches have no player in common: only their verdicts stand side by side."])]
    known = labels(common)
    runs = list(labels_of([title(facts.season) for facts in scored]))
    rows: list[list[str]] = []
    points: list[dict[str, Any]] = []
    orders: set[tuple[str, ...]] = set()
    costs = cost_columns([player.costs for facts in scored for player in facts.report.players])
    for run, facts in zip(runs, scored, strict=True):
        judged = facts.report
        by = {player.name: player for player in judged.players}
        orders.add(tuple(sorted(common, key=lambda name: -(-9e9 if (q := by[name].q) is None else q))))
        for name in common:
            one = by[name]
            star = " ★" if judged.winner == name else ""
            low, high = one.q_low, one.q_high
            width = "?" if low is None else f"± {half(low, high)}"
            rows.append(
                [
                    run,
                    known[name] + star,
                    number(one.h, 4),
                    *(charged(key, one.costs[key], one.charged) for key in costs),
                    number(one.penalty, 3),
                    number(one.q, 4),
                    width,
                ]
            )
            if one.q is not None:
                points.append({"player": known[name], "value": run, "q": one.q, "low": low, "high": high})
    headings = ["run", "player", "H", *costs, "P", "Q", "95%"]
    names = [known[name] for name in common[:MAX_COST]]
    caption = "Q of the common players in each run, with 95% intervals. Q is relative to the match it was played in."
    kept = [row for row in points if row["player"] in names]
    same = "The ranking of the common players is the same in every run."
    told = same if len(orders) == 1 else "The ranking of the common players depends on the run."
    return [
        Figure("runs", charts.swept(kept, names, "run", numbers=False), caption, told),
        Prose([told, *_uneven(runs, scored)]),
        Table("common", Grid(headings, rows, left=2), "The players that the runs have in common."),
        *_settings(runs, scored),
    ]


def _uneven(runs: Sequence[str], scored: Sequence[Facts]) -> list[str]:
    """A sentence where the runs do not score the same units."""
    each = [
        set(compress(units(facts.results), scored_in(facts.results, facts.rules.refusals).tolist()))
        for facts in scored
    ]
    if all(own == each[0] for own in each):
        return []
    told = ", ".join(f"{run} {len(own)}" for run, own in zip(runs, each, strict=True))
    return [
        f"Each run is scored over its own units (an item in a trial), and these are not the same: {told}. "
        "mashq compare scores what the runs have in common."
    ]


def labels_of(titles: Sequence[str]) -> list[str]:
    """Labels for runs, the second of the same name with a number."""
    seen: dict[str, int] = {}
    found: list[str] = []
    for one in titles:
        seen[one] = seen.get(one, 0) + 1
        found.append(one if seen[one] == 1 else f"{one} ({seen[one]})")
    return found


def _settings(runs: Sequence[str], scored: Sequence[Facts]) -> list[Block]:
    flat = [
        flattened(without_folders(facts.season.manifest["config"]))
        | {"trials": facts.season.manifest.get("season", {}).get("trials", 1)}
        | {"detector": " ".join(facts.played.manifest["detector"].values())}
        for facts in scored
    ]
    keys = list(dict.fromkeys(key for one in flat for key in one))
    differ = [key for key in keys if len({json.dumps(one.get(key), sort_keys=True) for one in flat}) > 1]
    if not differ:
        return [Prose(["The runs have the same settings."])]
    rows = [[key, *(safe(str(one.get(key, "–")), 48) for one in flat)] for key in differ[:MAX_SETTINGS]]
    more = f" ({len(differ) - MAX_SETTINGS} more are not shown)" if len(differ) > MAX_SETTINGS else ""
    return [Table("settings", Grid(["setting", *runs], rows, left=1 + len(runs)), f"What the runs differ in{more}.")]
