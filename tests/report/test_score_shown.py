"""A score made by hand, every cell of it in text, Markdown and LaTeX; its page is that of a match."""

from dataclasses import replace
from typing import Any

import pytest

from mashq.analysis.parts import BetaStretch, Lead
from mashq.analysis.score_types import ScoredPlayer, ScoreReport
from mashq.report.text.formatting import charged, cost, cost_columns, dollars
from mashq.report.text.score import best_set_said, differences, score_text, sentences, table
from tests.report.scored import HEADLINE, REPORT, A, B, C, costs
from tests.report.shown import comments, markdown_table, tabular

TEXT = """\
 player       H  answered  tokens  calls  reviews  seconds   dollars      P       Q   ± 95%  P(win)
 ──────────────────────────────────────────────────────────────────────────────────────────────────
 b ★     0.9000    100.0%  2.000M      9        0     61.0         ?  2.000  0.7000  0.0500   0.875
 c       0.7000         ?   9,999    ~40       41  1,234.6     12.30  1.000  0.6000  0.1500   0.125
 a       0.8123     97.5%  ~3,456     12        5     ~7.2  0.000027  3.000  0.5123  0.1100  <0.001

 player  against  difference in Q              95% CI  excludes 0
 ────────────────────────────────────────────────────────────────
 b       c                +0.1000  −0.0100 to +0.2100          no
 b       a                +0.1877  +0.0500 to +0.3253         yes
 c       a                +0.0877                   ?           ?

1,040 items; Q = 1·H − 0.1·P; P counts tokens, calls x 2, relative to the largest in the match;
  refusals: intersection.
No clear winner: b leads c by 0.1000 in Q (95% CI −0.0100 to 0.2100; P(win) 0.875); it cannot be
  told apart from c.
Cannot be told apart from the best: b, c.
Leads by beta: b from 0 to 0.04, c from 0.04 to 0.5, a from 0.5 on.
Leads by the weight of tokens: b from 0 to 1.25, c from 1.25 on.
With the sum of the weights fixed and divided in every way, b has the best Q in 75%, a in 25% of the
  cases.
Pareto front of H against P: b, c.
Pareto front of H against tokens: a, b.
Dollars per faithful answer (H of 0.5 or more): a 0.0000013, c 0.6000.
Note: One note.
Note: Another | note."""
HEADINGS = [
    "player",
    "H",
    "answered",
    "tokens",
    "calls",
    "reviews",
    "seconds",
    "dollars",
    "P",
    "Q",
    "± 95%",
    "P(win)",
]
SAID = [
    "1,040 items; Q = 1·H − 0.1·P; P counts tokens, calls x 2, relative to the largest in the match; refusals: "
    "intersection.",
    HEADLINE,
    "Cannot be told apart from the best: b, c.",
    "Leads by beta: b from 0 to 0.04, c from 0.04 to 0.5, a from 0.5 on.",
    "Leads by the weight of tokens: b from 0 to 1.25, c from 1.25 on.",
    "With the sum of the weights fixed and divided in every way, b has the best Q in 75%, a in 25% of the cases.",
    "Pareto front of H against P: b, c.",
    "Pareto front of H against tokens: a, b.",
    "Dollars per faithful answer (H of 0.5 or more): a 0.0000013, c 0.6000.",
    "Note: One note.",
    "Note: Another | note.",
]


def test_every_cell_of_the_text() -> None:
    assert score_text(REPORT, "table") == TEXT


def test_every_cell_of_the_markdown() -> None:
    top = ["b ★", "**0.9000**", "**100.0%**", "2.000M", "**9**", "**0**", "61.0", "?", "2.000", "**0.7000**"]
    low = ["0.5123", "0.1100", "&lt;0.001"]
    rows = [
        [*top, "0.0500", "0.875"],
        ["c", "0.7000", "?", "9,999", "~40", "41", "1,234.6", "12.30", "**1.000**", "0.6000", "0.1500", "0.125"],
        ["a", "0.8123", "97.5%", "**~3,456**", "12", "5", "**~7.2**", "**0.000027**", "3.000", *low],
    ]
    leads = [
        ["b", "c", "+0.1000", "−0.0100 to +0.2100", "no"],
        ["b", "a", "+0.1877", "+0.0500 to +0.3253", "yes"],
        ["c", "a", "+0.0877", "?", "?"],
    ]
    parts = [
        markdown_table(HEADINGS, rows),
        markdown_table(["player", "against", "difference in Q", "95% CI", "excludes 0"], leads, 2),
        *SAID[:-1],
        r"Note: Another \| note.",
    ]
    assert score_text(REPORT, "md") == "\n\n".join(parts)


