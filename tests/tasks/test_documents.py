"""Questions with passages, from files of every kind; and the built-in set."""

import json
from pathlib import Path
from typing import Any

import pytest

from mashq.errors import DataError, MashqError
from mashq.protocol.items import Item, Passage, Selection
from mashq.tasks.load import digest, fields_of, load

RAG = fields_of("rag", None, "id", None)
ROW: dict[str, Any] = {"id": "a", "question": "Who won?", "passages": ["Ann won.", "Bob lost."]}


def read(tmp_path: Path, *rows: dict[str, Any], **renames: str) -> tuple[Item, ...]:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return load(str(path), fields_of("rag", None, "id", None, renames))


def test_the_built_in_set_is_what_it_is_said_to_be() -> None:
    items = load("builtin", RAG)
    topics = {item.id.rpartition("-")[0] for item in items}
    absent = [item for item in items if item.answerable is False]
    assert (len(items), len(topics), len(absent)) == (48, 12, 16)
    for item in items:
        assert len(item.passages) >= 4 and item.answerable is not None
        assert (item.reference is None) == (item.evidence == ()) == (item.answerable is False)
        assert set(item.evidence) <= {passage.id for passage in item.passages}
    conflicting = [item for item in items if len(item.evidence) > 1]
    assert len(conflicting) >= 3


def test_passages_are_texts_or_objects_and_get_ids() -> None:
    items = load("builtin", RAG)
    assert [passage.id for passage in items[0].passages] == ["p1", "p2", "p3", "p4"]


@pytest.mark.parametrize(
    "passages",
    [
        ["One.", "Two."],
        [{"text": "One."}, {"text": "Two."}],
        {"text": ["One.", "Two."]},
        '["One.", "Two."]',
    ],
)
def test_every_way_to_write_passages(tmp_path: Path, passages: Any) -> None:
    (item,) = read(tmp_path, {**ROW, "passages": passages})
    assert item.passages == (Passage("p1", "One."), Passage("p2", "Two."))


def test_ids_titles_references_and_evidence_are_kept(tmp_path: Path) -> None:
    passages = [{"id": 7, "title": "T", "text": "One."}, {"id": "x", "text": "Two."}]
    row = {**ROW, "passages": passages, "reference": "Ann", "answerable": "yes", "evidence": ["x"]}
    (item,) = read(tmp_path, row)
    assert item == Item("a", "Who won?", "Ann", (Passage("7", "One.", "T"), Passage("x", "Two.")), True, ("x",))
    assert item.source == "T\nOne.\n\nTwo." and item.shown == "Who won?\n\n[7] T\nOne.\n\n[x] Two."


@pytest.mark.parametrize(
    ("said", "answerable"),
    [(True, True), (False, False), (None, None), ("", None), ("No", False), (1, True), (0, False)],
)
def test_answerable_may_be_said_in_several_ways(tmp_path: Path, said: object, answerable: bool | None) -> None:
    assert read(tmp_path, {**ROW, "answerable": said})[0].answerable is answerable


def test_fields_of_other_names(tmp_path: Path) -> None:
    row = {
        "n": "a",
        "query": "Who won?",
        "contexts": ["Ann won."],
        "gold": "Ann",
        "has_answer": True,
        "where": ["p1"],
    }
    names = {"id": "n", "question": "query", "passages": "contexts", "reference": "gold"}
    (item,) = read(tmp_path, row, **names, answerable="has_answer", evidence="where")
    assert item == Item("a", "Who won?", "Ann", (Passage("p1", "Ann won."),), True, ("p1",))


