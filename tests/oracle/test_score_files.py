"""`mashq score` on random results files, every number of its document against the oracle's."""

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, pairwise
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Literal, cast

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings

from tests.oracle.oracle import (
    COSTS,
    REFUSALS,
    RESOURCES,
    TIE,
    Normaliser,
    Refusals,
    Results,
    Row,
    Rules,
    Score,
    Standing,
    Status,
    Stretch,
    beta_lines,
    exact,
    front,
    score,
    scored_items,
    upper_envelope,
    view,
    weight_lines,
)
from tests.oracle.strategies import File, files
from tests.pinned.door import Said, command

Document = dict[str, Any]
SUFFIXES: tuple[Literal["csv", "jsonl"], ...] = ("csv", "jsonl")
Lines = Mapping[str, tuple[Fraction, Fraction]]
NAMES = {"totals": "reference"}  # the document's name of a normaliser, if it differs

SHORT = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    database=None,
    report_multiple_bugs=False,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    phases=[
        Phase.explicit,
        Phase.generate,
    ],  # examples are small, and a failure must be reported before the time limit
)


def run(file: File, *more: str) -> Said:
    """Run `mashq score --json` on a file."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        options = file.options(folder)
        return command(["score", str(file.write(folder)), *options, "--json", "--resamples", "100", *more])


def strict(text: str) -> Document:
    """Parse a JSON document; NaN and Infinity are not JSON."""

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} in the document")

    return json.loads(text, parse_constant=refuse)


def near(expected: Fraction | None, actual: float | None, label: str, scale: Fraction | float = 0) -> None:
    """Check equality to a billionth of the number, or of `scale` for a difference of large parts; or both unknown."""
    if expected is None or actual is None:
        assert expected is None and actual is None, f"{label}: {actual}, should be {expected}"
        return
    slack = 1e-9 * (1e-3 + float(scale))
    assert math.isclose(actual, expected, rel_tol=1e-9, abs_tol=slack), (
        f"{label}: {actual}, should be {float(expected)}"
    )


def compare(file: File, document: Document) -> None:
    """Compare every number of the document with the oracle's."""
    rules, result = file.rules, score(file.full_rows(), file.rules)
    assert (document["alpha"], document["beta"]) == (rules.alpha, rules.beta)
    assert document["refusals"] == rules.refusals
    assert (document["h"], {entry["h"] for entry in document["views"]} - {"faithful"}) == ("faithful", set())
    assert document["normalise"] == NAMES.get(rules.normaliser, rules.normaliser)
    assert document["weights"] == {name: float(weight) for name, weight in result.weights.items()}
    counts = (None, None) if file.totals else (result.items, result.units)
    assert (document["items"], document["units"]) == counts
    assert document["trials"] == result.trials
    assert [player["name"] for player in document["players"]] == [player.name for player in result.players]
    for expected, actual in zip(result.players, document["players"]):
        compare_player(replace(expected, dollars_per_faithful=None) if file.totals else expected, actual, rules)
    if decided(result):
        assert (document["winner"], document["tied"]) == (result.winner, list(result.tied))
    compare_differences(result, document)
    rivals = sum(player.q is not None for player in result.players) > 1
    check_stretches(document["envelope"], "beta", beta_lines(result, rules) if rivals else {})
    assert set(document["weight_envelopes"]) == (set(result.weights) if rivals else set())
    for name, actual in document["weight_envelopes"].items():
        check_stretches(actual, "weight", weight_lines(result, rules, name), result.weights[name])
    compare_fronts(result, document)
    compare_views(file, document)
    compare_dropped(result, document)
    check_chances(result, document)
    check_clear(document)
    check_headline(document)


