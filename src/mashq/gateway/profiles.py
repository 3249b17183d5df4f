"""What a model takes: from the file `profiles.toml`, and from what its provider says while a run is played.

    profile = profile_of("openai/gpt-5", "openai")      what is known beforehand
    experience.lesson(outcome, request, profile)        what a 400 says that the model does not take

Only the fields that the file lists as optional are ever left out of a request, and only those that were in it.
"""

import re
import tomllib
from dataclasses import dataclass, field, fields
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import Any, Literal, cast

from mashq.gateway.types import Outcome, Request

Field = Literal["temperature", "seed", "schema", "limit", "stream_options"]
LARGEST = 131_072  # the longest output of a model of which nothing is known, in tokens
REJECTED = (400, 422)
_NUMBER = re.compile(r"(?<![\w.])\d{2,9}(?![\w.]*\d)")


@dataclass(frozen=True, slots=True)
class Profile:
    """What a model takes. See `profiles.toml`, which says what each field means."""

    temperature: bool = True
    seed: bool = True
    json: Literal["schema", "object", "none"] = "none"
    limit_field: str = "max_tokens"
    limit: int | None = None
    largest: int = LARGEST
    reasoning: bool = False
    stream_options: bool = True
    requires: tuple[str, ...] = ()

    @property
    def sent_limit(self) -> int | None:
        """The output limit to send when nobody sets one: none, unless the provider insists."""
        return None if self.limit is None else min(self.limit, self.largest)


@cache
def profile_of(name: str, wire: str) -> Profile:
    """The profile of a model, `provider/model`, that is asked in a wire format."""
    known: dict[str, Any] = {}
    for row in _document()["models"]:
        matches = any(fnmatchcase(name.lower(), pattern) for pattern in row["match"])
        if matches and wire in row.get("wire", (wire,)):
            known |= {key: tuple(value) if key == "requires" else value for key, value in row.items()}
    return Profile(**{own.name: known[own.name] for own in fields(Profile) if own.name in known})


@cache
def optional_fields() -> dict[Field, tuple[str, ...]]:
    """The fields that may be left out of a request, with the names providers have for them."""
    return {cast(Field, name): tuple(words) for name, words in _document()["optional"].items()}


SILENCE = 60.0  # seconds without a reply that are worth a word


@dataclass(frozen=True, slots=True)
class Lesson:
    """That a model does not take a field, or an output limit of at most `limit`; in the provider's words."""

    field: Field
    limit: int | None
    why: str


@dataclass(slots=True)
class Ending:
    """Why a run ends: the sentence about a model that will answer nobody, and its name; None while it goes on.

    `given_up`: it did answer, or may again; the run can be gone on with when it does.
    """

    why: tuple[str, str] | None = None
    given_up: bool = False


@dataclass(slots=True)
class Health:
    """How a model has been lately: `usable` replies so far; `silent`: attempts in a row without one, how many of them
    were `certain` to be the provider's doing, since when, and what the last one met; how many attempts are `waiting`,
    and when anything was sent or heard last."""

    usable: int = 0
    silent: int = 0
    certain: int = 0
    since: float = 0.0
    last_error: str = ""
    waiting: int = 0
    heard: float = 0.0

    def sent(self, now: float) -> None:
        """An attempt has left."""
        self.heard = self.heard if self.waiting else now
        self.waiting += 1

    def back(self, outcome: Outcome, now: float, *, counts: bool = True, certain: bool = True) -> None:
        """It has come back, with whatever; `counts`: towards giving the model up, `certain`: by its number alone."""
        self.waiting, self.heard = max(self.waiting - 1, 0), now
        if outcome.completion is not None:
            self.usable, self.silent, self.certain, self.last_error = self.usable + 1, 0, 0, ""
        elif counts:
            self.since = self.since if self.silent else now
            self.silent, self.last_error = self.silent + 1, outcome.error
            self.certain += certain

    def told(self, now: float) -> str:
        """What is wrong with it, if anything is."""
        if self.waiting and now - self.heard >= SILENCE:
            return f"no reply for {now - self.heard:.0f} s ({self.waiting} under way)"
        if self.silent:
            return f"{self.silent} attempts without a usable reply for {now - self.since:.0f} s: {self.last_error}"
        return ""


@dataclass(slots=True)
class Experience:
    """What a run has learnt of a model: whether it ever answered, and what it does not take. Its first call may say
    that it will answer nobody: then all models of the run know that it ends."""

    ending: Ending = field(default_factory=Ending)
    answered: bool = False
    lessons: dict[Field, Lesson] = field(default_factory=dict[Field, Lesson])
    health: Health = field(default_factory=Health)

    def left_out(self, name: Field) -> bool:
        """Whether a field is not to be sent."""
        lesson = self.lessons.get(name)
        return lesson is not None and lesson.limit is None

    def limited(self, limit: int | None) -> int | None:
        """An output limit as the model takes it; None where it takes none at all."""
        lesson = self.lessons.get("limit")
        if lesson is None or limit is None:
            return limit
        return None if lesson.limit is None else min(limit, lesson.limit)


def lesson_of(outcome: Outcome, request: Request, profile: Profile) -> Lesson | None:
    """What an error says that the model does not take of a request; None when it says no such thing."""
    sent = {
        "temperature": request.temperature is not None,
        "seed": request.seed is not None and profile.seed,
        "schema": request.schema is not None and profile.json != "none",
        "limit": request.max_tokens is not None,
    }
    for name in optional_fields():
        if not sent.get(name) or not turned_down(name, outcome):
            continue
        if name not in profile.requires:
            return Lesson(name, None, outcome.error)
        if name == "limit" and request.max_tokens is not None:
            most = _smaller(outcome.error, request.max_tokens)
            if most is not None:
                return Lesson(name, most, outcome.error)
    return None


def turned_down(name: Field, outcome: Outcome) -> bool:
    """Whether an outcome is the provider's rejection of a request that names this field of it."""
    return outcome.kind == "http" and outcome.status in REJECTED and _named(optional_fields()[name], outcome.error)


def _named(words: tuple[str, ...], sentence: str) -> bool:
    return any(re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", sentence, re.IGNORECASE) for word in words)


def _smaller(sentence: str, limit: int) -> int | None:
    """The largest number in a sentence that is below a limit: what a provider says it allows."""
    said = sentence.partition(": ")[2].replace(",", "")  # without the status
    numbers = [int(found) for found in _NUMBER.findall(said)]
    return max((number for number in numbers if 256 <= number < limit), default=None)


@cache
def _document() -> dict[str, Any]:
    return tomllib.loads(files("mashq.gateway").joinpath("profiles.toml").read_text("utf-8"))
