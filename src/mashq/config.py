"""The YAML a user writes, checked strictly: unknown and duplicate keys are errors that name the nearest right one."""

import difflib
import json
import types
import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self, cast
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from mashq.errors import ConfigError
from mashq.protocol.resources import RESOURCES
from mashq.protocol.rules import SHOWABLE, order_of

MOST_VALUES = 1_000_000
Resource = Literal["tokens", "calls", "reviews", "seconds", "dollars"]
Shown = Literal["average_h", "worst_h", "items_done", "tokens", "calls", "reviews", "seconds"]


class Strict(BaseModel):
    """No unknown keys, no silent conversions."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class TaskConfig(Strict):
    """What is worked on."""

    kind: Literal["summarise", "qa"] = "summarise"
    data: str = "builtin"
    limit: int | None = Field(default=None, ge=1)
    sample: int | None = Field(default=None, ge=1)
    text: str | None = None
    id: str = "id"
    answer: str | None = None

    @model_validator(mode="after")
    def _questions_need_data(self) -> Self:
        if self.kind == "qa" and self.data == "builtin":
            raise ValueError("the qa task has no built-in questions: name a file with task.data")
        return self


class BudgetConfig(Strict):
    """What may be spent at most."""

    tokens: float | None = Field(default=None, ge=0)
    calls: float | None = Field(default=None, ge=0)
    reviews: float | None = Field(default=None, ge=0)
    seconds: float | None = Field(default=None, ge=0)
    dollars: float | None = Field(default=None, ge=0)


class PlayerConfig(Strict):
    """A contestant."""

    name: str = Field(min_length=1, max_length=80)
    agent: str = "q-agent"
    model: str
    policy: Literal["llm", "rule", "bayes"] = "llm"
    n: int = Field(default=4, ge=1, le=100)
    to: str | None = None
    order: str | None = None
    prompts: str | None = None
    T: float | None = Field(default=None, ge=0, le=1)
    R: int | None = Field(default=None, ge=0, le=1000)
    review_cost: float | None = Field(default=None, ge=0)
    budget: BudgetConfig | None = None
    command: str | list[str] | None = None
    url: str | None = None
    env: list[str] = []
    directory: str | None = None
    turn_timeout: float = Field(default=300.0, gt=0)

    @model_validator(mode="after")
    def _external(self) -> Self:
        ways = (self.command is not None) + (self.url is not None)
        if self.agent == "external" and ways != 1:
            raise ValueError(f"player {self.name!r} is external: give it either a command or a url")
        if self.agent != "external" and ways:
            raise ValueError(f"player {self.name!r} has a command or a url: only an 'agent: external' takes one")
        return self

    @field_validator("order")
    @classmethod
    def _known_order(cls, value: str | None) -> str | None:
        if value is not None:
            order_of(value, 1, (0,))
        return value


class VisionConfig(Strict):
    """What rivals see."""

    when: Literal["never", "review", "always"] = "review"
    show: list[Shown] = list(SHOWABLE)
    keep: Literal["fresh", "latest"] = "fresh"


class RulesConfig(Strict):
    """The rules of the match."""

    turn: Literal["cycle", "single"] = "cycle"
    T: float = Field(default=0.85, ge=0, le=1)
    R: int = Field(default=3, ge=0, le=1000)
    keep: Literal["latest", "better"] = "latest"
    review_cost: float = Field(default=0.01, ge=0)
    vision: VisionConfig = VisionConfig()
    budget: BudgetConfig = BudgetConfig()
    shared_budget: BudgetConfig = BudgetConfig()
    show_seconds: bool = True


class ScoreConfig(Strict):
    """How the match is scored."""

    alpha: float = Field(default=1.0, gt=0)
    beta: float | None = Field(default=None, ge=0)
    resources: list[Resource] = ["tokens", "calls", "reviews", "seconds"]
    weights: dict[Resource, float] = {}
    normalise: Literal["match"] | dict[Resource, float] = "match"
    refusals: Literal["intersection", "penalised", "answered"] = "intersection"

    @model_validator(mode="after")
    def _positive(self) -> Self:
        reference = {} if self.normalise == "match" else self.normalise
        stray = sorted(set(self.weights) - set(self.resources))
        if stray:
            raise ValueError(f"weights names {stray[0]}, which resources does not list: add it there")
        if len(set(self.resources)) < len(self.resources):
            raise ValueError("resources lists one of them twice")
        for name, number in [*self.weights.items(), *reference.items()]:
            if not 0 < number < float("inf"):
                raise ValueError(f"the {name} of weights and normalise must be positive numbers, not {number}")
        return self


class PriceConfig(Strict):
    """Dollars a million tokens."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cached: float | None = Field(default=None, ge=0)