def compare_player(expected: Standing, actual: Document, rules: Rules) -> None:
    """Compare a player's numbers, and check its interval."""
    name = expected.name
    near(expected.h, actual["h"], f"H of {name}")
    near(expected.answer_rate, actual["answer_rate"], f"answer rate of {name}")
    for resource in COSTS:
        near(expected.totals[resource], actual[resource], f"{resource} of {name}")
    assert set(actual["charged"]) == set(expected.charged), name
    for resource, charge in expected.charged.items():
        near(charge, actual["charged"][resource], f"charged {resource} of {name}", expected.totals[resource] or 0)
    assert actual["h_before_review"] == (None if expected.answer_rate else actual["h"]), "a file does not tell"
    assert actual["joules"] is None and actual["unknown_attempts"] == 0
    assert [actual[name] for name in ("words", "coverage", "copied")] == [None] * 3, "a file has no texts"
    near(expected.penalty, actual["penalty"], f"P of {name}")
    scale = rules.alpha + rules.beta * float(expected.penalty or 0)
    near(expected.q, actual["q"], f"Q of {name}", scale)
    near(expected.dollars_per_faithful, actual["dollars_per_faithful"], f"dollars a faithful answer of {name}")
    within(actual["q_low"], actual["q"], actual["q_high"])
    for bound, value in (("q_min", expected.q_min), ("q_max", expected.q_max)):
        near(value, actual[bound], f"{bound} of {name}", scale)


def within(low: float | None, value: float | None, high: float | None) -> None:
    """Check that an interval has its value in the middle, and both ends or none."""
    assert (low is None) == (high is None)
    if low is not None and high is not None:
        assert value is not None and low <= value <= high
        near(exact(value), (low + high) / 2, "the middle of an interval", abs(low) + abs(high))


def compare_differences(result: Score, document: Document) -> None:
    """Compare differences of Q, the better player first, of all pairs or of a leader against every other player."""
    known = {player.name: player.q for player in result.players if player.q is not None}
    pairs: set[frozenset[str]] = set()
    for entry in document["differences"]:
        a, b = entry["a"], entry["b"]
        difference = known[a] - known[b]
        scale = max(abs(known[a]), abs(known[b]))
        assert difference > -TIE - rounding(known.values())
        near(difference, entry["dq"], f"{a} less {b}", scale)
        within(entry["low"], entry["dq"], entry["high"])
        within(entry["all_low"], entry["dq"], entry["all_high"])
        if entry["low"] is not None:
            assert entry["all_low"] <= entry["low"] and entry["high"] <= entry["all_high"]
        assert frozenset((a, b)) not in pairs
        pairs.add(frozenset((a, b)))
    everyone = {frozenset(pair) for pair in combinations(known, 2)}
    leads = [
        {frozenset((first, other)) for other in known if other != first}
        for first in (result.tied or (result.winner,))
        if first is not None
    ]
    assert pairs == everyone or pairs in leads


def check_stretches(stretches: Sequence[Document], axis: str, lines: Lines, current: Fraction = Fraction()) -> None:
    """Check that the stretches cover everything from 0 on, and that each one's leader is on top throughout.

    Equal lines are interchangeable; otherwise the stretches are the oracle's. `current` is where the score
    itself is: differences of sums there are no more exact than the sums.
    """
    if not lines:
        assert stretches == [], "nobody leads where nobody has a score"
        return
    begins = [entry[f"{axis}_from"] for entry in stretches]
    ends = [entry[f"{axis}_to"] for entry in stretches]
    assert begins[0] == 0 and ends[-1] is None and begins[1:] == ends[:-1]
    leaders = [entry.get("tied") or [entry["winner"]] for entry in stretches]
    assert all(len(names) == 1 or entry["winner"] is None for names, entry in zip(leaders, stretches))
    assert all(left != right for left, right in pairwise(leaders))
    for names, begin, end in zip(leaders, begins, ends):
        for x in (exact(bound) for bound in (begin, end) if bound is not None):
            heights = {name: (h - x * s, abs(h) + max(x, current) * s) for name, (h, s) in lines.items()}
            for leader in names:
                on_top(leader, heights)
        for leader in names if end is None else ():
            on_top(leader, {name: (-s, s) for name, (_, s) in lines.items()})
    expected = upper_envelope(lines)
    if len(expected) == len(leaders) and all(stretch.winner in names for stretch, names in zip(expected, leaders)):
        for left, right, begin in zip(expected, expected[1:], begins[1:]):
            near(right.begin, begin, "where the leader changes", crossing_scale(left, right, lines, current))


