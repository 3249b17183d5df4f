"""Reports of runs, for `mashq report`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mashq.detectors import base
from mashq.errors import ConfigError
from mashq.gateway.backends.weights import cache_dir
from mashq.report.documents.columns import trials_of
from mashq.report.html.chapters import match_chapter, season_chapter
from mashq.report.html.compare import comparison
from mashq.report.html.facts import Facts, facts
from mashq.report.html.page import render
from mashq.report.html.parts import Chapter, Section
from mashq.runs.open import Season, load_season
from mashq.runs.rescore import cache_file, rescored
from mashq.runs.score_cache import Cached


@dataclass(frozen=True, slots=True)
class Report:
    """One chapter per run, and a comparison if there are several."""

    chapters: Sequence[Chapter]
    comparison: Section | None
    matches: Sequence[Facts]

    def html(self) -> str:
        """Render the HTML page."""
        title = ", ".join(chapter.title for chapter in self.chapters[:4])
        return render(title, self.chapters, self.comparison)


def report(runs: Sequence[Path], detectors: Sequence[str] = ()) -> Report:
    """Build the report of some runs; matches are also scored by other `detectors`, without any model call."""
    chapters: list[Chapter] = []
    matches: list[Facts] = []
    for number, path in enumerate(runs, start=1):
        season = load_season(path)
        if season.kind == "match":
            match_facts = facts(season)
            matches.append(match_facts)
            chapters.append(match_chapter(match_facts, f"run{number}", _judges(season, match_facts, detectors)))
        elif detectors:
            raise ConfigError(f"{path} is a {season.label}: --detector is for reports of matches and their trials")
        else:
            chapters.append(season_chapter(season, f"run{number}"))
    return Report(chapters, comparison(chapters, matches) if len(chapters) > 1 else None, matches)


def _judges(season: Season, match_facts: Facts, detectors: Sequence[str]) -> list[Facts]:
    rescored_facts: list[Facts] = []
    for name in detectors:
        judge = Cached(base.load(name), cache_file(cache_dir()))
        rescored_facts.append(facts(season, [rescored(played, judge) for played in trials_of(season)]))
    return rescored_facts
