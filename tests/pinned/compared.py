"""Pinned values as files, and the cells in which two of them differ, by address."""

import difflib
import hashlib
import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

RELATIVE, ABSOLUTE, WIDTH, MOST, LONGEST = 1e-9, 1e-12, 200, 20, 200
COLUMNS, ROWS = "columns", "rows"
Data = dict[str, Any]


def dumped(value: Any, indent: int = 0) -> str:
    """JSON that a person can read: what fits on a line stays on it."""
    flat = json.dumps(value, ensure_ascii=False)
    if len(flat) + indent <= WIDTH or not isinstance(value, dict | list) or not value:
        return flat
    inner = " " * (indent + 1)
    if isinstance(value, dict):
        pairs = cast(dict[str, Any], value)
        parts = [
            f"{inner}{json.dumps(key, ensure_ascii=False)}: {dumped(one, indent + 1)}" for key, one in pairs.items()
        ]
        return "{\n" + ",\n".join(parts) + "\n" + " " * indent + "}"
    return (
        "[\n"
        + ",\n".join(inner + one for one in _packed(cast(list[Any], value), indent + 1))
        + "\n"
        + " " * indent
        + "]"
    )


def _packed(values: list[Any], indent: int) -> Iterator[str]:
    """The elements of a list; plain numbers and short words share lines."""
    if any(isinstance(one, dict | list) or len(str(one)) > 24 for one in values):
        yield from (dumped(one, indent) for one in values)
        return
    line = ""
    for one in values:
        text = json.dumps(one, ensure_ascii=False)
        if line and len(line) + len(text) + indent > WIDTH:
            yield line
            line = text
        else:
            line = f"{line}, {text}" if line else text
    if line:
        yield line


def compact(value: Any) -> Any:
    """The same value as it is stored: rows with equal columns as a table, endless texts by their digest,
    and numbers to twelve digits."""
    if isinstance(value, str):
        if len(value) <= LONGEST:
            return value
        digest = hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()[:12]
        return f"{value[: LONGEST - 60]}… ({len(value)} characters, sha256 {digest})"
    if isinstance(value, list):
        rows = cast(list[Any], value)
        if (
            len(rows) > 1
            and all(isinstance(row, dict) and list(cast(Data, row)) == list(rows[0]) for row in rows)
            and rows[0]
        ):
            return {COLUMNS: list(rows[0]), ROWS: [[compact(cell) for cell in row.values()] for row in rows]}
        return [compact(row) for row in rows]
    if isinstance(value, dict):
        return {key: compact(one) for key, one in cast(Data, value).items()}
    return float(f"{value:.12g}") if isinstance(value, float) else value


def write(folder: Path, name: str, texts: dict[str, str], data: Data) -> None:
    """The expected files of one case: a transcript for what is text, JSON for what is data."""
    for end, content in ((".txt", transcript(texts)), (".json", dumped(compact(data)) + "\n" if data else "")):
        path = folder / f"{name}{end}"
        if content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, "utf-8")
        else:
            path.unlink(missing_ok=True)


def transcript(texts: dict[str, str]) -> str:
    """Commands and what they printed, one after the other."""
    shown = {name: text.rstrip("\n").replace("\r", "␍") for name, text in texts.items()}
    return "".join(f"═══ {name}\n{text}\n" for name, text in shown.items())


def differences(folder: Path, name: str, texts: dict[str, str], data: Data) -> list[str]:
    """Every cell that differs from the expected one: where, what was expected, what came."""
    wrote, stored = folder / f"{name}.txt", folder / f"{name}.json"
    before = wrote.read_text("utf-8") if wrote.exists() else ""
    known: Any = json.loads(stored.read_text("utf-8")) if stored.exists() else {}
    found = list(_lines(f"{name}.txt", before, transcript(texts)))
    return found + list(_cells(f"{name}.json", known, compact(json.loads(json.dumps(data)))))


def _lines(file: str, before: str, after: str) -> Iterator[str]:
    old, new = before.split("\n"), after.split("\n")
    if old == new:
        return
    heads = ["", *old]
    for tag, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        head = next((line[4:] for line in reversed(heads[: a + 2]) if line.startswith("═══ ")), "")
        for at in range(max(b - a, d - c)):
            was = old[a + at] if a + at < b else None
            now = new[c + at] if c + at < d else None
            yield f"{file}:{a + at + 1} ({head}){_column(was, now)}: expected {was!r}, got {now!r}"


def _column(was: str | None, now: str | None) -> str:
    """Which cells of a line differ, where both have as many."""
    if was is None or now is None:
        return ""
    left, right = (re.split(r"\s{2,}|\s\|\s|\s&\s|,", line.strip()) for line in (was, now))
    if len(left) != len(right):
        return ""
    wrong = [f"{n}: {a!r} is now {b!r}" for n, (a, b) in enumerate(zip(left, right, strict=True), 1) if a != b]
    return f", column {'; '.join(wrong)}" if len(wrong) < len(left) or len(wrong) == 1 else ""


def _cells(at: str, was: Any, now: Any) -> Iterator[str]:
    if isinstance(was, dict) and isinstance(now, dict):
        old, new = cast(Data, was), cast(Data, now)
        if list(old) == list(new) == [COLUMNS, ROWS] and old[COLUMNS] == new[COLUMNS]:
            yield from _table(at, old, new)
            return
        for key in [*old, *(key for key in new if key not in old)]:
            place = f"{at}/{key}"
            if key not in new:
                yield f"{place}: expected {_short(old[key])}, got nothing"
            elif key not in old:
                yield f"{place}: expected nothing, got {_short(new[key])}"
            else:
                yield from _cells(place, old[key], new[key])
        if list(old) != list(new) and set(old) == set(new):
            yield f"{at}: the order of the keys was {list(old)}, is {list(new)}"
    elif isinstance(was, list) and isinstance(now, list):
        before, after = cast(list[Any], was), cast(list[Any], now)
        if len(before) != len(after):
            yield f"{at}: expected {len(before)} entries, got {len(after)}"
        for number, (a, b) in enumerate(zip(before, after, strict=False)):
            yield from _cells(f"{at}[{number}]", a, b)
        longer = before if len(before) > len(after) else after
        for number in range(min(len(before), len(after)), len(longer)):
            which = "expected" if longer is before else "got"
            yield f"{at}[{number}]: only {which}: {_short(longer[number])}"
    elif not same(cast(object, was), cast(object, now)):
        yield f"{at}: expected {_short(cast(object, was))}, got {_short(cast(object, now))}"


def _table(at: str, old: Data, new: Data) -> Iterator[str]:
    """The cells of a table by row and name of the column."""
    names: list[str] = old[COLUMNS]
    if len(old[ROWS]) != len(new[ROWS]):
        yield f"{at}: expected {len(old[ROWS])} rows, got {len(new[ROWS])}"
    for number, (before, after) in enumerate(zip(old[ROWS], new[ROWS], strict=False)):
        for name, a, b in zip(names, before, after, strict=True):
            yield from _cells(f"{at}[{number}].{name}", a, b)


def same(was: object, now: object) -> bool:
    """Whether two plain values are the same; numbers may differ by the order in which they were added up."""
    numbers = all(isinstance(one, int | float) and not isinstance(one, bool) for one in (was, now))
    if numbers:
        a, b = cast(float, was), cast(float, now)
        return (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    return type(was) is type(now) and was == now


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else text[:200] + "…"