def test_csv_and_parquet_hold_passages_too(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text('id,question,passages,answerable\na,Who won?,"[""Ann won.""]",false\n')
    (item,) = load(str(tmp_path / "rows.csv"), RAG)
    assert (item.passages, item.answerable) == ((Passage("p1", "Ann won."),), False)
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rows = [{**ROW, "passages": [{"id": "x", "text": "Ann won."}], "answerable": True}]
    parquet.write_table(arrow.Table.from_pylist(rows), tmp_path / "rows.parquet")
    (item,) = load(str(tmp_path / "rows.parquet"), RAG)
    assert (item.passages, item.answerable) == ((Passage("x", "Ann won."),), True)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"passages": None}, "holds no passages"),
        ({"passages": []}, "holds no passages"),
        ({"passages": "Ann won."}, "holds no passages"),
        ({"passages": [7]}, "passage 1 has no text"),
        ({"passages": ["One.", {"id": "x"}]}, "passage 2 has no text"),
        ({"passages": ["  "]}, "passage 1 has no text"),
        ({"passages": [{"id": "x", "text": "1"}, {"id": "x", "text": "2"}]}, "two passages have the id 'x'"),
        ({"passages": [{"id": "a]b", "text": "1"}]}, "cannot be cited"),
        ({"passages": [{"id": "a" * 81, "text": "1"}]}, "cannot be cited"),
        ({"answerable": "maybe"}, "write true, false, or leave it out"),
        ({"answerable": [1]}, "write true, false, or leave it out"),
        ({"evidence": ["p9"]}, "no passage has that id"),
        ({"question": ""}, "has no text under 'question'"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    with pytest.raises(DataError, match=words) as error:
        read(tmp_path, {**ROW, **change})
    assert "line 1" in str(error.value) and "\n" not in str(error.value)


def test_other_passages_make_other_items(tmp_path: Path) -> None:
    one, two = read(tmp_path, ROW), read(tmp_path, {**ROW, "answerable": False})
    assert digest(one) != digest(two) != digest(read(tmp_path, {**ROW, "passages": ["Ann won."]}))
    assert digest(one) == digest(read(tmp_path, ROW))


ITEM = Item("a", "Q?", "R", tuple(Passage(f"p{n}", "x" * 10) for n in range(1, 6)), True, ("p4",))


@pytest.mark.parametrize(
    ("selection", "ids"),
    [
        (Selection(), ["p1", "p2", "p3", "p4", "p5"]),
        (Selection(limit=2), ["p1", "p2"]),
        (Selection(limit=9), ["p1", "p2", "p3", "p4", "p5"]),
        (Selection(length=35), ["p1", "p2", "p3"]),
        (Selection(length=1), ["p1"]),
        (Selection(limit=3, order="reverse"), ["p3", "p2", "p1"]),
        (Selection(limit=4, length=20, order="reverse"), ["p2", "p1"]),
    ],
)
def test_which_passages_are_shown(selection: Selection, ids: list[str]) -> None:
    shown = selection.of(ITEM)
    assert [passage.id for passage in shown.passages] == ids
    assert (shown.reference, shown.answerable, shown.evidence) == (None, None, ())


def test_a_shuffle_is_the_same_for_the_same_seed_and_item() -> None:
    mixed = Selection(order="shuffle")
    orders = {tuple(p.id for p in mixed.of(ITEM, seed).passages) for seed in range(20)}
    assert len(orders) > 10 and all(sorted(order) == ["p1", "p2", "p3", "p4", "p5"] for order in orders)
    assert mixed.of(ITEM, 3) == mixed.of(ITEM, 3)
    plain = Item("a", "A text.", "R")
    assert mixed.of(plain) is plain and plain.source == plain.shown == "A text."


@pytest.mark.parametrize(
    ("task", "words"),
    [
        ({"kind": "summarise", "passages": {"limit": 2}}, "settings of the rag task"),
        ({"kind": "summarise", "abstention": 0.5}, "settings of the rag task"),
        ({"kind": "summarise", "map": {"passages": "x"}}, "only the rag task has"),
        ({"kind": "rag", "map": {"text": "x", "question": "y"}}, "keep one"),
        ({"kind": "rag", "map": {"nothing": "x"}}, "nothing"),
        ({"kind": "rag", "passages": {"limit": 0}}, "must be at least 1"),
        ({"kind": "rag", "passages": {"order": "best"}}, "'given', 'reverse' or 'shuffle'"),
        ({"kind": "rag", "abstention": 2}, "must be at most 1"),
    ],
)
def test_settings_that_do_not_fit(task: dict[str, Any], words: str) -> None:
    from mashq.config import check

    with pytest.raises(MashqError, match=words):
        check({"task": task, "players": [{"name": "A", "model": "simulated/x"}]})


def test_a_players_passages_need_the_task() -> None:
    from mashq.config import check

    players = [{"name": "A", "model": "simulated/x", "passages": {"limit": 1}}]
    assert check({"task": {"kind": "rag"}, "players": players}).players[0].passages is not None
    with pytest.raises(MashqError, match=r"set task\.kind to rag"):
        check({"players": players})
