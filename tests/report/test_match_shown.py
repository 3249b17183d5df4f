"""A match made by hand, every cell of it in the terminal and in its page."""

from collections import Counter
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

pytest.importorskip("vl_convert", reason="the extra 'charts' is not installed")

from mashq.analysis.parts import BetaStretch, Lead
from mashq.analysis.results import Row, from_rows
from mashq.analysis.score_types import Chances, ScoredPlayer
from mashq.cli.playing import print_table
from mashq.protocol.score import ScoreRules
from mashq.report.documents.match import Attempts, Match, PlayerFigures
from mashq.report.html import sections, sections_more
from mashq.report.html.facts import Facts, ReviewEffect
from mashq.report.html.verdicts import verdict
from tests.report.played import MATCH, REVIEWS, A, B, C, costs, counts
from tests.report.scored import REPORT
from tests.report.scored import A as SCORED
from tests.report.shown import Page, shown
from tests.report.test_score_shown import HEADINGS, SAID

TABLE = """\

 player        H before → after      calls        tok in     tok out  reviews   seconds   dollars      P       Q
 ───────────────────────────────────────────────────────────────────────────────────────────────────────────────
 a ★            0.8512 → 0.9000  1,234,567  ~123,456,789  23,456,789       45  98,765.4  0.000027  2.125  0.6875
 b              0.7523 → 0.7123          9           800          90        2       7.2         ?  2.000  0.4998
 c                        ? → ?          3             ?           ?      n/a      ~0.1         ?      ?       ?

"""
RULES = (
    "39 items scored by grounding 3; Q = 1·H − 0.1·P, costs relative to the largest in the match, refusals: "
    "intersection."
)
SENTENCES = [
    "a: q-agent on openai/gpt-x, T 0.85, R 3",
    "b: plain on anthropic/claude-y",
    "c: external on openai/gpt-z",
    "",
    "The judge's own calls, charged to no player: 41 calls, 6,543 tokens, 12.3 s.",
    "Winner: a, ahead of b by 0.1877 in Q (95% CI 0.0500 to 0.3253; P(win) >0.999).",
    "Q 0.6875 against 0.4998; in H 0.9000 against 0.7123, in P 2.125 against 2.000.",
    "Leads by beta: a from 0 to 1.5, b from 1.5 on.",
    "What the reviews bought: a's 45 reviews raised its H by 0.0488 for 22,035 tokens, 61.0 s and $0.2500; b's 2 "
    "reviews lowered its H by 0.0400 for 77 tokens and 0.5 s.",
    "Answered: b 90.0%, c 0.0%; the others everything.",
    "Note: c stopped: its budget of tokens is spent.",
    "Note: A second note.",
    "Refused or failed items: b 1, c 2.",
    "Calls including items that are not scored: a 20 (3 failed), b 7 (2 failed), c 3.",
    "  intersection, 39 items: a Q 0.6875 (H 0.9000), b Q 0.4998 (H 0.7123), c Q ? (H ?)",
    "     penalised, 41 items: a Q 0.3875 (H 0.6000), b Q 0.4900 (H 0.6900), c Q −0.1000 (H 0.0000)",
    "      answered, 40 items: a Q 0.5875 (H 0.8000), b Q 0.5875 (H 0.8000), c Q ? (H ?)",
]


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """What a terminal of some width shows of a match; as one line a sentence where it is wide enough."""

    def printed(document: Match, width: int, reviews: Any = REVIEWS) -> str:
        monkeypatch.setenv("COLUMNS", str(width))
        print_table(document, reviews)
        return "\n".join(line.rstrip() for line in capsys.readouterr().out.splitlines())

    return printed


@pytest.mark.parametrize("width", [112, 140, 300])
def test_every_cell_of_the_text(terminal: Any, width: int) -> None:
    """Where there is room the table is whole; sentences are wrapped to the terminal."""
    found: str = terminal(MATCH, width)
    assert found.startswith(TABLE)
    wrapped = found.removeprefix(TABLE)
    assert " ".join(wrapped.split()) == " ".join(" ".join([RULES, *SENTENCES]).split())
    assert max(map(len, wrapped.splitlines())) <= width
    if width == 300:
        assert wrapped.splitlines() == [RULES, *SENTENCES]