def crossing_scale(left: Stretch, right: Stretch, lines: Lines, current: Fraction) -> Fraction:
    """Return how far off a crossing of two lines may be: the closer to parallel, the farther."""
    (high, steep), (low, flat) = lines[left.winner], lines[right.winner]
    blur = (abs(high) + abs(low) + current * (steep + flat)) / (high - low) + (steep + flat) / (steep - flat)
    return right.begin * blur


def on_top(leader: str, heights: Lines) -> None:
    """Check that nobody is higher than the leader, except for rounding at the scale (the second number) of either."""
    height, size = heights[leader]
    for name, (other, scale) in heights.items():
        slack = Fraction("1e-9") * (size + scale + Fraction("1e-3"))
        assert height >= other - slack, f"{leader} is at {float(height)}, {name} at {float(other)}"


def compare_fronts(result: Score, document: Document) -> None:
    """Compare the Pareto fronts in H and P, and in H and each resource that all players have."""
    known = [player for player in result.players if player.q is not None]
    check_front(
        document["pareto"], {player.name: (player.h or Fraction(), player.penalty or Fraction()) for player in known}
    )
    reported = {name for name in RESOURCES if all(player.totals[name] is not None for player in result.players)}
    assert set(document["pareto_by"]) == (reported if known else set())
    for name in document["pareto_by"]:
        points = {player.name: (player.h or Fraction(), player.per_item[name] or Fraction()) for player in known}
        check_front(document["pareto_by"][name], points)


def check_front(names: Sequence[str], points: Lines) -> None:
    """Check a front; values that differ by less than a billionth may count as equal or not."""
    largest = max((cost for _, cost in points.values()), default=Fraction())
    scaled = {name: (h, cost / largest if largest else cost) for name, (h, cost) in points.items()}
    assert len(names) == len(set(names))
    assert front(scaled, -TIE) <= set(names) <= front(scaled, TIE), names


def compare_views(file: File, document: Document) -> None:
    """Compare the ranking under every rule for refusals and every normaliser."""
    names: dict[str, Normaliser] = {"match": "match", "median": "median"}
    if file.rules.normaliser != "match":
        names[NAMES.get(file.rules.normaliser, file.rules.normaliser)] = file.rules.normaliser
    seen = {(entry["refusals"], entry["normalise"]): entry for entry in document["views"]}
    assert set(seen) == {(refusals, name) for refusals in REFUSALS for name in names}
    assert len(seen) == len(document["views"])
    for refusals in REFUSALS:
        items = scored_items(Results(file.rows), refusals)
        for name, normaliser in names.items():
            entry = seen[refusals, name]
            assert entry["items"] == items
            if normaliser != "median" or middle_is_used(file, refusals):
                check_ranking(entry["ranking"], view(file.rows, file.rules, refusals, normaliser))


def middle_is_used(file: File, refusals: Refusals) -> bool:
    """Whether the median player used some of every counted resource: relative to 0, costs are not defined."""
    result = score(file.rows, replace(file.rules, refusals=refusals))
    return all(
        median(player.per_item[name] or Fraction() for player in result.players) > 0 for name in result.weights
    )


