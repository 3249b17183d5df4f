"""The story of a match: every sentence follows from the moves, and every count is exact."""

import json
import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mashq.analysis.story.tell import Beat, Event, Scene, Teller, p_now, q_now, story, told
from mashq.protocol.game import apply, initial, ruling, to_move
from mashq.protocol.items import Item
from mashq.protocol.moves import Answer, Decision, Move, Rewrite, Status, Stop, kind_of, to_json
from mashq.protocol.resources import Amount, Spend
from mashq.protocol.rules import Rules, Seat, Vision
from mashq.protocol.score import ScoreRules, standings
from mashq.protocol.state import MatchState

SCENE = Scene(("A", "B"), 6, {"A": 0.8, "B": 0.8})


def spent(tokens: float = 100, **more: Any) -> dict[str, Any]:
    return {
        "calls": 1,
        "tokens_in": [tokens, 1, 0, 0],
        "tokens_out": [10, 1, 0, 0],
        "seconds": [1.0, 1, 0, 0],
        **more,
    }


def answer(round_: int, player: str, item: str, h: float | None, **more: Any) -> Event:
    move = {"status": "ok", "text": "t", "h": h, "spend": spent()} | more
    return Event(round_, player, "answer", item, move)


def decision(round_: int, player: str, item: str, choice: str, **more: Any) -> Event:
    ruled = {"choice": more.pop("meant", choice), "overridden": more.pop("overridden", "")}
    return Event(round_, player, "decision", item, {"choice": choice} | more, ruled)


def rewrite(round_: int, player: str, item: str, h: float | None, status: str = "ok") -> Event:
    return Event(round_, player, "rewrite", item, {"status": status, "h": h, "spend": spent(50)})


def sentences(beats: list[Beat], kind: str) -> list[str]:
    return [f"{beat.round}: {beat.sentence}" for beat in beats if beat.kind == kind]


def test_a_review_cycle_is_told_with_its_count_and_its_scores() -> None:
    events = [answer(0, "A", "x", 0.4), decision(0, "A", "x", "review")]
    events += [rewrite(0, "A", "x", 0.5), rewrite(0, "A", "x", None, "refused"), rewrite(0, "A", "x", 0.9)]
    events += [answer(1, "A", "y", 0.9)]
    found = story(events, SCENE)
    assert sentences(found, "review") == [
        "1: A rewrote x 3 times: H 0.400 → 0.900, over its threshold 0.8; 1 rewrite was refused or failed."
    ]
    assert sentences(found, "reviews") == [
        "2: A's 3 reviews raised its mean H from 0.650 to 0.900; the rewrites took 180 tokens."
    ]


def test_a_rewrite_that_is_not_kept_changes_nothing() -> None:
    events = [answer(0, "A", "x", 0.4), decision(0, "A", "x", "review"), rewrite(0, "A", "x", 0.3)]
    better = Scene(("A",), 1, {"A": 0.8}, keep="better")
    assert sentences(story(events, better), "review") == [
        "1: A rewrote x once: H stayed at 0.400, still under its threshold 0.8."
    ]
    assert "0.400 → 0.300" in sentences(story(events, Scene(("A",), 1, {"A": 0.8})), "review")[0]


def test_the_judge_scores_the_story_where_it_is_not_the_guide() -> None:
    events = [answer(0, "A", "x", 0.9, judged=0.2), decision(0, "A", "x", "review")]
    events += [Event(0, "A", "rewrite", "x", {"status": "ok", "h": 1.0, "judged": 0.1})]
    assert sentences(story(events, SCENE), "review") == ["1: A rewrote x once: H 0.200 → 0.100."]


def test_who_stops_reviewing_after_it_was_shown_a_rival() -> None:
    events: list[Event] = []
    for at in range(8):
        events += [answer(at, "A", f"a{at}", 0.5), decision(at, "A", f"a{at}", "review" if at == 3 else "continue")]
        events += [rewrite(at, "A", "a3", 0.6), rewrite(at, "A", "a3", 0.7)] if at == 3 else []
        events += [answer(at, "B", f"b{at}", 0.5), decision(at, "B", f"b{at}", "review" if at < 4 else "continue")]
        events += [rewrite(at, "B", f"b{at}", 0.9)] if at < 4 else []
    (beat,) = [beat for beat in story(events, SCENE) if beat.kind == "reaction" and beat.players[0] == "B"]
    assert (beat.round, beat.players) == (5, ("B", "A"))
    assert beat.sentence == (
        "B was shown A's state after 2 reviews of a3 and stopped reviewing: it had reviewed for 4 rounds in a row, "
        "and in none of the 3 that followed."
    )
    *_, open_ = [beat for beat in story(events, SCENE, ended=False) if beat.kind == "reaction"]
    assert open_.sentence.endswith("and did not review, after 4 rounds of reviewing in a row.")
    blind = Scene(("A", "B"), 8, {"A": 0.8, "B": 0.8}, vision="never")
    assert not [beat for beat in story(events, blind) if beat.kind == "reaction"], "nobody was shown anything"
    ruled = [Event(e.round, e.player, e.kind, e.item, {**e.move, "source": "rule"}, e.ruling) for e in events]
    assert not [beat for beat in story(ruled, SCENE) if beat.kind == "reaction"], "a rule reads no snapshot"