@pytest.mark.parametrize("width", [60, 80, 111])
def test_in_a_narrow_terminal_the_same_cells_are_stacked(terminal: Any, width: int) -> None:
    found: str = terminal(MATCH, width)
    assert max(map(len, found.splitlines())) <= width
    head, _, said = found.partition("39 items scored")
    assert " ".join(f"39 items scored{said}".split()) == " ".join(" ".join([RULES, *SENTENCES]).split())
    tables = [block.splitlines() for block in head.strip("\n").split("\n\n")]
    assert len(tables) > 1
    whole = [line for line in TABLE.splitlines() if line.strip()]
    for row in (0, 2, 3, 4):
        name = " player " if row == 0 else whole[row][:4]
        rest = " ".join(" ".join(table[row].removeprefix(name).split()) for table in tables)
        assert rest == " ".join(whole[row].removeprefix(name).split())


def test_a_small_table_is_no_wider_than_it_needs(terminal: Any) -> None:
    small = replace(MATCH, players=[replace(B, name="bb"), B], differences=[])
    lines = terminal(small, 98).splitlines()
    assert lines[1:5] == [
        " player        H before → after  calls  tok in  tok out  reviews  seconds  dollars      P       Q",
        " ────────────────────────────────────────────────────────────────────────────────────────────────",
        " bb             0.7523 → 0.7123      9     800       90        2      7.2        ?  2.000  0.4998",
        " b              0.7523 → 0.7123      9     800       90        2      7.2        ?  2.000  0.4998",
    ]


def lines(terminal: Any, **changes: Any) -> list[str]:
    """The sentences of a match that differs."""
    found: str = terminal(replace(MATCH, **changes), 400, changes.pop("reviews", REVIEWS))
    return found.splitlines()[7:]


def test_an_unfinished_match_has_no_star_and_says_how_to_go_on(terminal: Any) -> None:
    document = replace(MATCH, finished=False, headline="Not finished, so nobody has won yet. …")
    found: str = terminal(document, 400)
    assert "★" not in found
    at = found.splitlines().index("Not finished, so nobody has won yet. …")
    assert found.splitlines()[at + 3] == "To continue: mashq resume runs/r"
    assert "To continue" not in terminal(MATCH, 400)


def test_a_tie_tells_one_story(terminal: Any) -> None:
    said = "A tie: a and b have the same Q, 0.6875."
    found = lines(
        terminal, winner=None, tied=["a", "b"], headline=said, envelope=[BetaStretch(0.0, None, None, ["a", "b"])]
    )
    at = found.index(said)
    assert found[at + 1] == "a, b tie at every beta." and not any(line.startswith("Q 0.6875") for line in found)
    assert "★" not in terminal(replace(MATCH, winner=None, tied=["a", "b"]), 400)


def test_the_best_set_is_told_of_three_and_more(terminal: Any) -> None:
    assert "Cannot be told apart from the best: a, b." in lines(terminal, best_set=["a", "b"])
    assert not any("Cannot be told" in line for line in lines(terminal, best_set=["a", "b"], players=[A, B]))
    assert not any("Cannot be told" in line for line in lines(terminal, best_set=["a"]))


def test_one_leader_at_every_beta_is_not_worth_a_sentence(terminal: Any) -> None:
    assert not any("beta" in line for line in lines(terminal, envelope=[BetaStretch(0.0, None, "a")]))
    assert not any(line.startswith("Q 0.") for line in lines(terminal, differences=[]))


@pytest.mark.parametrize(
    ("guide", "task", "says"),
    [
        ("judge", "summarize", []),
        ("judge", "qa", ["Guide: the judge itself, so every player was told whether it was right."]),
        (
            "confidence",
            "qa",
            [
                "Guide: their own stated confidence; the judge's scores were not shown to the players.",
                "  a: guide 0.9100 → 0.9700; gained on the guide but not on the judge: +0.0111",
                "  b: guide 0.8200 → 0.8000; gained on the guide but not on the judge: −0.0200",
            ],
        ),
        ("hhem 2", "summarize", ["Guide: hhem 2; the judge's scores were not shown to the players."]),
    ],
)
def test_the_guide(terminal: Any, guide: str, task: str, says: list[str]) -> None:
    found = lines(terminal, guide=guide, task=task)
    assert found[4 : 4 + len(says)] == says and found[3] == SENTENCES[2]
    assert sum("guide" in line.lower() for line in found) == (3 if guide not in ("judge",) else len(says))


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        (0.5, 0.75, "a's 45 reviews raised its H by 0.2500 for 22,035 tokens, 61.0 s and $0.2500."),
        (0.5, 0.5, "a's 45 reviews left its H as it was for 22,035 tokens, 61.0 s and $0.2500."),
        (0.75, 0.5, "a's 45 reviews lowered its H by 0.2500 for 22,035 tokens, 61.0 s and $0.2500."),
    ],
)
def test_what_the_reviews_bought(terminal: Any, before: float, after: float, says: str) -> None:
    player = replace(A, score=replace(A.score, h=after, h_before_review=before))
    idle = replace(B, score=replace(B.score, costs=costs(reviews=0)))
    assert f"What the reviews bought: {says}" in lines(terminal, players=[player, idle])
    assert "Nobody reviewed." in lines(terminal, players=[idle, C], differences=[])


