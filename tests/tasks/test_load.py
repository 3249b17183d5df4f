"""Items from files, and the built-in ones."""

import json
from pathlib import Path

import pytest

from mashq.errors import DataError
from mashq.tasks.load import Fields, digest, load

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
    fields = Fields("body", "key", "gold")
    found = {load(f"a.{end}", fields, base=tmp_path) for end in ("jsonl", "csv", "tsv")}
    assert len(found) == 1
    (items,) = found
    assert [(item.id, item.reference) for item in items] == [("1", None), ("2", "g")]


def test_items_without_ids_get_their_line(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "x"}\n\n{"text": "y"}\n')
    assert [item.id for item in load("a.jsonl", base=tmp_path)] == ["1", "3"]


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
    (tmp_path / "b.jsonl").mkdir()
    with pytest.raises(DataError, match="cannot be read"):
        load("b.jsonl", base=tmp_path)


@pytest.mark.skipif(not SHARED.exists(), reason="the shared data is not here")
def test_a_real_news_file_loads() -> None:
    items = load("news/wikinews.jsonl", base=SHARED)
    assert len(items) == 1094
