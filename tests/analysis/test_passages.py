"""What is said of answers over documents: which items have a reference to be right by."""

from mashq.analysis.passages import Given, player_view
from mashq.detectors.base import load
from mashq.protocol.items import Item, Passage

PASSAGES = (Passage("p1", "The ferry runs at noon."),)


def given(reference: str | None, answerable: bool | None) -> Given:
    item = Item("i", "When does the ferry run?", reference, PASSAGES, answerable)
    return Given(item, item, 1.0, False, "At noon [p1].")


def test_only_what_has_a_reference_and_may_have_an_answer_can_be_right_by_it() -> None:
    cases = [("noon", True), ("noon", None), ("noon", False), (None, True), (None, None), (None, False)]
    found = player_view("A", [given(*case) for case in cases], {}, load("grounding"))
    assert found.referenced == 2
    parts = (found.answerable, found.unanswerable, found.unknown)
    assert [part.answers for part in parts if part is not None] == [2, 2, 2]
