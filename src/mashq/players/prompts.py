"""Prompt templates: plain text files with ${fields}, filled in one pass.

What is filled in is never read as a template again, so a passage may hold any text at all. A folder of the user's own
may replace any of the files; one it lacks is ours.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

from mashq.errors import ConfigError

STATE = frozenset(
    {
        "player",
        "rivals",
        "total",
        "done",
        "remaining",
        "tokens",
        "calls",
        "reviews",
        "average_h",
        "seconds",
        "seconds_line",
        "current_id",
        "worst_id",
        "worst_h",
        "recommendation",
        "review_cost",
        "max_reviews",
        "threshold",
        "resources",
        "rivals_section",
        "goal_section",
        "h_section",
        "review_section",
        "disclosure_section",
        "alpha",
        "beta",
    }
)
FIELDS: dict[str, frozenset[str]] = {
    "policy": STATE,
    "answer": frozenset({"passage"}),
    "review": frozenset({"passage", "answer", "h"}),
    "again": frozenset({"keys"}),
    "react": STATE | {"passage"},
    "observe": frozenset({"told"}),
}
_FIELD = re.compile(r"\$\{([a-z_]+)\}")


@dataclass(frozen=True, slots=True)
class Prompts:
    """The templates of one player, by name."""

    texts: Mapping[str, str]
    task: str = "summarise"

    def fill(self, name: str, values: Mapping[str, str]) -> str:
        """A template with its fields filled in."""
        plain, *rest = _parts(self.texts[name])
        filled = [plain]
        for field, after in zip(rest[::2], rest[1::2]):
            filled += (values[field], after)
        return "".join(filled).rstrip("\n")

    @property
    def digest(self) -> str:
        """A fingerprint of all the templates."""
        whole = "\x1e".join(f"{name}\x1f{self.texts[name]}" for name in sorted(self.texts))
        return hashlib.sha256(whole.encode()).hexdigest()


@lru_cache(256)
def _parts(template: str) -> tuple[str, ...]:
    """A template as text, field, text, field, … text."""
    return tuple(_FIELD.split(template))


def load(folder: Path | None = None, task: str = "summarise") -> Prompts:
    """Our templates for a task, with those in `folder` in their place."""
    ours = files("mashq.players").joinpath("prompts")
    texts: dict[str, str] = {}
    for name in FIELDS:
        special = ours.joinpath(task, f"{name}.txt")
        texts[name] = (special if special.is_file() else ours.joinpath(f"{name}.txt")).read_text("utf-8")
    if folder is not None:
        texts |= _own(folder)
    return Prompts(texts, task)


def _own(folder: Path) -> dict[str, str]:
    wanted = ", ".join(f"{name}.txt" for name in FIELDS)
    if not folder.is_dir():
        raise ConfigError(f"the prompt folder {folder} does not exist: it holds any of {wanted}")
    texts: dict[str, str] = {}
    for name in FIELDS:
        path = folder / f"{name}.txt"
        if not path.exists():
            continue
        try:
            texts[name] = path.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(
                f"the prompt {path} cannot be read ({error}): it must be UTF-8 text that you may read"
            ) from None
        unknown = sorted({found for found in _FIELD.findall(texts[name]) if found not in FIELDS[name]})
        if unknown:
            known = ", ".join(sorted(FIELDS[name]))
            raise ConfigError(f"the prompt {path} names the unknown field ${{{unknown[0]}}}: it may use {known}")
    if not texts:
        raise ConfigError(f"the prompt folder {folder} holds none of {wanted}")
    return texts
