"""The story of a match: every sentence follows from the moves, and every count is exact."""

import re
from collections.abc import Mapping, Sequence

from hypothesis import given

from mashq.analysis.story.highlights import Highlight
from mashq.analysis.story.story import Story, most_important
from mashq.protocol import Amount, Answer, Decision, Item, MatchState, Move, Rewrite, Rules, Seat, Spend, Stop, Vision
from mashq.protocol.game import initial
from mashq.protocol.moves import Choice
from mashq.protocol.replay import replay
from mashq.protocol.resources import MEASURES
from mashq.protocol.results import results_of
from mashq.protocol.score import ScoreRules, standings
from tests.protocol.strategies import Replayed, replayed

RULES = Rules(threshold=0.8)
TOKENS = ScoreRules(beta=0.1, weights={"tokens": 1.0})


def spent(tokens: int = 100, failed: int = 0, reviews: int = 0) -> Spend:
    amount = {"tokens_in": tokens, "tokens_out": 10, "seconds": 1}
    amounts = tuple(Amount(amount.get(name, 0), 1) for name in MEASURES)
    return Spend(1, failed=failed, reviews=reviews, amounts=amounts)


def answer(h: float | None, tokens: int = 100, failed: int = 0) -> Answer:
    return Answer("ok", "t", h, spend=spent(tokens, failed))


def rewrite(h: float, tokens: int = 50) -> Rewrite:
    return Rewrite("ok", "r", h, spend=spent(tokens))


def first(players: str = "A", items: int = 6, rules: Rules = RULES) -> MatchState:
    """Players that handle the items x0, x1, ... in the same order."""
    order = tuple(range(items))
    return initial([Item(f"x{n}", "") for n in order], rules, [Seat(name, order) for name in players])


def heard(
    moves: Sequence[tuple[str, Move]], state: MatchState | None = None, score: ScoreRules | None = None
) -> Story:
    state = first() if state is None else state
    story = Story(state, score or ScoreRules())
    for delta in replay(state, moves):
        story.hear(delta)
    return story


def solo(*moves: Move) -> list[tuple[str, Move]]:
    return [("A", move) for move in moves]


def sentences(highlights: Sequence[Highlight], kind: str) -> list[str]:
    return [f"{one.round}: {one.sentence}" for one in highlights if one.kind == kind]


def test_a_review_cycle_is_told_with_its_count_and_its_scores() -> None:
    cycle = (answer(0.4), Decision("review"), rewrite(0.5), Rewrite("refused", spend=spent(50)), rewrite(0.9))
    every = heard(solo(*cycle, answer(0.9))).highlights()
    assert sentences(every, "review") == [
        "1: A rewrote x0 3 times: H 0.400 → 0.900, over its threshold 0.8; 1 rewrite was refused or failed."
    ]
    assert sentences(every, "reviews") == [
        "2: A's 3 reviews raised its mean H from 0.650 to 0.900; the rewrites took 180 tokens."
    ]


def test_a_second_cycle_begins_where_the_first_left_the_answer() -> None:
    rules = Rules(turn="single", threshold=0.8)
    moves = (Decision("continue"), answer(0.2), Decision("review"), rewrite(0.4), Decision("review"), rewrite(0.7))
    every = heard(solo(*moves), first(rules=rules)).highlights(ended=False)
    changes = [re.findall(r"H (\S+) → (\S+),", one)[0] for one in sentences(every, "review")]
    assert changes == [("0.200", "0.400"), ("0.400", "0.700")]


def test_a_rewrite_that_is_not_kept_changes_nothing() -> None:
    moves = solo(answer(0.4), Decision("review"), rewrite(0.3))
    better = first(items=1, rules=Rules(threshold=0.8, keep="better", max_reviews=1))
    assert sentences(heard(moves, better).highlights(), "review") == [
        "1: A rewrote x0 once: H stayed at 0.400, still under its threshold 0.8."
    ]
    assert "0.400 → 0.300" in sentences(heard(moves).highlights(), "review")[0]


def test_the_lowest_score_stands_in_the_round_its_answer_last_changed_in() -> None:
    rules = Rules(threshold=0.8, keep="better", max_reviews=1)
    moves = solo(answer(0.4), Decision("continue"), answer(0.9), Decision("review"), rewrite(0.3))
    assert sentences(heard(moves, first(rules=rules)).highlights(), "worst")[0].startswith("1: ")
    moves = [*moves[:-1], *solo(rewrite(0.45))]
    assert sentences(heard(moves, first(rules=rules)).highlights(), "worst")[0].startswith("2: ")


