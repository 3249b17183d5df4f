"""Several runs side by side: the players they have in common, and the settings in which they differ."""

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
    """Compare the verdicts of all runs and, for matches, the players they have in common."""
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
    label_of = labels(common)
    runs = list(labels_of([title(facts.season) for facts in scored]))
    rows: list[list[str]] = []
    points: list[dict[str, Any]] = []
    orders: set[tuple[str, ...]] = set()
    costs = cost_columns([player.costs for facts in scored for player in facts.report.players])
    for run, facts in zip(runs, scored, strict=True):
        report = facts.report
        by_name = {player.name: player for player in report.players}
        orders.add(tuple(sorted(common, key=lambda name: -(-9e9 if (q := by_name[name].q) is None else q))))
        for name in common:
            entry = by_name[name]
            star = " ★" if report.winner == name else ""
            low, high = entry.q_low, entry.q_high
            width = "?" if low is None else f"± {half(low, high)}"
            rows.append(
                [
                    run,
                    label_of[name] + star,
                    number(entry.h, 4),
                    *(charged(key, entry.costs[key], entry.charged) for key in costs),
                    number(entry.penalty, 3),
                    number(entry.q, 4),
                    width,
                ]
            )
            if entry.q is not None:
                points.append({"player": label_of[name], "value": run, "q": entry.q, "low": low, "high": high})
    headings = ["run", "player", "H", *costs, "P", "Q", "95%"]
    names = [label_of[name] for name in common[:MAX_COST]]
    caption = "Q of the common players in each run, with 95% intervals. Q is relative to the match it was played in."
    kept = [row for row in points if row["player"] in names]
    same_note = "The ranking of the common players is the same in every run."
    verdict = same_note if len(orders) == 1 else "The ranking of the common players depends on the run."
    return [
        Figure("runs", charts.swept(kept, names, "run", numbers=False), caption, verdict),
        Prose([verdict, *_uneven(runs, scored)]),
        Table("common", Grid(headings, rows, left=2), "The players that the runs have in common."),
        *_settings(runs, scored),
    ]


def _uneven(runs: Sequence[str], scored: Sequence[Facts]) -> list[str]:
    """Return a sentence if the runs do not score the same units; otherwise nothing."""
    units_by_run = [
        set(compress(units(facts.results), scored_in(facts.results, facts.rules.refusals).tolist()))
        for facts in scored
    ]
    if all(run_units == units_by_run[0] for run_units in units_by_run):
        return []
    counts = ", ".join(f"{run} {len(run_units)}" for run, run_units in zip(runs, units_by_run, strict=True))
    return [
        f"Each run is scored over its own units (an item in a trial), and these are not the same: {counts}. "
        "mashq compare scores what the runs have in common."
    ]


def labels_of(titles: Sequence[str]) -> list[str]:
    """Return labels for runs, numbering repeated names from the second on."""
    seen: dict[str, int] = {}
    run_labels: list[str] = []
    for name in titles:
        seen[name] = seen.get(name, 0) + 1
        run_labels.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return run_labels


def _settings(runs: Sequence[str], scored: Sequence[Facts]) -> list[Block]:
    settings_by_run = [
        flattened(without_folders(facts.season.manifest["config"]))
        | {"trials": facts.season.manifest.get("season", {}).get("trials", 1)}
        | {"detector": " ".join(facts.played.manifest["detector"].values())}
        for facts in scored
    ]
    keys = list(dict.fromkeys(key for settings in settings_by_run for key in settings))
    differ = [
        key
        for key in keys
        if len({json.dumps(settings.get(key), sort_keys=True) for settings in settings_by_run}) > 1
    ]
    if not differ:
        return [Prose(["The runs have the same settings."])]
    rows = [
        [key, *(safe(str(settings.get(key, "–")), 48) for settings in settings_by_run)]
        for key in differ[:MAX_SETTINGS]
    ]
    more = f" ({len(differ) - MAX_SETTINGS} more are not shown)" if len(differ) > MAX_SETTINGS else ""
    return [Table("settings", Grid(["setting", *runs], rows, left=1 + len(runs)), f"What the runs differ in{more}.")]
