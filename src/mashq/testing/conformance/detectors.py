"""`check_detector`: odd and ordinary pairs, in any order."""

import math
from typing import cast

from mashq.detectors.base import Detector, Pair
from mashq.testing.conformance.players import PASSAGE


def check_detector(detector: object, *, quick: bool = False) -> None:
    """Score odd and ordinary pairs; every H must be in [0, 1] and not depend on the order or on the other pairs.

    `quick` leaves out the answer of 20,000 letters, which takes a neural detector seconds.
    """
    scorer = cast(Detector, detector)
    assert scorer.name and scorer.version, "a detector needs a name and a version"
    answers = (
        "A ferry sank on 3 May.",
        "",
        "🚢" * 50,
        "Паром затонул.",
        *(() if quick else ("x" * 20_000,)),
        PASSAGE,
        "\x00\ud7ff\n\t",
        "no",
    )
    pairs = [Pair(PASSAGE, answer, "12") for answer in answers]
    scores = scorer.score(pairs)
    assert len(scores) == len(pairs), f"{len(pairs)} pairs were given and {len(scores)} scores came back"
    for pair, h in zip(pairs, scores, strict=True):
        assert math.isfinite(h) and 0 <= h <= 1, f"{h} for {pair.answer[:40]!r} is not a score in [0, 1]"
    assert scorer.score(pairs[::-1]) == scores[::-1], "the order of the pairs changes the scores"
    alone = [scorer.score([pair])[0] for pair in pairs]
    assert all(abs(a - b) < 0.01 for a, b in zip(alone, scores, strict=True)), "company changes the scores"
    assert scorer.score([]) == [], "no pairs should give no scores"
