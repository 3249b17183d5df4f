"""Data frames in and out, with whichever library is installed: pandas, polars or pyarrow. None is required."""

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
    """Build a data frame with the given library, or with the first that is installed; unknown values are missing."""
    chosen = library or next((name for name in LIBRARIES if find_spec(name) is not None), None)
    if chosen is None:
        raise ConfigError("a data frame needs a library: pip install pandas (or polars, or pyarrow)")
    if chosen not in LIBRARIES:
        raise ConfigError(f"there are no data frames of {chosen!r}: use {', '.join(LIBRARIES)}")
    try:
        module: Any = importlib.import_module(chosen)
    except ImportError:
        raise ConfigError(f"{chosen} is not installed: pip install {chosen}, or name another library") from None
    all_rows = list(rows)
    cells = {name: [row[index] for row in all_rows] for index, name in enumerate(columns)}
    if chosen == "pyarrow":
        return module.table(cells)
    return module.DataFrame(cells, strict=False) if chosen == "polars" else module.DataFrame(cells)


def cells_of(table: object) -> list[Row]:
    """The rows of a data frame, or of any iterable of mappings; a missing value is None."""
    return [{str(name): None if _missing(value) else value for name, value in row.items()} for row in _rows(table)]


def is_frame(value: object) -> bool:
    """Whether a value is a data frame."""
    return any(hasattr(value, name) for name in ("to_dicts", "to_pylist")) or (
        hasattr(value, "to_dict") and hasattr(value, "columns")
    )


def _rows(table: object) -> Iterator[Row]:
    source: Any = table
    columns: Iterable[object] = getattr(source, "column_names", getattr(source, "columns", ()))
    check_columns([str(name) for name in columns], "the data frame")
    if hasattr(source, "to_dicts"):
        rows: Any = source.to_dicts()
    elif hasattr(source, "to_pylist"):
        rows = source.to_pylist()
    elif hasattr(source, "to_dict") and hasattr(source, "columns"):
        rows = source.to_dict("records")
    else:
        rows = source
    for number, row in enumerate(cast(Iterable[object], rows), 1):
        if not isinstance(row, Mapping):
            raise DataError(
                f"row {number} of the rows is a {type(row).__name__}: each is names and values, or a frame"
            )
        yield cast(Row, row)


def _missing(value: object) -> bool:
    """Whether a value marks missing data: None, NaN, pandas' NA and NaT."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and value != value


def flat(values: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Flatten nested values to names such as expected_tokens; lists become one string."""
    result: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            result |= flat(cast(Mapping[str, Any], value), f"{before}{name}_")
        elif isinstance(value, list):
            result[before + name] = ", ".join(map(str, cast(list[Any], value)))
        else:
            result[before + name] = value
    return result


def table(rows: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[Any]]]:
    """Split rows into columns and cells; a value that a row lacks is None."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    return columns, [[row.get(name) for name in columns] for row in rows]