def check_ranking(ranking: Sequence[str] | None, qs: Mapping[str, Fraction | None]) -> None:
    """Check a ranking: best first, players without a Q last; equal ones in any order."""
    if all(q is None for q in qs.values()):
        assert ranking is None
        return
    assert ranking is not None and sorted(ranking) == sorted(qs)
    ranked = [qs[name] for name in ranking]
    known = [q for q in ranked if q is not None]
    assert ranked[: len(known)] == known
    slack = TIE + rounding(known)
    assert all(left > right - slack for left, right in pairwise(known)), [float(q) for q in known]


def compare_dropped(result: Score, document: Document) -> None:
    """Compare what the intersection leaves out, and who caused it."""
    dropped = document["dropped"]
    assert dropped["items"] == result.lost_items
    assert dropped["units"] == result.lost_units
    by = {name: (loss["missing"], loss["alone"]) for name, loss in dropped["by"].items()}
    assert by == {name: (loss.missing, loss.alone) for name, loss in result.losses.items()}
    counts = [missing for missing, _ in by.values()]
    assert counts == sorted(counts, reverse=True)


def check_chances(result: Score, document: Document) -> None:
    """Check that probabilities sum to 1, and that only players with a Q can win."""
    able = {player.name for player in result.players if player.q is not None}
    chances = {player["name"]: player["p_win"] for player in document["players"]}
    wholes = [chances]
    given = (document["items"] or 0) >= 5 and len(able) > 1
    assert [chance is not None for chance in chances.values()] == [given] * len(chances)
    assert (document["chance_along_beta"] is not None) == given
    if given:
        wholes += [entry["p"] for entry in document["chance_along_beta"]]
        own = {document["beta"]} if document["beta"] <= 0.5 else set[float]()
        assert [entry["beta"] for entry in document["chance_along_beta"]] == sorted(
            {n / 100 for n in range(51)} | own
        )
        for entry in document["chance_along_beta"]:
            if entry["beta"] == document["beta"]:
                for name, chance in entry["p"].items():
                    near(Fraction(chances[name] or 0), chance, f"P(win) of {name} at the beta of the rules")
        for whole in wholes:
            assert math.isclose(sum(chance or 0 for chance in whole.values()), 1)
            assert all(not chance or name in able for name, chance in whole.items())
            assert all(0 <= (chance or 0) <= 1 for chance in whole.values())
    if document["simplex"] is not None:
        assert math.isclose(sum(document["simplex"].values()), 1)
        assert set(document["simplex"]) <= able


def check_clear(document: Document) -> None:
    """Check that a winner is claimed exactly if every joint interval of its differences is above 0; those whose
    interval is not form the best set with it."""
    names = [player["name"] for player in document["players"]]
    leads = document["differences"]
    leader_differences = [entry for entry in leads if entry["a"] == leads[0]["a"]]
    above = {entry["b"]: entry["all_low"] is not None and entry["all_low"] > 0 for entry in leader_differences}
    leader = document["winner"]
    assert document["clear"] is (leader is not None and bool(leader_differences) and all(above.values()))
    if not leads or leads[0]["all_low"] is None:
        assert document["best_set"] == []
    else:
        assert [
            name
            for name in names
            if not above.get(name, False) and (name in above or name == leader_differences[0]["a"])
        ] == (document["best_set"])
    assert not document["clear"] or (leader, len(leader_differences)) == (leader_differences[0]["a"], len(above))


def check_headline(document: Document) -> None:
    """Check that the headline agrees with the fields."""
    headline, ranked = document["headline"], [player for player in document["players"] if player["q"] is not None]
    numbers = [float(text.replace("−", "-")) for text in re.findall(r"[−]?\d+\.\d{3,}", headline)]
    if not ranked:
        assert headline == "No winner: Q is undefined."
    elif len(ranked) == 1:
        alone = "played alone" if len(document["players"]) == 1 else "is the only one with a score"
        assert headline.startswith(f"{ranked[0]['name']} {alone}: Q ")
        close(numbers, [ranked[0]["q"]])
    elif document["tied"]:
        assert headline.startswith("A tie: ") and all(name in headline for name in document["tied"])
        close(numbers, [max(player["q"] for player in ranked)])
    else:
        lead = document["differences"][0]
        chance = next(player["p_win"] for player in document["players"] if player["name"] == lead["a"])
        if lead["all_low"] is None:
            assert headline.startswith(f"{lead['a']} leads {lead['b']} by ")
            close(numbers, [lead["dq"]])
            return
        winner_text = f"Winner: {lead['a']}, ahead of {lead['b']} by "
        assert headline.startswith(
            winner_text if document["clear"] else f"No clear winner: {lead['a']} leads {lead['b']} by "
        )
        close(numbers, [lead["dq"], lead["all_low"], lead["all_high"], min(chance, 0.999)])


