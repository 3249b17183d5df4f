"""A run of any kind as a chapter of a report."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from mashq.analysis.intervals import METHOD
from mashq.players.registry import all_drawn
from mashq.report.documents import seasons
from mashq.report.html import sections, sections_more, sections_passages
from mashq.report.html.facts import Facts
from mashq.report.html.methods import methods
from mashq.report.html.parts import Chapter, Section, Verdict
from mashq.report.html.times import times
from mashq.report.html.verdicts import verdict
from mashq.report.text.formatting import count, safe, simulated_said
from mashq.runs.open import Season

MATCH = f"{METHOD} The bands over beta use 1,000 resamples at each of 17 values of beta."
SEASON = "Intervals: items are drawn with replacement, all players' scores and costs of an item together (seed 0)."


def match_chapter(facts: Facts, name: str, judges: Sequence[Facts] = ()) -> Chapter:
    """Build the chapter of a match or of its trials."""
    season = facts.season
    parts: list[Section | None] = []
    if facts.judged is not None:
        parts += [
            sections.result(facts),
            sections.beta(facts),
            sections.fronts(facts),
            sections.reviews(facts),
            sections_passages.documents(facts),
            sections_more.course(facts),
            times(facts),
            sections_more.spread(facts),
            sections_more.deciding(facts),
            sections_more.failures(facts),
            sections_more.sensitivity(facts, judges),
            sections_more.story(facts),
            sections_more.lengths(facts),
            sections_more.faithful(facts),
        ]
    else:
        parts += [
            sections_more.course(facts),
            times(facts),
            sections_more.failures(facts),
            sections_more.story(facts),
        ]
    parts.append(methods(season, MATCH))
    kept = [part for part in parts if part is not None]
    return Chapter(name, title(season), _subtitle(season), banners(season), verdict(facts), kept)


def season_chapter(season: Season, name: str) -> Chapter:
    """Build the chapter of a sweep, a tournament, a game or a comparison of conditions."""
    chapter_verdict, parts = _section_builder(season.kind)(seasons.document(season))
    return Chapter(
        name, title(season), _subtitle(season), banners(season), chapter_verdict, [*parts, methods(season, SEASON)]
    )


def title(season: Season) -> str:
    """Return the title of a run: the name of its directory."""
    return safe(Path(season.path).resolve().name, 80)


def _subtitle(season: Season) -> str:
    trials = season.manifest.get("season", {}).get("trials", 1)
    detector = season.manifest["detector"]
    judge = (
        "scored as drawn"
        if all_drawn(season.config)
        else f"scored by {safe(detector['name'])} {safe(detector['version'], 24)}"
    )
    trials_text = f", {trials} trials" if trials > 1 else ""
    kind = "comparison of company and vision" if season.kind == "vision" else season.kind
    players, items = len(season.config.players), season.manifest["items"]
    return f"{kind.capitalize()} of {count(players, 'player')} over {count(items, 'item')}{trials_text}, {judge}"


def banners(season: Season) -> list[str]:
    """Return the warnings to show first."""
    lines: list[str] = []
    if season.manifest["simulated"]:
        lines.append(f"SIMULATED: {simulated_said(season.config.players) or 'some players were not real models'}.")
    if not season.finished:
        lines.append("NOT FINISHED: this is how it stands; nobody has won yet.")
    return lines


def _section_builder(kind: str) -> Callable[[Any], tuple[Verdict, list[Section]]]:
    """Return the function that builds the verdict and the sections of a season of this kind."""
    from mashq.report.html import sections_games, sections_seasons  # slow to import, and not needed for matches

    builders: dict[str, Callable[[Any], tuple[Verdict, list[Section]]]] = {
        "sweep": sections_seasons.sweep,
        "tournament": sections_seasons.tournament,
        "game": sections_games.game,
        "vision": sections_games.vision,
    }
    return builders[kind]
