"""When to try again and how long to wait: the policy alone, and Retry-After in all its forms."""

from datetime import UTC, datetime, timedelta, timezone
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mashq.gateway.retry import Policy, delay, parse_retry_after, retryable
from mashq.gateway.types import Kind, Outcome
from tests.gateway.fakes import http_error, replied

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 529, 599])
def test_an_overloaded_server_is_asked_again(status: int) -> None:
    assert retryable(http_error(status))


@pytest.mark.parametrize("status", [301, 302, 307, 400, 401, 402, 403, 404, 413, 422, 499])
def test_an_error_of_ours_is_final(status: int) -> None:
    assert not retryable(http_error(status))
    assert delay(Policy(), 1, http_error(status, retry_after=1.0), 0.0) is None


def test_an_http_error_without_a_status_is_final() -> None:
    assert not retryable(Outcome("http"))


@pytest.mark.parametrize("kind", ["timeout", "dropped", "unreachable", "unparsable"])
def test_what_the_wire_lost_is_asked_again(kind: Kind) -> None:
    assert retryable(Outcome(kind))


@pytest.mark.parametrize("kind", ["ok", "refused", "missing"])
def test_a_reply_a_refusal_and_a_gap_in_a_recording_are_final(kind: Kind) -> None:
    assert not retryable(Outcome(kind))
    assert not retryable(replied())


def test_waits_double_from_the_base_to_the_cap() -> None:
    policy = Policy(attempts=9, base=0.5, cap=3.0)
    waits = [delay(policy, failures, Outcome("timeout"), 1.0) for failures in range(1, 6)]
    assert waits == [0.5, 1.0, 2.0, 3.0, 3.0]


def test_the_last_attempt_is_the_last() -> None:
    policy = Policy(attempts=3)
    assert delay(policy, 2, Outcome("timeout"), 0.0) is not None
    assert delay(policy, 3, Outcome("timeout"), 0.0) is None
    assert delay(Policy(attempts=1), 1, http_error(429, retry_after=0.0), 0.0) is None


@given(st.integers(1, 49), st.floats(0, 1, exclude_max=True), st.floats(0.001, 10), st.floats(0.001, 100))
def test_jitter_spreads_a_wait_over_its_upper_half(failures: int, jitter: float, base: float, cap: float) -> None:
    policy = Policy(attempts=50, base=base, cap=cap)
    full = min(cap, base * 2.0 ** (failures - 1))
    wait = delay(policy, failures, Outcome("dropped"), jitter)
    assert wait is not None
    assert full / 2 <= wait <= full
    assert delay(policy, failures, Outcome("dropped"), 0.0) == full / 2


@pytest.mark.parametrize(
    ("told", "wait"),
    [(0.0, 0.0), (7.0, 7.0), (60.0, 60.0), (61.0, 60.0), (1e8, 60.0), (float("inf"), 60.0), (-3.0, 0.0)],
)
def test_retry_after_is_obeyed_up_to_its_own_cap_whatever_the_jitter(told: float, wait: float) -> None:
    for jitter in (0.0, 0.99):
        assert delay(Policy(cap=1.0), 1, http_error(429, retry_after=told), jitter) == wait


@pytest.mark.parametrize(("text", "seconds"), [("0", 0.0), ("120", 120.0), (" 3 ", 3.0), ("0.25", 0.25), ("1.", 1.0)])
def test_retry_after_in_seconds(text: str, seconds: float) -> None:
    assert parse_retry_after(text, NOW.timestamp()) == seconds


@pytest.mark.parametrize(
    "text",
    [
        format_datetime(NOW + timedelta(seconds=90), usegmt=True),
        format_datetime((NOW + timedelta(seconds=90)).astimezone(timezone(timedelta(hours=5)))),
        "Sunday, 01-Mar-26 12:01:30 GMT",
        "Sun Mar  1 12:01:30 2026",
    ],
)
def test_retry_after_as_a_date_in_every_form_http_knows(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        assert parse_retry_after(text, NOW.timestamp()) == 90.0
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_date_that_has_passed_means_now() -> None:
    assert parse_retry_after(format_datetime(NOW - timedelta(days=1), usegmt=True), NOW.timestamp()) == 0.0


@pytest.mark.parametrize(
    "text",
    [None, "", "  ", ".", "-5", "1e5", "inf", "nan", "soon", "²", "٣", "1.2.3", "Wed, 21 Oct 99999 07:28:00 GMT"],
)
def test_a_senseless_retry_after_is_none(text: str | None) -> None:
    assert parse_retry_after(text, NOW.timestamp()) is None


@given(
    st.text(max_size=60)
    | st.from_regex(r"[A-Za-z]{3}, [0-9]{1,3} [A-Za-z]{3} [0-9]{1,6} [0-9:]{1,9}( GMT| [+-]\d{4})?")
)
def test_no_header_can_break_the_policy(text: str) -> None:
    told = parse_retry_after(text, NOW.timestamp())
    assert told is None or told >= 0
    wait = delay(Policy(), 1, http_error(429, retry_after=told), 0.5)
    assert wait is not None
    assert 0 <= wait <= 60