def close(actual: Sequence[float], expected: Sequence[float]) -> None:
    """Check that numbers agree to their printed digits."""
    assert len(actual) == len(expected)
    assert all(abs(left - right) <= 0.00051 for left, right in zip(actual, expected)), (actual, expected)


def rounding(qs: Iterable[Fraction | None]) -> Fraction:
    """Return the floating-point error that a difference of these can have."""
    return max((abs(q) for q in qs if q is not None), default=Fraction()) * Fraction("1e-13")


def decided(result: Score) -> bool:
    """Whether floating point can decide who ties with the leader: no difference is within rounding of the limit."""
    qs = [player.q for player in result.players if player.q is not None]
    blur = max(rounding(qs), TIE / 1000)
    behind = [
        player.q
        for player in result.players
        if player.q is not None and player.name not in (result.winner, *result.tied[:1])
    ]
    return all(abs(max(qs) - q - TIE) > blur and (max(qs) - q > TIE or blur < TIE) for q in behind)


def agree(file: File, *more: str) -> None:
    """Check that the command and the oracle agree; without any Q, a note says why."""
    result = run(file, *more)
    assert (result.code, result.err) == (0, "")
    document = strict(result.out)
    compare(file, document)
    undefined = all(player["q"] is None for player in document["players"])
    assert any(note.startswith("Q is undefined: ") for note in document["notes"]) == undefined


def leaves(part: Any, path: tuple[str | int, ...] = ()) -> Iterable[tuple[tuple[str | int, ...], object]]:
    """Yield every leaf of a document, with its path."""
    if isinstance(part, dict):
        for name, value in cast(Document, part).items():
            yield from leaves(value, (*path, name))
    elif isinstance(part, list):
        for at, value in enumerate(cast(list[Any], part)):
            yield from leaves(value, (*path, at))
    else:
        yield path, part


def other_than(value: object) -> list[object]:
    """Return different values: another player, a slightly larger number, a number for an unknown."""
    if isinstance(value, str):
        return [name for name in "ABC" if name != value]
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int | float):
        return [value + (1 if isinstance(value, int) else 1e-5 * (abs(value) or 1))]
    return [0.5]


@pytest.mark.slow
def test_the_comparison_sees_every_field() -> None:
    """Any change in a document is noticed, except in fields the oracle does not know."""
    lines = [
        f"{player} {item}0 {h} tokens={tokens + at} calls={1 + (at + calls) % 3} dollars=0.{at + 1}"
        for player, tokens, calls, heights in (("A", 20, 0, "97845"), ("B", 7, 1, "75564"), ("C", 2, 2, "21342"))
        for at, (item, h) in enumerate(zip("vwxyu", (f"0.{h}" for h in heights)))
    ]
    lines += [
        "A z0 refused tokens=3 calls=1 dollars=0.2",
        "B z0 0.5 tokens=1 calls=1 dollars=0.4",
        "C z0 failed tokens=3",
    ]
    file = table(
        ", ".join(lines), normaliser="totals", reference={"tokens": 100, "calls": 10, "reviews": 1, "seconds": 1}
    )
    text = run(file).out
    compare(file, strict(text))
    missed: set[str] = set()
    for path, value in leaves(strict(text)):
        for instead in other_than(value):
            document = strict(text)
            part: Any = document
            for key in path[:-1]:
                part = part[key]
            part[path[-1]] = instead
            try:
                compare(file, document)
            except (AssertionError, KeyError):
                continue
            missed.add(".".join(key for key in path if isinstance(key, str)))
    assert missed == {"schema", "kind", "level", "notes"}


