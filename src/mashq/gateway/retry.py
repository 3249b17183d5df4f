"""When to try again, and how long to wait first: a pure policy.

Rate limits (429), overload and server errors (5xx), time-outs, lost or refused connections and unreadable bodies
are tried again; any other HTTP error, a refusal and a reply are final. A server's Retry-After is obeyed up to a
cap; otherwise the wait doubles from `base` to `cap`, spread by the jitter passed in.
"""

from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Protocol

from mashq.gateway.types import Outcome

FEW = 3
RETRYABLE_STATUS = frozenset({408, 409, 425, 429})


@dataclass(frozen=True, slots=True)
class Policy:
    """How often to try and how long to wait at most, in seconds."""

    attempts: int = 5
    base: float = 0.5
    cap: float = 20.0
    retry_after_cap: float = 60.0


class Silence(Protocol):
    """Attempts in a row without a usable reply, and how many of them were certain to be the provider's doing."""

    silent: int
    certain: int


@dataclass(frozen=True, slots=True)
class Patience:
    """When a model is given up: after so many attempts in a row without a usable reply, or seconds of them."""

    attempts: int = 20
    seconds: float = 300.0

    def ends(self, health: Silence, seconds: float) -> bool:
        """Whether that is enough; a few attempts must have been made whatever the time."""
        long = seconds >= self.seconds and health.silent >= min(FEW, self.attempts)
        return health.certain >= self.attempts or long


def retryable(outcome: Outcome) -> bool:
    """Whether the same request could fare better later."""
    if outcome.kind == "http":
        status = outcome.status or 0
        return status in RETRYABLE_STATUS or status >= 500
    return outcome.kind in ("timeout", "dropped", "unreachable", "unparsable")


def delay(policy: Policy, failures: int, outcome: Outcome, jitter: float) -> float | None:
    """Seconds to wait after the `failures`-th failed attempt, or None to give up. `jitter` is in [0, 1)."""
    if failures >= policy.attempts or not retryable(outcome):
        return None
    if outcome.retry_after is not None:
        return min(max(outcome.retry_after, 0.0), policy.retry_after_cap)
    return min(policy.cap, policy.base * 2 ** (failures - 1)) * (0.5 + 0.5 * jitter)


def parse_retry_after(value: str | None, now: float) -> float | None:
    """Seconds from a Retry-After header in either form, or None when absent or senseless."""
    if value is None:
        return None
    text = value.strip()
    if text.replace(".", "", 1).isdigit() and text.isascii():
        return float(text)
    try:
        date = parsedate_to_datetime(text)
        if date.tzinfo is None:  # the older forms name no zone: HTTP means UTC
            date = date.replace(tzinfo=UTC)
        return max(0.0, date.timestamp() - now)
    except (ValueError, TypeError, OverflowError):
        return None
