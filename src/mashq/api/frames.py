"""Data frames in and out, with whichever library is there: pandas, polars or pyarrow. None of them is needed."""

import importlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import Any, Literal, cast, get_args

from mashq.bounds import check_columns
from mashq.errors import ConfigError, DataError

Library = Literal["pandas", "polars", "pyarrow"]
LIBRARIES: tuple[Library, ...] = get_args(Library)
Row = Mapping[str, object]


def frame(columns: Sequence[str], rows: Iterable[Sequence[object]], library: Library | None) -> Any:
    """Rows as a data frame of the library named, or of the first that is installed; unknown is missing."""
    chosen = library or next((name for name in LIBRARIES if find_spec(name) is not None), None)
    if chosen is None:
        raise ConfigError("a data frame needs a library: pip install pandas (or polars, or pyarrow)")
    if chosen not in LIBRARIES:
        raise ConfigError(f"there are no data frames of {chosen!r}: use {', '.join(LIBRARIES)}")
    try:
        module: Any = importlib.import_module(chosen)
    except ImportError:
        raise ConfigError(f"{chosen} is not installed: pip install {chosen}, or name another library") from None
    listed = list(rows)
    cells = {name: [row[at] for row in listed] for at, name in enumerate(columns)}
    if chosen == "pyarrow":
        return module.table(cells)
    return module.DataFrame(cells, strict=False) if chosen == "polars" else module.DataFrame(cells)


def cells_of(table: object) -> list[Row]:
    """The rows of a data frame, or of any rows of names and values; a missing value is None."""
    return [{str(name): None if _missing(value) else value for name, value in row.items()} for row in _rows(table)]


def is_frame(value: object) -> bool:
    """Whether it is a data frame."""
    return any(hasattr(value, name) for name in ("to_dicts", "to_pylist")) or (
        hasattr(value, "to_dict") and hasattr(value, "columns")
    )


def _rows(table: object) -> Iterator[Row]:
    found: Any = table
    columns: Iterable[object] = getattr(found, "column_names", getattr(found, "columns", ()))
    check_columns([str(name) for name in columns], "the data frame")
    if hasattr(found, "to_dicts"):
        rows: Any = found.to_dicts()
    elif hasattr(found, "to_pylist"):
        rows = found.to_pylist()
    elif hasattr(found, "to_dict") and hasattr(found, "columns"):
        rows = found.to_dict("records")
    else:
        rows = found
    for number, row in enumerate(cast(Iterable[object], rows), 1):
        if not isinstance(row, Mapping):
            raise DataError(
                f"row {number} of the rows is a {type(row).__name__}: each is names and values, or a frame"
            )
        yield cast(Row, row)


def _missing(value: object) -> bool:
    """What a library writes for what is not there: None, NaN, pandas' NA and NaT."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and value != value


def flat(values: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Nested values side by side, such as expected_tokens; lists as one text."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            found |= flat(cast(Mapping[str, Any], value), f"{before}{name}_")
        elif isinstance(value, list):
            found[before + name] = ", ".join(map(str, cast(list[Any], value)))
        else:
            found[before + name] = value
    return found


def table(rows: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[Any]]]:
    """Rows by name as columns and cells; what a row lacks is None."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    return columns, [[row.get(name) for name in columns] for row in rows]
