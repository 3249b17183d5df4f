"""What tests against `mashq` need: a real loopback model provider that can misbehave on the wire."""

from mashq.testing.conformance import check_detector, check_player
from mashq.testing.fake_provider import FakeProvider

__all__ = ["FakeProvider", "check_detector", "check_player"]
