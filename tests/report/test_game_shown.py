"""A game made by hand, every cell of it in text, Markdown, LaTeX and HTML."""

from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("vl_convert", reason="the extra 'charts' is not installed")

from mashq.analysis.paired import Difference
from mashq.report.documents.base import DetectorVersion
from mashq.report.documents.game import Disclosure, Equilibrium, Game, Learning, Solved, Unsolved
from mashq.report.html import sections_games
from mashq.report.text import game
from tests.report.shown import FITTED, NEEDS, shown

ONE_SIDED = Equilibrium(
    row={"a": 0.25, "b": 0.75}, column={"b": 1.0}, payoffs=[0.5, 0.6], regret=0.0, pure=False, survives=0.4
)
BOTH = Equilibrium(row={"b": 1.0}, column={"b": 1.0}, payoffs=[0.4, 0.4], regret=0.0, pure=True, survives=0.998)
SOLVED = Solved(
    payoffs=[[0.1, 0.2], [0.3, 0.45]],
    low=[[0.0, 0.18], [0.27, 0.3]],
    high=[[0.2, 0.22], [0.33, 0.6]],
    best_responses={"a": ["b"], "b": ["a", "b"]},
    exploitability={"a": 0.2, "b": 0.0},
    dominated=["a"],
    dominated_in={"a": 0.97},
    equilibria=[ONE_SIDED, BOTH],
    degenerate=False,
    replicator=Learning(start={"a": 0.5, "b": 0.5}, end={"a": 0.004, "b": 0.996}, steps=31, converged=True),
    notes=[],
)
FEW = replace(
    SOLVED,
    low=[[None, None], [None, None]],
    high=[[None, None], [None, None]],
    dominated=[],
    dominated_in={"a": None},
    equilibria=[replace(BOTH, survives=None)],
    replicator=Learning(start={"a": 0.5, "b": 0.5}, end={"a": 0.4, "b": 0.6}, steps=4000, converged=False),
    notes=["? is for what too few items cannot say: a pair has 2 that count, an interval takes 5."],
)
MOVED = Disclosure(
    vision="review",
    policy="a",
    against="b",
    seat=1,
    changes={"q": Difference(0.1, 0.05, 0.15), "h": Difference(-0.2), "tokens": Difference(-3.0, -4.0, -2.0)},
)
STILL = Disclosure(vision="review", policy="b", against="a", seat=0, changes={"q": Difference(0.0, 0.0, 0.0)})
ABOUT: dict[str, Any] = {"run": "r", "finished": True, "simulated": False, "drawn": False}
DOCUMENT = Game(
    **ABOUT,
    detector=DetectorVersion("grounding", "3"),
    trials=3,
    items=20,
    alpha=1,
    beta=0.1,
    policies=["a", "b"],
    games={"never": SOLVED, "review": FEW},
    disclosure=[MOVED, STILL],
)
TEXT = """\
Q of the row against the column, vision: never

                  a                b
 ───────────────────────────────────
 a  0.1000 ± 0.1000  0.2000 ± 0.0200
 b  0.3000 ± 0.0300  0.4500 ± 0.1500

Equilibrium: a 25%, b 75% against b 100%; Q 0.5000 and 0.6000; it holds in 40% of resamples of the
  items.
Equilibrium: b 100%; Q 0.4000 and 0.4000; it holds in over 99% of resamples of the items.
Never worth playing: a (dominated in 97% of resamples).
Learning from an even start leads to: b 100%.

Q of the row against the column, vision: review

             a           b
 ─────────────────────────
 a  0.1000 ± ?  0.2000 ± ?
 b  0.3000 ± ?  0.4500 ± ?

Equilibrium: b 100%; Q 0.4000 and 0.4000; it holds in ? of resamples of the items.
a seems dominated (too few items to say how surely).
Learning from an even start did not settle within 4,000 steps; it was last at: a 40%, b 60%.
Note: ? is for what too few items cannot say: a pair has 2 that count, an interval takes 5.

The price of disclosure: with snapshots shown minus without, paired by item

 vision  policy  against  seat                ΔQ           ΔH  Δreviews per item  Δtokens per item
 ─────────────────────────────────────────────────────────────────────────────────────────────────
 review  a       b        2     +0.1000 ± 0.0500  −0.2000 ± ?                  ?      −3.00 ± 1.00

2 policies, every pair in both orders and each against itself, 3 trials of 20 items, scored by
  grounding 3; ± is half a 95% interval over resampled items. Q = 1·H − 0.1·P."""
SENTENCES = {
    "never": [
        "Equilibrium: a 25%, b 75% against b 100%; Q 0.5000 and 0.6000; it holds in 40% of resamples of the items.",
        "Equilibrium: b 100%; Q 0.4000 and 0.4000; it holds in over 99% of resamples of the items.",
        "Never worth playing: a (dominated in 97% of resamples).",
        "Learning from an even start leads to: b 100%.",
    ],
    "review": [
        "Equilibrium: b 100%; Q 0.4000 and 0.4000; it holds in ? of resamples of the items.",
        "a seems dominated (too few items to say how surely).",
        "Learning from an even start did not settle within 4,000 steps; it was last at: a 40%, b 60%.",
        "Note: ? is for what too few items cannot say: a pair has 2 that count, an interval takes 5.",
    ],
}
LAST = (
    "2 policies, every pair in both orders and each against itself, 3 trials of 20 items, scored by grounding 3; "
    "± is half a 95% interval over resampled items. Q = 1·H − 0.1·P."
)


