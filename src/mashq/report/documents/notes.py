"""What every result says of the run behind it: its models, their replies, its gateway, and who played it."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mashq.report.documents import earlier
from mashq.runs.manifest import ACCEPTED, rules_of_play
from mashq.runs.reading import read_billed, read_cuts, read_lessons, read_lost, read_refusals, read_unusable

FIELDS = {"temperature": "a temperature", "seed": "a seed", "schema": "a JSON schema", "limit": "an output limit"}
EFFECTS = {
    ("answer", True): "answer(s) were {why}; they count as failed.",
    ("answer", False): "answer(s) were {why}; they are scored as they stand.",
    ("rewrite", True): "review(s) were {why}; the old answers stand.",
    ("rewrite", False): "review(s) were {why}; they are scored as they stand.",
    ("decision", False): "decision(s) were {why}; they count as continue.",
}


def notes_on_run(path: Path, manifest: Mapping[str, Any], match: str | None = None) -> Iterator[str]:
    """Sentences on a run; those on replies are of one match, or of all."""
    yield from _replies(path, match)
    yield from _models(path, manifest, match)
    yield from _gateway(path)
    yield from earlier.note(path, manifest)
    for accepted in manifest.get(ACCEPTED, []):
        yield (
            f"The run was changed after it was begun ({', '.join(accepted['changed'])}) and gone on with openly: its "
            "figures before and after that are not of one run."
        )


def _replies(path: Path, match: str | None) -> Iterator[str]:
    """Those that could not be used, and those billed."""
    for name, (texts, plain, decisions, lost) in read_unusable(path, match).items():
        if plain:
            yield f"{name}: {plain} of {texts} replies were not the JSON asked for; each was taken as plain text."
        if lost:
            yield f"{name}: {lost} of {decisions} decisions gave nothing usable; each became `continue`."
    for name, (billed, priced) in read_billed(path, match).items():
        rest = "" if billed == priced else ", the rest by the price list"
        yield f"{name}: the dollars of {billed} of {priced} calls are as the provider billed them{rest}."


def _gateway(path: Path) -> Iterator[str]:
    """Requests that were turned away, and attempts that a machine may have lost."""
    for row in read_refusals(path):
        who = row["player"] or "Someone unknown"
        yield f"{who} made {row['requests']} request(s) that were turned away ({row['status']}: {row['reason']})."
    lost = read_lost(path)
    if lost:
        yield (
            f"The machine went down while the run was played: up to {lost} attempt(s) may have been sent that the "
            "ledger does not have, so costs may be a little higher than shown."
        )


def _models(path: Path, manifest: Mapping[str, Any], match: str | None) -> Iterator[str]:
    """What models do not take, and what output limits cut off."""
    drawn = all(name.startswith("simulated/") for name in manifest.get("models", {}))
    if rules_of_play(manifest) == 1 or drawn:
        return
    for model, lessons in read_lessons(path).items():
        for lesson in lessons:
            if lesson.limit is not None:
                yield f"{model} takes an output limit of at most {lesson.limit} tokens ({lesson.why})."
            else:
                named = FIELDS.get(lesson.field, lesson.field)
                yield f"{model} does not take {named} ({lesson.why}): it was left out from then on."
    for cut in read_cuts(path, match):
        yield f"{cut.player}: {cut.count} {EFFECTS[cut.kind, cut.lost].format(why=cut.why)}"