def test_the_judge_scores_the_story_where_it_is_not_the_guide() -> None:
    moves = solo(Answer("ok", h=0.9, judged=0.2), Decision("review"), Rewrite("ok", h=1.0, judged=0.1))
    assert sentences(heard(moves).highlights(), "review") == ["1: A rewrote x0 once: H 0.200 → 0.100."]


def test_reviews_within_a_step_are_counted_and_cost_what_the_ledger_says() -> None:
    inside = Answer("ok", "t", 0.9, h_first=0.5, text_first="d", spend=spent(400, reviews=3))
    story = heard(solo(inside, Decision("continue", source="rule")))
    assert story.reviewed_within_steps == ("A",)
    assert sentences(story.highlights(), "reviews") == ["1: A's 3 reviews raised its mean H from 0.500 to 0.900."]
    known: Mapping[str, float] = {"A": 22035.0}
    assert sentences(story.highlights(review_tokens=known), "reviews") == [
        "1: A's 3 reviews raised its mean H from 0.500 to 0.900; the rewrites took 22,035 tokens."
    ]


def habits(a: Sequence[bool], b: Sequence[bool], source: str = "llm") -> list[tuple[str, Move]]:
    """Rounds in which A and B answer and, where it says so, review; A rewrites twice."""
    moves: list[tuple[str, Move]] = []
    for reviews_a, reviews_b in zip(a, b, strict=True):
        for name, reviews, scores in (("A", reviews_a, (0.6, 0.9)), ("B", reviews_b, (0.9,))):
            choice: Choice = "review" if reviews else "continue"
            moves += [(name, answer(0.5)), (name, Decision(choice, source="rule" if source == "rule" else "llm"))]
            moves += [(name, rewrite(h)) for h in scores if reviews]
    return moves


def test_who_stops_reviewing_after_it_was_shown_a_rival() -> None:
    moves = habits([at == 3 for at in range(8)], [at < 4 for at in range(8)])
    pair = first("AB", 8)
    story = heard(moves, pair)
    (one,) = [one for one in story.highlights() if one.kind == "reaction" and one.players[0] == "B"]
    assert (one.round, one.players) == (5, ("B", "A"))
    assert one.sentence == (
        "B was shown A's state after 2 reviews of x0 and stopped reviewing: it had reviewed for 4 rounds in a row, "
        "and in none of the 3 that followed."
    )
    *_, open_ = [one for one in story.highlights(ended=False) if one.kind == "reaction"]
    assert open_.sentence.endswith("and did not review, after 4 rounds of reviewing in a row.")
    blind = first("AB", 8, Rules(threshold=0.8, vision=Vision("never")))
    assert not sentences(heard(moves, blind).highlights(), "reaction"), "nobody was shown anything"
    ruled = habits([at == 3 for at in range(8)], [at < 4 for at in range(8)], "rule")
    assert not sentences(heard(ruled, pair).highlights(), "reaction"), "a rule reads no snapshot"


def test_who_begins_to_review_after_it_was_shown_a_rival() -> None:
    moves = habits([at == 3 for at in range(5)], [at == 4 for at in range(5)])
    assert sentences(heard(moves, first("AB", 5)).highlights(), "reaction") == [
        "5: B was shown A's state after 2 reviews of x0 and reviewed, which it had not done for 4 rounds."
    ]


def test_troubles_are_counted() -> None:
    on = Decision("continue")
    moves = solo(Answer("refused", error="no"), on, Answer("refused"), on, answer(0.5, failed=2), on)
    moves += solo(answer(0.5, failed=3), Decision("end"), Answer("failed", error="gone"))
    moves += solo(Decision("continue", source="fallback"), answer(0.9), Decision("end"))
    every = heard(moves).highlights()
    why = "end is legal only when every item has been answered"
    assert sentences(every, "trouble") == [
        "1: A refused 2 items (the first: no).",
        "3: 5 attempts of A failed, 3 of them in round 4.",
        f"4: A chose 'end' once, and the rules made it 'continue' ({why}).",
        "5: A failed x4 (gone).",
        "5: A's policy gave no usable decision once; that counts as continue.",
    ]
    assert sentences(every, "end") == ["6: A finished after 6 answers."]


def test_one_who_cannot_pay_leaves() -> None:
    moves = solo(answer(0.5), Decision("continue"), Stop("no tokens left"))
    (one,) = [one for one in heard(moves).highlights() if one.kind == "stop"]
    assert one.sentence == "A left the match (no tokens left) with 5 items unanswered."
    assert one.importance > 0.9


