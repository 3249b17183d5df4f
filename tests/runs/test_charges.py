"""What attempts of unknown cost are charged, by hand from the ledger."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest

from mashq.gateway.types import LEFT
from mashq.protocol.resources import Amount, Spend
from mashq.protocol.results import ItemResult, PlayerResult, columns_of
from mashq.runs.charges import Charges, read, statements, worked_out
from mashq.runs.file import SCHEMA

COLUMNS = (
    "id, match, round, player, item, purpose, n, ask, model, prompt, opened, worst_in, worst_out, worst_seconds, "
    "outcome, tokens_in, tokens_out, seconds, error, dollars, worst_dollars"
)


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as opened:
        opened.executescript(SCHEMA)
        yield opened


def attempt(
    connection: sqlite3.Connection,
    *,
    player: str = "A",
    item: str | None = "x",
    purpose: str = "answer",
    outcome: str | None = "ok",
    tokens: tuple[int | None, int | None] = (None, None),
    seconds: float | None = 1.0,
    error: str = "",
    dollars: tuple[float | None, float | None] = (None, None),
    match: str = "0",
) -> None:
    number = connection.execute("SELECT count(*) FROM attempts").fetchone()[0]
    values = (number, match, 0, player, item, purpose, 0, 0, "m", "p", 0.0, 1000, 64, 120.0)
    values += (outcome, *tokens, seconds, error, *dollars)
    connection.execute(f"INSERT INTO attempts ({COLUMNS}) VALUES ({','.join('?' * 21)})", values)


def test_the_mean_of_the_same_purpose_or_the_worst_case(connection: sqlite3.Connection) -> None:
    attempt(connection, tokens=(100, 10))
    attempt(connection, tokens=(200, 20))
    attempt(connection, item="y")
    attempt(connection, item="y", purpose="review", outcome="timeout", seconds=None)
    attempt(connection, player="B", tokens=(9, 9), purpose="review")
    found = worked_out(connection, "0")
    own = found.of("A", "y")
    assert own.tokens_in == Amount(150 + 1000, 2), "the answers' mean, and the review's worst case"
    assert own.tokens_out == Amount(15 + 64, 2)
    assert own.seconds == Amount(120.0, 1)
    assert found.of("A", "x") == found.of("B", "x") == Spend()


def test_errors_that_bill_nothing_make_no_discount(connection: sqlite3.Connection) -> None:
    attempt(connection, outcome="http", tokens=(0, 0))
    attempt(connection, item="y")
    assert worked_out(connection, "0").of("A", "y").tokens_in == Amount(1000, 1), "an error says nothing of a reply"
    attempt(connection, tokens=(100, 10))
    assert worked_out(connection, "0").of("A", "y").tokens_in == Amount(50, 1), "the mean of what is known, as it is"


def test_what_the_agent_left_is_charged_at_its_worst_case(connection: sqlite3.Connection) -> None:
    attempt(connection, tokens=(100, 10))
    attempt(connection, item="y", outcome="left", tokens=(None, None))
    attempt(connection, item="z", outcome="dropped", error=LEFT)  # as earlier versions wrote it
    attempt(connection, item="w", outcome="dropped", error="the connection was lost")
    found = worked_out(connection, "0")
    assert [found.of("A", item).tokens_in.total for item in "yzw"] == [1000, 1000, 100]


def test_half_a_usage_is_charged_for_the_other_half(connection: sqlite3.Connection) -> None:
    attempt(connection, tokens=(100, 10))
    attempt(connection, item="y", tokens=(70, None))
    own = worked_out(connection, "0").of("A", "y")
    assert own.tokens_in == Amount() and own.tokens_out == Amount(10, 1)


def test_an_attempt_of_no_item_and_one_left_open(connection: sqlite3.Connection) -> None:
    attempt(connection, item=None, purpose="policy", outcome=None, seconds=None)
    found = worked_out(connection, "0")
    assert found.of("A", None).tokens_in == Amount(1000, 1) and found.of("A", None).seconds == Amount(120.0, 1)


def test_without_a_price_there_is_no_charge(connection: sqlite3.Connection) -> None:
    attempt(connection, tokens=(100, 10))
    attempt(connection, tokens=(100, 10), player="B", dollars=(0.5, 0.9))
    attempt(connection, player="B", item="y", dollars=(None, 0.9))
    found = worked_out(connection, "0")
    assert found.of("A", "x") == Spend()
    assert found.of("B", "y").measured("dollars") == Amount(0.5, 1)


def test_the_referee_and_other_matches_are_left_alone(connection: sqlite3.Connection) -> None:
    attempt(connection, player="referee", purpose="judge")
    attempt(connection, match="1")
    attempt(connection, match="1", tokens=(7, 7))
    assert worked_out(connection, "0").by == {}
    assert worked_out(connection, "1").of("A", "x").tokens_in == Amount(7, 1)


def test_charges_are_stored_once_and_read_back(connection: sqlite3.Connection) -> None:
    attempt(connection, tokens=(100, 10))
    attempt(connection, item="y")
    attempt(connection, item=None)
    wanted = worked_out(connection, "0")
    for _ in range(2):
        for statement, values in statements("0"):
            connection.execute(statement, values)
    connection.execute("INSERT INTO seats VALUES ('0', 0, 'A', 0.5, 3, NULL, '{}')")
    assert read(connection, "0") == wanted
    connection.execute("UPDATE charges SET charged = 1 WHERE measure = 'tokens_in' AND item = 'y'")
    assert read(connection, "0").of("A", "y").tokens_in == Amount(1, 1), "of an ended match they are those stored"
    assert worked_out(connection, "0") == wanted


def test_results_carry_their_charges() -> None:
    lost = Spend.of(calls=1, unknown=1, tokens_in=Amount(0, 0, 1, 1000), tokens_out=Amount(0, 0, 1, 64))
    rows = tuple(ItemResult(item, "ok", 0.5, 0.5, lost if item == "y" else Spend.of(calls=1)) for item in "xy")
    charges = Charges({("A", "y"): Spend.of(tokens_in=Amount(150, 1), tokens_out=Amount(15, 1))})
    results = [PlayerResult("A", rows)]
    (own,) = charges.on(results)
    assert [row.charge.tokens_in.total for row in own.items] == [0, 150]
    for columns in (columns_of([own])[0], charges.on_columns(columns_of(results))[0]):
        cost = columns.cost("tokens")
        assert cost.value.tolist() == [0, 165] and cost.low.tolist() == [0, 0] and cost.high.tolist() == [0, 1064]
    assert charges.on_columns(columns_of(results))[0].has_unknown
    assert Charges().on(results) == tuple(results)
