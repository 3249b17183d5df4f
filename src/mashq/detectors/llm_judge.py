"""`detector: llm-judge:PROVIDER/MODEL`: any model behind the gateway as a judge or guide.

Its attempts are in the ledger under the referee's name: recorded, reported, never charged to a player. A verdict that
cannot be parsed is requested once more, unless it was cut off; after that there is no verdict, and the answer
counts as failed.
"""

from mashq.detectors import verdicts
from mashq.detectors.base import NoVerdict, Pair
from mashq.gateway.model import Endpoint, Failure, Model
from mashq.gateway.types import REFEREE, Call, Clock, Ledger, Message


class LlmJudge:
    """Scores by asking a model."""

    def __init__(self, endpoint: Endpoint, ledger: Ledger, clock: Clock, match: str, seed: int) -> None:
        self._endpoint, self._ledger, self._clock = endpoint, ledger, clock
        self._match, self._seed = match, seed

    async def score(self, pair: Pair, round_: int = 0, item: str | None = None) -> float:
        """Return H of one answer; raises NoVerdict when the judge gives no verdict."""
        if not pair.answer.strip():
            return 0.0
        prompt, schema = verdicts.question(pair)
        call = Call(self._match, round_, REFEREE, item, verdicts.purpose(prompt))
        model = Model(self._endpoint, self._ledger, self._clock, call, self._seed)
        excerpt = ""
        for _ in range(2):
            reply = await model.ask([Message("user", prompt)], schema=schema)
            if isinstance(reply, Failure):
                raise NoVerdict(f"the judge failed: {reply.error}")
            h = None if reply.refused else verdicts.verdict(pair, reply.text)
            if h is not None:
                return h
            if reply.cut:
                raise NoVerdict(f"the judge's reply was {reply.cut}")
            excerpt = reply.text[:120]
        raise NoVerdict(f"the judge's reply is no verdict: {excerpt!r}")

    def close(self) -> None:
        """Do nothing: the endpoint is closed by its creator."""


def model_of(detector: str) -> str | None:
    """Return the model in a detector's name `llm-judge:MODEL`, or None for another detector."""
    kind, colon, model = detector.partition(":")
    return model if kind == verdicts.NAME and colon else None
