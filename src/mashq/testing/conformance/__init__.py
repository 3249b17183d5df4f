"""Conformance checks for authors of extensions, one for each kind.

    from mashq.testing import check_player
    async def test_my_player() -> None:
        await check_player(MyPlayer())

Each raises AssertionError with a message that says what is wrong.
"""

from mashq.testing.conformance.detectors import check_detector
from mashq.testing.conformance.executors import check_executor
from mashq.testing.conformance.exports import check_export
from mashq.testing.conformance.players import check_player
from mashq.testing.conformance.wires import check_wire

__all__ = ["check_detector", "check_executor", "check_export", "check_player", "check_wire"]
