"""Whatever stands in a data file: items or one sentence, never another exception."""

import csv
import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mashq.errors import MashqError
from mashq.gateway.backends.recorded import RecordedBackend
from mashq.runs import result_files as tables
from mashq.tasks.load import digest, fields_of, load

CALM = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture]
SMALL = settings(max_examples=120, deadline=None, derandomize=True, database=None, suppress_health_check=CALM)
ENDINGS = ("jsonl", "csv", "tsv", "parquet", "jsonl.gz", "csv.gz", "ndjson", "JSONL")
ODD = st.sampled_from(
    ["\x00", "\ufeff", "\ud800", "\u2028", '"', "'", "\r", "\n", ",", "\t", "=cmd", "é", "x" * 200_000]
)
TEXT = st.text(max_size=10) | ODD
CELL = TEXT | st.none() | st.booleans() | st.integers() | st.floats() | st.lists(TEXT, max_size=2)
ROW = st.dictionaries(
    st.sampled_from(["id", "text", "answer", "player", "h", "item", "tokens"]) | TEXT, CELL, max_size=5
)
CODINGS = ("utf-8", "utf-8-sig", "utf-16", "latin-1", "cp1252")


def readers(path: Path) -> list[Callable[[], Any]]:
    return [
        lambda: digest(load(str(path))),
        lambda: load(str(path), fields_of("qa", None, "id", None), 2, sample=3),
        lambda: tables.read(path),
        lambda: tables.read(path, {"player": "text", "h": "id"}),
        lambda: RecordedBackend(path),
    ]


def clear(error: MashqError) -> None:
    """The sentence names the file."""
    assert "data." in str(error), str(error)


def check(path: Path, body: bytes) -> None:
    """Every reader of the file takes it or refuses it in a sentence that names it."""
    path.write_bytes(gzip.compress(body, 1) if path.name.endswith(".gz") else body)
    for read in readers(path):
        try:
            read()
        except MashqError as error:
            clear(error)


@pytest.fixture
def place(tmp_path: Path) -> Callable[[str], Path]:
    return lambda ending: tmp_path / f"data.{ending}"


def encoded(text: str, coding: str) -> bytes:
    return text.encode(coding, "surrogatepass" if coding.startswith("utf-8") else "replace")


@SMALL
@given(
    st.sampled_from(ENDINGS), st.binary(max_size=60) | st.text(max_size=30).map(lambda text: encoded(text, "utf-8"))
)
def test_any_bytes(place: Callable[[str], Path], ending: str, body: bytes) -> None:
    check(place(ending), body)


@SMALL
@given(st.lists(ROW, max_size=4), st.sampled_from(CODINGS), st.booleans())
def test_rows_of_json(place: Callable[[str], Path], rows: list[Any], coding: str, ascii_: bool) -> None:
    check(place("jsonl"), encoded("\n".join(json.dumps(row, ensure_ascii=ascii_) for row in rows), coding))


@SMALL
@given(st.lists(st.lists(TEXT, max_size=4), max_size=4), st.sampled_from(CODINGS), st.sampled_from(["csv", "tsv"]))
def test_rows_of_cells(place: Callable[[str], Path], rows: list[list[str]], coding: str, ending: str) -> None:
    out = io.StringIO()
    csv.writer(out, delimiter="\t" if ending == "tsv" else ",").writerows([["id", "text", "player", "h"], *rows])
    check(place(ending), encoded(out.getvalue(), coding))


@SMALL
@given(st.data())
def test_a_parquet_file_with_bytes_changed(place: Callable[[str], Path], data: st.DataObject) -> None:
    arrow: Any = pytest.importorskip("pyarrow")
    parquet: Any = pytest.importorskip("pyarrow.parquet")
    sink = io.BytesIO()
    rows = {"id": ["a", "b"], "text": ["one", "two"], "h": [0.5, None], "player": ["A", "B"], "at": [[1], None]}
    parquet.write_table(arrow.table(rows), sink)
    body = bytearray(sink.getvalue())
    for _ in range(data.draw(st.integers(0, 6))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    check(place("parquet"), bytes(body[: data.draw(st.integers(0, len(body)) | st.just(len(body)))]))


def test_ids_that_are_the_same_and_depth_and_long_numbers(place: Callable[[str], Path]) -> None:
    for line in (
        '{"id": 1, "text": "x"}\n{"id": "1", "text": "x"}',
        "[" * 100_000,
        '{"text": ' * 9999,
        '{"h": ' + "9" * 5000,
    ):
        path = place("jsonl")
        path.write_text(line)
        with pytest.raises(MashqError):
            load(str(path))