def test_every_cell_of_the_latex() -> None:
    top = [r"b \checkmark", r"\textbf{0.9000}", r"\textbf{100.0\%}", "2.000M", r"\textbf{9}", r"\textbf{0}", "61.0"]
    top = [rf"\cellcolor{{gray!20}}{cell}" for cell in [*top, "?", "2.000", r"\textbf{0.7000}", "0.0500", "0.875"]]
    c = ["c", "0.7000", "?", "9,999", r"\textasciitilde{}40", "41", "1,234.6", "12.30", r"\textbf{1.000}", "0.6000"]
    a = ["a", "0.8123", r"97.5\%", r"\textbf{\textasciitilde{}3,456}", "12", "5", r"\textbf{\textasciitilde{}7.2}"]
    a += [r"\textbf{0.000027}", "3.000", "0.5123", "0.1100", "$<$0.001"]
    leads = [
        ["b", "c", "+0.1000", "−0.0100 to +0.2100", "no"],
        ["b", "a", "+0.1877", "+0.0500 to +0.3253", "yes"],
        ["c", "a", "+0.0877", "?", "?"],
    ]
    parts = [
        tabular([heading.replace("%", r"\%") for heading in HEADINGS], [top, [*c, "0.1500", "0.125"], a]),
        tabular(["player", "against", "difference in Q", r"95\% CI", "excludes 0"], leads, 2),
        comments(SAID),
    ]
    assert score_text(REPORT, "latex") == "\n\n".join(parts)


def test_the_best_set_alone() -> None:
    found = score_text(REPORT, "table", best_set=True).splitlines()
    assert [line.split()[0] for line in found[2:4]] == ["b", "c"] and found[4] == ""
    assert found[5:] == [
        "2 of 3 players cannot be told apart from the best: with 95% confidence the truly best is among them."
    ]
    assert best_set_said(replace(REPORT, best_set=["b"])) == (
        "b alone: the 95% CIs of its differences to all others exclude 0."
    )
    none = replace(REPORT, best_set=[])
    assert best_set_said(none) == "The best set is not known: there are no confidence intervals."


def stars(document: ScoreReport) -> list[str]:
    return [row[0] for row in table(document).rows]


def test_the_star_is_the_leaders() -> None:
    assert stars(REPORT) == ["b ★", "c", "a"] and table(REPORT).shaded == {0}
    tied = replace(REPORT, winner=None, tied=["c", "a"])
    assert stars(tied) == ["b", "c", "a"] and table(tied).shaded == frozenset()
    open_ = replace(REPORT, winner=None)
    assert stars(open_) == ["b", "c", "a"] and table(open_).shaded == frozenset()


def test_bold_is_the_best_of_each_column() -> None:
    """More H, answers and Q; less of everything else. Rows are b, c and a."""
    assert table(REPORT).bold == {(0, 1), (0, 2), (2, 3), (0, 4), (0, 5), (2, 6), (2, 7), (1, 8), (0, 9)}
    alone = replace(REPORT, players=[A])
    assert table(alone).bold == frozenset(), "nothing is the best of one"
    same = replace(REPORT, players=[A, replace(A, name="z", q=0.1)])
    assert {at for at in table(same).bold if at[1] == 9} == {(0, 9)} and {(0, 1), (1, 1)} <= table(same).bold


def test_without_intervals_there_are_no_columns_of_them() -> None:
    bare: list[ScoredPlayer] = [replace(p, q_low=None, q_high=None, p_win=None) for p in REPORT.players]
    found = table(replace(REPORT, players=bare))
    assert found.headings == HEADINGS[:-2] and [len(row) for row in found.rows] == [10, 10, 10]
    some = table(replace(REPORT, players=[*bare[:2], C]))
    assert [row[-2:] for row in some.rows] == [["?", "?"], ["0.1500", "0.125"], ["?", "?"]]


def test_what_is_unknown_is_a_question_mark_and_comes_last() -> None:
    nobody = replace(A, h=None, q=None, penalty=None, costs=costs(), charged={}, q_low=None, q_high=None, p_win=None)
    found = table(replace(REPORT, players=[nobody, B]))
    assert found.headings == [name for name in HEADINGS if name != "dollars"], "of which nobody knows anything"
    assert found.rows[1] == ["a", "?", "97.5%", "?", "?", "?", "?", "?", "?", "?", "?"]