def test_the_lead_changes_and_the_costs_part() -> None:
    moves: list[tuple[str, Move]] = []
    for h in (0.9, 0.3, 0.3, 0.3, 0.3):
        moves += [
            ("A", answer(h, 90)),
            ("A", Decision("continue")),
            ("B", answer(0.7, 190)),
            ("B", Decision("continue")),
        ]
    every = heard(moves, first("AB", 5), TOKENS).highlights()
    assert sentences(every, "lead") == [
        "1: A takes the first lead: Q 0.850 against B's 0.600 over the items answered so far; it leads for 1 round.",
        "2: B takes the lead: Q 0.600 against A's 0.550 over the items answered so far; it leads for 4 rounds.",
    ]
    assert sentences(every, "cost") == ["4: B has spent 2.0 times the tokens of A so far: 800 against 400."]
    assert sentences(every, "opening") == ["1: The first answers: A's scored H 0.900 and B's scored H 0.700."]
    assert sentences(every, "divided") == ["2: x1 separated them most: B ended at H 0.700, A at 0.300."]
    assert sentences(every, "worst") == ["2: The lowest final score: A's answer to x1, H 0.300."]


def test_the_most_important_are_chosen_and_stay_in_order() -> None:
    every = [Highlight(n, (), str(n), weight, "x") for n, weight in ((1, 0.1), (2, 0.9), (3, 0.5), (4, 0.9))]
    assert [one.round for one in most_important(every, 3)] == [2, 3, 4]
    assert most_important(every, 0) == []


def test_names_are_kept_short_and_on_one_line() -> None:
    state = initial([Item("x\n" * 500, "")], RULES, [Seat("A", (0,))])
    (one,) = [one for one in heard(solo(answer(0.1)), state).highlights() if one.kind == "worst"]
    assert len(one.sentence) < 200 and "\n" not in one.sentence


@given(replayed())
def test_a_story_of_any_match_agrees_with_the_protocol(made: Replayed) -> None:
    rules, story = ScoreRules(), Story(made.first, ScoreRules())
    for delta in made.deltas:
        story.hear(delta)
        story.highlights(ended=False)
        check_reviews(made, story, delta.after, delta.number)
    state, every = made.deltas[-1].after, story.highlights()
    assert all(0 <= one.importance <= 1 and one.round >= 1 and one.sentence.endswith(".") for one in every)
    assert [one.round for one in every] == sorted(one.round for one in every)
    assert {one.players[0] for one in every} <= {name for name, _ in made.moves}
    cycles = [one for one in every if one.kind == "review"]
    times = {"once": 1, "twice": 2}
    told = [re.search(r" (once|twice|(\d+) times): H ", one.sentence) for one in cycles]
    counts = [times.get(one[1]) or int(one[2]) for one in told if one is not None]
    assert sum(counts) == sum(isinstance(delta.move, Rewrite) for delta in made.deltas)
    leads = [one for one in every if one.kind == "lead"]
    h = [player.average_judge_h for player in state.players]
    penalties = [standing.penalty for standing in standings(state, rules)]
    known = sorted(own - rules.beta * p for own, p in zip(h, penalties, strict=True) if own is not None)
    if len(known) > 1 and known[-1] - known[-2] > 1e-6:
        leader = next(
            player.name
            for player, own, p in zip(state.players, h, penalties, strict=True)
            if own is not None and own - rules.beta * p == known[-1]
        )
        assert leads[-1].players[0] == leader, "who leads at the end is who the protocol says"


def check_reviews(made: Replayed, story: Story, state: MatchState, upto: int) -> None:
    """What the reviews bought and cost, after so many moves, is what the state and the moves say."""
    every = story.highlights()
    for player, result in zip(state.players, results_of(state), strict=True):
        own = [one.sentence for one in every if one.kind == "reviews" and one.players == (player.name,)]
        ok = [row for row in result.items if row.status == "ok"]
        assert len(own) == bool(player.spend.reviews and ok)
        for sentence in own:
            (count,) = re.findall(r"'s (\d+) review", sentence)
            assert int(count) == player.spend.reviews
            assert player.average_judge_h is not None and f" {player.average_judge_h:.3f}" in sentence
            mine = [delta for delta in made.deltas[:upto] if delta.player.name == player.name]
            rewrites = [delta.move.spend.tokens.total for delta in mine if isinstance(delta.move, Rewrite)]
            within = any(delta.move.spend.reviews for delta in mine)
            assert re.findall(r"took ([\d,]+) tokens", sentence) == ([] if within else [f"{sum(rewrites):,.0f}"])