def test_who_was_drawn_is_said_first(terminal: Any) -> None:
    drawn = [replace(player, model="simulated/x", agent="plain") for player in (A, B, C)]
    first = terminal(replace(MATCH, players=[A, drawn[1], C]), 400).splitlines()
    assert first[0] == "SIMULATED, not real: b; scores, costs and times are drawn."
    assert any(line.startswith("39 items scored by grounding 3;") for line in first)
    every = terminal(replace(MATCH, players=drawn), 400).splitlines()
    assert every[0] == "SIMULATED, no real model answered; scores, costs and times are drawn."
    assert any(line.startswith("39 items scored as drawn (no detector ran); Q") for line in every)
    program = replace(drawn[0], agent="external")
    own = "the answers are the program's own."
    mixed = terminal(replace(MATCH, players=[program, *drawn[1:]]), 400).splitlines()
    assert mixed[0] == (
        "SIMULATED, not real: b, c; scores, costs and times are drawn; a asked no real model: costs and times are "
        f"drawn, {own}"
    )
    assert any(line.startswith("39 items scored by grounding 3;") for line in mixed)
    alone = terminal(replace(MATCH, players=[program, B, C]), 400).splitlines()
    assert alone[0] == f"SIMULATED, a asked no real model: costs and times are drawn, {own}"


def test_everyone_answered_everything_and_nobody_refused(terminal: Any) -> None:
    alone: dict[str, Any] = {"differences": [], "envelope": [], "referee": None, "notes": [], "dropped": []}
    found: str = terminal(replace(MATCH, players=[A], **alone), 400)
    assert found.splitlines()[5:] == [
        RULES,
        SENTENCES[0],
        "",
        MATCH.headline,
        "What the reviews bought: a's 45 reviews raised its H by 0.0488 for 22,035 tokens, 61.0 s and $0.2500.",
    ]
    lazy = replace(A, score=replace(A.score, answer_rate=0.25))
    assert "Answered: a 25.0%." in terminal(replace(MATCH, players=[lazy], **alone), 400).splitlines()


# The page of the same match: the score of tests/report/scored.py over five items, of which two were refused.
H: dict[str, list[float | None]] = {
    "a": [0.75, 1.0, None, 0.25, 0.5],
    "b": [1.0, 1.0, 1.0, 0.75, 0.25],
    "c": [0.5, 0.5, 0.5, 0.5, None],
}
TOKENS = {"a": [100, 200, 300, 400, 500], "b": [10, 20, 30, 40, 50], "c": [7, 7, 7, 7, 7]}


def facts(document: Any = MATCH, **changes: Any) -> Facts:
    """The facts of a page, with what its sections would read from a run given by hand."""
    rules = ScoreRules(weights={"tokens": 1.0, "calls": 2.0})
    rows = [
        Row(name, f"i{at}", "", h, "refused" if h is None else "ok", {"tokens": TOKENS[name][at], "calls": 2.0})
        for name, values in H.items()
        for at, h in enumerate(values)
    ]
    statuses = {
        name: Counter({"ok": 5 - own.count(None), "refused": own.count(None), "failed": 2, "unanswered": 3})
        for name, own in H.items()
    }
    played = cast(Any, SimpleNamespace(manifest={"detector": {"name": "grounding", "version": "3"}}))
    report = replace(REPORT, **changes)
    found = Facts(cast(Any, None), document, played, ("0",), from_rows(rows), statuses, rules, report)
    found.__dict__["review_effects"] = [
        ReviewEffect("a", 5, 0.5, 0.81234, 2.5, 3.0, rules),
        ReviewEffect("b", 0, 0.85, 0.9, 2.0, 2.0, rules),
        ReviewEffect("c", 41, 0.75, 0.7, 0.5, 1.0, rules),
    ]
    return found


