"""docs/prompts.md shows prompts as they are filled: `python -m tests.players.test_prompt_page` prints its parts."""

from dataclasses import replace
from pathlib import Path

from mashq.players.prompting import policy_fields
from mashq.players.prompts import FIELDS, load
from mashq.protocol import Item, Observation, Snapshot, Spend
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


def filled() -> str:
    """The policy prompt of that state, indented as a page has it."""
    text = load().fill("policy", policy_fields(STATE))
    return "\n".join(f"    {line}".rstrip() for line in text.splitlines())


def table() -> str:
    """The fields of every prompt."""
    return "\n".join(
        f"| `{name}.txt` | {', '.join(f'`${{{field}}}`' for field in sorted(fields))} |"
        for name, fields in FIELDS.items()
    )


def test_the_page_shows_the_prompt_as_it_is() -> None:
    text = DOC.read_text("utf-8")
    assert filled() in text, (
        "run python -m tests.players.test_prompt_page and put its first part into docs/prompts.md"
    )
    assert table() in text, (
        "run python -m tests.players.test_prompt_page and put its second part into docs/prompts.md"
    )


def test_what_is_told_follows_the_state() -> None:
    assert "below 0.85" in filled() and "seen of rival B after round 6" in filled()
    other = policy_fields(replace(STATE, recommended=False, snapshots=()))
    assert other["recommendation"] == "no" and other["rivals_section"] == ""


if __name__ == "__main__":
    import sys

    sys.stdout.write(filled() + "\n\n" + table() + "\n")
