"""Items from files, and the built-in ones."""

import json
from pathlib import Path

import pytest

from mashq.errors import DataError
from mashq.tasks.load import Fields, digest, fields_of, load

SHARED = Path(__file__).parents[3] / "shared" / "data"


def test_the_built_in_passages_are_what_the_docs_say() -> None:
    items = load("builtin")
    assert len(items) >= 24
    assert len({item.id for item in items}) == len(items)
    assert all(150 <= len(item.text.split()) <= 400 for item in items)
    assert len(load("builtin", limit=3)) == 3


def test_jsonl_csv_and_tsv_hold_the_same(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"key": 1, "body": "x, y"}\n\n{"key": 2, "body": "z", "gold": "g"}\n')
    (tmp_path / "a.csv").write_text('﻿key,body,gold\n1,"x, y",\n2,z,g\n')
    (tmp_path / "a.tsv").write_text("key\tbody\tgold\n1\tx, y\t\n2\tz\tg\n")
    fields = Fields(("body",), "key", ("gold",))
    (tmp_path / "semicolons.csv").write_text("key;body;gold\n1;x, y;\n2;z;g\n")
    (tmp_path / "tabs.csv").write_text("key\tbody\tgold\n1\tx, y\t\n2\tz\tg\n")
    names = ("a.jsonl", "a.csv", "a.tsv", "semicolons.csv", "tabs.csv")
    found = {load(name, fields, base=tmp_path) for name in names}
    assert len(found) == 1
    (items,) = found
    assert [(item.id, item.reference) for item in items] == [("1", None), ("2", "g")]


def test_items_without_ids_get_their_line(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "x"}\n\n{"text": "y"}\n')
    assert [item.id for item in load("a.jsonl", base=tmp_path)] == ["1", "3"]
    (tmp_path / "a.csv").write_text('text\n"one\nmore"\ntwo\n')
    assert [item.id for item in load("a.csv", base=tmp_path)] == ["1", "2"]


def test_odd_text_is_kept_as_it_is(tmp_path: Path) -> None:
    text = "line\u2028separator, ünïcödé, \u0000, ${x}, </passage>"
    (tmp_path / "a.jsonl").write_text(json.dumps({"text": text}) + "\n")
    (item,) = load("a.jsonl", base=tmp_path)
    assert item.text == text


def test_a_digest_depends_on_all_of_the_items() -> None:
    items = load("builtin")
    assert digest(items) == digest(load("builtin"))
    assert digest(items) != digest(items[:-1]) != digest(items[1:])


def test_a_broken_csv_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('id,text\na,"open\n')
    with pytest.raises(DataError, match="is not CSV"):
        load("a.csv", base=tmp_path)
    (tmp_path / "b").mkdir()
    with pytest.raises(DataError, match="is empty"):
        load("b", base=tmp_path)


def test_a_folder_of_text_files(tmp_path: Path) -> None:
    (tmp_path / "two.txt").write_text("Second.")
    (tmp_path / "one.txt").write_text("First.")
    (tmp_path / "notes.md").write_text("not an item")
    assert [(item.id, item.text) for item in load(str(tmp_path))] == [("one", "First."), ("two", "Second.")]


def test_a_seeded_sample_is_the_same_each_time_and_keeps_the_order() -> None:
    whole = [item.id for item in load("builtin")]
    one = [item.id for item in load("builtin", sample=7, seed=3)]
    assert one == [item.id for item in load("builtin", sample=7, seed=3)]
    assert one != [item.id for item in load("builtin", sample=7, seed=4)]
    assert one == sorted(one, key=whole.index) and len(one) == 7
    assert len(load("builtin", sample=7, limit=2)) == 2
    assert len(load("builtin", sample=999)) == len(whole)


def test_parquet_and_a_local_data_set_folder(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = [{"id": "a", "text": "x"}, {"id": "b", "text": "y"}]
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "a.parquet")
    assert [item.id for item in load("a.parquet", base=tmp_path)] == ["a", "b"]
    (tmp_path / "bad.parquet").write_text("no")
    with pytest.raises(DataError, match="not a Parquet file"):
        load("bad.parquet", base=tmp_path)
    datasets = pytest.importorskip("datasets")
    datasets.Dataset.from_list(rows).save_to_disk(str(tmp_path / "set"))
    assert [item.id for item in load(f"hub:{tmp_path / 'set'}")] == ["a", "b"]


def test_simpleqa_files_have_questions_and_answers(tmp_path: Path) -> None:
    fields = fields_of("qa", None, "id", None)
    (tmp_path / "q.csv").write_text("metadata,problem,answer\n{},Who?,Ann\n{},When?,1999\n")
    items = load("q.csv", fields, base=tmp_path)
    assert [(item.text, item.reference) for item in items] == [("Who?", "Ann"), ("When?", "1999")]
    (tmp_path / "q.jsonl").write_text('{"question": "Who?", "answer": 7}\n')
    assert load("q.jsonl", fields, base=tmp_path)[0].reference == "7"


@pytest.mark.skipif(not SHARED.exists(), reason="the shared data is not here")
def test_every_row_of_simpleqa_is_read() -> None:
    items = load("qa/simple_qa_test_set.csv", fields_of("qa", None, "id", None), base=SHARED)
    assert len(items) == 4326
    assert all(item.reference for item in items)


@pytest.mark.skipif(not SHARED.exists(), reason="the shared data is not here")
def test_a_real_news_file_loads() -> None:
    items = load("news/wikinews.jsonl", base=SHARED)
    assert len(items) == 1094
