"""Questions with their passages, from rows of anyone's files.

A row has a `question` and its `passages`: a list of texts or of objects with `text` and, if they like, `id` and
`title`; a string that holds such a list as JSON will do where a file has no lists (CSV). A passage without an id is
called p1, p2 … by its place. `reference`, `answerable` and `evidence` (the ids of the passages that hold the answer)
are optional.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from mashq.bounds import parse
from mashq.errors import DataError
from mashq.gateway.untrusted import as_list, as_object, whole
from mashq.protocol.items import Item, Passage

LONGEST_ID = 80
FORBIDDEN = re.compile(r"[\[\],;\r\n]")
TRUTHS: Mapping[object, bool | None] = {
    **dict.fromkeys((True, 1, "true", "yes", "1"), True),
    **dict.fromkeys((False, 0, "false", "no", "0"), False),
    **dict.fromkeys((None, ""), None),
}


@dataclass(frozen=True, slots=True)
class DocumentFields:
    """Which columns hold what."""

    passages: str = "passages"
    answerable: str = "answerable"
    evidence: str = "evidence"


def with_documents(item: Item, row: Mapping[str, object], fields: DocumentFields, where: str) -> Item:
    """A question with the passages of its row; a DataError when they cannot be read."""
    passages = _passages(row.get(fields.passages), f"{where} ({fields.passages!r})")
    said = row.get(fields.answerable)
    key = said.strip().lower() if isinstance(said, str) else said
    if isinstance(key, list | dict) or key not in TRUTHS:
        raise DataError(f"{where}: {fields.answerable!r} is {said!r:.40}: write true, false, or leave it out")
    named = _listed(row.get(fields.evidence), where)
    evidence = tuple(str(name).strip() for name in as_list(named) or ([named] if named else []))
    known = {passage.id for passage in passages}
    for name in evidence:
        if name not in known:
            raise DataError(f"{where}: {fields.evidence!r} names {name!r:.60}, and no passage has that id")
    return Item(item.id, item.text, item.reference, passages, TRUTHS[key], evidence)


def _listed(value: object, where: str) -> object:
    """A list that stands in a cell as JSON is that list."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            return parse(value, where)
        except ValueError:
            return value
    return value


def _by_row(value: object) -> object:
    """Columns of equal length, as hub data sets have them, are the rows that they hold."""
    columns = as_object(value)
    if columns is None or "text" not in columns:
        return value
    lists = {name: as_list(cells) for name, cells in columns.items()}
    count = len(lists["text"] or ())
    return [
        {name: cells[at] for name, cells in lists.items() if cells and len(cells) == count} for at in range(count)
    ]


def _passages(value: object, where: str) -> tuple[Passage, ...]:
    rows = as_list(_by_row(_listed(value, where)))
    if not rows:
        raise DataError(
            f"{where} holds no passages: give a list of texts, or of objects with a text (and an id and a title), or "
            "name the right field with task.map.passages"
        )
    found: list[Passage] = []
    ids: set[str] = set()
    for place, row in enumerate(rows, 1):
        one = _passage(row, place, where)
        if one.id in ids:
            raise DataError(f"{where}: two passages have the id {one.id!r}; ids must differ")
        ids.add(one.id)
        found.append(one)
    return tuple(found)


def _passage(row: object, place: int, where: str) -> Passage:
    document: Mapping[str, object] = {"text": row} if isinstance(row, str) else as_object(row) or {}
    text = document.get("text")
    if not isinstance(text, str) or not text.strip():
        raise DataError(f"{where}: passage {place} has no text: fill it, or leave it out")
    given, title = document.get("id"), document.get("title")
    name = whole(str(given)).strip() if given not in (None, "") else f"p{place}"
    if len(name) > LONGEST_ID or FORBIDDEN.search(name) or not name:
        raise DataError(
            f"{where}: passage {place} has the id {name!r:.60}, which cannot be cited: use at most {LONGEST_ID} "
            "characters without brackets, commas, semicolons and line ends"
        )
    return Passage(name, whole(text), whole(title) if isinstance(title, str) else "")