def test_every_cell_of_the_text() -> None:
    assert game.text(DOCUMENT) == TEXT


def test_every_cell_of_the_markdown() -> None:
    parts = [
        "**Q of the row against the column, vision: never**",
        "|  | a | b |\n|---|---:|---:|\n| a | 0.1000 ± 0.1000 | 0.2000 ± 0.0200 |\n"
        "| b | 0.3000 ± 0.0300 | 0.4500 ± 0.1500 |",
        *SENTENCES["never"],
        "**Q of the row against the column, vision: review**",
        "|  | a | b |\n|---|---:|---:|\n| a | 0.1000 ± ? | 0.2000 ± ? |\n| b | 0.3000 ± ? | 0.4500 ± ? |",
        *SENTENCES["review"],
        "**The price of disclosure: with snapshots shown minus without, paired by item**",
        "| vision | policy | against | seat | ΔQ | ΔH | Δreviews per item | Δtokens per item |\n"
        "|---|---|---|---|---:|---:|---:|---:|\n"
        "| review | a | b | 2 | +0.1000 ± 0.0500 | −0.2000 ± ? | ? | −3.00 ± 1.00 |",
        LAST,
    ]
    assert game.text(DOCUMENT, "md") == "\n\n".join(parts)


def test_every_cell_of_the_latex() -> None:
    def tabular(title: str, align: str, *rows: str) -> str:
        head, *body = (row + r" \\" for row in rows)
        lines = [f"% {title}", NEEDS, FITTED, rf"\begin{{tabular}}{{{align}}}"]
        return "\n".join([*lines, r"\toprule", head, r"\midrule", *body, r"\bottomrule", r"\end{tabular}}"])

    known = ["a & 0.1000 ± 0.1000 & 0.2000 ± 0.0200", "b & 0.3000 ± 0.0300 & 0.4500 ± 0.1500"]
    vague = ["a & 0.1000 ± ? & 0.2000 ± ?", "b & 0.3000 ± ? & 0.4500 ± ?"]
    parts = [
        tabular("Q of the row against the column, vision: never", "lrr", " & a & b", *known),
        "\n".join(f"% {line}" for line in SENTENCES["never"]),
        tabular("Q of the row against the column, vision: review", "lrr", " & a & b", *vague),
        "\n".join(f"% {line}" for line in SENTENCES["review"]),
        tabular(
            "The price of disclosure: with snapshots shown minus without, paired by item",
            "llllrrrr",
            "vision & policy & against & seat & $\\Delta$Q & $\\Delta$H & $\\Delta$reviews per item & "
            "$\\Delta$tokens per item",
            "review & a & b & 2 & +0.1000 ± 0.0500 & $-$0.2000 ± ? & ? & $-$3.00 ± 1.00",
        ),
        f"% {LAST}",
    ]
    assert game.text(DOCUMENT, "latex") == "\n\n".join(parts)


def test_every_cell_of_the_page() -> None:
    page = shown(*sections_games.game(DOCUMENT))
    assert page.tables == [
        [["", "a", "b"], ["a", "0.1000 ± 0.1000", "0.2000 ± 0.0200"], ["b", "0.3000 ± 0.0300", "0.4500 ± 0.1500"]],
        [["", "a", "b"], ["a", "0.1000 ± ?", "0.2000 ± ?"], ["b", "0.3000 ± ?", "0.4500 ± ?"]],
        [
            ["vision", "policy", "against", "seat", "ΔH", "Δreviews per item", "Δtokens per item", "ΔQ"],
            ["review", "a", "b", "2", "−0.2000 ± ?", "?", "−3.0 ± 1.0", "+0.1000 ± 0.0500"],
        ],
    ]
    best = ["Best against a: b.", "Best against b: a, b."]
    for when, lines in SENTENCES.items():
        at = page.sentences.index(f"Q of the row against the column, vision: {when}; darker is better for the row.")
        cut = 3 if when == "never" else 2
        assert page.sentences[at + 2 : at + 4 + len(lines)] == [*lines[:cut], *best, *lines[cut:]]
    assert page.sentences[1] == "There is no single stable policy"
    assert page.sentences[3:6] == [
        f"Vision never: e{SENTENCES['never'][0][1:]}",
        f"Vision review: e{SENTENCES['review'][0][1:]}",
        "2 policies, every pair in both orders and each against itself; 3 trials of 20 items; Q = 1·H − 0.1·P.",
    ]
    payoffs = max(page.specs[0]["datasets"].values(), key=len)
    assert [(row["row"], row["column"], row["value"], row["label"], row["light"]) for row in payoffs] == [
        ("a", "a", 0.1, "0.100", False),
        ("a", "b", 0.2, "0.200", False),
        ("b", "a", 0.3, "0.300", False),
        ("b", "b", 0.45, "0.450", True),
    ]
    points = [row for rows in page.specs[2]["datasets"].values() for row in rows if "label" in row]
    assert points == [{"label": "a v. b, seat 2", "effect": "review", "value": 0.1, "low": 0.05, "high": 0.15}]


