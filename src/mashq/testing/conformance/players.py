"""`check_player`: every step, with good, odd, refused and failed replies."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import cast

from mashq.gateway.model import Failure, Model
from mashq.gateway.types import Completion, Message
from mashq.protocol.items import Item
from mashq.protocol.moves import CHOICES, ENDINGS, Abstained, Answer, Decision, Rewrite
from mashq.protocol.resources import Spend
from mashq.protocol.state import Observation, Snapshot, Step

PASSAGE = "The ferry to Marrow Bay sank on 3 May with 12 people aboard. All of them were saved, said Ida Holm."
REPLIES: tuple[Completion | Failure, ...] = (
    Completion(
        '{"summary": "A ferry sank.", "answer": "12", "confidence": 0.5, "choice": "review", "action": "answer"}',
        "stop",
    ),
    Completion("Plain words, and no JSON at all.", "stop"),
    Completion("", "content_filter", refused=True),
    Failure("HTTP 500: out of order", "http"),
)
WANTED: dict[Step, type[Answer | Decision | Rewrite]] = {"answer": Answer, "decide": Decision, "review": Rewrite}


class Canned:
    """A model that always gives the same reply, and scores every draft 0.6; `spend` counts its calls and reviews."""

    reply: "Completion | Failure"
    asked: int
    spend: Spend

    def __init__(self, reply: Completion | Failure) -> None:
        self.reply, self.asked, self.spend = reply, 0, Spend()

    async def ask(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, object] | None = None,
        facts: Mapping[str, object] | None = None,
        purpose: str | None = None,
        n: int | None = None,
    ) -> Completion | Failure:
        """Return the same reply to any request; more than 100 requests in one step fail the check."""
        self.asked += 1
        self.spend += Spend(calls=1)
        assert self.asked <= 100, "the player asked its model more than 100 times in one step"
        assert messages and all(isinstance(m.content, str) for m in messages), "a message must hold text"
        return self.reply

    async def score(self, text: str, confidence: float | None = None, abstained: Abstained = "") -> float:
        """Return a score below the threshold."""
        return 0.6

    def count_review(self) -> None:
        """Charge a review made within this step."""
        self.spend += Spend(reviews=1)


async def check_player(player: object) -> None:
    """Run every step of a player with good, odd, refused and failed replies; each must give a legal move.

    A player that never decides to review is not asked to.
    """
    move: Callable[[Observation, Model], Awaitable[object]] | None = getattr(player, "move", None)
    assert callable(move), "a player needs an async method move(seen, model)"
    reviews = False
    steps: tuple[Step, ...] = ("answer", "decide", "review")
    for step in steps:
        for reply in REPLIES:
            if step == "review" and not reviews:
                continue
            result = await move(_observation(step), cast(Model, Canned(reply)))
            assert isinstance(result, WANTED[step]), f"asked to {step}, the player returned {type(result).__name__}"
            if isinstance(result, Decision):
                assert result.choice in CHOICES, f"{result.choice!r} is none of {', '.join(CHOICES)}"
                reviews = reviews or result.choice == "review"
            else:
                assert result.status in ENDINGS, f"{result.status!r} is no status"
                assert result.status != "ok" or result.text.strip(), "an answer that is ok needs text"


def _observation(step: Step) -> Observation:
    return Observation(
        step=step,
        round=1,
        player="candidate",
        item=Item("ferry", PASSAGE, "12"),
        position=1,
        total=3,
        handled=2 if step != "answer" else 1,
        spend=Spend(calls=3),
        average_h=0.6,
        worst=("ferry", 0.6),
        recommended=True,
        threshold=0.85,
        max_reviews=2,
        review_cost=0.01,
        resources=("tokens", "calls", "reviews", "seconds"),
        show_seconds=True,
        rivals=1,
        snapshots=(Snapshot("rival", 0, (("average_h", 0.7), ("reviews", 2))),),
        answer="A ferry sank." if step == "review" else "",
        h=0.6 if step == "review" else None,
    )
