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
    """Return readable JSON: what fits on a line stays on it."""
    flat = json.dumps(value, ensure_ascii=False)
    if len(flat) + indent <= WIDTH or not isinstance(value, dict | list) or not value:
        return flat
    inner = " " * (indent + 1)
    if isinstance(value, dict):
        pairs = cast(dict[str, Any], value)
        parts = [
            f"{inner}{json.dumps(key, ensure_ascii=False)}: {dumped(entry, indent + 1)}"
            for key, entry in pairs.items()
        ]
        return "{\n" + ",\n".join(parts) + "\n" + " " * indent + "}"
    return (
        "[\n"
        + ",\n".join(inner + entry for entry in _packed(cast(list[Any], value), indent + 1))
        + "\n"
        + " " * indent
        + "]"
    )


def _packed(values: list[Any], indent: int) -> Iterator[str]:
    """Yield the lines of a list; plain numbers and short words share lines."""
    if any(isinstance(entry, dict | list) or len(str(entry)) > 24 for entry in values):
        yield from (dumped(entry, indent) for entry in values)
        return
    line = ""
    for entry in values:
        text = json.dumps(entry, ensure_ascii=False)
        if line and len(line) + len(text) + indent > WIDTH:
            yield line
            line = text
        else:
            line = f"{line}, {text}" if line else text
    if line:
        yield line


def compact(value: Any) -> Any:
    """Return the value as it is stored: rows with equal columns as a table, long texts by their digest,
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
        return {key: compact(entry) for key, entry in cast(Data, value).items()}
    return float(f"{value:.12g}") if isinstance(value, float) else value


def write(folder: Path, name: str, texts: dict[str, str], data: Data) -> None:
    """Write the expected files of one case: a transcript for texts, JSON for data."""
    for end, content in ((".txt", transcript(texts)), (".json", dumped(compact(data)) + "\n" if data else "")):
        path = folder / f"{name}{end}"
        if content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, "utf-8")
        else:
            path.unlink(missing_ok=True)


def transcript(texts: dict[str, str]) -> str:
    """Return commands and what they printed, one after the other."""
    shown = {name: text.rstrip("\n").replace("\r", "␍") for name, text in texts.items()}
    return "".join(f"═══ {name}\n{text}\n" for name, text in shown.items())


def differences(folder: Path, name: str, texts: dict[str, str], data: Data) -> list[str]:
    """Return every cell that differs from the expected one, with its address and both values."""
    text_file, stored = folder / f"{name}.txt", folder / f"{name}.json"
    before = text_file.read_text("utf-8") if text_file.exists() else ""
    expected: Any = json.loads(stored.read_text("utf-8")) if stored.exists() else {}
    changes = list(_lines(f"{name}.txt", before, transcript(texts)))
    return changes + list(_cells(f"{name}.json", expected, compact(json.loads(json.dumps(data)))))


def _lines(file: str, before: str, after: str) -> Iterator[str]:
    old, new = before.split("\n"), after.split("\n")
    if old == new:
        return
    heads = ["", *old]
    for tag, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        head = next((line[4:] for line in reversed(heads[: a + 2]) if line.startswith("═══ ")), "")
        for n in range(max(b - a, d - c)):
            expected = old[a + n] if a + n < b else None
            actual = new[c + n] if c + n < d else None
            yield f"{file}:{a + n + 1} ({head}){_column(expected, actual)}: expected {expected!r}, got {actual!r}"


def _column(expected: str | None, actual: str | None) -> str:
    """Return which cells of a line differ, if both lines have the same number."""
    if expected is None or actual is None:
        return ""
    left, right = (re.split(r"\s{2,}|\s\|\s|\s&\s|,", line.strip()) for line in (expected, actual))
    if len(left) != len(right):
        return ""
    changes = [f"{n}: {a!r} is now {b!r}" for n, (a, b) in enumerate(zip(left, right, strict=True), 1) if a != b]
    return f", column {'; '.join(changes)}" if len(changes) < len(left) or len(changes) == 1 else ""


def _cells(address: str, expected: Any, actual: Any) -> Iterator[str]:
    if isinstance(expected, dict) and isinstance(actual, dict):
        old, new = cast(Data, expected), cast(Data, actual)
        if list(old) == list(new) == [COLUMNS, ROWS] and old[COLUMNS] == new[COLUMNS]:
            yield from _table(address, old, new)
            return
        for key in [*old, *(key for key in new if key not in old)]:
            place = f"{address}/{key}"
            if key not in new:
                yield f"{place}: expected {_short(old[key])}, got nothing"
            elif key not in old:
                yield f"{place}: expected nothing, got {_short(new[key])}"
            else:
                yield from _cells(place, old[key], new[key])
        if list(old) != list(new) and set(old) == set(new):
            yield f"{address}: the order of the keys was {list(old)}, is {list(new)}"
    elif isinstance(expected, list) and isinstance(actual, list):
        before, after = cast(list[Any], expected), cast(list[Any], actual)
        if len(before) != len(after):
            yield f"{address}: expected {len(before)} entries, got {len(after)}"
        for number, (a, b) in enumerate(zip(before, after, strict=False)):
            yield from _cells(f"{address}[{number}]", a, b)
        longer = before if len(before) > len(after) else after
        for number in range(min(len(before), len(after)), len(longer)):
            side = "expected" if longer is before else "got"
            yield f"{address}[{number}]: only {side}: {_short(longer[number])}"
    elif not same(cast(object, expected), cast(object, actual)):
        yield f"{address}: expected {_short(cast(object, expected))}, got {_short(cast(object, actual))}"


def _table(address: str, old: Data, new: Data) -> Iterator[str]:
    """Yield the differing cells of a table by row and column name."""
    names: list[str] = old[COLUMNS]
    if len(old[ROWS]) != len(new[ROWS]):
        yield f"{address}: expected {len(old[ROWS])} rows, got {len(new[ROWS])}"
    for number, (before, after) in enumerate(zip(old[ROWS], new[ROWS], strict=False)):
        for name, a, b in zip(names, before, after, strict=True):
            yield from _cells(f"{address}[{number}].{name}", a, b)


def same(expected: object, actual: object) -> bool:
    """Whether two plain values are equal; numbers may differ by the order of summation."""
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in (expected, actual))
    if numbers:
        a, b = cast(float, expected), cast(float, actual)
        return (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    return type(expected) is type(actual) and expected == actual


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else text[:200] + "…"