class RetryConfig(Strict):
    """How often and how patiently an attempt is repeated."""

    attempts: int = Field(default=5, ge=1, le=50)
    base: float = Field(default=0.5, ge=0)
    cap: float = Field(default=20.0, ge=0)
    retry_after_cap: float = Field(default=60.0, ge=0)


def _ascending(values: list[float], what: str = "the values of a table") -> list[float]:
    if values != sorted(values):
        raise ValueError(f"{what} must be in ascending order")
    return values


Rate = Annotated[float, Field(ge=0, le=1)]
Table = Annotated[list[Annotated[float, Field(ge=0, le=1e9)]], AfterValidator(_ascending)]
Scores = Annotated[list[Rate], Field(min_length=1), AfterValidator(_ascending)]


class ToldConfig(Strict):
    """What is said of answers with an H of at most `up_to`."""

    up_to: Rate
    values: Scores


class CallsConfig(Strict):
    """What calls of one purpose cost."""

    tokens_in: Table = []
    tokens_out: Table = []
    seconds: Table = []
    in_share: Rate = 0.0
    out_share: Rate = 0.0
    follow: float = Field(default=0.0, ge=-1, le=1)
    again: Rate = 0.0


class SimulateConfig(Strict):
    """What a simulated model is like."""

    h: float = Field(default=0.85, ge=0, le=1)
    h_spread: float = Field(default=0.15, ge=0, le=10)
    item_share: float = Field(default=0.6, ge=0, le=1)
    review_gain: float = Field(default=0.4, ge=0, le=1)
    review_spread: float = Field(default=0.1, ge=0, le=10)
    tokens_in: float = Field(default=600, gt=0, le=1e7)
    tokens_out: float = Field(default=120, gt=0, le=1e7)
    tokens_spread: float = Field(default=0.25, ge=0, le=3)
    seconds: float = Field(default=1.5, gt=0, le=1e5)
    seconds_spread: float = Field(default=0.35, ge=0, le=3)
    review_rate: float = Field(default=0.7, ge=0, le=1)
    refusal_rate: float = Field(default=0.0, ge=0, le=1)
    failure_rate: float = Field(default=0.0, ge=0, le=1)
    common: bool = False
    h_values: Annotated[list[Rate], AfterValidator(_ascending)] = []
    rewrites: list[Annotated[list[Rate], Field(min_length=2, max_length=2)]] = []
    rewrite_share: Rate = 0.0
    keeps_better: bool = False
    confidence: list[ToldConfig] = []
    review_anyway: Rate = 0.0
    end_rate: Rate = 0.0
    refusal_share: Rate = 0.0
    retry_rate: Rate = 0.0
    scale: float = Field(default=1.0, gt=0, le=1000)
    calls: dict[Literal["answer", "decision", "review", "failed"], CallsConfig] = {}

    @model_validator(mode="after")
    def _up_to_in_order(self) -> Self:
        _ascending([before for before, _ in self.rewrites], "the H before of rewrites")
        _ascending([row.up_to for row in self.confidence], "the up_to of confidence")
        return self


class ModelConfig(Strict):
    """How a model is reached and asked."""

    base_url: str | None = None
    api_key_env: str | None = None
    api_key_file: str | None = None
    wire: Literal["openai", "anthropic"] | None = None
    json_mode: Literal["schema", "object", "none"] | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | Literal["auto"] | None = "auto"
    max_tokens: int = Field(default=512, ge=1, le=10_000_000)
    timeout: float = Field(default=120.0, gt=0, le=86_400)
    concurrency: int = Field(default=8, ge=1, le=100_000)
    requests_per_minute: float | None = Field(default=None, gt=0)
    retry: RetryConfig = RetryConfig()
    price: PriceConfig | None = None
    headers: dict[str, Annotated[str, Field(pattern=r"^[\x20-\x7e]*$")]] = {}
    extra: dict[str, Any] = {}
    threads: int | None = Field(default=None, ge=1)
    context: int = Field(default=4096, ge=256, le=10_000_000)
    simulate: SimulateConfig = SimulateConfig()

    @model_validator(mode="after")
    def _no_secrets(self) -> Self:
        """Keys come from the environment; what stands here is kept in every run's manifest."""
        for name in self.headers:
            if name.lower() in ("authorization", "x-api-key", "api-key", "proxy-authorization"):
                raise ValueError(f"the header {name} would store a secret: name its variable with api_key_env")
        if self.api_key_env is not None and self.api_key_file is not None:
            raise ValueError("api_key_env and api_key_file exclude each other: keep one")
        if self.base_url is not None and "@" in urlsplit(self.base_url).netloc:
            raise ValueError("base_url holds a user or password: name the key's variable with api_key_env")
        return self


