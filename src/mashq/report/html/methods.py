"""How a run was made, in enough detail to cite and to reproduce it."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from mashq.analysis.score_report import normaliser
from mashq.players.registry import all_drawn, recorded_spec
from mashq.report.html.parts import Block, Code, Prose, Quotes, Section, Table
from mashq.report.text.formatting import count, reviews_by_rule, safe
from mashq.report.text.score import relative_to
from mashq.report.text.tables import Grid
from mashq.runs.open import Season
from mashq.runs.reading import read_head
from mashq.runs.setup import score_rules_of

PAPER = "MAS-HQ, arXiv 2607.24063"
DIGEST = 16


def methods(season: Season, resamples: str) -> Section:
    """Build the section with rules, versions, digests, seeds and a citation; `resamples` describes the intervals."""
    manifest = season.manifest
    config: Mapping[str, Any] = without_folders(manifest["config"])
    blocks: list[Block] = [
        Prose(list(_method_sentences(season, resamples))),
        Table("players", _players(config, manifest), "The players and their settings."),
        Table("manifest", Grid(["", ""], [*_rows(season), *_chain_row(season)], left=2), "The manifest of the run."),
        Prose(["To cite this run:"]),
        Code(citation(season)),
        Quotes("The whole configuration", [("As JSON", json.dumps(config, indent=1, ensure_ascii=False))], code=True),
    ]
    return Section("methods", "Methods and manifest", blocks)


def _method_sentences(season: Season, resamples: str) -> Iterator[str]:
    config = season.config
    rules, swept = config.rules, _swept(season.manifest)
    score = config.score
    counted = ", ".join(
        name + (f" (weight {score.weights[name]:g})" if score.weights.get(name, 1.0) != 1 else "")
        for name in score.resources
    )
    drawn = all_drawn(config)
    judge = "drawn by the simulation (no detector ran)" if drawn else f"scored by {detector_of(season, 60)}"
    relative = relative_to(normaliser(score_rules_of(config)))
    yield (
        f"The match follows the protocol of {PAPER}: in each round every player answers the next item of its own "
        "order, decides whether to review its worst answer, and pays for every call. "
        f"Turn {rules.turn}; review threshold T {swept.get('rules.T', f'{rules.T:g}')}; at most R "
        f"{swept.get('rules.R', str(rules.R))} reviews per item; a rewrite is kept "
        f"{'always' if rules.keep == 'latest' else 'when it scores higher'}; rivals' states are shown: "
        f"{swept.get('rules.vision.when', rules.vision.when)}."
    )
    yield (
        f"H is the mean factuality of the final answers, {judge}; players were guided by "
        f"{safe(str(season.manifest.get('guide', 'judge')), 60)}. "
        f"P adds up {counted or 'nothing'}, each relative to {relative}. Q = "
        f"{swept.get('score.alpha', f'{score.alpha:g}')}·H − {swept.get('score.beta', f'{config.beta:g}')}·P. "
        f"Refused and failed items: {score.refusals}."
    )
    yield resamples
    yield (
        "Costs are from a ledger that is written before each request is sent; retries and failed attempts are "
        "counted. The cost of an attempt that did not report it is estimated and marked with ~; what cannot be "
        "estimated is shown as ?, never as 0."
    )


def _swept(manifest: Mapping[str, Any]) -> dict[str, str]:
    """The values of the settings that a sweep varies, by setting."""
    over: list[tuple[str, list[Any]]] = manifest.get("season", {}).get("over") or []
    return {setting: f"{', '.join(safe(str(value), 24) for value in values)} (swept)" for setting, values in over}


def detector_of(season: Season, longest: int = 200) -> str:
    """The detector that scored, with its version; none where all answers carry a score that was drawn."""
    if all_drawn(season.config):
        return "none (scores are drawn)"
    detector = season.manifest["detector"]
    return f"{safe(detector['name'])} {safe(detector['version'], longest)}"


def _players(config: Mapping[str, Any], manifest: Mapping[str, Any]) -> Grid:
    rows: list[list[str]] = []
    prompts = manifest["digests"].get("prompts", {})
    rules, swept = config["rules"], _swept(manifest)
    for player in config["players"]:
        t, r = player.get("T"), player.get("R")
        agent = str(player["agent"])
        reviews, decides = reviews_by_rule(agent), "policy" in recorded_spec(agent).settings
        rows.append(
            [
                player["name"],
                agent,
                str(player["model"]),
                str(player.get("policy", "")) if decides else "–",
                (swept.get("rules.T", f"{rules['T']:g}") if t is None else f"{t:g}") if reviews else "–",
                (swept.get("rules.R", str(rules["R"])) if r is None else str(r)) if reviews else "–",
                str(player.get("order") or "default"),
                str(prompts.get(player["name"], "?"))[:DIGEST],
            ]
        )
    return Grid(["player", "agent", "model", "policy", "T", "R", "order", "prompts (digest)"], rows, left=8)


def _chain_row(season: Season) -> Iterator[list[str]]:
    head = read_head(season.path)
    if head is not None:
        yield ["head of the chain", head]


def _rows(season: Season) -> Iterator[list[str]]:
    manifest = season.manifest
    yield ["started", str(manifest["started"])]
    yield ["ended", str(manifest["ended"] or "not finished")]
    yield ["seed", str(manifest["seed"])]
    yield ["kind", f"{season.kind}, {count(manifest.get('season', {}).get('trials', 1), 'trial')}"]
    yield ["items", str(manifest["items"])]
    yield ["detector", detector_of(season)]
    for name in ("config", "items", "package"):
        yield [f"digest of the {name}", str(manifest["digests"].get(name, "?"))]
    for name, package_version in manifest["versions"].items():
        yield [name, str(package_version)]


def citation(season: Season) -> str:
    """Return a BibTeX entry that identifies the run by its digests."""
    manifest = season.manifest
    digests = manifest["digests"]
    names = ", ".join(_plain(player.name) for player in season.config.players[:6])
    more = len(season.config.players) - 6
    day = str(manifest["started"])[:10]
    lines = [
        f"@misc{{mashq-{digests['config'][:8]}-{digests['items'][:8]},",
        f"  title        = {{A MAS-HQ {season.kind}: {names}{f' and {more} more' if more > 0 else ''}}},",
        f"  year         = {{{day[:4]}}},",
        f"  howpublished = {{mashq {manifest['versions'].get('mashq', '?')}, run of {day}}},",
        f"  note         = {{{manifest['items']} items (sha256 {digests['items'][:DIGEST]}), configuration sha256 "
        f"{digests['config'][:DIGEST]}, seed {manifest['seed']}, detector {_plain(detector_of(season, 24))}"
        f"{', SIMULATED' if manifest['simulated'] else ''}}},",
        "}",
    ]
    return "\n".join(lines)


def without_folders(value: Any) -> Any:
    """Remove local folders from settings, because a page may be published."""
    if isinstance(value, str):
        return re.sub(r"^((?:recorded|local)/)?/(?:[^/]*/)*([^/]+)$", r"\1…/\2", value)
    if isinstance(value, list):
        return [without_folders(inner) for inner in cast(list[Any], value)]
    if isinstance(value, dict):
        return {key: without_folders(inner) for key, inner in cast(dict[str, Any], value).items()}
    return value


def _plain(text: str) -> str:
    """Remove characters that would break a BibTeX entry."""
    return re.sub(r"[{}\\%#$&~^@]", "", safe(text, 40))
