"""A tournament made by hand, every cell of it in text, Markdown, LaTeX and HTML."""

from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("vl_convert", reason="the extra 'charts' is not installed")

from mashq.protocol.resources import RESOURCES
from mashq.report.documents.base import DetectorVersion
from mashq.report.documents.tournament import Pairing, RatedPlayer, Tournament
from mashq.report.html import sections_seasons
from mashq.report.text import tournament
from tests.report.shown import FITTED, NEEDS, shown


def costs(**known: float) -> dict[str, float | None]:
    return {name: known.get(name) for name in RESOURCES}


A = RatedPlayer(
    name="a",
    rating=1623.4,
    low=1550.0,
    high=1701.2,
    rank_best=1,
    rank_worst=1,
    p_first=0.875,
    h=0.91234,
    costs=costs(tokens=3456, calls=12, reviews=5.25, seconds=7.125, dollars=0.5),
    charged={},
    q_reference=0.45678,
)
B = RatedPlayer(
    name="b",
    rating=1500.0,
    low=None,
    high=None,
    rank_best=2,
    rank_worst=3,
    p_first=0.125,
    h=0.8,
    costs=costs(tokens=12000, calls=24, reviews=0, seconds=61.04, dollars=1.0),
    charged={},
    q_reference=0.3,
)
C = RatedPlayer(
    name="c",
    rating=1376.6,
    low=1300.4,
    high=1450.6,
    rank_best=None,
    rank_worst=None,
    p_first=None,
    h=None,
    costs=costs(tokens=100, calls=1),
    charged={},
    q_reference=None,
)
WINS = [
    Pairing(a="a", b="b", won=5, tied=1, lost=2, predicted=0.714),
    Pairing(a="a", b="c", won=2, tied=0, lost=0, predicted=0.85),
    Pairing(a="b", b="a", won=2, tied=1, lost=5, predicted=0.286),
    Pairing(a="c", b="a", won=0, tied=0, lost=2, predicted=0.15),
]
DOCUMENT = Tournament(
    run="r",
    finished=True,
    simulated=False,
    drawn=True,
    detector=DetectorVersion("grounding", "3"),
    system="round-robin",
    trials=2,
    items=20,
    matches=10,
    alpha=1,
    beta=0.1,
    players=[A, B, C],
    wins=WINS,
    notes=["The order is not that of the records.", "No interval for b."],
)
TITLE = "Won-tied-lost against each (chance of winning that the ratings predict)"
LAST = [
    "10 pairings (round-robin, 2 trials each, every group in each order of its seats) of 20 items, scored as drawn "
    "(no detector ran); Q = 1·H − 0.1·P.",
    "Ratings: 400 points are odds of 10 to 1. Intervals and ranks are over resampled items. Q (ref.) is each "
    "player's mean Q against the largest mean costs of the field, so that it compares players who never met.",
    "Note: The order is not that of the records.",
    "Note: No interval for b.",
]
TEXT = """\
    player  rating           95%  ranks  first       H  tokens  reviews  seconds  dollars  Q (ref.)
 ──────────────────────────────────────────────────────────────────────────────────────────────────
 1  a         1623  1550 to 1701      1    88%  0.9123   3,456      5.2      7.1   0.5000    0.4568
 2  b         1500             ?    2–3    12%  0.8000  12,000      0.0     61.0   1.0000    0.3000
 3  c         1377  1300 to 1451      ?      ?       ?     100        ?        ?        ?         ?

Won-tied-lost against each (chance of winning that the ratings predict)

              a            b            c
 ────────────────────────────────────────
 a            ·  5-1-2 (71%)  2-0-0 (85%)
 b  2-1-5 (29%)            ·            ·
 c  0-0-2 (15%)            ·            ·

10 pairings (round-robin, 2 trials each, every group in each order of its seats) of 20 items, scored
  as drawn (no detector ran); Q = 1·H − 0.1·P.
Ratings: 400 points are odds of 10 to 1. Intervals and ranks are over resampled items. Q (ref.) is
  each player's mean Q against the largest mean costs of the field, so that it compares players who
  never met.
Note: The order is not that of the records.
Note: No interval for b."""
HEADINGS = [
    "",
    "player",
    "rating",
    "95%",
    "ranks",
    "first",
    "H",
    "tokens",
    "reviews",
    "seconds",
    "dollars",
    "Q (ref.)",
]
ROWS = [
    ["1", "a", "1623", "1550 to 1701", "1", "88%", "0.9123", "3,456", "5.2", "7.1", "0.5000", "0.4568"],
    ["2", "b", "1500", "?", "2–3", "12%", "0.8000", "12,000", "0.0", "61.0", "1.0000", "0.3000"],
    ["3", "c", "1377", "1300 to 1451", "?", "?", "?", "100", "?", "?", "?", "?"],
]
MATRIX = [
    ["a", "·", "5-1-2 (71%)", "2-0-0 (85%)"],
    ["b", "2-1-5 (29%)", "·", "·"],
    ["c", "0-0-2 (15%)", "·", "·"],
]


def test_every_cell_of_the_text() -> None:
    assert tournament.text(DOCUMENT) == TEXT


