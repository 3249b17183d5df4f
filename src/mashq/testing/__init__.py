"""What tests against `mashq` need: checks of extensions, and a real loopback model provider that can misbehave."""

from mashq.testing.conformance import check_detector, check_executor, check_export, check_player, check_wire
from mashq.testing.fake_provider import FakeProvider

__all__ = ["FakeProvider", "check_detector", "check_executor", "check_export", "check_player", "check_wire"]
