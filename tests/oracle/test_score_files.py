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
NAMES = {"totals": "reference"}  # what the document calls a normaliser, where it is not its own name

SHORT = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    database=None,
    report_multiple_bugs=False,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    phases=[Phase.explicit, Phase.generate],  # examples are small, and a failure is to be told before the time limit
)


def run(file: File, *more: str) -> Said:
    """What `mashq score --json` does with a file."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        options = file.options(folder)
        return command(["score", str(file.write(folder)), *options, "--json", "--resamples", "100", *more])


def strict(text: str) -> Document:
    """A JSON document; NaN and Infinity are not JSON."""

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} in the document")

    return json.loads(text, parse_constant=refuse)


def near(wanted: Fraction | None, found: float | None, what: str, scale: Fraction | float = 0) -> None:
    """The same to a billionth of the number, or of `scale`, whose parts it is the difference of; or both unknown."""
    if wanted is None or found is None:
        assert wanted is None and found is None, f"{what}: {found}, should be {wanted}"
        return
    slack = 1e-9 * (1e-3 + float(scale))
    assert math.isclose(found, wanted, rel_tol=1e-9, abs_tol=slack), f"{what}: {found}, should be {float(wanted)}"


def compare(file: File, document: Document) -> None:
    """Every number of the document."""
    rules, result = file.rules, score(file.told(), file.rules)
    assert (document["alpha"], document["beta"]) == (rules.alpha, rules.beta)
    assert document["refusals"] == rules.refusals
    assert (document["h"], {entry["h"] for entry in document["views"]} - {"faithful"}) == ("faithful", set())
    assert document["normalise"] == NAMES.get(rules.normaliser, rules.normaliser)
    assert document["weights"] == {name: float(weight) for name, weight in result.weights.items()}
    counts = (None, None) if file.totals else (result.items, result.units)
    assert (document["items"], document["units"]) == counts
    assert document["trials"] == result.trials
    assert [one["name"] for one in document["players"]] == [one.name for one in result.players]
    for wanted, found in zip(result.players, document["players"]):
        compare_player(replace(wanted, dollars_per_faithful=None) if file.totals else wanted, found, rules)
    if decided(result):
        assert (document["winner"], document["tied"]) == (result.winner, list(result.tied))
    compare_differences(result, document)
    rivals = sum(one.q is not None for one in result.players) > 1
    check_stretches(document["envelope"], "beta", beta_lines(result, rules) if rivals else {})
    assert set(document["weight_envelopes"]) == (set(result.weights) if rivals else set())
    for name, found in document["weight_envelopes"].items():
        check_stretches(found, "weight", weight_lines(result, rules, name), result.weights[name])
    compare_fronts(result, document)
    compare_views(file, document)
    compare_dropped(result, document)
    check_chances(result, document)
    check_clear(document)
    check_headline(document)


def compare_player(wanted: Standing, found: Document, rules: Rules) -> None:
    """A player's numbers, and its interval around them."""
    name = wanted.name
    near(wanted.h, found["h"], f"H of {name}")
    near(wanted.answer_rate, found["answer_rate"], f"answer rate of {name}")
    for resource in COSTS:
        near(wanted.totals[resource], found[resource], f"{resource} of {name}")
    assert set(found["charged"]) == set(wanted.charged), name
    for resource, charge in wanted.charged.items():
        near(charge, found["charged"][resource], f"charged {resource} of {name}", wanted.totals[resource] or 0)
    assert found["h_before_review"] == (None if wanted.answer_rate else found["h"]), "a file does not tell"
    assert found["joules"] is None and found["unknown_attempts"] == 0
    assert [found[name] for name in ("words", "coverage", "copied")] == [None] * 3, "a file has no texts"
    near(wanted.penalty, found["penalty"], f"P of {name}")
    scale = rules.alpha + rules.beta * float(wanted.penalty or 0)
    near(wanted.q, found["q"], f"Q of {name}", scale)
    near(wanted.dollars_per_faithful, found["dollars_per_faithful"], f"dollars a faithful answer of {name}")
    within(found["q_low"], found["q"], found["q_high"])
    for bound, value in (("q_min", wanted.q_min), ("q_max", wanted.q_max)):
        near(value, found[bound], f"{bound} of {name}", scale)


def within(low: float | None, value: float | None, high: float | None) -> None:
    """An interval has its value in the middle, and both ends or none."""
    assert (low is None) == (high is None)
    if low is not None and high is not None:
        assert value is not None and low <= value <= high
        near(exact(value), (low + high) / 2, "the middle of an interval", abs(low) + abs(high))


def compare_differences(result: Score, document: Document) -> None:
    """Differences of Q, the better player first, of all pairs or of a leader against each other one."""
    known = {one.name: one.q for one in result.players if one.q is not None}
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