@pytest.mark.parametrize(
    ("changes", "at", "says"),
    [
        ({"items": None}, 0, "totals; Q = 1·H − 0.1·P; P counts tokens, calls x 2, relative"),
        ({"normalise": "reference"}, 0, "relative to the reference totals; refusals: intersection."),
        ({"normalise": "per_item", "refusals": "answered"}, 0, "the reference per item; refusals: answered."),
        ({"weights": {}, "alpha": 2.0, "beta": 0.001}, 0, "Q = 2·H − 0.001·P; P counts nothing, relative"),
        ({"envelope": [BetaStretch(0.0, None, "b")]}, 3, "b leads at every beta."),
        ({"tied": ["a", "b"], "envelope": [BetaStretch(0.0, None, None, ["a", "b"])]}, 3, "a, b tie at every beta."),
        (
            {"tied": ["a", "b"], "envelope": [BetaStretch(0.0, None, "a")]},
            3,
            "a, b tie at beta 0.1 alone; a leads at every other.",
        ),
        (
            {"tied": ["b", "c"], "envelope": [BetaStretch(0.0, 0.1, "b"), BetaStretch(0.1, None, None, ["c", "a"])]},
            3,
            "b, c tie at beta 0.1 alone. Leads by beta: b from 0 to 0.1, c and a from 0.1 on.",
        ),
        ({"best_set": ["b"]}, 2, "Leads by beta: b from 0 to 0.04,"),
    ],
)
def test_the_sentences_follow_the_document(changes: dict[str, Any], at: int, says: str) -> None:
    assert says in list(sentences(replace(REPORT, **changes)))[at]


def test_long_lists_are_cut_with_their_number() -> None:
    many = [BetaStretch(at / 10, (at + 1) / 10, f"p{at}") for at in range(10)] + [BetaStretch(1.0, None, "p10")]
    (said,) = [line for line in sentences(replace(REPORT, envelope=many)) if line.startswith("Leads by beta")]
    assert said.startswith("Leads by beta: p0 from 0 to 0.1, p1 from 0.1 to 0.2,")
    assert said.endswith("p6 from 0.6 to 0.7, … 3 more …, p10 from 1 on.")
    crowd = [replace(B, name=f"p{at}", q=0.5 - at / 100, dollars_per_faithful=0.25) for at in range(42)]
    document = replace(REPORT, players=crowd, pareto=[p.name for p in crowd[:10]], differences=[])
    assert len(table(document).rows) == 40 and len(table(document, everyone=True).rows) == 42
    said = list(sentences(document))
    assert "Pareto front of H against P: p0, p1, p2, p3, p4, p5, p6, p7 and 2 more." in said
    assert sum(line.startswith("Dollars per") and line.count("0.2500") == 8 for line in said) == 1
    leads = [Lead("p0", f"p{at}", at / 100, 0.0, 1.0, 0.0, 1.0) for at in range(1, 42)]
    assert len(differences(replace(document, differences=leads)).rows) == 40


def test_one_item_large_costs_and_a_difference_of_nothing() -> None:
    huge = replace(B, costs={**B.costs, "tokens": 1e300})
    lead = replace(REPORT.differences[0], dq=-1e-9, all_low=-1e-9, all_high=0.1)
    found = replace(REPORT, items=1, players=[huge], differences=[lead])
    assert next(sentences(found)).startswith("1 item; ")
    assert "1.000e+300" in table(found).rows[0]
    assert differences(found).rows[0][2:4] == ["+0.0000", "+0.0000 to +0.1000"]


def test_an_interval_that_ends_at_zero_does_not_exclude_it() -> None:
    ends = [Lead("a", "b", 0.1, None, None, *span) for span in ((0.0, 0.2), (0.1, 0.2), (-0.2, 0.0), (-0.2, -0.1))]
    rows = differences(replace(REPORT, differences=ends)).rows
    assert [row[-1] for row in rows] == ["no", "yes", "no", "yes"]
    assert rows[2][2:4] == ["+0.1000", "−0.2000 to +0.0000"]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "?"),
        (0.0, "0.0000"),
        (0.000027, "0.000027"),
        (0.0000000123, "0.000000012"),
        (0.00099, "0.00099"),
        (0.001, "0.0010"),
        (9.99994, "9.9999"),
        (10.0, "10.00"),
        (12345.678, "12,345.68"),
    ],
)
def test_dollars_keep_the_digits_of_small_sums(value: float | None, shown: str) -> None:
    assert dollars(value) == cost("dollars", value) == shown


def test_a_charged_cost_is_marked_and_an_unknown_one_is_not() -> None:
    assert charged("tokens", 3456.0, {"tokens": 1.0}) == "~3,456"
    assert charged("tokens", 3456.0, {"calls": 1.0}) == "3,456"
    assert charged("tokens", None, {"tokens": 1.0}) == "?"
    assert charged("reviews", 1.25, {"reviews": 0.0}, 1) == "~1.2"
    millions = replace(B, charged={"tokens": 5.0})
    assert table(replace(REPORT, players=[A, millions])).rows[0][3] == "~2.000M"


def test_a_resource_that_p_does_not_count_is_shown_where_somebody_spent_some() -> None:
    nothing, some = costs(), costs(joules=3.0)
    assert cost_columns([nothing]) == ["calls", "tokens", "reviews", "seconds"]
    assert cost_columns([nothing, some]) == ["calls", "tokens", "reviews", "seconds", "joules"]
    assert cost("joules", 3.04) == "3.0"
    spent = table(replace(REPORT, players=[replace(A, costs=some), B]))
    assert spent.headings[7] == "joules" and [row[7] for row in spent.rows] == ["?", "3.0"]
