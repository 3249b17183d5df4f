"""How a run was made, in enough detail to cite and to reproduce it."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from mashq.analysis.score_report import normaliser
from mashq.players.registry import all_drawn
from mashq.report.html.parts import Block, Code, Prose, Quotes, Section, Table
from mashq.report.text.formatting import safe
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
        Table("players", _players(config, manifest), "Players: what each was and what it was made of."),
        Table(
            "manifest", Grid(["", ""], [*_rows(manifest), *_chain_row(season)], left=2), "The manifest of the run."
        ),
        Prose(["To cite this run:"]),
        Code(citation(season)),
        Quotes("The whole configuration", [("As JSON", json.dumps(config, indent=1, ensure_ascii=False))], code=True),
    ]
    return Section("methods", "Methods and manifest", blocks)


def _method_sentences(season: Season, resamples: str) -> Iterator[str]:
    config = season.config
    rules = config.rules
    detector = season.manifest["detector"]
    score = config.score
    counted = ", ".join(
        name + (f" (weight {score.weights[name]:g})" if score.weights.get(name, 1.0) != 1 else "")
        for name in score.resources
    )
    judge = f"scored by {safe(detector['name'])} {safe(detector['version'], 60)}"
    if all_drawn(config):
        judge = "drawn by the simulation (no detector ran)"
    relative = relative_to(normaliser(score_rules_of(config)))
    yield (
        f"The match follows the protocol of {PAPER}: in each round every player answers the next item of its own "
        "order, decides whether to review its worst answer, and pays for every call. "
        f"Turn {rules.turn}; review threshold T {rules.T:g}; at most R {rules.R} reviews per item; a rewrite is kept "
        f"{'always' if rules.keep == 'latest' else 'when it scores higher'}; rivals' states are shown: "
        f"{rules.vision.when}."
    )
    yield (
        f"H is the mean factuality of the final answers, {judge}; players were guided by "
        f"{safe(str(season.manifest.get('guide', 'judge')), 60)}. "
        f"P adds up {counted or 'nothing'}, each relative to {relative}. Q = {score.alpha:g}·H − {config.beta:g}·P. "
        f"Refused and failed items: {score.refusals}."
    )
    yield resamples
    yield (
        "Costs are from a ledger that is written before each request is sent; retries and failed attempts are "
        "counted. The cost of an attempt that did not tell it is estimated and marked with ~; what cannot be "
        "estimated is shown as ?, never as 0."
    )


def _players(config: Mapping[str, Any], manifest: Mapping[str, Any]) -> Grid:
    rows: list[list[str]] = []
    prompts = manifest["digests"].get("prompts", {})
    rules = config["rules"]
    for player in config["players"]:
        t, r = player.get("T"), player.get("R")
        rows.append(
            [
                player["name"],
                str(player["agent"]),
                str(player["model"]),
                str(player.get("policy", "")),
                f"{rules['T'] if t is None else t:g}",
                str(rules["R"] if r is None else r),
                str(player.get("order") or "default"),
                str(prompts.get(player["name"], "?"))[:DIGEST],
            ]
        )
    return Grid(["player", "agent", "model", "policy", "T", "R", "order", "prompts (digest)"], rows, left=8)


def _chain_row(season: Season) -> Iterator[list[str]]:
    head = read_head(season.path)
    if head is not None:
        yield ["head of the chain", head]


def _rows(manifest: Mapping[str, Any]) -> Iterator[list[str]]:
    yield ["started", str(manifest["started"])]
    yield ["ended", str(manifest["ended"] or "not finished")]
    yield ["seed", str(manifest["seed"])]
    season = manifest.get("season", {})
    yield ["kind", f"{season.get('kind', 'match')}, {season.get('trials', 1)} trial(s)"]
    yield ["items", str(manifest["items"])]
    yield ["detector", f"{manifest['detector']['name']} {manifest['detector']['version']}"]
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
        f"{digests['config'][:DIGEST]}, seed {manifest['seed']}, detector {_plain(manifest['detector']['name'])} "
        f"{_plain(manifest['detector']['version'])[:24]}{', SIMULATED' if manifest['simulated'] else ''}}},",
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