def page_of(found: Facts) -> Page:
    makers = (sections.result, sections.beta, sections.fronts, sections.reviews, sections_more.spread)
    more = (sections_more.deciding, sections_more.failures, sections_more.faithful)
    parts = [*(make(found) for make in makers), *(make(found) for make in more)]
    parts.insert(7, sections_more.sensitivity(found, []))
    return shown(verdict(found), [part for part in parts if part is not None])


def test_every_cell_of_the_page() -> None:
    page = page_of(facts())
    assert page.tables == [
        [
            ["player", "H", "P", "Q", *(name for name in HEADINGS[1:] if name not in ("H", "P", "Q"))],
            ["b ★", "0.9000", "2.000", "0.7000", "100.0%", "2.000M", "9", "0", "61.0", "?", "0.0500", "0.875"],
            ["c", "0.7000", "1.000", "0.6000", "?", "9,999", "~40", "41", "1,234.6", "12.30", "0.1500", "0.125"],
            ["a", "0.8123", "3.000", "0.5123", "97.5%", "~3,456", "12", "5", "~7.2", "0.000027", "0.1100", "<0.001"],
        ],
        [
            ["player", "against", "difference in Q", "95% CI", "excludes 0"],
            ["b", "c", "+0.1000", "−0.0100 to +0.2100", "no"],
            ["b", "a", "+0.1877", "+0.0500 to +0.3253", "yes"],
            ["c", "a", "+0.0877", "?", "?"],
        ],
        [
            ["player", "H before → after", "reviews", "P without → with", "what they did to Q", "they pay"],
            ["a", "0.5000 → 0.8123", "5.0", "2.500 → 3.000", "+0.2623", "below beta 0.6247"],
            ["b", "0.8500 → 0.9000", "0.0", "2.000 → 2.000", "–", "–"],
            ["c", "0.7500 → 0.7000", "41.0", "0.500 → 1.000", "−0.1000", "never"],
        ],
        [
            ["item", "H b", "H a", "tokens b", "tokens a", "influence", "lead without it"],
            ["i1", "1.000", "1.000", "20", "200", "−0.08333", "+0.4650"],
            ["i3", "0.750", "0.250", "40", "400", "+0.08333", "+0.2150"],
            ["i0", "1.000", "0.750", "10", "100", "+0.00000", "+0.3400"],
        ],
        [
            ["player", "answered", "refused", "failed", "unanswered"],
            ["a", "4", "1", "2", "3"],
            ["b", "5", "0", "2", "3"],
            ["c", "4", "1", "2", "3"],
        ],
        [
            ["player", "opened", "closed", "unresolved", "failed"],
            ["a", "20", "19", "1", "3"],
            ["b", "7", "6", "1", "2"],
            ["c", "3", "3", "0", "0"],
        ],
        [
            ["refusals", "costs relative to", "H", "items", "ranking"],
            ["intersection", "the largest in the match", "faithful", "1040", "b > c > a"],
            ["penalised", "the median player", "faithful", "1060", "c > b > a"],
            ["answered", "the reference totals", "faithful", "0", "nothing can be scored"],
        ],
        [
            [
                "player",
                "faithful answers",
                "tokens each",
                "calls each",
                "reviews each",
                "seconds each",
                "dollars each",
            ],
            ["a", "2 of 3", "1,728", "6.00", "2.50", "3.62", "0.000013"],
            ["b", "3 of 3", "666,667", "3.00", "0.00", "20.35", "?"],
            ["c", "3 of 3", "3,333", "13.33", "13.67", "412", "4.1000"],
        ],
    ]


def test_the_page_marks_the_best_of_each_column_and_the_winner() -> None:
    """Rows are b, c and a, after the headings."""
    page = page_of(facts())
    best = {(1, 1), (2, 2), (1, 3), (1, 4), (3, 5), (1, 6), (1, 7), (3, 8), (3, 9)}
    assert page.bold == {(0, *cell) for cell in best} and page.won == {(0, 1)}


