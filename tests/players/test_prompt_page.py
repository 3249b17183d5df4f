"""docs/prompts.md shows prompts as they are filled: `python -m tests.players.test_prompt_page` prints its parts."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from mashq.players.prompting import policy_fields
from mashq.players.prompts import FIELDS, item_fields, load
from mashq.protocol import Item, Observation, Snapshot, Spend
from mashq.protocol.items import Passage
from mashq.protocol.resources import Amount

DOC = Path(__file__).parents[2] / "docs" / "prompts.md"
AGAIN = "put what python -m tests.players.test_prompt_page prints into docs/prompts.md"
STATE = Observation(
    step="decide",
    round=6,
    player="A",
    item=Item("item-7", "…"),
    position=6,
    total=12,
    handled=7,
    spend=Spend.of(
        calls=17, reviews=3, tokens_in=Amount(8000, 17), tokens_out=Amount(1321, 17), seconds=Amount(61.5, 17)
    ),
    average_h=0.8123,
    worst=("item-3", 0.4567),
    recommended=True,
    threshold=0.85,
    max_reviews=3,
    review_cost=0.01,
    resources=("tokens", "calls", "reviews", "seconds"),
    show_seconds=True,
    rivals=1,
    snapshots=(Snapshot("B", 5, (("average_h", 0.9), ("tokens", 9876.0), ("reviews", 5.0))),),
)


ITEMS = {
    "summarise": Item("item-7", "The ferry line to Hareid reopens on 3 May after repairs to the quay."),
    "qa": Item("item-7", "In which year did the bridge at Kylling open?", "1923"),
    "rag": Item(
        "item-7",
        "When does the ferry to Hareid run again?",
        passages=(
            Passage("p1", "The line to Hareid reopens on 3 May."),
            Passage("p2", "Tickets are sold on board.", "Fares"),
        ),
    ),
}
EARLIER = {"summarise": "The ferry to Hareid stopped in May.", "qa": "1932", "rag": "It runs again in June [p1]."}
TASKS = {"summarise": "Summaries", "qa": "Questions", "rag": "Questions over documents"}


def filled(task: str, name: str) -> str:
    """One prompt of a task, indented as the page has it."""
    item = ITEMS[task]
    fields = policy_fields(replace(STATE, item=item), task) | item_fields(item)
    fields |= {"answer": EARLIER[task], "h": "0.4567", "keys": '"choice", "question_id", "previous_id"'}
    text = load(task=task).fill(name, fields | {"told": "H = 0.4567"})
    return "\n".join(f"    {line}".rstrip() for line in text.splitlines())


def pieces() -> Iterator[tuple[str, str]]:
    """Every prompt that differs, with its heading: `again` and `observe` are the same for all tasks."""
    for task, title in TASKS.items():
        for name in FIELDS:
            if task == "summarise" or name not in ("again", "observe"):
                yield f"### {title}: `{name}.txt`", filled(task, name)


def table() -> str:
    """The fields of every prompt."""
    return "\n".join(
        f"| `{name}.txt` | {', '.join(f'`${{{field}}}`' for field in sorted(fields))} |"
        for name, fields in FIELDS.items()
    )


def test_the_page_shows_every_prompt_as_it_is() -> None:
    text = DOC.read_text("utf-8")
    for heading, prompt in pieces():
        assert f"{heading}\n\n{prompt}\n" in text, f"{heading}: {AGAIN}"
    assert table() in text, AGAIN


def test_what_is_told_follows_the_state() -> None:
    told = filled("summarise", "policy")
    assert "below 0.85" in told and "seen of rival B after round 6" in told
    other = policy_fields(replace(STATE, recommended=False, snapshots=()))
    assert other["recommendation"] == "no" and other["rivals_section"] == ""


if __name__ == "__main__":
    import sys

    sys.stdout.write("\n\n".join(f"{heading}\n\n{prompt}" for heading, prompt in pieces()) + "\n\n" + table() + "\n")
