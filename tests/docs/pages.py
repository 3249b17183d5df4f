"""The documentation as a reader follows it: the files a page shows, and the commands it tells to run.

A block with a title (```yaml title="match.yaml") is a file; a block of `sh` is run, line after line, in the folder of
the page's files. Other blocks are read only: what they call must exist.
"""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
FENCE = re.compile(r"^```([^\n`]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
TITLE = re.compile(r'title="([\w./-]+)"')


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its language, the file it is (or nothing), and its text."""

    language: str
    file: str
    text: str


def every_page() -> list[str]:
    """The pages by their path in the repository."""
    found = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [path.relative_to(ROOT).as_posix() for path in found]


def blocks(page: str) -> list[Block]:
    """The fenced blocks of a page, in order."""
    found: list[Block] = []
    for head, text in FENCE.findall((ROOT / page).read_text("utf-8")):
        title = TITLE.search(head)
        found.append(Block(head.split()[0] if head.split() else "", title[1] if title else "", text))
    return found


def followed() -> list[str]:
    """The pages whose commands are run."""
    return [
        page for page in every_page() if any(block.language == "sh" and _ours(block.text) for block in blocks(page))
    ]


def _ours(text: str) -> bool:
    return any(line.startswith("mashq ") for line in text.splitlines())


def script(page: str, folder: Path) -> str:
    """Write a page's files and give its commands as one script; installing is the one thing left to the reader."""
    lines = ["set -eu"]
    for block in blocks(page):
        if block.file:
            (folder / block.file).parent.mkdir(parents=True, exist_ok=True)
            (folder / block.file).write_text(block.text, "utf-8")
        elif block.language == "sh" and _ours(block.text):
            lines += [line for line in block.text.splitlines() if not line.startswith("pip install ")]
    return "\n".join(lines) + "\n"


def calls(page: str) -> Iterator[list[str]]:
    """Every command line of mashq on a page, in blocks of commands of any kind, as words."""
    for block in blocks(page):
        if block.language not in ("", "sh", "text", "console"):
            continue
        for line in block.text.replace("\\\n", " ").splitlines():
            if "mashq " in line and not line.startswith(" ") and line.split()[0] in ("mashq", "pip", "make"):
                yield from _parts(shlex.split(line, comments=True))


def _parts(words: list[str]) -> Iterator[list[str]]:
    """The calls of mashq in a line of shell."""
    part: list[str] = []
    for word in [*words, "&&"]:
        if word not in ("&&", "|", ">"):
            part.append(word)
            continue
        if part[:1] == ["mashq"]:
            yield part[1:]
        part = []
