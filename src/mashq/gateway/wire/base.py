"""What a wire format is: the requests and replies of one provider API, as pure functions over JSON documents.

`Wire` is what the client needs to ask a model; its `served`, where it has one, is what the metering endpoint needs to
be asked in that format. When the agent's format is also the model's, requests and replies pass through as they are;
otherwise they are translated by way of `Request` and `Completion`. Nothing here reads a clock or a socket.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from mashq.gateway.types import Completion, Kind, Request, Usage

Decoded = tuple[Completion, Usage] | str
RouteKind = Literal["chat", "embeddings", "models"]
PASSED, STREAMED, DIGESTED = (
    " passed",
    " stream",
    " digest",
)  # after a format's name: how the ledger has a reply in it


@dataclass(frozen=True, slots=True)
class Options:
    """Where endpoints differ: how JSON is asked for, what the output limit is called, whether a seed is taken, and
    whether a stream has to be asked for its usage."""

    json: Literal["schema", "object", "none"] = "none"
    max_tokens_key: str = "max_tokens"
    seed: bool = True
    stream_usage: bool = True
    extra: Mapping[str, object] | None = None


class BadRequest(ValueError):
    """A request that is not passed on; the sentence goes back to the agent."""


@dataclass(frozen=True, slots=True)
class Route:
    """A path the endpoint serves: a regular expression below the player's address. Its named groups are kept, and so
    are the parameters of the query that it names."""

    kind: RouteKind
    method: Literal["GET", "POST"]
    path: str
    query: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Asked:
    """What an agent asks for. `tokens_out` is the most it can be billed for, None when its `choices` have no limit;
    `usage_wanted`: in its stream, too; `draws_on` names what it has the provider read beside itself."""

    kind: RouteKind
    document: Mapping[str, object]
    tokens_out: int | None
    model: str = ""  # as the agent named it; not necessarily the one that answers
    stream: bool = False
    usage_wanted: bool = False
    groups: Mapping[str, str] = field(default_factory=dict[str, str])  # of the route's path and query
    choices: int = 1
    draws_on: str = ""
    listed: bool = False  # the reply is wanted as the one entry of a list


@dataclass(frozen=True, slots=True)
class Answered:
    """A reply to write in an agent's format."""

    completion: Completion
    usage: Usage
    model: str
    id: str


class StreamReader(Protocol):
    """What the events of one stream amount to."""

    @property
    def usage(self) -> Usage:
        """The usage so far, as billed."""
        ...

    def take(self, event: bytes) -> bool:
        """Read one event; whether the agent is to see it."""
        ...

    def ending(self) -> tuple[Kind, Completion | None, str]:
        """At the end: the kind of outcome, the reply, and what was wrong."""
        ...


class Served(Protocol):
    """A wire format as the metering endpoint serves it."""

    @property
    def format(self) -> str:
        """Its name: a request passes through to a model whose wire has the same."""
        ...

    @property
    def routes(self) -> Sequence[Route]:
        """The paths it is asked at."""
        ...

    @property
    def token_headers(self) -> Sequence[str]:
        """Where clients put their key; `Authorization` means after the word Bearer."""
        ...

    @property
    def passed_headers(self) -> Sequence[str]:
        """The headers of an agent's request that are sent on: never one that holds a key."""
        ...

    def variables(self, address: str, token: str) -> dict[str, str]:
        """The environment variables that lead clients of this format to the endpoint, with the token in one."""
        ...

    def read(self, kind: RouteKind, groups: Mapping[str, str], body: bytes) -> Asked:
        """The request in a body, or BadRequest."""
        ...

    def target(self, asked: Asked, model: str) -> str:
        """Where the request goes, below the model's base URL."""
        ...

    def upstream(self, asked: Asked, model: str, limit: int | None, options: Options) -> bytes:
        """The body as it is sent on: as it came, but for the model, asking for usage, and the output limit of each
        choice where it has none and a budget needs one."""
        ...

    def noted(self, asked: Asked) -> Request:
        """The request as the ledger keeps it: every message as text, the longest cut."""
        ...

    def as_request(self, asked: Asked, limit: int | None, temperature: float | None) -> Request:
        """The request for a model of another format, with `limit` where it has none, or BadRequest when it asks for
        more than text."""
        ...

    def decode(self, asked: Asked, document: object) -> Decoded:
        """A reply that is passed on; one that calls tools says no words and is no refusal."""
        ...

    def reader(self, asked: Asked) -> StreamReader:
        """For a stream that is passed on."""
        ...

    def reply(self, answered: Answered) -> dict[str, object]:
        """A reply of another model in this format."""
        ...

    def events(self, answered: Answered, asked: Asked) -> bytes:
        """The same as a whole stream of server-sent events."""
        ...

    def models(self, name: str) -> dict[str, object]:
        """The list of the one model there is."""
        ...

    def problem(self, status: int, message: str) -> dict[str, object]:
        """An error in the form that clients of this format read."""
        ...


class Wire(Protocol):
    """A wire format."""

    @property
    def served(self) -> Served | None:
        """The format as the metering endpoint serves it; None when it does not."""
        ...

    def path(self, model: str) -> str:
        """Where requests go, below the base URL."""
        ...

    def headers(self, key: str | None) -> dict[str, str]:
        """The headers of a request."""
        ...

    def encode(self, model: str, request: Request, options: Options) -> dict[str, object]:
        """The JSON body of a request."""
        ...

    def decode(self, document: object) -> Decoded:
        """The reply and its usage, or a sentence saying what is wrong with it."""
        ...

    def usage(self, document: object) -> Usage:
        """The usage that a reply states, an error's included; `Usage()` where it states none."""
        ...
