"""Questions with their passages, from the rows of a data file.

A row has a `question` and its `passages`: a list of texts, or of objects with `text` and optionally `id` and `title`;
a string holding such a list as JSON also works, for formats without lists (CSV). A passage without an id is called
p1, p2 … by its position. `reference`, `answerable` and `evidence` (the ids of the passages that contain the answer)
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
    """The names of the columns for each field."""

    passages: str = "passages"
    answerable: str = "answerable"
    evidence: str = "evidence"


def with_documents(item: Item, row: Mapping[str, object], fields: DocumentFields, where: str) -> Item:
    """A question with the passages of its row; raises DataError if they cannot be read."""
    passages = _passages(row.get(fields.passages), f"{where} ({fields.passages!r})")
    answerable = row.get(fields.answerable)
    key = answerable.strip().lower() if isinstance(answerable, str) else answerable
    if isinstance(key, list | dict) or key not in TRUTHS:
        raise DataError(f"{where}: {fields.answerable!r} is {answerable!r:.40}: write true, false, or leave it out")
    cited = _json_list(row.get(fields.evidence), where)
    evidence = tuple(str(name).strip() for name in as_list(cited) or ([cited] if cited else []))
    ids = {passage.id for passage in passages}
    for name in evidence:
        if name not in ids:
            raise DataError(f"{where}: {fields.evidence!r} names {name!r:.60}, and no passage has that id")
    return Item(item.id, item.text, item.reference, passages, TRUTHS[key], evidence)


def _json_list(value: object, where: str) -> object:
    """A cell that holds a JSON list as text becomes that list; other values are returned unchanged."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            return parse(value, where)
        except ValueError:
            return value
    return value


def _transposed(value: object) -> object:
    """Convert columns of equal length, as in hub data sets, to a list of rows; other values are unchanged."""
    columns = as_object(value)
    if columns is None or "text" not in columns:
        return value
    lists = {name: as_list(cells) for name, cells in columns.items()}
    count = len(lists["text"] or ())
    return [
        {name: cells[index] for name, cells in lists.items() if cells and len(cells) == count}
        for index in range(count)
    ]


def _passages(value: object, where: str) -> tuple[Passage, ...]:
    rows = as_list(_transposed(_json_list(value, where)))
    if not rows:
        raise DataError(
            f"{where} holds no passages: give a list of texts, or of objects with a text (and an id and a title), or "
            "name the right field with task.map.passages"
        )
    passages: list[Passage] = []
    ids: set[str] = set()
    for number, row in enumerate(rows, 1):
        passage = _passage(row, number, where)
        if passage.id in ids:
            raise DataError(f"{where}: two passages have the id {passage.id!r}; ids must differ")
        ids.add(passage.id)
        passages.append(passage)
    return tuple(passages)


def _passage(row: object, number: int, where: str) -> Passage:
    document: Mapping[str, object] = {"text": row} if isinstance(row, str) else as_object(row) or {}
    text = document.get("text")
    if not isinstance(text, str) or not text.strip():
        raise DataError(f"{where}: passage {number} has no text: fill it, or leave it out")
    given_id, title = document.get("id"), document.get("title")
    name = whole(str(given_id)).strip() if given_id not in (None, "") else f"p{number}"
    if len(name) > LONGEST_ID or FORBIDDEN.search(name) or not name:
        raise DataError(
            f"{where}: passage {number} has the id {name!r:.60}, which cannot be cited: use at most {LONGEST_ID} "
            "characters without brackets, commas, semicolons and line ends"
        )
    return Passage(name, whole(text), whole(title) if isinstance(title, str) else "")
