"""The files of a validation: the key of a sheet, and what annotators made of it."""

import csv
import io
import math
from pathlib import Path
from typing import Any, cast

from mashq import bounds
from mashq.errors import DataError

KIND, FORMAT = "mashq validation key", 1
SEPARATORS = (",", ";", "\t")
csv.field_size_limit(bounds.ROW)


def read_key(path: Path) -> dict[str, Any]:
    """The key of a sheet: `rows` maps each id to its item, player, h and weight."""
    try:
        found: Any = bounds.read_json(path)
    except (OSError, ValueError) as error:
        raise DataError(f"the key {path} cannot be read ({error}): give the key.json of the sheet") from None
    if not isinstance(found, dict) or cast(dict[str, Any], found).get("kind") != KIND:
        raise DataError(f"{path} is not the key of a sheet: give the key.json that 'mashq validate sample' wrote")
    known = cast(dict[str, Any], found)
    if known.get("format") != FORMAT:
        raise DataError(f"{path} has the format {known.get('format')}, this version reads {FORMAT}: update mashq")
    try:
        right = all(
            0 <= row["h"] <= 1 and 0 < row["weight"] < math.inf and row["item"] for row in known["rows"].values()
        )
        right = right and bool(known["rows"]) and {"name", "version"} <= set(known["detector"]) and "run" in known
    except (KeyError, TypeError, AttributeError):
        right = False
    if not right:
        raise DataError(f"{path} is damaged: make the sheet again with 'mashq validate sample' and the same seed")
    return known


def read_ratings(path: Path, rows: dict[str, Any], key: Path, partial: bool) -> dict[str, float]:
    """One annotator's ratings by id; anything that is not a rating of a row of the sheet is an error."""
    found: dict[str, float] = {}
    seen: set[str] = set()
    for line, name, text in _cells(path):
        where = f"{path} line {line}"
        if name not in rows:
            raise DataError(f"{where}: the id {name!r} is not in {key}: are these ratings of another sheet?")
        if name in seen:
            raise DataError(f"{where}: the id {name!r} is there already: keep one rating of each row")
        seen.add(name)
        if text:
            found[name] = _rating(text, where)
    if not found:
        raise DataError(f"{path} has no ratings: fill in the column 'rating' with numbers from 0 to 1")
    missing = [name for name in rows if name not in found]
    if missing and not partial:
        raise DataError(
            f"{path} rates {len(found)} of {len(rows)} rows (the first without is {missing[0]!r}): "
            "rate the rest, or allow it with --partial"
        )
    return found


def _cells(path: Path) -> list[tuple[int, str, str]]:
    """Line number, id and rating of each row; spreadsheets may have chosen the separator."""
    try:
        text = bounds.read_bytes(path, bounds.DOCUMENT).decode("utf-8-sig", "replace")
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}): give a ratings file") from None
    first = text.partition("\n")[0]
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=max(SEPARATORS, key=first.count))
    try:
        headings = [(heading or "").strip().lower() for heading in reader.fieldnames or ()]
        if not {"id", "rating"} <= set(headings):
            what = "is empty" if not text.strip() else "has no column " + ("'rating'" if "id" in headings else "'id'")
            raise DataError(f"{path} {what}: a ratings file has the columns id and rating")
        reader.fieldnames = headings
        rows = [(reader.line_num, (r["id"] or "").strip(), (r["rating"] or "").strip()) for r in reader]
    except csv.Error as error:
        raise DataError(
            f"{path} line {reader.line_num} is not CSV ({error}): put cells with commas into quotes"
        ) from None
    return [row for row in rows if row[1] or row[2]]


def _rating(text: str, where: str) -> float:
    try:
        value = float(text.replace(",", "."))
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1:
        raise DataError(f"{where}: the rating is {text!r}, must be a number from 0 to 1")
    return value
