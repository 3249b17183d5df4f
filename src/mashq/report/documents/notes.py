"""Notes on a run for every result: its models, their replies, its gateway, and the version that played it."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mashq.analysis.paired import Common
from mashq.analysis.story.words import plural
from mashq.config import Config
from mashq.gateway.providers import is_simulated
from mashq.players.registry import recorded_spec, sees_rivals
from mashq.protocol.results import Results
from mashq.protocol.score import some
from mashq.report.documents import earlier
from mashq.runs.manifest import ACCEPTED, config_of, rules_of_play
from mashq.runs.reading import (
    read_advice,
    read_billed,
    read_cuts,
    read_lessons,
    read_lost,
    read_refusals,
    read_unusable,
)
from mashq.runs.seasons import TWIN

FIELDS = {
    "temperature": "a temperature",
    "seed": "a seed",
    "schema": "a JSON schema",
    "limit": "an output limit",
    "stream_options": "a request for a stream's usage",
}
EFFECTS = {
    ("answer", True): ("answer", "counted as failed"),
    ("answer", False): ("answer", "scored as it stands"),
    ("rewrite", True): ("review", "left the old answer as it was"),
    ("rewrite", False): ("review", "scored as it stands"),
    ("decision", False): ("decision", "counted as continue"),
}


def outside_length(results: Results, wanted: tuple[int, int] | None) -> list[str]:
    """Report the players whose answers are outside the requested length."""
    if wanted is None or results.content is None:
        return []
    low, high = wanted
    notes: list[str] = []
    for name, words in zip(results.players, results.content.answers["words"], strict=True):
        known = words[~np.isnan(words)]
        outside = int(((known < low) | (known > high)).sum())
        if outside:
            notes.append(
                f"{name} gave {outside} of {len(known)} answers outside of the {low} to {high} words asked for."
            )
    return notes


def uneven(changes: Iterable[tuple[str, Common | None]]) -> list[str]:
    """Report the differences for which not all units could be paired; `changes` are labels with their unit counts."""
    descriptions = [f"{label} {units.both} of {units.either}" for label, units in changes if units is not None]
    return (
        [f"Differences are over the units (an item in a trial) that both sides score: {some(descriptions)}."]
        if descriptions
        else []
    )


def notes_on_run(path: Path, manifest: Mapping[str, Any], match: str | None = None) -> Iterator[str]:
    """Yield notes on a run; notes on replies cover one match, or all of them."""
    config = config_of(manifest, str(path))
    yield from _reactions(manifest.get("season", {}).get("kind", "match"), config)
    yield from _policies(path, config, match)
    yield from _replies(path, match)
    yield from _models(path, manifest, match)
    yield from _gateway(path)
    yield from earlier.note(path, manifest)
    for accepted in manifest.get(ACCEPTED, []):
        yield (
            f"The run was changed after it was begun ({', '.join(accepted['changed'])}) and continued with "
            "--accept-change: its figures before and after that are not of one run."
        )


def advice(path: Path, config: Config, match: str | None) -> dict[str, tuple[int, int]]:
    """Return, for each policy that was advised to review, how often it was and how often it did."""
    specs = {player.name: recorded_spec(player.agent) for player in config.players}
    policies = {name for name, spec in specs.items() if spec.asks_policy and spec.reviews == "by decision"}
    return {name: counts for name, counts in read_advice(path, match).items() if name.removesuffix(TWIN) in policies}


def blind(config: Config) -> list[str]:
    """Return the players that cannot react to what they are shown of rivals."""
    return [p.name for p in config.players if not sees_rivals(p, config.model(p.model).simulate.snapshot_response)]


def _policies(path: Path, config: Config, match: str | None) -> Iterator[str]:
    """Note models that were advised to review and never did; rule-based policies may decline by design."""
    models = {player.name for player in config.players if player.policy == "llm"}
    for name, (advised, reviewed) in advice(path, config, match).items():
        if not reviewed and advised > 1 and name.removesuffix(TWIN) in models:
            yield (
                f"{name} was advised to review {advised} times and never did: its policy shows nothing here of how "
                "it weighs reviews, rivals or costs."
            )


def _reactions(kind: str, config: Config) -> Iterator[str]:
    """Note players in a comparison of visions that cannot react to what they are shown."""
    names = blind(config) if kind in ("vision", "game") else []
    if names:
        who = f"{', '.join(names)} cannot" if len(names) < len(config.players) else "No player here can"
        yield (
            f"{who} react to what is shown of rivals (a rule, no policy, or drawn decisions): vision can change "
            "nothing in what they do."
        )


def _replies(path: Path, match: str | None) -> Iterator[str]:
    """Note replies that could not be used, and calls with costs as billed by the provider."""
    for name, (texts, plain, decisions, unusable) in read_unusable(path, match).items():
        if plain:
            yield f"{name}: {plain} of {texts} replies were not the JSON asked for; each was taken as plain text."
        if unusable:
            yield f"{name}: {unusable} of {decisions} decisions gave nothing usable; each became `continue`."
    for name, (billed, priced) in read_billed(path, match).items():
        remainder = "" if billed == priced else ", the rest by the price list"
        yield f"{name}: the dollars of {billed} of {priced} calls are as the provider billed them{remainder}."


def _gateway(path: Path) -> Iterator[str]:
    """Note requests that were rejected, and attempts that may have been lost in a crash."""
    for row in read_refusals(path):
        who = row["player"] or "Someone unknown"
        requests = plural(row["requests"], "request")
        yield f"{who} made {requests} that the gateway turned away ({row['status']}: {row['reason']})."
    lost = read_lost(path)
    if lost:
        yield (
            f"The machine went down while the run was played: up to {plural(lost, 'attempt')} may have been sent "
            "that the ledger does not have, so costs may be a little higher than shown."
        )


def _models(path: Path, manifest: Mapping[str, Any], match: str | None) -> Iterator[str]:
    """Note request fields that models do not accept, and replies cut off by output limits."""
    drawn = all(map(is_simulated, manifest.get("models", ())))
    if rules_of_play(manifest) == 1 or drawn:
        return
    for model, lessons in read_lessons(path).items():
        for lesson in lessons:
            if lesson.limit is not None:
                yield f"{model} takes an output limit of at most {lesson.limit} tokens ({lesson.why})."
            else:
                field_name = FIELDS.get(lesson.field, lesson.field)
                yield f"{model} does not take {field_name} ({lesson.why}): it was left out from then on."
    for cut in read_cuts(path, match):
        noun, effect = EFFECTS[cut.kind, cut.lost]
        was, each = ("was", "") if cut.count == 1 else ("were", "each ")
        yield f"{cut.player}: {plural(cut.count, noun)} {was} {cut.why}; {each}{effect}."