def test_every_sentence_of_the_page() -> None:
    said = page_of(facts()).sentences
    assert [said[1], *said[3:8]] == [
        "No clear winner: b leads",
        "Could be chance (95% confidence)",
        "Q 0.7000 against 0.6000 (c); in H 0.9000 against 0.7000, in cost P 2.000 against 1.000.",
        SAID[1],
        "Cannot be told apart from the best: b, c.",
        "The leader depends on beta: b below 0.04, c from 0.04 to 0.5, a above 0.5. This run weighs cost with beta "
        "0.1.",
    ]
    at = said.index(SAID[0])
    assert said[at : at + 13] == [
        *SAID,
        "Note: c stopped: its budget of tokens is spent.",
        "Note: A second note.",
    ]
    for line in (
        "b would still lead a without the half of the items that favour it most.",
        "Items that somebody refused or failed: i1 (b, c), i2 (c).",
        "The leader depends on the rule for refusals or on the normaliser.",
        "Not known for every player, so not drawn: reviews, seconds, dollars.",
        "H against P, all costs together. Pareto front (dashed): b, c.",
        "H against tokens per item. Pareto front (dashed): a, b.",
    ):
        assert said.count(line) == 1, line
    assert [(tile.label, tile.value, tile.note, tile.best) for tile in verdict(facts()).tiles] == [
        ("b", "Q 0.7000 ± 0.0500", "H 0.9000 · P 2.000 · P(win) 0.875", True),
        ("c", "Q 0.6000 ± 0.1500", "H 0.7000 · P 1.000 · P(win) 0.125", False),
        ("a", "Q 0.5123 ± 0.1100", "H 0.8123 · P 3.000 · P(win) <0.001", False),
    ]


@pytest.mark.parametrize(
    ("other", "says"),
    [
        ("b", "The leader is the same under every rule for refusals, every normaliser and both meanings of H"),
        (
            "c",
            "The leader depends on the rule for refusals, on the normaliser or on what H means (faithful, adequate)",
        ),
    ],
)
def test_whether_the_leader_depends_on_what_h_means(other: str, says: str) -> None:
    first = REPORT.views[0]
    views = [first, replace(first, h="adequate", ranking=[other, "a"])]
    assert sum(line.startswith(says) for line in page_of(facts(views=views)).sentences) == 1


def rows_of(spec: dict[str, Any], *fields: str) -> list[list[Any]]:
    """The data of a chart that has these fields."""
    rows = max((rows for rows in spec["datasets"].values() if rows and fields[0] in rows[0]), key=len)
    return [[row[field] for field in fields] for row in rows]


def test_the_data_of_the_charts() -> None:
    specs = page_of(facts()).specs
    charts = [spec for spec in specs if "datasets" in spec]
    assert rows_of(charts[0], "player", "q", "low", "high") == [
        ["b", 0.7, 0.65, 0.75],
        ["c", 0.6, 0.45, 0.75],
        ["a", 0.51234, 0.40234, 0.62234],
    ]
    along = rows_of(charts[1], "player", "beta", "q")
    assert along[:3] == [["a", 0.0, 2 / 3], ["b", 0.0, pytest.approx(2.75 / 3)], ["c", 0.0, 0.5]]
    assert along[-2] == ["b", 0.625, pytest.approx(2.75 / 3 - 0.625 * 2.1)], (
        "P of b: a tenth of a's tokens, its calls"
    )
    lead = rows_of(charts[2], "beta", "lead")
    assert lead[0] == [0.0, 0.25] and lead[-1] == [0.625, pytest.approx(0.25 + 0.625 * 0.9)]
    assert rows_of(charts[3], "player", "beta", "p") == [["b", 0.0, 1.0], ["b", 0.1, 0.875], ["c", 0.1, 0.125]]
    assert rows_of(charts[4], "player", "h", "cost", "front") == [
        ["a", 0.81234, 3.0, "no"],
        ["b", 0.9, 2.0, "yes"],
        ["c", 0.7, 1.0, "yes"],
    ]
    assert rows_of(charts[5], "player", "cost", "front") == [
        ["a", pytest.approx(700 / 3), "yes"],
        ["b", pytest.approx(70 / 3), "yes"],
        ["c", 7.0, "no"],
    ]
    before = next(spec for spec in charts if "before" in str(spec["datasets"]))
    assert rows_of(before, "player", "before", "after") == [["a", 0.5, 0.81234], ["b", 0.85, 0.9], ["c", 0.75, 0.7]]
    (spread,) = [spec for spec in charts if "share" in str(spec["datasets"])]
    shares = {(player, bin_): share for player, bin_, share in rows_of(spread, "player", "bin", "share") if share}
    third = pytest.approx(1 / 3)
    assert shares == {
        ("a", "0.2"): third,
        ("a", "0.7"): third,
        ("a", "0.9"): third,
        ("b", "0.7"): third,
        ("b", "0.9"): pytest.approx(2 / 3),
        ("c", "0.5"): 1.0,
    }
    (slider,) = [spec for spec in specs if "most" in spec]
    assert (slider["alpha"], slider["beta"], slider["most"]) == (1.0, 0.1, 0.625)
    assert [(line["player"], line["h"], line["penalty"]) for line in slider["lines"]] == [
        ("a", 0.81234, 3.0),
        ("b", 0.9, 2.0),
        ("c", 0.7, 1.0),
    ]