def check_stretches(found: Sequence[Document], what: str, lines: Lines, now: Fraction = Fraction()) -> None:
    """The stretches cover everything from 0 on, and the leader of each is on top from its begin to its end.

    Equal lines can stand for each other; where they do not, the stretches are the oracle's. `now` is where the score
    itself is: differences of what is added up there are no better than its sums.
    """
    if not lines:
        assert found == [], "nobody leads where nobody has a score"
        return
    begins = [entry[f"{what}_from"] for entry in found]
    ends = [entry[f"{what}_to"] for entry in found]
    assert begins[0] == 0 and ends[-1] is None and begins[1:] == ends[:-1]
    leaders = [entry.get("tied") or [entry["winner"]] for entry in found]
    assert all(len(names) == 1 or entry["winner"] is None for names, entry in zip(leaders, found))
    assert all(left != right for left, right in pairwise(leaders))
    for names, begin, end in zip(leaders, begins, ends):
        for x in (exact(some) for some in (begin, end) if some is not None):
            heights = {name: (h - x * s, abs(h) + max(x, now) * s) for name, (h, s) in lines.items()}
            for leader in names:
                on_top(leader, heights)
        for leader in names if end is None else ():
            on_top(leader, {name: (-s, s) for name, (_, s) in lines.items()})
    wanted = upper_envelope(lines)
    if len(wanted) == len(leaders) and all(one.winner in names for one, names in zip(wanted, leaders)):
        for left, right, begin in zip(wanted, wanted[1:], begins[1:]):
            near(right.begin, begin, "where the leader changes", crossing_scale(left, right, lines, now))


def crossing_scale(left: Stretch, right: Stretch, lines: Lines, now: Fraction) -> Fraction:
    """How far off a crossing of two lines may be: the nearer to parallel, the farther."""
    (high, steep), (low, flat) = lines[left.winner], lines[right.winner]
    blur = (abs(high) + abs(low) + now * (steep + flat)) / (high - low) + (steep + flat) / (steep - flat)
    return right.begin * blur


def on_top(leader: str, heights: Lines) -> None:
    """Nobody is higher than the leader, but for rounding at the scale (the second number) of either."""
    height, size = heights[leader]
    for name, (other, scale) in heights.items():
        slack = Fraction("1e-9") * (size + scale + Fraction("1e-3"))
        assert height >= other - slack, f"{leader} is at {float(height)}, {name} at {float(other)}"


def compare_fronts(result: Score, document: Document) -> None:
    """Whom nobody beats in H and P, and in H and each resource that all players have."""
    known = [one for one in result.players if one.q is not None]
    check_front(document["pareto"], {one.name: (one.h or Fraction(), one.penalty or Fraction()) for one in known})
    told = {name for name in RESOURCES if all(one.totals[name] is not None for one in result.players)}
    assert set(document["pareto_by"]) == (told if known else set())
    for name in document["pareto_by"]:
        points = {one.name: (one.h or Fraction(), one.per_item[name] or Fraction()) for one in known}
        check_front(document["pareto_by"][name], points)


def check_front(found: Sequence[str], points: Lines) -> None:
    """The front; what differs by less than a billionth may count as equal or not."""
    largest = max((cost for _, cost in points.values()), default=Fraction())
    scaled = {name: (h, cost / largest if largest else cost) for name, (h, cost) in points.items()}
    assert len(found) == len(set(found))
    assert front(scaled, -TIE) <= set(found) <= front(scaled, TIE), found


def compare_views(file: File, document: Document) -> None:
    """The ranking under every rule for refusals and every normaliser."""
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
    return all(median(one.per_item[name] or Fraction() for one in result.players) > 0 for name in result.weights)


def check_ranking(found: Sequence[str] | None, qs: Mapping[str, Fraction | None]) -> None:
    """Best first, whoever has no Q last; equal ones in any order."""
    if all(q is None for q in qs.values()):
        assert found is None
        return
    assert found is not None and sorted(found) == sorted(qs)
    ranked = [qs[name] for name in found]
    known = [q for q in ranked if q is not None]
    assert ranked[: len(known)] == known
    slack = TIE + rounding(known)
    assert all(left > right - slack for left, right in pairwise(known)), [float(q) for q in known]


def compare_dropped(result: Score, document: Document) -> None:
    """What the intersection leaves out, and who caused it."""
    dropped = document["dropped"]
    assert dropped["items"] == result.lost_items
    assert dropped["units"] == result.lost_units
    by = {name: (loss["missing"], loss["alone"]) for name, loss in dropped["by"].items()}
    assert by == {name: (loss.missing, loss.alone) for name, loss in result.losses.items()}
    counts = [missing for missing, _ in by.values()]
    assert counts == sorted(counts, reverse=True)


