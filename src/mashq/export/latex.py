"""The result table for a paper: a LaTeX float with booktabs rules, its caption, and what must be said as comments."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mashq.analysis import score_report
from mashq.analysis.score_report import judge
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
    found = _found(season)
    detector = season.manifest["detector"]
    parts = [
        found.what,
        "H as drawn" if all_drawn(season.config) else f"H by {detector['name']} {detector['version'][:24]}",
    ]
    rules = score_rules_of(season.config)
    if found.scored:
        parts.append(f"Q = {rules.alpha:g}·H − {rules.beta:g}·P")
    if season.manifest["simulated"]:
        parts.append("SIMULATED: some players were not real models")
    if not season.finished:
        parts.append("NOT FINISHED")
    players = season.config.players
    if len(players) <= MAX_NAMED and season.kind != "sweep":
        parts.append(", ".join(f"{player.name}: {player.agent} on {player.model}" for player in players))
    caption = "; ".join(latex(part) for part in parts) + "."
    marks = ["", *(f"-{number}" for number in range(2, len(found.grids) + 1))]
    tables = [
        floating(written(grid, "latex"), caption, f"tab:mashq{mark}")
        for grid, mark in zip(found.grids, marks, strict=True)
    ]
    return "\n\n".join([*tables, found.comments]) + "\n"


@dataclass(frozen=True, slots=True)
class _Found:
    """What a run's tables are, what they are over, and what must be said with them, as comments."""

    grids: Sequence[Grid]
    what: str
    comments: str
    scored: bool = True


def _found(season: Season) -> _Found:
    if season.kind == "sweep":
        swept = sweep.document(season)
        settings = ", ".join(axis.setting for axis in swept.over)
        what = f"{len(swept.cells)} combination(s) of {settings}, {swept.trials} trial(s) each"
        return _Found([sweep_text.table(swept)], what, prose(sweep_text.sentences(swept), "latex"), scored=False)
    if season.kind == "tournament":
        rated = tournament.document(season)
        few = 1 < len(rated.players) <= tournament_text.MAX_MATRIX
        grids = [tournament_text.ratings(rated), *([tournament_text.wins(rated)] if few else [])]
        what = f"{rated.matches} pairings of {rated.items} items"
        return _Found(grids, what, prose(tournament_text.sentences(rated), "latex"))
    if season.kind == "vision":
        seen = vision.document(season)
        what = f"{seen.items} items, {seen.trials} trial(s), differences between conditions, paired by item"
        return _Found([vision_text.table(seen)], what, prose(vision_text.sentences(seen), "latex"))
    if season.kind != "match":
        raise ConfigError(
            f"{season.path} is a {season.kind}, not one match: export its rows with --format csv, or one of its "
            "tables with 'mashq show'"
        )
    if season.manifest.get("season", {}).get("trials", 1) > 1:
        repeated = trials.document(season)
        what = f"{repeated.trials} trials of {repeated.items} items, means ± standard deviation over trials"
        return _Found([trials_text.table(repeated)], what, prose(trials_text.sentences(repeated), "latex"))
    results = season_results(trials_of(season))
    one = judge(results, score_report.Options(score_rules_of(season.config), finished=season.finished))
    return _Found([table(one, everyone=True)], f"{one.items} items", prose(sentences(one), "latex"))
