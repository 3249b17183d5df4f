"""Every error mashq raises on purpose, in one tree.

    MashqError            exit code 2: bad input, one sentence that says what, where and how to fix it
    ├── ConfigError       the configuration, or something it names, is wrong or missing
    ├── DataError         a data file is missing, empty or malformed
    │   └── TooMuch       the input exceeds a size limit (in `bounds`)
    ├── DetectorError     a detector cannot score, or scored outside [0, 1]
    ├── StoreError        the run directory cannot be read or written
    └── ProviderError     a model's first call shows that no call can succeed: key, name or quota
        └── GivenUp       a model has returned nothing usable for too long; the run stops (exit code 3)
    Stopped               exit code 3: stopped before the end; the run can be resumed

Failures of a *player* (a dead provider, a refusal, an unparsable reply) are values in the match record and are never
raised as exceptions.
"""

from collections.abc import Iterable

CLOSE = 0.6  # how alike two names must be for one to be suggested for the other


def nearest(wrong: str, known: Iterable[str]) -> str:
    """The end of a sentence about an unknown name: the name it is close to, or all known names."""
    from difflib import get_close_matches  # needed for an error only

    names = list(known)
    folded = [name.casefold().replace("_", "-") for name in names]
    close = get_close_matches(wrong.casefold().replace("_", "-"), folded, 1, CLOSE)
    if close:
        return f": did you mean {names[folded.index(close[0])]!r}?"
    return f": known are {', '.join(names)}" if names else ""


class MashqError(Exception):
    """Bad input: the message is the one sentence that the user reads."""


class ConfigError(MashqError):
    """The configuration, or something it names, is wrong or missing."""


class DataError(MashqError):
    """A data file is missing, empty or malformed."""


class DetectorError(MashqError):
    """A detector cannot score."""


class StoreError(MashqError):
    """The run directory cannot be read or written."""


class ProviderError(MashqError):
    """A model's first call shows that no call can succeed: the key is refused, the model unknown, the quota gone."""

    def __init__(self, sentence: str, model: str = "") -> None:
        super().__init__(sentence)
        self.model = model


class GivenUp(ProviderError):
    """A model has returned nothing usable for too long: the run stops, and can be resumed when the model answers
    again."""


class Stopped(Exception):
    """The match was stopped before its end; results already paid for are kept, and the run can be resumed."""