def check_chances(result: Score, document: Document) -> None:
    """Chances are shares of one whole, and only who has a Q can win."""
    able = {one.name for one in result.players if one.q is not None}
    chances = {one["name"]: one["p_win"] for one in document["players"]}
    wholes = [chances]
    told = (document["items"] or 0) >= 5 and len(able) > 1
    assert [chance is not None for chance in chances.values()] == [told] * len(chances)
    assert (document["chance_along_beta"] is not None) == told
    if told:
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
    """A winner is claimed just where every interval of its differences, together, is above 0; those whose interval is
    not are the best set with it."""
    names = [one["name"] for one in document["players"]]
    leads = document["differences"]
    own = [entry for entry in leads if entry["a"] == leads[0]["a"]]
    above = {entry["b"]: entry["all_low"] is not None and entry["all_low"] > 0 for entry in own}
    leader = document["winner"]
    assert document["clear"] is (leader is not None and bool(own) and all(above.values()))
    if not leads or leads[0]["all_low"] is None:
        assert document["best_set"] == []
    else:
        assert [name for name in names if not above.get(name, False) and (name in above or name == own[0]["a"])] == (
            document["best_set"]
        )
    assert not document["clear"] or (leader, len(own)) == (own[0]["a"], len(above))


def check_headline(document: Document) -> None:
    """The sentence says what the fields say."""
    headline, ranked = document["headline"], [one for one in document["players"] if one["q"] is not None]
    numbers = [float(text.replace("−", "-")) for text in re.findall(r"[−]?\d+\.\d{3,}", headline)]
    if not ranked:
        assert headline == "No winner: Q is undefined."
    elif len(ranked) == 1:
        alone = "played alone" if len(document["players"]) == 1 else "is the only one with a score"
        assert headline.startswith(f"{ranked[0]['name']} {alone}: Q ")
        close(numbers, [ranked[0]["q"]])
    elif document["tied"]:
        assert headline.startswith("A tie: ") and all(name in headline for name in document["tied"])
        close(numbers, [max(one["q"] for one in ranked)])
    else:
        lead = document["differences"][0]
        chance = next(one["p_win"] for one in document["players"] if one["name"] == lead["a"])
        if lead["all_low"] is None:
            assert headline.startswith(f"{lead['a']} leads {lead['b']} by ")
            close(numbers, [lead["dq"]])
            return
        says = f"Winner: {lead['a']}, ahead of {lead['b']} by "
        assert headline.startswith(
            says if document["clear"] else f"No clear winner: {lead['a']} leads {lead['b']} by "
        )
        close(numbers, [lead["dq"], lead["all_low"], lead["all_high"], min(chance, 0.999)])


def close(found: Sequence[float], wanted: Sequence[float]) -> None:
    """Numbers as they are printed."""
    assert len(found) == len(wanted)
    assert all(abs(one - other) <= 0.00051 for one, other in zip(found, wanted)), (found, wanted)


def rounding(qs: Iterable[Fraction | None]) -> Fraction:
    """What floating point can make of a difference of some of these."""
    return max((abs(q) for q in qs if q is not None), default=Fraction()) * Fraction("1e-13")


def decided(result: Score) -> bool:
    """Whether floating point can tell who ties with the leader: no difference is within rounding of the limit."""
    qs = [one.q for one in result.players if one.q is not None]
    blur = max(rounding(qs), TIE / 1000)
    behind = [
        one.q for one in result.players if one.q is not None and one.name not in (result.winner, *result.tied[:1])
    ]
    return all(abs(max(qs) - q - TIE) > blur and (max(qs) - q > TIE or blur < TIE) for q in behind)


def agree(file: File, *more: str) -> None:
    """The command and the oracle say the same; without any Q a note says why."""
    said = run(file, *more)
    assert (said.code, said.err) == (0, "")
    document = strict(said.out)
    compare(file, document)
    undefined = all(one["q"] is None for one in document["players"])
    assert any(note.startswith("Q is undefined: ") for note in document["notes"]) == undefined


def leaves(part: Any, path: tuple[str | int, ...] = ()) -> Iterable[tuple[tuple[str | int, ...], object]]:
    """Everything in a document that holds nothing else, with the way to it."""
    if isinstance(part, dict):
        for name, value in cast(Document, part).items():
            yield from leaves(value, (*path, name))
    elif isinstance(part, list):
        for at, value in enumerate(cast(list[Any], part)):
            yield from leaves(value, (*path, at))
    else:
        yield path, part


def other_than(value: object) -> list[object]:
    """What could stand there instead: another player, a slightly larger number, a number for an unknown."""
    if isinstance(value, str):
        return [name for name in "ABC" if name != value]
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int | float):
        return [value + (1 if isinstance(value, int) else 1e-5 * (abs(value) or 1))]
    return [0.5]


@pytest.mark.slow
def test_the_comparison_sees_every_field() -> None:
    """Whatever is changed in a document is noticed, but for what the oracle knows nothing of."""
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
    said, alone = run(file, "--without", "p1"), run(kept)
    assert (said.code, said.out) == (alone.code, alone.out)
    agree(kept)


def table(cells: str, **rules: Any) -> File:
    """A file from rows such as "A x0 0.5 tokens=10, B x0 refused": player, item and trial, H or status, costs."""
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
    alone, both = (set(strict(run(table(", ".join(some))).out)["notes"]) for some in (lines[:1], lines))
    assert any("alone" in note for note in alone - both)


def lead_of(gap: float) -> Document:
    """The document of two players whose H differ by this much on average, with noise, on 40 items."""
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
