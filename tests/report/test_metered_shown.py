"""What went through a gateway, made by hand, every cell of it in the terminal."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mashq.cli import playing
from mashq.report.documents import metered as documents
from mashq.report.documents.metered import SUMS, Metered, Spent, TurnedAway


def costs(**known: float) -> dict[str, float | None]:
    return {name: known.get(name) for name in SUMS}


A = Spent(
    player="a",
    model="openai/gpt-x",
    attempts=12_345,
    unresolved=2,
    failed=3,
    unknown=4,
    costs=costs(tokens_in=1_234_567_890, tokens_out=98_765, seconds=98_765.44, waited=0.05, dollars=0.000027),
)
B = Spent(
    player="b",
    model="anthropic/claude-with-a-very-long-name-2026-11-16",
    attempts=1,
    unresolved=0,
    failed=1,
    unknown=1,
    costs=costs(waited=1.25),
)
DOCUMENT = Metered(
    run="runs/g",
    finished=True,
    simulated=False,
    spent=[A, B],
    refused=[
        TurnedAway(player="a", status=429, reason="the budget of tokens is spent", requests=7),
        TurnedAway(player=None, status=401, reason="no such key", requests=1),
    ],
)
LONG = "anthropic/claude-with-a-very-long-name-…"
TABLE = [
    " player  model                                     attempts  failed  unresolved         tok in  tok out  unknown"
    "   seconds  waited   dollars",
    " " + "─" * 139,
    " a       openai/gpt-x                                12,345       3           2  1,234,567,890   98,765        4"
    "  98,765.4     0.1  0.000027",
    f" b       {LONG}         1       1           0              ?        ?        1         ?     1.2         ?",
]
SAID = [
    "Totals are sums of what is known; an unknown attempt may have cost more.",
    "Turned away: 7 x 429 (a): the budget of tokens is spent",
    "Turned away: 1 x 401 (nobody known): no such key",
]


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """What a terminal of some width shows of a gateway."""

    def text(document: Metered, width: int = 80) -> list[str]:
        monkeypatch.setenv("COLUMNS", str(width))

        def read(_run: Path) -> Metered:
            return document

        monkeypatch.setattr(documents, "document", read)
        playing.show_metered(Path(document.run), as_json=False)
        return [line.rstrip() for line in capsys.readouterr().out.splitlines() if line.strip()]

    return text


def test_every_cell_of_the_text(printed: Any) -> None:
    assert printed(DOCUMENT, 140) == [*TABLE, *SAID]


def test_where_there_is_room_names_are_whole(printed: Any) -> None:
    assert B.model in printed(DOCUMENT, 200)[3]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_in_a_narrow_terminal_every_number_is_there(printed: Any, width: int) -> None:
    found = printed(DOCUMENT, width)
    assert max(map(len, found)) <= width
    words = " ".join(found).split()
    assert all(words.count(word) >= 1 for line in TABLE[2:] for word in line.split()[2:])


def test_what_is_said_follows_the_document(printed: Any) -> None:
    known = replace(A, unknown=0)
    assert printed(replace(DOCUMENT, spent=[known], refused=[], simulated=True, finished=False), 140)[3:] == [
        "SIMULATED: no real model answered; costs and times are drawn.",
        "The gateway is still running, or was killed.",
    ]
    assert len(printed(replace(DOCUMENT, spent=[known], refused=[]), 140)) == 3


def test_a_gateway_that_nobody_used(printed: Any) -> None:
    found = printed(replace(DOCUMENT, spent=[], refused=[DOCUMENT.refused[1]]), 80)
    assert found[0].split()[:2] == ["player", "model"] and found[-1] == SAID[2]


def test_a_resource_that_is_declared_has_a_column(printed: Any) -> None:
    warm = replace(A, costs=costs(joules=3.04))
    found = printed(replace(DOCUMENT, spent=[warm]), 140)
    assert found[0].split()[-2:] == ["dollars", "joules"] and found[2].split()[-2:] == ["?", "3.0"]
