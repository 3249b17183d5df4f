"""The files of a validation: the key of a rating sheet, and the ratings that annotators filled in."""

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
    """Read the key of a sheet: `rows` maps each id to its item, player, h and weight."""
    try:
        document: Any = bounds.read_json(path)
    except (OSError, ValueError) as error:
        raise DataError(f"the key {path} cannot be read ({error}): give the key.json of the sheet") from None
    if not isinstance(document, dict) or cast(dict[str, Any], document).get("kind") != KIND:
        raise DataError(f"{path} is not the key of a sheet: give the key.json that 'mashq validate sample' wrote")
    key = cast(dict[str, Any], document)
    if key.get("format") != FORMAT:
        raise DataError(f"{path} has the format {key.get('format')}, this version reads {FORMAT}: update mashq")
    try:
        valid = all(
            0 <= row["h"] <= 1 and 0 < row["weight"] < math.inf and row["item"] for row in key["rows"].values()
        )
        valid = valid and bool(key["rows"]) and {"name", "version"} <= set(key["detector"]) and "run" in key
    except (KeyError, TypeError, AttributeError):
        valid = False
    if not valid:
        raise DataError(f"{path} is damaged: make the sheet again with 'mashq validate sample' and the same seed")
    return key


def read_ratings(path: Path, rows: dict[str, Any], key: Path, partial: bool) -> dict[str, float]:
    """Read one annotator's ratings by id; raises DataError on anything that is not a rating of a row of the sheet."""
    ratings: dict[str, float] = {}
    seen: set[str] = set()
    for line, row_id, text in _read_rows(path):
        where = f"{path} line {line}"
        if row_id not in rows:
            raise DataError(f"{where}: the id {row_id!r} is not in {key}: are these ratings of another sheet?")
        if row_id in seen:
            raise DataError(f"{where}: the id {row_id!r} is there already: keep one rating of each row")
        seen.add(row_id)
        if text:
            ratings[row_id] = _parse_rating(text, where)
    if not ratings:
        raise DataError(f"{path} has no ratings: fill in the column 'rating' with numbers from 0 to 1")
    missing = [row_id for row_id in rows if row_id not in ratings]
    if missing and not partial:
        raise DataError(
            f"{path} rates {len(ratings)} of {len(rows)} rows (the first without is {missing[0]!r}): "
            "rate the rest, or allow it with --partial"
        )
    return ratings


def _read_rows(path: Path) -> list[tuple[int, str, str]]:
    """Line number, id and rating of each row; the separator is detected, because spreadsheets choose their own."""
    try:
        text = bounds.read_bytes(path, bounds.DOCUMENT).decode("utf-8-sig", "replace")
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}): give a ratings file") from None
    header = text.partition("\n")[0]
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=max(SEPARATORS, key=header.count))
    try:
        headings = [(heading or "").strip().lower() for heading in reader.fieldnames or ()]
        if not {"id", "rating"} <= set(headings):
            problem = (
                "is empty" if not text.strip() else "has no column " + ("'rating'" if "id" in headings else "'id'")
            )
            raise DataError(f"{path} {problem}: a ratings file has the columns id and rating")
        reader.fieldnames = headings
        rows = [(reader.line_num, (r["id"] or "").strip(), (r["rating"] or "").strip()) for r in reader]
    except csv.Error as error:
        raise DataError(
            f"{path} line {reader.line_num} is not CSV ({error}): put cells with commas into quotes"
        ) from None
    return [row for row in rows if row[1] or row[2]]


def _parse_rating(text: str, where: str) -> float:
    try:
        value = float(text.replace(",", "."))
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1:
        raise DataError(f"{where}: the rating is {text!r}, must be a number from 0 to 1")
    return value