def test_every_cell_of_the_markdown() -> None:
    def lines(headings: list[str], rows: list[list[str]], left: int) -> str:
        rule = "|" + "|".join(["---"] * left + ["---:"] * (len(headings) - left)) + "|"
        return "\n".join(["| " + " | ".join(headings) + " |", rule, *("| " + " | ".join(row) + " |" for row in rows)])

    parts = [lines(HEADINGS, ROWS, 2), f"**{TITLE}**", lines(["", "a", "b", "c"], MATRIX, 1), *LAST]
    assert tournament.text(DOCUMENT, "md") == "\n\n".join(parts)


def test_every_cell_of_the_latex() -> None:
    def tabular(align: str, rows: list[list[str]]) -> list[str]:
        head, *body = (" & ".join(row).replace("%", r"\%").replace("·", r"$\cdot$") + r" \\" for row in rows)
        start = [NEEDS, FITTED, rf"\begin{{tabular}}{{{align}}}"]
        return [*start, r"\toprule", head, r"\midrule", *body, r"\bottomrule", r"\end{tabular}}"]

    parts = [
        "\n".join(tabular("ll" + 10 * "r", [HEADINGS, *ROWS])),
        "\n".join([f"% {TITLE}", *tabular("lrrr", [["", "a", "b", "c"], *MATRIX])]),
        "\n".join(f"% {line}" for line in LAST),
    ]
    assert tournament.text(DOCUMENT, "latex") == "\n\n".join(parts)


def test_every_cell_of_the_page() -> None:
    said, sections = sections_seasons.tournament(DOCUMENT)
    assert (said.headline, said.mark) == ("a is rated first", "sure")
    assert list(said.sentences) == [
        "a is first in 88% of resampled tournaments; the 95% interval of its rank: 1.",
        "10 pairings (round-robin, 2 trials each) of 20 items; Q = 1·H − 0.1·P.",
    ]
    assert [(tile.label, tile.value, tile.note, tile.best) for tile in said.tiles] == [
        ("a", "1623", "1550 to 1701 · first 88%", True),
        ("b", "1500", "? · first 12%", False),
        ("c", "1377", "1300 to 1451 · first ?", False),
    ]
    page = shown(said, sections)
    assert page.tables == [[HEADINGS, *ROWS], [["", "a", "b", "c"], *MATRIX]]
    at = page.sentences.index("Note: The order is not that of the records.")
    assert page.sentences[at : at + 2] == LAST[2:]
    ratings, wins = (max(spec["datasets"].values(), key=len) for spec in page.specs)
    assert ratings == [
        {"player": "a", "rating": 1623.4, "low": 1550.0, "high": 1701.2},
        {"player": "b", "rating": 1500.0, "low": None, "high": None},
        {"player": "c", "rating": 1376.6, "low": 1300.4, "high": 1450.6},
    ]
    assert [tuple(row.values()) for row in wins] == [
        ("a", "b", 0.714, "5-1-2", True),
        ("a", "c", 0.85, "2-0-0", True),
        ("b", "a", 0.286, "2-1-5", False),
        ("c", "a", 0.15, "0-0-2", False),
    ]


@pytest.mark.parametrize(
    ("player", "finished", "headline", "mark"),
    [
        (A, True, "a is rated first", "sure"),
        (replace(A, rank_worst=2), True, "a is rated first", "unsure"),
        (A, False, "Not finished: the ratings so far", ""),
        (replace(A, rank_best=None, rank_worst=None, p_first=None), True, "The order is not known", ""),
    ],
)
def test_the_headline_of_the_page(player: RatedPlayer, finished: bool, headline: str, mark: str) -> None:
    said, _ = sections_seasons.tournament(replace(DOCUMENT, players=[player, B, C], finished=finished))
    assert (said.headline, said.mark) == (headline, mark)
    assert len(said.sentences) == (1 if player.p_first is None else 2)


def test_a_tournament_of_one_or_none() -> None:
    alone = replace(DOCUMENT, players=[A], wins=[], notes=[])
    assert TITLE not in tournament.text(alone) and tournament.text(alone).splitlines()[2].split()[:3] == [
        "1",
        "a",
        "1623",
    ]
    assert len(shown(*sections_seasons.tournament(alone)).tables) == 1
    none = replace(
        DOCUMENT, players=[], wins=[], notes=["there are no games to rate: play some first"], finished=False
    )
    assert tournament.text(none).splitlines()[-2:] == [
        "Not all matches are played: continue with mashq resume r",
        "Note: there are no games to rate: play some first",
    ]
    said, sections = sections_seasons.tournament(none)
    assert said.headline == "Nothing can be rated yet" and sections == []
    assert list(said.sentences) == ["there are no games to rate: play some first"]


def test_a_large_field_has_no_matrix() -> None:
    many: list[Any] = [replace(A, name=f"p{at}") for at in range(13)]
    assert TITLE not in tournament.text(replace(DOCUMENT, players=many))
    assert len(sections_seasons.tournament(replace(DOCUMENT, players=many))[1]) == 1
    assert TITLE in tournament.text(replace(DOCUMENT, players=many[:12]))