def test_who_begins_to_review_after_it_was_shown_a_rival() -> None:
    events: list[Event] = []
    for at in range(5):
        events += [answer(at, "A", f"a{at}", 0.5), decision(at, "A", f"a{at}", "review" if at == 3 else "continue")]
        events += [rewrite(3, "A", "a3", 0.6)] if at == 3 else []
        events += [answer(at, "B", f"b{at}", 0.5), decision(at, "B", f"b{at}", "review" if at == 4 else "continue")]
    assert sentences(story(events, SCENE), "reaction") == [
        "5: B was shown A's state after 1 review of a3 and reviewed, which it had not done for 4 rounds."
    ]


def test_troubles_are_counted() -> None:
    events = [answer(0, "A", "x", None, status="refused", error="no"), answer(1, "A", "y", None, status="refused")]
    events += [answer(2, "A", "z", 0.5, spend=spent(failed=2)), answer(3, "A", "w", 0.5, spend=spent(failed=3))]
    events += [decision(3, "A", "w", "end", meant="continue", overridden="too early")]
    events += [answer(4, "A", "v", None, status="failed", error="gone")]
    events += [decision(4, "A", "v", "continue", source="fallback"), decision(5, "A", "v", "end", meant="end")]
    found = story(events, SCENE)
    assert sentences(found, "trouble") == [
        "1: A refused 2 items (the first: no).",
        "3: 5 attempts of A failed, 3 of them in round 4.",
        "4: A chose 'end' once, and the rules made it 'continue' (too early).",
        "5: A failed v (gone).",
        "5: A's policy gave no usable decision once; that counts as continue.",
    ]
    assert sentences(found, "end") == ["6: A ended its play after 5 answers."]


def test_one_who_cannot_pay_leaves() -> None:
    events = [answer(0, "A", "x", 0.5), Event(1, "A", "stop", "y", {"reason": "no tokens left"})]
    (beat,) = [beat for beat in story(events, SCENE) if beat.kind == "stop"]
    assert beat.sentence == "A left the match (no tokens left) with 5 items unanswered."
    assert beat.importance > 0.9


def test_the_lead_changes_and_the_costs_part() -> None:
    rules = ScoreRules(beta=0.1, weights={"tokens": 1.0})
    scene = Scene(("A", "B"), 5, {"A": 0.8, "B": 0.8}, rules=rules)
    events: list[Event] = []
    for at, h in enumerate((0.9, 0.3, 0.3, 0.3, 0.3)):
        events += [answer(at, "A", f"i{at}", h, spend=spent(90)), answer(at, "B", f"i{at}", 0.7, spend=spent(190))]
    found = story(events, scene)
    assert sentences(found, "lead") == [
        "1: A is ahead first: Q 0.850 against B's 0.600 over the items answered so far; it leads for 1 round.",
        "2: B takes the lead: Q 0.600 against A's 0.550 over the items answered so far; it leads for 4 rounds.",
    ]
    assert sentences(found, "cost") == ["4: B has spent 2.0 times the tokens of A so far: 800 against 400."]
    assert sentences(found, "opening") == ["1: The first answers: A's scored H 0.900 and B's scored H 0.700."]
    assert sentences(found, "divided") == ["2: i1 divided them most: B ended at H 0.700, A at 0.300."]
    assert sentences(found, "worst") == ["2: The lowest score that stood at the end: A's answer to i1, H 0.300."]


def test_the_most_important_are_chosen_and_stay_in_order() -> None:
    beats = [Beat(n, (), str(n), weight, "x") for n, weight in ((1, 0.1), (2, 0.9), (3, 0.5), (4, 0.9))]
    assert [beat.round for beat in told(beats, 3)] == [2, 3, 4]
    assert told(beats, 0) == []


def test_names_are_kept_short_and_on_one_line() -> None:
    scene = Scene(("A",), 2, {"A": 0.8})
    (beat,) = [b for b in story([answer(0, "A", "x\n" * 500, 0.1)], scene) if b.kind == "worst"]
    assert len(beat.sentence) < 200 and "\n" not in beat.sentence


def test_players_the_scene_does_not_name_are_passed_over() -> None:
    assert story([answer(0, "stranger", "x", 0.1)], SCENE) == []


