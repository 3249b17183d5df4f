"""What every result of a run says of its models: what they do not take, and what output limits cut off."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mashq.runs.manifest import rules_of_play
from mashq.runs.reading import read_cuts, read_lessons

FIELDS = {"temperature": "a temperature", "seed": "a seed", "schema": "a JSON schema", "limit": "an output limit"}
EFFECTS = {
    ("answer", True): "answer(s) were {why}; they count as failed.",
    ("answer", False): "answer(s) were {why}; they are scored as they stand.",
    ("rewrite", True): "review(s) were {why}; the old answers stand.",
    ("rewrite", False): "review(s) were {why}; they are scored as they stand.",
    ("decision", False): "decision(s) were {why}; they count as continue.",
}


def notes_on_models(path: Path, manifest: Mapping[str, Any], match: str | None = None) -> Iterator[str]:
    """Sentences on the models of a run, and on the replies that were cut off in a match or in all of them."""
    drawn = all(name.startswith("simulated/") for name in manifest["models"])
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