class Config(Strict):
    """A whole match."""

    task: TaskConfig = TaskConfig()
    players: list[PlayerConfig] = Field(min_length=1)
    detector: str | None = None
    guide: str | None = None
    rules: RulesConfig = RulesConfig()
    score: ScoreConfig = ScoreConfig()
    models: dict[str, ModelConfig] = {}
    ahead: int = Field(default=0, ge=0, le=1000)
    seed: int = Field(default=0, ge=0, lt=2**63)

    @model_validator(mode="after")
    def _names_are_unique(self) -> Self:
        names = [player.name for player in self.players]
        if "referee" in names:
            raise ValueError("no player can be called 'referee': the ledger keeps that name for the judge")
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"two players are called {twice[0]!r}: give every player its own name")
        return self

    @property
    def judge(self) -> str:
        """The detector that decides the score."""
        return self.detector or ("simpleqa" if self.task.kind == "qa" else "grounding")

    @property
    def guided_by(self) -> str:
        """What players are told: `judge` (the same scores), `confidence` (their own), or a detector's name."""
        return self.guide or ("confidence" if self.task.kind == "qa" else "judge")

    @property
    def beta(self) -> float:
        """The weight of P: 0.1, and 0.001 where an answer is right or wrong."""
        if self.score.beta is not None:
            return self.score.beta
        return 0.001 if self.task.kind == "qa" else 0.1

    def model(self, name: str) -> ModelConfig:
        """The settings of a model, defaults when the file says nothing of it."""
        return self.models.get(name, ModelConfig())


def load(path: Path, overrides: Sequence[str] = ()) -> Config:
    """Read a configuration file and apply `key=value` overrides."""
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        raise ConfigError(f"{path} does not exist: 'mashq init' writes one to start from") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read ({error}): it must be UTF-8 text that you may read") from None
    return parse(text, str(path), overrides)


def parse(text: str, source: str, overrides: Sequence[str] = ()) -> Config:
    """A configuration from YAML text; `source` names it in errors."""
    document = _yaml(text, source)
    if not isinstance(document, dict):
        raise ConfigError(f"{source} holds no configuration: it must be a mapping with 'players'")
    try:
        plain = cast(dict[str, Any], _plain(cast(object, document)))
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigError(
            f"{source} holds something no setting can be ({error}): use plain keys and values"
        ) from None
    for override in overrides:
        _override(plain, override)
    return check(plain, source)


def check(document: Mapping[str, Any], source: str = "the configuration") -> Config:
    """Validate plain data."""
    for text in _texts(document):
        if "\0" in text or (not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text)):
            raise ConfigError(f"{source}: {text[:80]!r} holds a character that no file can hold: leave it out")
    try:
        return Config.model_validate(document)
    except ValidationError as error:
        raise ConfigError(f"{source}: {_sentence(error)}") from None


def changed(config: Config, settings: Iterable[tuple[str, Any]]) -> Config:
    """The configuration with some settings changed, each named as `--set` names it."""
    document = config.model_dump(mode="json")
    for path, value in settings:
        _place(document, path, value, f"--over {path}={value}")
    return check(document, "--over")


def values_of(option: str) -> tuple[str, list[Any]]:
    """`rules.T=0.8,0.9` as the setting's name and its values, each read as YAML."""
    path, equals, text = option.partition("=")
    found = _yaml(f"[{text}]", f"--over {path}") if equals and path else None
    if not isinstance(found, list) or not found:
        raise ConfigError(f"--over {option!r}: write it as key=value,value, for example rules.T=0.8,0.9")
    try:
        return path, cast(list[Any], _plain(cast(object, found)))
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigError(f"--over {path} holds something no setting can be ({error}): use plain values") from None


def _plain(document: object) -> object:
    """The same as JSON would have it. Aliases are written out, so what they come to is counted before."""
    left, values = [document], 0
    while left:
        values += 1
        if values > MOST_VALUES:
            raise ValueError(f"more than {MOST_VALUES:,} values, or one that holds itself")
        here = left.pop()
        left += (
            cast(dict[object, object], here).values()
            if isinstance(here, dict)
            else cast(list[object], here)
            if isinstance(here, list)
            else ()
        )
    return json.loads(json.dumps(document, default=str))


