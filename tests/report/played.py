"""A match made by hand, every field of it another value: two players and a program, one item refused, a referee."""

from mashq.analysis.parts import BetaStretch, Lead
from mashq.protocol.resources import Amount, Spend
from mashq.report.documents.base import MEASURED, DetectorVersion
from mashq.report.documents.match import (
    AttemptCounts,
    Attempts,
    DroppedItem,
    Interval,
    Match,
    MatchPlayer,
    PlayerFigures,
    RefereeBill,
    RefusalView,
    ViewedPlayer,
)
from mashq.runs.reading import ReviewSpend

HEADLINE = "Winner: a, ahead of b by 0.1877 in Q (95% CI 0.0500 to 0.3253; P(win) >0.999)."


def costs(**known: float) -> dict[str, float | None]:
    """Costs of which the rest is unknown."""
    return {name: known.get(name) for name in MEASURED}


A = MatchPlayer(
    name="a",
    model="openai/gpt-x",
    agent="q-agent",
    score=PlayerFigures(
        h=0.9,
        h_before_review=0.85123,
        answer_rate=1.0,
        costs=costs(
            calls=1_234_567,
            tokens_in=123_456_789,
            tokens_out=23_456_789,
            tokens=146_913_578,
            reviews=45,
            seconds=98_765.44,
            dollars=0.000027,
        ),
        charged={"tokens_in": 12.0, "tokens": 12.0},
        unknown_attempts=1,
        penalty=2.125,
        q=0.6875,
        q_min=0.68,
        q_max=0.69,
    ),
    h_guide=0.97,
    h_guide_before_review=0.91,
    overfit=0.0111,
    T=0.85,
    R=3,
    stopped=None,
)
B = MatchPlayer(
    name="b",
    model="anthropic/claude-y",
    agent="plain",
    score=PlayerFigures(
        h=0.7123,
        h_before_review=0.7523,
        answer_rate=0.9,
        costs=costs(calls=9, tokens_in=800, tokens_out=90, tokens=890, reviews=2, seconds=7.25),
        charged={},
        unknown_attempts=0,
        penalty=2.0,
        q=0.49984,
        q_min=0.49984,
        q_max=0.49984,
    ),
    h_guide=0.8,
    h_guide_before_review=0.82,
    overfit=-0.02,
    T=0.5,
    R=0,
    stopped=None,
)
C = MatchPlayer(
    name="c",
    model="openai/gpt-z",
    agent="external",
    score=PlayerFigures(
        h=None,
        h_before_review=None,
        answer_rate=0.0,
        costs=costs(calls=3, reviews=0, seconds=0.05),
        charged={"seconds": 0.01},
        unknown_attempts=3,
        penalty=None,
        q=None,
        q_min=None,
        q_max=None,
    ),
    h_guide=None,
    h_guide_before_review=None,
    overfit=None,
    T=0.9,
    R=1,
    stopped="its budget of tokens is spent",
)


def counts(opened: int, closed: int, unresolved: int, failed: int) -> AttemptCounts:
    """How some attempts ended."""
    return AttemptCounts(opened=opened, closed=closed, unresolved=unresolved, failed=failed)


def views(**q: tuple[int, str | None, dict[str, tuple[float | None, float | None]]]) -> list[RefusalView]:
    """The score under each rule: items, winner, and H and Q by player."""
    return [
        RefusalView(
            refusals=rule,  # pyright: ignore[reportArgumentType]
            items=items,
            winner=winner,
            players={name: ViewedPlayer(h=h, q=worth) for name, (h, worth) in by.items()},
        )
        for rule, (items, winner, by) in q.items()
    ]


MATCH = Match(
    run="runs/r",
    finished=True,
    items=39,
    alpha=1.0,
    beta=0.1,
    task="summarize",
    guide="judge",
    normalise="match",
    refusals="intersection",
    simulated=False,
    detector=DetectorVersion("grounding", "3"),
    players=[A, B, C],
    differences=[Lead("a", "b", 0.18766, 0.1, 0.27532, 0.05, 0.32532)],
    intervals={
        "a": Interval(low=0.6, high=0.775),
        "b": Interval(low=0.4, high=0.6),
        "c": Interval(low=None, high=None),
    },
    p_win={"a": 0.9995, "b": 0.0005, "c": None},
    envelope=[BetaStretch(0.0, 1.5, "a"), BetaStretch(1.5, None, "b")],
    winner="a",
    tied=[],
    clear=True,
    best_set=["a"],
    headline=HEADLINE,
    attempts=Attempts(
        opened=30, closed=28, unresolved=2, failed=5,
        by_player={"a": counts(20, 19, 1, 3), "b": counts(7, 6, 1, 2), "c": counts(3, 3, 0, 0)},
    ),
    referee=RefereeBill(opened=41, failed=1, unresolved=0, tokens=6543, seconds=12.34),
    dropped=[DroppedItem(item="i1", by=["b", "c"]), DroppedItem(item="i2", by=["c"])],
    views=views(
        intersection=(39, "a", {"a": (0.9, 0.6875), "b": (0.7123, 0.49984), "c": (None, None)}),
        penalised=(41, "b", {"a": (0.6, 0.3875), "b": (0.69, 0.49), "c": (0.0, -0.1)}),
        answered=(40, None, {"a": (0.8, 0.5875), "b": (0.8, 0.5875), "c": (None, None)}),
    ),
    notes=["c stopped: its budget of tokens is spent.", "A second note."],
)  # fmt: skip
REVIEWS = {
    name: ReviewSpend(
        Spend.of(
            calls=1,
            tokens_in=Amount(tokens - 7, 1),
            tokens_out=Amount(7, 1),
            seconds=Amount(seconds, 1),
            dollars=Amount(dollars, 1),
        )
    )
    for name, tokens, seconds, dollars in (("a", 22_035, 61.04, 0.25), ("b", 77, 0.5, 0.0))
}
