"""Recordings: rows found by player, item, purpose and n; costs as told; every mistake in a file named."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from mashq.errors import DataError
from mashq.gateway.backends.recorded import RecordedBackend, load
from mashq.gateway.types import Completion, Outcome, Usage
from mashq.protocol.resources import UNKNOWN
from tests.gateway.fakes import CALL, asked


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "answers.jsonl"


def record(file: Path, *rows: object) -> RecordedBackend:
    file.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows), "utf-8")
    return RecordedBackend(file)


async def test_a_row_is_played_back_with_its_costs(file: Path) -> None:
    row = {"item": "item", "text": "yes", "tokens_in": 512, "tokens_out": 80, "cached": 12, "reasoning": 3}
    backend = record(file, row | {"seconds": 1.2, "dollars": 0.0004})
    outcome = await backend.attempt(asked(), CALL)
    assert outcome == Outcome("ok", Completion("yes", "recorded"), Usage(512, 80, 12, 3), 1.2, {"dollars": 0.0004})
    assert (backend.durable, backend.simulated) == (False, False)
    await backend.close()


async def test_a_cost_that_is_not_there_is_unknown(file: Path) -> None:
    outcome = await record(file, {"item": "item", "text": "yes"}).attempt(asked(), CALL)
    assert (outcome.usage, outcome.seconds, outcome.rated) == (Usage(), UNKNOWN, {})


@pytest.mark.parametrize("bad", ["-1", "true", '"5"', "null", "NaN", "1e999", "-Infinity", "[]", "-" + "9" * 30])
async def test_a_cost_that_is_none_is_unknown(bad: str, file: Path) -> None:
    costs = ", ".join(f'"{name}": {bad}' for name in ("tokens_in", "tokens_out", "seconds", "dollars"))
    file.write_text(f'{{"item": "item", "text": "yes", {costs}}}')
    outcome = await RecordedBackend(file).attempt(asked(), CALL)
    assert (outcome.usage, outcome.seconds, outcome.rated) == (Usage(), UNKNOWN, {})


async def test_costs_of_nothing_are_known(file: Path) -> None:
    row = {"item": "item", "text": "yes", "tokens_in": 0, "tokens_out": 0, "seconds": 0, "dollars": 0}
    outcome = await record(file, row).attempt(asked(), CALL)
    assert (outcome.usage.tokens_in, outcome.usage.tokens_out, outcome.seconds, outcome.rated["dollars"]) == (
        0,
        0,
        0.0,
        0.0,
    )


async def test_rows_are_told_apart_by_purpose_and_n_and_decisions_by_round(file: Path) -> None:
    backend = record(
        file,
        {"item": "item", "text": "answer"},
        {"item": "item", "purpose": "review", "text": "review 0"},
        {"item": "item", "purpose": "review", "n": 1, "text": "review 1"},
        {"item": "item", "purpose": "decision", "n": 3, "text": "decision"},
        {"item": "other", "text": "other"},
    )
    calls = [
        CALL,
        replace(CALL, purpose="review"),
        replace(CALL, purpose="review", n=1),
        replace(CALL, purpose="decision", n=0, round=3),
        replace(CALL, item="other"),
    ]
    texts = [(await backend.attempt(asked(), call)).completion for call in calls]
    assert [c.text for c in texts if c] == ["answer", "review 0", "review 1", "decision", "other"]


async def test_a_row_of_ones_own_goes_before_a_row_for_all(file: Path) -> None:
    backend = record(
        file,
        {"item": "item", "text": "all"},
        {"item": "item", "player": "A", "text": "mine"},
        {"item": "only", "player": "A", "text": "mine"},
    )
    mine = await backend.attempt(asked(), CALL)
    theirs = await backend.attempt(asked(), replace(CALL, player="B"))
    assert (mine.completion, theirs.completion) == (Completion("mine", "recorded"), Completion("all", "recorded"))
    assert (await backend.attempt(asked(), replace(CALL, item="only", player="B"))).kind == "missing"


async def test_a_call_that_was_not_recorded_fails_and_costs_nothing(file: Path) -> None:
    outcome = await record(file).attempt(asked(), replace(CALL, purpose="review", n=2))
    error = "answers.jsonl has no review 2 for item 'item' of player 'A'"
    assert outcome == Outcome("missing", usage=Usage(0, 0, 0, 0), seconds=0.0, error=error)


@pytest.mark.parametrize(
    ("row", "kind", "text"),
    [
        ({"text": "no", "status": "refused"}, "refused", "no"),
        ({"text": "  "}, "refused", "  "),
        ({}, "refused", ""),
        ({"text": None, "status": "ok"}, "refused", ""),
        ({"text": "yes", "status": "ok"}, "ok", "yes"),
    ],
)
async def test_a_refusal_is_said_or_empty(row: dict[str, object], kind: str, text: str, file: Path) -> None:
    outcome = await record(file, {"item": "item", **row}).attempt(asked(), CALL)
    assert outcome.kind == kind
    assert outcome.completion == Completion(text, "recorded", kind == "refused")


async def test_a_failure_keeps_its_words_and_its_costs(file: Path) -> None:
    backend = record(
        file,
        {"item": "item", "status": "failed", "error": "HTTP 500", "tokens_in": 9, "tokens_out": 0, "seconds": 2},
        {"item": "other", "status": "failed", "text": "half"},
    )
    first = await backend.attempt(asked(), CALL)
    assert first == Outcome("missing", None, Usage(9, 0), 2.0, error="HTTP 500")
    second = await backend.attempt(asked(), replace(CALL, item="other"))
    assert (second.completion, second.error) == (None, "recorded as failed")


async def test_a_text_may_hold_any_character_json_may(file: Path) -> None:
    text = "one\u2028two\u0085three\u2029\x1cfour\r\nfive"
    outcome = await record(file, {"item": "item", "text": text}, {"item": "other"}).attempt(asked(), CALL)
    assert outcome.completion == Completion(text, "recorded")


def test_blank_lines_windows_line_ends_and_a_byte_order_mark_are_forgiven(file: Path) -> None:
    file.write_bytes(b'\xef\xbb\xbf{"item": "a"}\r\n\r\n  \n{"item": "b"}\r\n')
    assert [place[1] for place in load(file)] == ["a", "b"]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "line 2 is not JSON ("),
        pytest.param("[" * 100_000, "line 2 is nested more than 100 levels deep", id="nested"),
        pytest.param("9" * 41, "line 2 has a whole number of more than 40 digits", id="digits"),
        ("[]", 'line 2 needs an "item" that is a string'),
        ("5", 'line 2 needs an "item" that is a string'),
        ("{}", 'line 2 needs an "item" that is a string'),
        ('{"item": 5}', 'line 2 needs an "item" that is a string'),
        ('{"item": "b", "purpose": "guess"}', "line 2: purpose is 'guess', must be one of answer, review, decision"),
        ('{"item": "b", "purpose": null}', "line 2: purpose is None, must be one of"),
        ('{"item": "b", "purpose": ["answer"]}', "line 2: purpose is ['answer'], must be one of"),
        ('{"item": "b", "status": "fine"}', "line 2: status is 'fine', must be one of ok, refused, failed"),
        ('{"item": "b", "n": "0"}', "line 2: n is '0', must be a whole number from 0 on"),
        ('{"item": "b", "n": [0]}', "line 2: n is [0], must be a whole number from 0 on"),
        ('{"item": "b", "n": -1}', "line 2: n is -1, must be a whole number from 0 on"),
        ('{"item": "b", "n": null}', "line 2: n is None, must be a whole number from 0 on"),
        ('{"item": "b", "player": {}}', "line 2: player is {}, must be a string"),
        ('{"item": "b", "player": 5}', "line 2: player is 5, must be a string"),
        ('{"item": "a", "n": 0}', "line 2: a second row for (None, 'a', 'answer', 0); keep one"),
    ],
)
def test_a_mistake_is_named_with_its_file_and_line(line: str, says: str, file: Path) -> None:
    file.write_text(f'{{"item": "a"}}\n{line}\n')
    with pytest.raises(DataError) as caught:
        load(file)
    assert str(caught.value).startswith(str(file))
    assert says in str(caught.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, file: Path) -> None:
    file.write_bytes(b'{"item": "\xff"}')
    with pytest.raises(DataError, match=r"is not UTF-8 text \(byte 10\)"):
        load(file)
    for path in (tmp_path / "none.jsonl", tmp_path):
        with pytest.raises(DataError) as caught:
            load(path)
        assert str(caught.value).startswith(f"the recording {path} cannot be read (")
        assert str(caught.value).endswith("): give the path of a JSONL file")
