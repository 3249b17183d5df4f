"""The result table for a paper: a LaTeX float with booktabs rules, its caption, and what must be said as comments."""

from pathlib import Path

from mashq.analysis import score_report
from mashq.analysis.score_report import judge
from mashq.errors import ConfigError
from mashq.export.base import Options, What
from mashq.export.files import text_to
from mashq.report.documents import trials
from mashq.report.documents.columns import season_results, trials_of
from mashq.report.text import trials as trials_text
from mashq.report.text.score import sentences, table
from mashq.report.text.tables import latex, prose, written
from mashq.runs.open import Season, load_season
from mashq.runs.setup import score_rules_of

RESAMPLES = 10_000


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
    """The table of a match, or of its trials."""
    if season.kind != "match":
        raise ConfigError(
            f"{season.path} is a {season.kind}, not one match: export its rows with --format csv, or one of its "
            "tables with 'mashq show'"
        )
    if season.manifest.get("season", {}).get("trials", 1) > 1:
        found = trials.document(season)
        tabular, comments = written(trials_text.table(found), "latex"), prose(trials_text.sentences(found), "latex")
        what = f"{found.trials} trials of {found.items} items, means ± standard deviation over trials"
    else:
        results = season_results(trials_of(season))
        found = judge(results, score_report.Options(score_rules_of(season.config), finished=season.finished))
        tabular, comments = written(table(found, everyone=True), "latex"), prose(sentences(found), "latex")
        what = f"{found.items} items"
    detector = season.manifest["detector"]
    drawn = all(player.model.startswith("simulated/") for player in season.config.players)
    parts = [what, "H as drawn" if drawn else f"H by {detector['name']} {detector['version'][:24]}"]
    parts.append(f"Q = {found.alpha:g}·H − {found.beta:g}·P")
    if season.manifest["simulated"]:
        parts.append("SIMULATED: some players were not real models")
    if not season.finished:
        parts.append("NOT FINISHED")
    caption = "; ".join(latex(part) for part in parts)
    lines = [r"\begin{table}", r"\centering", rf"\caption{{{caption}.}}", r"\label{tab:mashq}", tabular]
    return "\n".join([*lines, r"\end{table}", comments]) + "\n"
