"""A seeded statistical player: nothing real answers, time is virtual, and every output says so.

Each draw is keyed by (seed, player, item, purpose, n), so it does not depend on when or in which order it is made;
`common` leaves the player out of the key, so that equal players in equal positions behave equally. An answer's H is
the item's latent quality (shared by all draws of the item) plus noise; a review moves it towards 1.
"""

import hashlib
import json
import math
from dataclasses import dataclass

from mashq.gateway.types import PLAY, Call, Completion, Outcome, Request, Usage


@dataclass(frozen=True, slots=True)
class Parameters:
    """What a simulated player is like. Rates are probabilities; spreads are standard deviations."""

    h: float = 0.85
    h_spread: float = 0.15
    item_share: float = 0.6
    review_gain: float = 0.4
    review_spread: float = 0.1
    tokens_in: float = 600
    tokens_out: float = 120
    tokens_spread: float = 0.25
    seconds: float = 1.5
    seconds_spread: float = 0.35
    review_rate: float = 0.7
    refusal_rate: float = 0.0
    failure_rate: float = 0.0
    common: bool = False


class Draws:
    """Uniform and normal numbers from a key, without state."""

    def __init__(self, *key: object) -> None:
        self._key = "\x1f".join(str(part) for part in key).encode()

    def uniform(self, name: str) -> float:
        """A number in (0, 1)."""
        digest = hashlib.blake2b(self._key + b"\x1e" + name.encode(), digest_size=8).digest()
        return (int.from_bytes(digest) + 0.5) / 2**64

    def normal(self, name: str) -> float:
        """A standard normal number (Box-Muller)."""
        return math.sqrt(-2 * math.log(self.uniform(name))) * math.cos(2 * math.pi * self.uniform(name + "'"))


class SimulatedBackend:
    """`simulated/…`: replies drawn from Parameters."""

    durable = False
    simulated = True

    def __init__(self, parameters: Parameters, seed: int) -> None:
        self._p, self._seed = parameters, seed

    async def attempt(self, request: Request, call: Call) -> Outcome:
        """Draw a reply, its cost and its time."""
        p = self._p
        who = "" if p.common else call.player
        moment = call.round if call.purpose == "decision" else call.n
        draws = Draws(self._seed, who, call.item, call.purpose, moment, call.ask)
        tokens_in = _lognormal(p.tokens_in, p.tokens_spread, draws.normal("in"))
        tokens_out = _lognormal(p.tokens_out, p.tokens_spread, draws.normal("out"))
        seconds = round(_lognormal(p.seconds * 1000, p.seconds_spread, draws.normal("seconds")) / 1000, 3)
        usage = Usage(tokens_in, tokens_out, 0, 0)
        if draws.uniform("failure") < p.failure_rate:
            nothing = Usage(0, 0, 0, 0)
            return Outcome("http", usage=nothing, seconds=seconds, status=400, error="a simulated failure")
        if call.purpose == "decision":
            completion = Completion(self._decision(request, draws), "stop")
        elif draws.uniform("refusal") < p.refusal_rate:
            completion = Completion("", "refusal", refused=True)
        else:
            completion = self._answer(call, who)
        kind = "refused" if completion.refused else "ok"
        return Outcome(kind, completion, usage, seconds)

    def _decision(self, request: Request, draws: Draws) -> str:
        review = bool(request.facts.get("recommended")) and draws.uniform("review") < self._p.review_rate
        reply = {
            "choice": "review" if review else "continue",
            "question_id": request.facts.get("current_id"),
            "previous_id": request.facts.get("worst_id"),
        }
        return json.dumps(reply)

    def _answer(self, call: Call, who: str) -> Completion:
        """The first answer's H, then each review's in turn, up to the n asked for."""
        p = self._p
        item = Draws(self._seed, "item", call.item)
        play, step = divmod(call.n, PLAY)
        first = Draws(self._seed, who, call.item, "answer", play)
        noise = math.sqrt(p.item_share) * item.normal("h") + math.sqrt(1 - p.item_share) * first.normal("h")
        h = _clip(p.h + p.h_spread * noise)
        reviews = step + 1 if call.purpose == "review" else 0
        for n in range(reviews):
            one = Draws(self._seed, who, call.item, "review", play, n)
            h = _clip(
                h + p.review_gain * (1 - h) * one.uniform("gain") * 2 + p.review_spread * one.normal("h") * (1 - h)
            )
        text = f"[simulated answer {call.n} to {call.item}]"
        reply = {"summary": text, "answer": text, "confidence": round(h, 3), "action": "answer", "thought": ""}
        return Completion(json.dumps(reply), "stop", h=round(h, 6))

    async def close(self) -> None:
        """Nothing to let go of."""


def _lognormal(median: float, spread: float, z: float) -> int:
    return max(1, round(median * math.exp(spread * z)))


def _clip(h: float) -> float:
    return min(1.0, max(0.0, h))
