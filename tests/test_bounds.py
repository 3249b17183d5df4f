"""Files that would take all the memory there is: one sentence that names the limit, exit code 2, less than 1 GB."""

import gzip
import importlib
import json
import subprocess
import sys
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mashq import bounds
from mashq import config as configuration
from mashq.bounds import DEPTH, DIGITS, Room, TooMuch
from mashq.errors import MashqError
from mashq.tasks.load import load
from mashq.tasks.rows import read_rows

GIGABYTE = 1000  # MB
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
IN_MEMORY = "brings what is held in memory to more than 512 MB"
NOT_TOLD = "import mashq.tasks.parquet; mashq.tasks.parquet.DATA = 2**50"  # of an older writer, or of one that lies
EMPTY = '{"players": [{"name": "A", "model": "simulated/m"}], "task": {"data": "DATA"}}'


@dataclass(frozen=True)
class Done:
    """How a command ended, what it said, and the most memory it had, in MB."""

    code: int
    said: str
    memory: int


MEASURED = """
import atexit, sys
from pathlib import Path
most = lambda: next(line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line)
atexit.register(lambda: print(most(), file=sys.stdout, flush=True))
sys.argv[0] = "mashq"
from mashq.cli import main
main()
"""


def mashq(*arguments: object, before: str = "") -> Done:
    """Run a command and see how much memory it took: the kernel counts anew for a program that is begun."""
    command = [sys.executable, "-c", before + MEASURED, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return Done(done.returncode, done.stderr, int(done.stdout.split()[-1]) // 1024)


def refused(limit: str, *arguments: object, before: str = "") -> None:
    """A command refuses its input in one sentence with the limit, and without taking much memory."""
    began = time.monotonic()
    done = mashq(*arguments, before=before)
    assert done.code == 2, done
    assert limit in done.said and "Traceback" not in done.said and len(done.said.splitlines()) == 1, done.said
    assert done.memory < GIGABYTE, done.memory
    assert time.monotonic() - began < 30


def packed(path: Path, block: bytes, times: int) -> Path:
    """A block so many times, gzipped: each time as a member of its own, as they are all the same."""
    member = gzip.compress(block, 6)
    with path.open("wb") as file:
        for _ in range(times):
            file.write(member)
    return path


def planned(folder: Path, data: Path) -> tuple[object, ...]:
    """The command that plans a match on these items."""
    config = folder / "match.yaml"
    config.write_text(EMPTY.replace("DATA", data.name))
    return "plan", config


def test_ten_gigabytes_of_one_line(tmp_path: Path) -> None:
    data = packed(tmp_path / "items.jsonl.gz", b"a" * 2**26, 160)
    refused("line 1 is longer than 16 MB", *planned(tmp_path, data))
    refused("line 1 is longer than 16 MB", "score", data)


def test_ten_gigabytes_of_items(tmp_path: Path) -> None:
    """Wide ones, of four bytes a letter once read; where two are wanted, two are read as ever."""
    row = json.dumps({"text": "a" * 4_000_000 + "😀"}, ensure_ascii=False).encode() + b"\n"
    data = packed(tmp_path / "items.jsonl.gz", row * 3, 850)
    refused(IN_MEMORY, *planned(tmp_path, data))
    assert len(load(str(data), limit=2)) == 2


@pytest.mark.slow
def test_ten_gigabytes_of_blank_lines(tmp_path: Path) -> None:
    data = packed(tmp_path / "rows.csv.gz", b"\n" * 2**26, 160)
    refused("has more than 5,000,000 lines", "score", data)


def test_results_that_would_be_a_table_of_billions(tmp_path: Path) -> None:
    data = tmp_path / "results.csv"
    data.write_text("player,item,h\n" + "".join(f"p{n},i{n},0.5\n" for n in range(30_000)))
    refused("make more than 2,000,000 results", "score", data)


@pytest.mark.slow
def test_columns_by_the_million(tmp_path: Path) -> None:
    data = tmp_path / "results.csv"
    data.write_text(",".join(f"c{n}" for n in range(100_000)) + "\n" + "a\n" * 1000)
    refused(IN_MEMORY, "score", data)
    data.write_text("player,h\nA," + '"' + ("x" * 99 + "\n") * 200_000)
    refused("has a cell longer than 16 MB", "score", data)


def test_one_row_of_millions_of_objects(tmp_path: Path) -> None:
    data = tmp_path / "results.jsonl"
    data.write_text('{"player": [' + "{}," * 4_000_000 + "1]}\n")
    refused("line 1 brings what is held in memory to more than 512 MB", "score", data)


def test_a_hundred_megabytes_of_brackets(tmp_path: Path) -> None:
    for name, size, limit in (
        ("log.json", 100_000_000, IN_MEMORY),
        ("deep.json", 5_000_000, "is nested more than 100 levels deep"),
        ("results.jsonl", 100_000_000, "line 1 is longer than 16 MB"),
        ("deep.jsonl", 5_000_000, "line 1 is nested more than 100 levels deep"),
    ):
        (tmp_path / name).write_bytes(b"[" * size)
        command = (
            ("import", tmp_path / name, "-o", tmp_path / "out.csv")
            if name.endswith(".json")
            else ("score", tmp_path / name)
        )
        refused(limit, *command)


@pytest.mark.parametrize("name", ["summaries.json", pytest.param("header.json", marks=pytest.mark.slow)])
def test_a_log_that_unpacks_to_too_much(tmp_path: Path, name: str) -> None:
    log = tmp_path / "log.eval"
    with zipfile.ZipFile(log, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as out:
        if name == "summaries.json":
            out.writestr("header.json", json.dumps({"eval": {"model": "m"}}))
        else:
            out.writestr("summaries.json", "[]")
        with out.open(name, "w", force_zip64=True) as member:
            for _ in range(1200):
                member.write(b" " * 2**20)
    assert log.stat().st_size < 10_000_000
    refused(
        f"what {name} and those before it unpack to is larger than 256 MB", "import", log, "-o", tmp_path / "out.csv"
    )


@pytest.mark.slow
def test_a_log_of_millions_of_members(tmp_path: Path) -> None:
    """Its table of contents alone would take gigabytes."""
    log = tmp_path / "log.eval"
    entry = b"PK\1\2" + bytes(24) + (1).to_bytes(2, "little") + bytes(16) + b"a"
    count = 4_000_000
    with log.open("wb") as file:
        file.write(entry * count)
        end = b"PK\5\6" + bytes(4) + b"\xff\xff\xff\xff" + (len(entry) * count).to_bytes(4, "little") + bytes(6)
        file.write(end)
    refused("has a table of contents of more than 16 MB", "import", log, "-o", tmp_path / "out.csv")


def table(path: Path, columns: dict[str, Any], **options: Any) -> Path:
    arrow: Any = pytest.importorskip("pyarrow")
    importlib.import_module("pyarrow.parquet").write_table(arrow.table(columns), path, **options)
    return path


def test_a_column_that_repeats_a_long_text(tmp_path: Path) -> None:
    """Whether the file says what its texts come to, or not."""
    arrow: Any = pytest.importorskip("pyarrow")
    places = arrow.array([0] * 50_000, arrow.int32())
    text = arrow.DictionaryArray.from_arrays(places, arrow.array(["x" * 2**20]))
    data = table(tmp_path / "items.parquet", {"text": text})
    assert data.stat().st_size < 2**21
    refused("is larger than 256 MB unpacked", *planned(tmp_path, data))
    refused(IN_MEMORY, *planned(tmp_path, data), before=NOT_TOLD)


@pytest.mark.parametrize("rows", [1, 500])
def test_lists_that_repeat_a_long_text(tmp_path: Path, rows: int) -> None:
    """In one row or in many, and in mappings; the file does not say what its texts come to."""
    arrow: Any = pytest.importorskip("pyarrow")
    places = arrow.array([0] * 5000, arrow.int32())
    text = arrow.DictionaryArray.from_arrays(places, arrow.array(["x" * 2**20]))
    ends = arrow.array(range(0, 5001, 5000 // rows), arrow.int32())
    lists = arrow.ListArray.from_arrays(ends, arrow.StructArray.from_arrays([text], names=["t"]))
    data = table(tmp_path / "items.parquet", {"text": ["a"] * rows, "passages": lists})
    assert data.stat().st_size < 2**21
    refused(IN_MEMORY, *planned(tmp_path, data), before=NOT_TOLD)


def test_texts_in_lists_that_share_their_beginnings(tmp_path: Path) -> None:
    arrow: Any = pytest.importorskip("pyarrow")
    texts = arrow.array(["x" * 2**20 + str(n) for n in range(200)])
    lists = arrow.ListArray.from_arrays(arrow.array([0, 200], arrow.int32()), texts)
    data = table(
        tmp_path / "items.parquet",
        {"text": ["a"], "passages": lists},
        use_dictionary=False,
        column_encoding={"text": "PLAIN", "passages.list.element": "DELTA_BYTE_ARRAY"},
    )
    assert data.stat().st_size < 2**21
    refused("stored as what differs from the one before", *planned(tmp_path, data), before=NOT_TOLD)


def test_a_row_group_that_unpacks_to_too_much(tmp_path: Path) -> None:
    data = table(
        tmp_path / "items.parquet",
        {"text": [f"{n}" + "x" * 2**20 for n in range(270)]},
        compression="zstd",
        use_dictionary=False,
    )
    assert data.stat().st_size < 2**21
    refused("is larger than 256 MB unpacked", *planned(tmp_path, data))


@pytest.mark.slow
def test_a_list_of_nothing_fifty_million_times(tmp_path: Path) -> None:
    arrow: Any = pytest.importorskip("pyarrow")
    nothing = arrow.nulls(50_000_000, arrow.int8())
    lists = arrow.ListArray.from_arrays(arrow.array([0, len(nothing)], arrow.int32()), nothing)
    data = table(tmp_path / "items.parquet", {"text": ["x"], "passages": lists})
    refused("has more than 10,000,000 values", *planned(tmp_path, data))


@pytest.mark.slow
def test_texts_that_share_their_beginnings(tmp_path: Path) -> None:
    """Each is stored as what differs from the one before: a megabyte a row in a few bytes."""
    arrow: Any = pytest.importorskip("pyarrow")
    texts = arrow.array(["x" * 2**20 + str(n) for n in range(600)])
    data = table(
        tmp_path / "items.parquet",
        {"text": texts},
        use_dictionary=False,
        column_encoding={"text": "DELTA_BYTE_ARRAY"},
    )
    assert data.stat().st_size < 2**21
    refused(IN_MEMORY, *planned(tmp_path, data), before=NOT_TOLD)


def test_parquet_within_the_limits_is_read_as_it_is(tmp_path: Path) -> None:
    """Texts that repeat, nothing, numbers, lists and mappings, in several row groups."""
    rows: list[dict[str, Any]] = [
        {
            "text": ["a", "b", None, "é" * n][n % 4],
            "n": n,
            "x": n / 2,
            "many": ["p", str(n)] * (n % 3),
            "inner": {"t": "s", "more": [{"k": str(n)}] * (n % 2)},
            "none": None if n % 3 else [None, "x"],
        }
        for n in range(300)
    ]
    assert any(row["many"] for row in rows)
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    data = table(tmp_path / "a.parquet", columns, row_group_size=70)
    assert [(f"row {n}", row) for n, row in enumerate(rows, 1)] == list(read_rows(data, ""))


def test_texts_in_lists_beyond_any_dictionary_are_read_as_they_are(tmp_path: Path) -> None:
    """Where a dictionary gets too large, a writer goes on without; in several row groups and batches."""
    rows: list[dict[str, Any]] = [
        {"text": str(n), "many": [f"{n} {k} " + "x" * 300 for k in range(n % 4)] + ["same"], "of": {"k": ["y" * n]}}
        for n in range(9000)
    ]
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    data = table(tmp_path / "a.parquet", columns, row_group_size=5000, dictionary_pagesize_limit=20_000)
    assert rows == [row for _, row in read_rows(data, "")]


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("a: " + "[" * 900_000, "100 levels"),
        ("- " * 400_000, "100 levels"),
        ("a: &a [*a]", "100 levels"),
        ("x" * 1_100_000, "larger than 1 MB"),
        ("a: &a " + "x" * 500_000 + "\nb: [" + ", ".join(["*a"] * 10_000) + "]", "1,000,000 values"),
        (
            "\n".join(["a0: &a0 [x, x]", *(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}, *a{n - 1}]" for n in range(1, 30))]),
            "1,000,000 values",
        ),
        (
            "\n".join(["a0: &a0 {x: 1}", *(f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}]}}" for n in range(1, 40))]),
            "merges mappings (<<) to more than 1,000,000",
        ),
    ],
    ids=["brackets", "dashes", "itself", "long", "long aliases", "aliases", "merges"],
)
def test_a_configuration_that_comes_to_too_much(tmp_path: Path, text: str, limit: str) -> None:
    (tmp_path / "match.yaml").write_text(text)
    began = time.monotonic()
    with pytest.raises(MashqError) as caught:
        configuration.load(tmp_path / "match.yaml")
    assert limit in str(caught.value)
    assert time.monotonic() - began < 10


@pytest.mark.slow
@pytest.mark.parametrize("value", ["&a [*a]", "[" * 5000, "[" * 120 + "]" * 120])
def test_an_override_that_comes_to_too_much(tmp_path: Path, value: str) -> None:
    (tmp_path / "match.yaml").write_text('{"players": [{"name": "A", "model": "simulated/m"}]}')
    refused("100 levels", "plan", tmp_path / "match.yaml", "--set", f"models={value}")


@pytest.mark.slow
def test_small_files_of_others(tmp_path: Path) -> None:
    """A key of a sheet, a reference, a recording, pairs to score."""
    deep = tmp_path / "deep.json"
    deep.write_bytes(b'{"a":' * 2_000_000)
    refused("nested more than 100 levels", "validate", "report", deep, deep)
    refused("nested more than 100 levels", "detect", deep)
    results = tmp_path / "a.csv"
    results.write_text("player,item,h\nA,1,0.5\n")
    refused("nested more than 100 levels", "score", results, "--normalise", f"reference:{deep}")
    config = tmp_path / "match.yaml"
    config.write_text('{"players": [{"name": "A", "model": "recorded/deep.json"}]}')
    refused("nested more than 100 levels", "run", config, "--out", tmp_path / "out")


# ---- the readers themselves


def test_json_within_and_beyond_each_limit() -> None:
    assert bounds.parse("[" * DEPTH + "]" * DEPTH, "it") is not None
    with pytest.raises(TooMuch, match="levels deep"):
        bounds.parse("[" * (DEPTH + 1) + "]" * (DEPTH + 1), "it")
    assert bounds.parse("9" * DIGITS, "it") == int("9" * DIGITS)
    with pytest.raises(TooMuch, match="digits"):
        bounds.parse("9" * (DIGITS + 1), "it")
    with pytest.raises(TooMuch, match="memory"):
        bounds.parse("[{}, {}]", "it", Room(300))
    for text in ('{"a": 1', "[1,]", '"' * 1001, "nope"):
        with pytest.raises(json.JSONDecodeError):
            bounds.parse(text, "it")


def test_brackets_in_texts_are_no_depth() -> None:
    text = json.dumps({"a": "[{" * 500, "b": ['"[' * 200, "\\" * 7 + "[" * 300], "c": [[]] * 300})
    assert bounds.parse(text, "it") == json.loads(text)


def test_depth_is_counted_in_the_time_of_one_reading() -> None:
    began = time.monotonic()
    bounds.check_depth("[" + '"a[",' * 400_000 + "]", "it")
    bounds.check_depth('["' + "\\\\" * 4_000_000 + "[" * 200 + '"]', "it")
    assert time.monotonic() - began < 5


def test_the_docs_state_every_limit() -> None:
    text = (Path(__file__).parent.parent / "docs" / "errors.md").read_text()
    table = text.partition("## Limits on what is read")[2].partition("| what it says")[0]
    said = [row.split("|")[2].strip() for row in table.splitlines() if row.startswith("| ")][1:]
    listed = (
        "DATA ROW LINES MEMORY VALUES DIRECTORY RESULTS DOCUMENT CELL CONFIG CONFIG_VALUES TEXT DEPTH DIGITS ANSWER "
    )
    listed += "REPLY REPLY_MEMORY EVENT EVENTS REQUEST AGENT"
    limits: list[int] = [getattr(bounds, name) for name in listed.split()]
    assert said == [f"{limit:,}" if limit % bounds.MB else bounds.size(limit) for limit in limits]
    known = {name for name, value in vars(bounds).items() if name.isupper() and isinstance(value, int)}
    assert known - set(listed.split()) == {"MB", "CHUNK", "OBJECT", "LIST", "VALUE", "LINE"}
