"""Prompt templates: plain text files with ${fields}, filled in one pass.

What is filled in is never read as a template again, so a passage may hold any text at all. A folder of the user's own
may replace any of the files; one it lacks is ours.
"""

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

from mashq.bounds import TEXT, read_text
from mashq.errors import ConfigError
from mashq.protocol.items import Item

ITEM_FIELDS = ("passage", "question", "passages")
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
    "answer": frozenset({*ITEM_FIELDS, "length"}),
    "review": frozenset({*ITEM_FIELDS, "answer", "h", "length"}),
    "again": frozenset({"keys"}),
    "react": STATE | {*ITEM_FIELDS, "length"},
    "observe": frozenset({"told"}),
}
_FIELD = re.compile(r"\$\{([a-z_]+)\}")


@dataclass(frozen=True, slots=True)
class Prompts:
    """The templates of one player, by name."""

    texts: Mapping[str, str]
    task: str = "summarise"
    words: tuple[int, int] | None = None

    def fill(self, name: str, values: Mapping[str, str]) -> str:
        """A template with its fields filled in; a length that is asked for is said even where it has no field."""
        plain, *rest = _parts(self.texts[name])
        values = {"length": self.length, **values}
        filled = [plain]
        for field, after in zip(rest[::2], rest[1::2]):
            filled += (values[field], after)
        text = "".join(filled).rstrip("\n")
        unsaid = self.words is not None and "length" in FIELDS[name] and "length" not in rest[::2]
        return f"{text}\n\nLength asked for: {self.length}." if unsaid else text

    @property
    def length(self) -> str:
        """How long an answer should be, in words."""
        if self.words is None:
            return "two or three short sentences"
        low, high = self.words
        return f"{low} words" if low == high else f"{low} to {high} words"

    @property
    def digest(self) -> str:
        """A fingerprint of all the templates."""
        whole = "\x1e".join(f"{name}\x1f{self.texts[name]}" for name in sorted(self.texts))
        return hashlib.sha256(whole.encode()).hexdigest()


def item_fields(item: Item) -> dict[str, str]:
    """What prompts say of an item: `passage` is all of it, `question` and `passages` are its parts."""
    tags = [f'<passage id="{one.id}"{_titled(one.title)}>\n{one.text}\n</passage>' for one in item.passages]
    return {"passage": item.shown, "question": item.text, "passages": "\n".join(tags)}


def _titled(title: str) -> str:
    return f' title="{" ".join(title.split())}"' if title else ""


@lru_cache(256)
def _parts(template: str) -> tuple[str, ...]:
    """A template as text, field, text, field, … text."""
    return tuple(_FIELD.split(template))


def load(folder: Path | None = None, task: str = "summarise", words: tuple[int, int] | None = None) -> Prompts:
    """Our templates for a task, with those in `folder` in their place."""
    ours = files("mashq.players").joinpath("prompts")
    texts: dict[str, str] = {}
    for name in FIELDS:
        special = ours.joinpath(task, f"{name}.txt")
        texts[name] = (special if special.is_file() else ours.joinpath(f"{name}.txt")).read_text("utf-8")
    if folder is not None:
        texts |= _own(folder)
    return Prompts(texts, task, words)


def _own(folder: Path) -> dict[str, str]:
    wanted = ", ".join(f"{name}.txt" for name in FIELDS)
    if not os.path.isdir(folder):
        raise ConfigError(f"the prompt folder {folder} does not exist: it holds any of {wanted}")
    texts: dict[str, str] = {}
    for name in FIELDS:
        path = folder / f"{name}.txt"
        if not os.path.exists(path):
            continue
        try:
            texts[name] = read_text(path, TEXT)
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