def only(**changes: Any) -> Game:
    """The same with one vision in which there is one equilibrium."""
    return replace(DOCUMENT, games={"never": replace(SOLVED, equilibria=[replace(BOTH, **changes)])}, disclosure=[])


@pytest.mark.parametrize(
    ("survives", "says"),
    [
        (0.95, "b against itself is the only equilibrium"),
        (0.949, "b against itself seems to be the only equilibrium (in 95% of resamples)"),
        (0.62, "b against itself seems to be the only equilibrium (in 62% of resamples)"),
        (None, "b against itself seems to be the only equilibrium (in ? of resamples)"),
    ],
)
def test_the_headline_claims_what_the_resamples_bear(survives: float | None, says: str) -> None:
    assert sections_games.game(only(survives=survives))[0].headline == says


def test_the_headline_of_other_games() -> None:
    apart = only(row={"a": 1.0}, column={"b": 1.0})
    assert sections_games.game(apart)[0].headline == "There is no single stable policy"
    both = replace(apart, games={"never": SOLVED, "review": replace(SOLVED, equilibria=[BOTH])})
    assert sections_games.game(both)[0].headline == "There is no single stable policy"
    assert sections_games.game(replace(DOCUMENT, finished=False))[0].headline == "Not finished: the game so far"
    none = replace(DOCUMENT, games={"never": replace(SOLVED, equilibria=[])}, disclosure=[])
    assert sections_games.game(none)[0].sentences[0] == "Vision never: no equilibrium was found."


@pytest.mark.parametrize(
    ("share", "sure", "says"),
    [
        (1.0, True, "Never worth playing: a (dominated in 100% of resamples)."),
        (0.999, True, "Never worth playing: a (dominated in over 99% of resamples)."),
        (0.71, False, "a seems dominated (in 71% of resamples)."),
        (0.001, False, "a seems dominated (in under 1% of resamples)."),
        (0.0, False, "a seems dominated (in 0% of resamples)."),
        (None, False, "a seems dominated (too few items to say how surely)."),
    ],
)
def test_dominated_is_claimed_only_where_the_resamples_bear_it(share: float | None, sure: bool, says: str) -> None:
    found = replace(SOLVED, dominated=["a"] if sure else [], dominated_in={"a": share})
    assert list(game.dominated(found, {})) == [says]
    assert list(game.dominated(found, {"a": "A"})) == [says.replace("a (", "A (").replace("a seems", "A seems")]
    assert list(game.dominated(replace(SOLVED, dominated=[], dominated_in={}), {})) == []


def test_a_game_without_payoffs_or_changes() -> None:
    document = replace(
        DOCUMENT, games={"never": Unsolved(notes=["not all"])}, disclosure=[STILL], finished=False, simulated=True
    )
    assert game.text(document).split("\n\n") == [
        "not all",
        "Disclosure changed nothing: no policy here reacts to what it is shown.",
        "SIMULATED: some of these players were not real models.\n" + TEXT.split("\n\n")[-1] + "\n"
        "Not all matches are played: continue with mashq resume r",
    ]
    page = shown(*sections_games.game(document))
    assert page.tables == [] and "not all" in page.sentences and game.NO_CHANGE in page.sentences


def test_a_change_that_nobody_knows_is_not_none() -> None:
    """No item that counts in both visions: what changed is unknown, and that is no sign that nothing did."""
    vague = replace(STILL, changes={})
    assert vague.any and not STILL.any and MOVED.any
    found = replace(DOCUMENT, disclosure=[vague])
    assert game.disclosure(found).rows == [["review", "b", "a", "1", "?", "?", "?", "?"]]
    assert shown(*sections_games.game(found)).tables[2][1] == ["review", "b", "a", "1", "?", "?", "?", "?"]
    assert game.NO_CHANGE not in game.text(found)


def test_one_policy_alone() -> None:
    alone = Solved(
        payoffs=[[0.5]],
        low=[[0.4]],
        high=[[0.6]],
        best_responses={"a": ["a"]},
        exploitability={"a": 0.0},
        dominated=[],
        dominated_in={},
        equilibria=[replace(BOTH, row={"a": 1.0}, column={"a": 1.0}, survives=1.0)],
        degenerate=False,
        replicator=Learning(start={"a": 1.0}, end={"a": 1.0}, steps=0, converged=True),
        notes=[],
    )
    document = replace(DOCUMENT, policies=["a"], games={"never": alone}, disclosure=[])
    assert game.payoffs(document, "never", alone).rows == [["a", "0.5000 ± 0.1000"]]
    page = shown(*sections_games.game(document))
    assert page.tables == [[["", "a"], ["a", "0.5000 ± 0.1000"]]]
    assert page.sentences[1] == "a against itself is the only equilibrium"