def _texts(document: object) -> Iterator[str]:
    """Every text in plain data, keys included."""
    if isinstance(document, str):
        yield document
    elif isinstance(document, Mapping):
        for key, value in cast(Mapping[object, object], document).items():
            yield from _texts(key)
            yield from _texts(value)
    elif isinstance(document, list | tuple):
        for value in cast(Sequence[object], document):
            yield from _texts(value)


def _yaml(text: str, source: str) -> object:
    try:
        return YAML(typ="safe", pure=True).load(text)  # pyright: ignore[reportUnknownMemberType]
    except MarkedYAMLError as error:
        marked: Any = error
        mark = marked.problem_mark or marked.context_mark
        where = "" if mark is None else f" line {mark.line + 1}"
        raise ConfigError(f"{source}{where}: {' '.join(str(marked.problem).split())}") from None
    except (YAMLError, ValueError, RecursionError) as error:
        raise ConfigError(f"{source} is not YAML: {' '.join(str(error).split())[:200]}") from None


def _override(document: dict[str, Any], override: str) -> None:
    """Apply `a.b.c=value`; the value is read as YAML, list places are numbers, a dotted model name is found whole."""
    path, equals, value = override.partition("=")
    if not equals or not path:
        raise ConfigError(f"--set {override!r}: write it as key=value, for example rules.T=0.9")
    _place(document, path, _yaml(value, f"--set {path}"), f"--set {override}")


def _place(document: dict[str, Any], path: str, parsed: object, option: str) -> None:
    """Put a value where a dotted path says."""
    here: Any = document
    left = path
    while True:
        key, left = _next_key(here, left)
        if isinstance(here, list):
            places = cast(list[Any], here)
            if not key.isdigit() or int(key) >= len(places):
                raise ConfigError(f"{option!r}: {key!r} must be a place from 0 to {len(places) - 1}")
            if not left:
                places[int(key)] = parsed
                return
            here = places[int(key)]
        elif isinstance(here, dict):
            mapping = cast(dict[str, Any], here)
            if not left:
                mapping[key] = parsed
                return
            here = mapping.setdefault(key, {})
        else:
            raise ConfigError(f"{option!r}: {path.removesuffix('.' + left)!r} is not a mapping or a list")


def _next_key(here: object, path: str) -> tuple[str, str]:
    """Split the first key off a dotted path, the longest key already there first."""
    if isinstance(here, dict):
        for known in sorted(cast(dict[str, Any], here), key=len, reverse=True):
            if path == known or path.startswith(known + "."):
                return known, path[len(known) + 1 :]
    key, _, left = path.partition(".")
    return key, left


def _sentence(error: ValidationError) -> str:
    """The first problem as one sentence: where, what, and the nearest right key."""
    first = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"]) or "the file"
    more = error.error_count() - 1
    tail = f" (and {more} more)" if more else ""
    if first["type"] == "extra_forbidden":
        known = _keys_at(first["loc"][:-1])
        return f"unknown key {where!r}{nearest(str(first['loc'][-1]), known)}{tail}"
    if first["type"] == "missing":
        return f"{where!r} is missing{tail}"
    message = first["msg"].removeprefix("Value error, ")
    given = first.get("input")
    shown = f", not {given!r}" if isinstance(given, str | int | float | bool) and first["loc"] else ""
    if not first["loc"]:
        return message + tail
    return f"{where!r}: {message[0].lower()}{message[1:]}{shown[:120]}{tail}"


def nearest(wrong: str, known: Sequence[str]) -> str:
    """A hint: the nearest right name, or all of them."""
    close = difflib.get_close_matches(wrong, known, 1, 0.5)
    if close:
        return f": did you mean {close[0]!r}?"
    return f": known are {', '.join(known)}" if known else ""


def _keys_at(loc: tuple[int | str, ...]) -> list[str]:
    """The keys a mapping at this place may have."""
    model: Any = Config
    for part in loc:
        if isinstance(part, str) and isinstance(model, type) and issubclass(model, BaseModel):
            field = model.model_fields.get(part)
            model = field.annotation if field is not None else None
        model = _inner(model)
    return list(model.model_fields) if isinstance(model, type) and issubclass(model, BaseModel) else []


def _inner(annotation: Any) -> Any:
    """The model inside a list, a dict's values or an optional."""
    origin = typing.get_origin(annotation)
    if origin in (list, dict, typing.Union, types.UnionType):
        models = [_inner(arg) for arg in typing.get_args(annotation) if arg is not type(None)]
        return models[-1] if models else None
    return annotation


assert set(typing.get_args(Resource)) == set(RESOURCES)
