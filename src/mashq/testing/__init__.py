"""Tools for tests against `mashq`: conformance checks for extensions, and a loopback provider that can misbehave."""

from mashq.testing.conformance import check_detector, check_executor, check_export, check_player, check_wire
from mashq.testing.fake_provider import FakeProvider

__all__ = ["FakeProvider", "check_detector", "check_executor", "check_export", "check_player", "check_wire"]