@SHORT
@given(files(troubled=False, absent=False))
def test_plain_results(file: File) -> None:
    agree(file)


@SHORT
@given(files())
def test_one_trial_with_refusals(file: File) -> None:
    agree(file)


@SHORT
@given(files(normalisers=("per_item",)))
def test_a_reference_per_item(file: File) -> None:
    agree(file)


@SHORT
@given(files(trials=3, troubled=False, absent=False))
def test_trials(file: File) -> None:
    agree(file)


@SHORT
@given(files(trials=3))
def test_trials_with_refusals(file: File) -> None:
    agree(file)


@SHORT
@given(files(missing=True, troubled=False, absent=False))
def test_missing_costs(file: File) -> None:
    agree(file)


@SHORT
@given(files(trials=3, missing=True, normalisers=("match", "totals", "per_item")))
def test_everything_at_once(file: File) -> None:
    agree(file)


@SHORT
@given(files(troubled=False, absent=False))
def test_totals_without_items(file: File) -> None:
    rows = [row for row in file.rows if row.item == file.rows[0].item]
    agree(replace(file, rows=tuple(rows), totals=True))


@SHORT
@given(files(trials=2))
def test_without_a_player(file: File) -> None:
    kept = replace(file, rows=tuple(row for row in file.rows if row.player != "p1"))
    assume(kept.rows != file.rows)
    result, alone = run(file, "--without", "p1"), run(kept)
    assert (result.code, result.out) == (alone.code, alone.out)
    agree(kept)


def table(cells: str, **rules: Any) -> File:
    """Make a file of rows such as "A x0 0.5 tokens=10, B x0 refused": player, item and trial, H or status, costs."""
    rows: list[Row] = []
    statuses: dict[str, Status] = {"refused": "refused", "failed": "failed", "unanswered": "unanswered"}
    for line in cells.split(", "):
        player, unit, h, *costs = line.split()
        rows.append(
            Row(
                player,
                unit[:-1],
                int(unit[-1]),
                None if h in statuses else float(h),
                statuses.get(h, "ok"),
                {name: float(value) for name, value in (cost.split("=") for cost in costs)},
            )
        )
    return File(tuple(rows), Rules(**rules))


