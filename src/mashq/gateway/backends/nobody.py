"""`none/none`: what a player that asks nobody is set on. Being asked is a failure, and costs nothing."""

from mashq.gateway.types import Call, Outcome, Request, Usage


class NobodyBackend:
    """Answers nothing."""

    durable = False
    simulated = False

    async def attempt(self, request: Request, call: Call) -> Outcome:
        """A failure."""
        error = f"player {call.player!r} has no model: name one with 'model'"
        return Outcome("missing", usage=Usage(0, 0, 0, 0), seconds=0.0, error=error)

    async def close(self) -> None:
        """Nothing to let go of."""
