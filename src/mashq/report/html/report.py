"""Runs as a report: what `mashq report` calls."""

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
    """Chapters, one a run, and what stands beside them when there are several."""

    chapters: Sequence[Chapter]
    comparison: Section | None
    matches: Sequence[Facts]

    def html(self) -> str:
        """The page."""
        title = ", ".join(chapter.title for chapter in self.chapters[:4])
        return render(title, self.chapters, self.comparison)


def report(runs: Sequence[Path], detectors: Sequence[str] = ()) -> Report:
    """The report of some runs; matches are also scored by other `detectors`, without any model call."""
    chapters: list[Chapter] = []
    matches: list[Facts] = []
    for number, path in enumerate(runs, start=1):
        season = load_season(path)
        if season.kind == "match":
            own = facts(season)
            matches.append(own)
            chapters.append(match_chapter(own, f"run{number}", _judges(season, own, detectors)))
        elif detectors:
            raise ConfigError(f"{path} is a {season.kind}: --detector is for reports of matches and their trials")
        else:
            chapters.append(season_chapter(season, f"run{number}"))
    return Report(chapters, comparison(chapters, matches) if len(chapters) > 1 else None, matches)


def _judges(season: Season, own: Facts, detectors: Sequence[str]) -> list[Facts]:
    found: list[Facts] = []
    for name in detectors:
        judge = Cached(base.load(name), cache_file(cache_dir()))
        found.append(facts(season, [rescored(played, judge) for played in trials_of(season)]))
    return found
