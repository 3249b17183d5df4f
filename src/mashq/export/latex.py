"""The result table for a paper: a LaTeX float with booktabs rules, its caption, and notes as comments."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mashq.analysis import score_report
from mashq.analysis.score_report import judge
from mashq.analysis.story.words import plural
from mashq.errors import ConfigError
from mashq.export.base import Options, What
from mashq.export.files import text_to
from mashq.players.registry import all_drawn
from mashq.report.documents import sweep, tournament, trials, vision
from mashq.report.documents.columns import season_results, trials_of
from mashq.report.text import sweep as sweep_text
from mashq.report.text import tournament as tournament_text
from mashq.report.text import trials as trials_text
from mashq.report.text import vision as vision_text
from mashq.report.text.score import sentences, table
from mashq.report.text.tables import Grid, floating, latex, prose, written
from mashq.runs.open import Season, load_season
from mashq.runs.setup import score_rules_of

RESAMPLES = 10_000
MAX_NAMED = 6


class Latex:
    """The result table of a run."""

    suffixes: tuple[str, ...] = (".tex",)
    holds: tuple[What, ...] = ("results",)

    def write(self, run: Path, out: Path | None, options: Options) -> list[str]:
        """Write the table."""
        if options.matches:
            raise ConfigError("--match is not for latex: the table is of the whole run")
        text = document(load_season(run))
        with text_to(out) as file:
            file.write(text)
        return []


def document(season: Season) -> str:
    """The table of a match, of its trials, of a sweep, a tournament or a comparison of conditions."""
    content = _content(season)
    detector = season.manifest["detector"]
    parts = [
        content.what,
        "H as drawn" if all_drawn(season.config) else f"H by {detector['name']} {detector['version'][:24]}",
    ]
    rules = score_rules_of(season.config)
    if content.scored:
        parts.append(f"Q = {rules.alpha:g}·H − {rules.beta:g}·P")
    if season.manifest["simulated"]:
        parts.append("SIMULATED: some players were not real models")
    if not season.finished:
        parts.append("NOT FINISHED")
    players = season.config.players
    if len(players) <= MAX_NAMED and season.kind != "sweep":
        parts.append(", ".join(f"{player.name}: {player.agent} on {player.model}" for player in players))
    caption = "; ".join(latex(part) for part in parts) + "."
    marks = ["", *(f"-{number}" for number in range(2, len(content.grids) + 1))]
    tables = [
        floating(written(grid, "latex"), caption, f"tab:mashq{mark}")
        for grid, mark in zip(content.grids, marks, strict=True)
    ]
    return "\n\n".join([*tables, content.comments]) + "\n"


@dataclass(frozen=True, slots=True)
class _Content:
    """The tables of a run, a description of the data, and notes as comments."""

    grids: Sequence[Grid]
    what: str
    comments: str
    scored: bool = True


def _content(season: Season) -> _Content:
    if season.kind == "sweep":
        sweep_doc = sweep.document(season)
        settings = ", ".join(axis.setting for axis in sweep_doc.over)
        what = (
            f"{plural(len(sweep_doc.cells), 'combination')} of {settings}, {plural(sweep_doc.trials, 'trial')} each"
        )
        return _Content(
            [sweep_text.table(sweep_doc)], what, prose(sweep_text.sentences(sweep_doc), "latex"), scored=False
        )
    if season.kind == "tournament":
        tournament_doc = tournament.document(season)
        few = 1 < len(tournament_doc.players) <= tournament_text.MAX_MATRIX
        grids = [tournament_text.ratings(tournament_doc), *([tournament_text.wins(tournament_doc)] if few else [])]
        what = f"{tournament_doc.matches} pairings of {tournament_doc.items} items"
        return _Content(grids, what, prose(tournament_text.sentences(tournament_doc), "latex"))
    if season.kind == "vision":
        vision_doc = vision.document(season)
        what = (
            f"{plural(vision_doc.items, 'item')}, {plural(vision_doc.trials, 'trial')}, differences between "
            "conditions, paired by item"
        )
        return _Content([vision_text.table(vision_doc)], what, prose(vision_text.sentences(vision_doc), "latex"))
    if season.kind != "match":
        raise ConfigError(
            f"{season.path} is a {season.label}, not one match: export its rows with --format csv, or one of its "
            "tables with 'mashq show'"
        )
    if season.manifest.get("season", {}).get("trials", 1) > 1:
        trials_doc = trials.document(season)
        what = f"{trials_doc.trials} trials of {trials_doc.items} items, means ± standard deviation over trials"
        return _Content([trials_text.table(trials_doc)], what, prose(trials_text.sentences(trials_doc), "latex"))
    results = season_results(trials_of(season))
    scored = judge(results, score_report.Options(score_rules_of(season.config), finished=season.finished))
    return _Content([table(scored, everyone=True)], f"{scored.items} items", prose(sentences(scored), "latex"))