CORNERS = {
    "one player, one item": "A x0 0.5 tokens=10",
    "one answer, one refusal": "A x0 0.5 tokens=10, A y0 refused tokens=3",
    "no common item": "A x0 0.5 tokens=10, A y0 refused tokens=1, B x0 failed tokens=4, B y0 0.5 tokens=2",
    "no common unit of a common item": "A x0 0.5 tokens=1, A x1 refused tokens=1, "
    "B x0 failed tokens=4, B x1 1 tokens=2",
    "no item that both have": "A x0 0.5 tokens=10, B y0 0.5 tokens=4",
    "nobody answered": "A x0 refused tokens=1, B x0 refused tokens=2",
    "one answered nothing": "A x0 0.5 tokens=10, A y0 0.9 tokens=1, B x0 refused tokens=4, B y0 failed tokens=2",
    "one stopped before the end": "A x0 0.5 tokens=10, A y0 0.9 tokens=1, "
    "B x0 0.9 tokens=4, B y0 unanswered tokens=0",
    "an exact tie": "A x0 0.5 tokens=10 calls=1, B x0 0.5 tokens=10 calls=1",
    "a tie of unlike players": "A x0 0.5 tokens=10, B x0 0.45 tokens=5",
    "a tie of two among three": "A x0 0.5 tokens=10, B x0 0.2 tokens=10, C x0 0.45 tokens=5",
    "one leads by two billionths": "A x0 0.500000002 tokens=10, B x0 0.5 tokens=10",
    "half a billionth is a tie": "A x0 0.5000000005 tokens=10, B x0 0.5 tokens=10",
    "zero costs": "A x0 0.5 tokens=0 calls=0, B x0 0.4 tokens=0 calls=0",
    "huge costs": "A x0 0.5 tokens=1e15 seconds=1, B x0 0.4 tokens=1 seconds=1e15, "
    "A y0 0.2 tokens=1 seconds=1, B y0 0.9 tokens=1e15 seconds=1e-6",
    "no costs at all": "A x0 0.5, B x0 0.4",
    "a cost of one player only": "A x0 0.5 tokens=10 calls=2, B x0 0.4 calls=4",
    "a cost missing on a row": "A x0 0.5 tokens=10, A y0 0.5, B x0 0.5 tokens=20, B y0 0.4 tokens=10",
    "a cost first told on a later row": "A x0 0.5 calls=1, A y0 0.5 calls=1 tokens=7, "
    "B x0 0.5 calls=1, B y0 0.5 tokens=9",
    "a cost known only where nothing is scored": "A x0 0.5, A y0 refused tokens=30, "
    "B x0 0.5 tokens=20, B y0 0.4 tokens=10",
    "a rival's refusal in one of two trials": "A x0 0.9 tokens=10, A x1 0.3 tokens=90, "
    "A y0 0.4 tokens=10, A y1 0.4 tokens=30, B x0 0.8 tokens=20, B x1 refused tokens=2, "
    "B y0 0.1 tokens=10, B y1 0.3 tokens=20",
    "trials of one item only": "A x0 0.9 tokens=10, A x1 0.1 tokens=40, A y0 0.4 tokens=10, "
    "B x0 0.5 tokens=20, B x1 0.5 tokens=20, B y0 0.5 tokens=20",
}


@pytest.mark.parametrize("refusals", REFUSALS)
@pytest.mark.parametrize("name", CORNERS)
def test_corners(name: str, refusals: Refusals) -> None:
    for suffix in SUFFIXES:
        for beta in (0.1, 0.0):
            agree(replace(table(CORNERS[name], refusals=refusals, beta=beta), suffix=suffix))


def test_a_very_bad_q_is_still_the_best() -> None:
    rules: dict[str, Any] = {"weights": {"tokens": 1.0}, "normaliser": "totals", "reference": {"tokens": 1}}
    agree(table("A x0 0.5 tokens=1e15", **rules))
    agree(table("A x0 0.5 tokens=1e15, B x0 0.5 tokens=9e15", **rules))


def test_a_single_player_is_told_that_it_is_its_own_measure() -> None:
    lines = CORNERS["an exact tie"].split(", ")
    alone, both = (set(strict(run(table(", ".join(selected))).out)["notes"]) for selected in (lines[:1], lines))
    assert any("alone" in note for note in alone - both)


def lead_of(gap: float) -> Document:
    """Return the document of two players whose H differ by this much on average, with noise, on 40 items."""
    rows = [
        Row(
            player,
            f"i{n}",
            0,
            round(0.5 + sign * gap / 2 + 0.1 * ((n * 7 + seat * 3) % 11 - 5) / 5, 6),
            "ok",
            {"calls": 1},
        )
        for seat, (player, sign) in enumerate((("A", 1), ("B", -1)))
        for n in range(40)
    ]
    file = File(tuple(rows), Rules(weights={"calls": 1.0}))
    document = strict(run(file).out)
    compare(file, document)
    assert document["winner"] == "A"
    return document


def test_a_winner_is_claimed_only_where_the_interval_is_clear_of_zero() -> None:
    assert lead_of(0.5)["clear"] is True
    assert lead_of(0.005)["clear"] is False
