"""Prompt templates: plain text files with ${fields}, filled in one pass.

Filled-in values are never parsed as templates again, so a passage may contain any text. A user's prompt folder may
replace any of the files; missing ones fall back to the built-in templates.
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
        """A template with its fields filled in; a requested length is appended if it has no field for it."""
        head, *rest = _parts(self.texts[name])
        values = {"length": self.length, **values}
        filled = [head]
        for field, literal in zip(rest[::2], rest[1::2]):
            filled += (values[field], literal)
        text = "".join(filled).rstrip("\n")
        missing = self.words is not None and "length" in FIELDS[name] and "length" not in rest[::2]
        return f"{text}\n\nLength asked for: {self.length}." if missing else text

    @property
    def length(self) -> str:
        """The length an answer should have, in words."""
        if self.words is None:
            return "two or three short sentences"
        low, high = self.words
        return f"{low} words" if low == high else f"{low} to {high} words"

    @property
    def digest(self) -> str:
        """A hash of all the templates."""
        text = "\x1e".join(f"{name}\x1f{self.texts[name]}" for name in sorted(self.texts))
        return hashlib.sha256(text.encode()).hexdigest()


def item_fields(item: Item) -> dict[str, str]:
    """The prompt fields of an item: `passage` is all of it, `question` and `passages` are its parts."""
    tags = [
        f'<passage id="{passage.id}"{_title_attribute(passage.title)}>\n{passage.text}\n</passage>'
        for passage in item.passages
    ]
    return {"passage": item.shown, "question": item.text, "passages": "\n".join(tags)}


def _title_attribute(title: str) -> str:
    return f' title="{" ".join(title.split())}"' if title else ""


@lru_cache(256)
def _parts(template: str) -> tuple[str, ...]:
    """A template split into text, field, text, field, … text."""
    return tuple(_FIELD.split(template))


def load(folder: Path | None = None, task: str = "summarise", words: tuple[int, int] | None = None) -> Prompts:
    """The built-in templates for a task, overridden by those in `folder`."""
    built_in = files("mashq.players").joinpath("prompts")
    texts: dict[str, str] = {}
    for name in FIELDS:
        for_task = built_in.joinpath(task, f"{name}.txt")
        texts[name] = (for_task if for_task.is_file() else built_in.joinpath(f"{name}.txt")).read_text("utf-8")
    if folder is not None:
        texts |= _from_folder(folder)
    return Prompts(texts, task, words)


def _from_folder(folder: Path) -> dict[str, str]:
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
        unknown = sorted({field for field in _FIELD.findall(texts[name]) if field not in FIELDS[name]})
        if unknown:
            known = ", ".join(sorted(FIELDS[name]))
            raise ConfigError(f"the prompt {path} names the unknown field ${{{unknown[0]}}}: it may use {known}")
    if not texts:
        raise ConfigError(f"the prompt folder {folder} holds none of {wanted}")
    return texts