@pytest.mark.parametrize(
    ("changes", "headline", "mark"),
    [
        ({}, "No clear winner: b leads", "unsure"),
        ({"clear": True}, "b wins", "sure"),
        ({"tied": ["b", "c"], "winner": None}, "A tie between b, c", ""),
        ({"differences": [Lead("b", "c", 0.1, None, None)]}, "No clear winner: b leads", ""),
        ({"players": [SCORED], "differences": []}, "a played alone", ""),
        ({"differences": []}, "a is the only one with a score", ""),
    ],
)
def test_the_headline_of_the_page(changes: dict[str, Any], headline: str, mark: str) -> None:
    said = verdict(facts(**changes))
    assert (said.headline, said.mark) == (headline, mark)


def test_the_page_of_a_match_without_an_end_or_without_a_score() -> None:
    open_ = verdict(facts(replace(MATCH, finished=False)))
    assert open_.headline == "Not finished: nobody has won yet"
    assert list(open_.sentences) == [
        "13 of 30 answers are there; each player is scored over what it has played so far."
    ]
    table = shown(open_, [sections.result(facts(replace(MATCH, finished=False)))]).tables[0]
    assert [row[0] for row in table] == ["player", "b", "c", "a"], "no star before the end"
    none = replace(facts(), judged=None, why="Q is undefined: nobody answered.")
    assert verdict(none).headline == "No winner: nothing can be scored"
    assert list(verdict(none).sentences) == ["Q is undefined: nobody answered."]


@pytest.mark.parametrize(
    ("p_win", "shown_as"), [(1.0, ">0.999"), (0.9995, ">0.999"), (0.0004, "<0.001"), (0.0, "<0.001"), (0.5, "0.500")]
)
def test_a_chance_on_a_tile_says_no_more_than_is_known(p_win: float, shown_as: str) -> None:
    players: list[ScoredPlayer] = [replace(SCORED, p_win=p_win), *REPORT.players[1:]]
    assert verdict(facts(players=players)).tiles[2].note == f"H 0.8123 · P 3.000 · P(win) {shown_as}"


def test_attempts_of_trials_stand_together_and_long_lists_are_cut() -> None:
    every = Attempts(
        **{name: getattr(counts(9, 8, 1, 2), name) for name in ("opened", "closed", "unresolved", "failed")}
    )
    section = sections_more.failures(facts(replace(MATCH, attempts=every, dropped=[MATCH.dropped[0]] * 33)))
    page = shown(verdict(facts()), [section])
    assert page.tables[1] == [
        ["player", "opened", "closed", "unresolved", "failed"],
        ["all players", "9", "8", "1", "2"],
    ]
    assert any(line.endswith("i1 (b, c) and 3 more.") for line in page.sentences)


def test_how_few_items_would_turn_the_result() -> None:
    found = facts()
    found.__dict__["fewest_to_flip"] = 1
    section = sections_more.deciding(found)
    assert section is not None
    said = shown(verdict(found), [section]).sentences
    assert "Without the 1 item (33.3%) that favour b most, a would win." in said


def test_the_chances_along_beta_stop_where_the_chart_does() -> None:
    along = [Chances(beta=beta, p={"b": 1.0}) for beta in (0.0, 0.2, 0.5, 0.7)]
    section = sections.beta(facts(chance_along_beta=along))
    (chart,) = [block for block in section.blocks if getattr(block, "name", "") == "chance-over-beta"]
    assert [row[0] for row in rows_of(cast(Any, chart).spec, "beta", "p")] == [0.0, 0.2, 0.5]


def test_unknown_figures_stay_unknown_in_the_terminal(terminal: Any) -> None:
    empty = PlayerFigures(
        h=None, h_before_review=None, answer_rate=0.0, costs=costs(), charged={"tokens_in": 1.0}, unknown_attempts=0,
        penalty=None, q=None, q_min=None, q_max=None,
    )  # fmt: skip
    found = terminal(replace(MATCH, players=[replace(B, score=empty)], differences=[], winner=None), 400).splitlines()
    assert found[3].split() == ["b", "?", "→", "?", *["?"] * 8]