def test_p_and_q_follow_the_reference_and_the_weights() -> None:
    rules = ScoreRules(beta=0.5, weights={"tokens": 2.0, "calls": 0.0}, reference={"tokens": 100.0})
    totals = [{"tokens": 50.0, "calls": 9.0}, {"tokens": 0.0, "calls": 1.0}]
    assert p_now(rules, totals) == [1.0, 0.0]
    assert q_now(rules, [0.9, None], totals) == [0.9 - 0.5, None]


class Made:
    """A match that was drawn: its moves with the state after each."""

    def __init__(self, moves: list[tuple[Event, MatchState]], scene: Scene) -> None:
        self.moves, self.scene = moves, scene

    def __repr__(self) -> str:
        told = [(e.round, e.player, e.kind, e.item, e.move.get("choice", e.move.get("h"))) for e, _ in self.moves]
        return f"{self.scene}: {told}"


@st.composite
def matches(draw: st.DrawFn) -> Made:
    """A whole match of random moves, each with the state after it."""
    count = draw(st.integers(1, 4))
    names = ("A", "B", "C")[: draw(st.integers(1, 3))]
    rules = Rules(
        turn=draw(st.sampled_from(["cycle", "single"])),
        keep=draw(st.sampled_from(["latest", "better"])),
        vision=Vision(
            draw(st.sampled_from(["never", "review", "always"])), keep=draw(st.sampled_from(["fresh", "latest"]))
        ),
        max_reviews=draw(st.integers(0, 2)),
    )
    items = [Item(f"i{n}", "") for n in range(count)]
    state = initial(items, rules, [Seat(name, tuple(draw(st.permutations(range(count))))) for name in names])
    made: list[tuple[Event, MatchState]] = []
    while steps := to_move(state):
        seat = draw(st.sampled_from(sorted(steps)))
        player, move = state.players[seat], _move(draw, steps[seat])
        ruled = ruling(state, seat, move) if isinstance(move, Decision) else None
        at = player.reviewing
        if at is None:
            at = player.position - (steps[seat] == "decide" and rules.turn == "cycle")
        item = items[player.order[at]].id if at < count else None
        body = json.loads(json.dumps(to_json(move)))
        told = None if ruled is None else {"choice": ruled.choice, "overridden": ruled.overridden}
        event = Event(state.round, player.name, kind_of(move), item, body, told)
        state = apply(state, {seat: move})
        made.append((event, state))
    scene = Scene(
        names, count, dict.fromkeys(names, rules.threshold), rules.keep, rules.vision.when, rules.vision.keep
    )
    return Made(made, scene)


def _move(draw: st.DrawFn, step: str) -> Move:
    cost = Spend.of(
        calls=1, tokens_in=Amount(draw(st.integers(1, 50)), 1), tokens_out=Amount(3, 1), seconds=Amount(1.0, 1)
    )
    if draw(st.integers(0, 19)) == 0:
        return Stop("enough", spend=cost)
    if step == "decide":
        return Decision(draw(st.sampled_from(["continue", "review", "end"])), spend=cost)
    status: Status = draw(st.sampled_from(("ok", "ok", "ok", "refused")))
    h = draw(st.sampled_from([0.1, 0.5, 0.84, 0.85, 1.0])) if status == "ok" else None
    return Answer(status, "a", h, spend=cost) if step == "answer" else Rewrite(status, "r", h, spend=cost)


@given(matches())
def test_a_story_of_any_match_agrees_with_the_protocol(made: Made) -> None:
    moves, scene = made.moves, made.scene
    teller = Teller(scene)
    for event, _ in moves:
        teller.hear(event)
        teller.beats(ended=False)
    final, beats = moves[-1][1], teller.beats()
    assert all(0 <= beat.importance <= 1 and beat.round >= 1 and beat.sentence.endswith(".") for beat in beats)
    assert [beat.round for beat in beats] == sorted(beat.round for beat in beats)
    for player in final.players:
        own = [beat.sentence for beat in beats if beat.kind == "reviews" and beat.players == (player.name,)]
        if player.spend.reviews and player.answered:
            (count,) = re.findall(r"'s (\d+) review", own[0])
            assert int(count) == player.spend.reviews
            assert player.average_h is not None and f"{player.average_h:.3f}" in own[0]
        else:
            assert own == []
    names = {event.player for event, _ in moves}
    assert {beat.players[0] for beat in beats} <= names
    leads = [beat for beat in beats if beat.kind == "lead"]
    known = [
        (s.q, p.name) for s, p in zip(standings(final, scene.rules), final.players, strict=True) if s.q is not None
    ]
    if len(known) > 1 and abs(sorted(known)[-1][0] - sorted(known)[-2][0]) > 1e-6:
        assert leads[-1].players[0] == max(known)[1], "who leads at the end is who the protocol says"
