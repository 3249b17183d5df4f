"""Every configuration setting with its type, default and allowed values."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationInfo,
    create_model,
    field_validator,
    model_validator,
)

from mashq.config import secrets
from mashq.protocol.content import LONGEST
from mashq.protocol.items import PassageOrder
from mashq.protocol.resources import COUNTED, MAX_COST, RESOURCES
from mashq.protocol.rules import SHOWABLE, TELLS, order_of

STORED = "stored"  # the context in which a run's own configuration is validated: what it stores is no longer refused
NO_MODEL = "none/none"  # the model of a player that calls no model


class Strict(BaseModel):
    """Base model: no unknown keys, no implicit conversions."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class PassagesConfig(Strict):
    """Which passages of a question are shown: the first so many, as many as so many characters hold, in an order."""

    limit: int | None = Field(default=None, ge=1)
    length: int | None = Field(default=None, ge=1)
    order: PassageOrder = "given"


class TaskConfig(Strict):
    """What is worked on."""

    kind: Literal["summarise", "qa", "rag"] = "summarise"
    data: str = "builtin"
    limit: int | None = Field(default=None, ge=1)
    sample: int | None = Field(default=None, ge=1)
    text: str | None = None
    id: str = "id"
    answer: str | None = None
    words: Annotated[list[Annotated[int, Field(ge=1, le=100_000)]], Field(min_length=2, max_length=2)] | None = None
    map: dict[Literal["id", "text", "question", "reference", "passages", "answerable", "evidence"], str] = {}
    passages: PassagesConfig = PassagesConfig()
    abstention: float = Field(default=0.0, ge=0, le=1)

    @model_validator(mode="after")
    def _length_in_order(self) -> Self:
        if self.words is not None and self.words[0] > self.words[1]:
            raise ValueError(f"words asks for at least {self.words[0]} and at most {self.words[1]}: swap them")
        return self

    @model_validator(mode="after")
    def _only_with_passages(self) -> Self:
        if self.kind != "rag":
            stray = [name for name in ("passages", "answerable", "evidence") if name in self.map]
            if stray:
                raise ValueError(f"map names {stray[0]}, which only the rag task has: set task.kind to rag")
            if self.passages != PassagesConfig() or self.abstention:
                raise ValueError("passages and abstention are settings of the rag task: set task.kind to rag")
        if "text" in self.map and "question" in self.map:
            raise ValueError("map names text and question, which are the same: keep one")
        return self

    @model_validator(mode="after")
    def _questions_need_data(self) -> Self:
        if self.kind == "qa" and self.data == "builtin":
            raise ValueError("the qa task has no built-in questions: name a file with task.data")
        return self


def _one_of(names: Sequence[str]) -> AfterValidator:
    """Validate a name against a list computed at run time, as a Literal of its names would."""

    def check(name: str) -> str:
        if name not in names:
            raise ValueError(f"it must be {', '.join(map(repr, names[:-1]))} or {names[-1]!r}")
        return name

    return AfterValidator(check)


Resource = Annotated[str, _one_of(RESOURCES), Field(json_schema_extra={"enum": list(RESOURCES)})]
Telling = Annotated[str, _one_of(TELLS), Field(json_schema_extra={"enum": list(TELLS)})]
Shown = Annotated[str, _one_of(SHOWABLE), Field(json_schema_extra={"enum": list(SHOWABLE)})]


class Limits(Strict):
    """What may be spent at most: a limit for each resource of the table, none by default."""

    def limits(self) -> dict[str, float | None]:
        """The limit of each resource; None means no limit."""
        return self.model_dump()


if TYPE_CHECKING:
    BudgetConfig = Limits
else:
    _LIMIT = (float | None, Field(default=None, ge=0))
    BudgetConfig = create_model("BudgetConfig", __base__=Limits, **dict.fromkeys(RESOURCES, _LIMIT))


class PlayerConfig(Strict):
    """A contestant."""

    name: str = Field(min_length=1, max_length=80)
    agent: str = "q-agent"
    model: str
    policy: Literal["llm", "rule", "bayes"] = "llm"
    n: Annotated[int, Field(ge=1, le=100)] | Literal["all"] = 4
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
    passages: PassagesConfig | None = None
    turn_timeout: float = Field(default=300.0, gt=0)
    isolate: bool = False

    @model_validator(mode="before")
    @classmethod
    def _fill_in_lead(cls, data: Any) -> Any:
        """The `lead` agent only repeats its source: it needs no model, and repeats three sentences by default."""
        if isinstance(data, dict) and (values := cast(dict[str, Any], data)).get("agent") == "lead":
            return {"model": NO_MODEL, "n": 3, **values}
        return cast(Any, data)

    @field_validator("order")
    @classmethod
    def _known_order(cls, value: str | None) -> str | None:
        if value is not None:
            order_of(value, 1, (0,))
        return value

    @model_validator(mode="after")
    def _no_secrets(self, info: ValidationInfo) -> Self:
        if info.context == STORED:
            return self
        secret = secrets.in_url(self.url or "")
        if secret:
            raise ValueError(f"url holds {secret}, which every run would store: let the service ask for none")
        secret = secrets.in_command(self.command or ())
        if secret:
            raise ValueError(
                f"command holds a secret ({secret}), which every run would store: leave a model's key out, as the "
                "endpoint adds it, and hand over any other secret in a variable named with env"
            )
        return self


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
    tell: list[Telling] = list(TELLS)


class PerItem(Strict):
    """A reference per item: what a resource is relative to, for each scored item."""

    per_item: dict[Resource, float] = Field(min_length=1)


class ScoreConfig(Strict):
    """How the match is scored."""

    alpha: float = Field(default=1.0, gt=0, le=1e9)
    beta: float | None = Field(default=None, ge=0, le=1e9)
    resources: list[Resource] = list(COUNTED)
    weights: dict[Resource, float] = {}
    normalise: Literal["match"] | PerItem | dict[Resource, float] = "match"
    refusals: Literal["intersection", "penalised", "answered"] = "intersection"
    h: Literal["faithful", "adequate"] = "faithful"
    target: Annotated[float, Field(gt=0, le=1)] | Literal["lead-3"] = "lead-3"
    longest: float = Field(default=LONGEST, gt=0, le=1)

    @property
    def reference(self) -> dict[Resource, float] | None:
        """What costs are relative to, in totals or per item; None means the largest in the match."""
        if self.normalise == "match":
            return None
        return self.normalise.per_item if isinstance(self.normalise, PerItem) else self.normalise

    @model_validator(mode="after")
    def _positive(self) -> Self:
        reference = self.reference or {}
        stray = sorted(set(self.weights) - set(self.resources))
        if stray:
            raise ValueError(f"weights names {stray[0]}, which resources does not list: add it there")
        if len(set(self.resources)) < len(self.resources):
            raise ValueError("resources lists one of them twice")
        for name, number in [*self.weights.items(), *reference.items()]:
            if not 1 / MAX_COST <= number <= MAX_COST:
                raise ValueError(f"the {name} of weights and normalise must be positive numbers, not {number}")
        return self


class PriceConfig(Strict):
    """Dollars a million tokens."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cached: float | None = Field(default=None, ge=0)


class EnergyConfig(Strict):
    """Joules a million tokens."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)


class RetryConfig(Strict):
    """How often and how patiently an attempt is repeated."""

    attempts: int = Field(default=5, ge=1, le=50)
    base: float = Field(default=0.5, ge=0)
    cap: float = Field(default=20.0, ge=0)
    retry_after_cap: float = Field(default=60.0, ge=0)


class GiveUpConfig(Strict):
    """When a model that gives nothing usable is given up, and the run stops."""

    attempts: int = Field(default=20, ge=1)
    seconds: float = Field(default=300.0, gt=0)


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
    cost_response: float = Field(default=0.0, ge=-100, le=100)
    snapshot_response: float = Field(default=0.0, ge=-100, le=100)

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
    wire: str | None = None
    json_mode: Literal["schema", "object", "none"] | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | Literal["auto"] | None = "auto"
    max_tokens: int | None = Field(default=None, ge=1, le=10_000_000)
    timeout: float = Field(default=120.0, gt=0, le=86_400)
    first_byte_timeout: float = Field(default=120.0, gt=0, le=86_400)
    idle_timeout: float = Field(default=120.0, gt=0, le=86_400)
    concurrency: int = Field(default=8, ge=1, le=100_000)
    requests_per_minute: float | None = Field(default=None, gt=0)
    retry: RetryConfig = RetryConfig()
    give_up: GiveUpConfig | Literal[False] = GiveUpConfig()
    price: PriceConfig | None = None
    energy: EnergyConfig | None = None
    headers: dict[str, Annotated[str, Field(pattern=r"^[\x20-\x7e]*$")]] = {}
    header_env: dict[str, str] = {}
    extra: dict[str, Any] = {}
    threads: int | None = Field(default=None, ge=1)
    context: int = Field(default=4096, ge=256, le=10_000_000)
    simulate: SimulateConfig = SimulateConfig()

    @model_validator(mode="after")
    def _no_secrets(self, info: ValidationInfo) -> Self:
        """Keys come from the environment: whatever is written here is stored in every run's manifest."""
        if info.context == STORED:
            return self
        secret = secrets.in_headers(self.headers)
        if secret:
            raise ValueError(
                f"the header {secret} would store a secret: name its variable with api_key_env or header_env"
            )
        if self.api_key_env is not None and self.api_key_file is not None:
            raise ValueError("api_key_env and api_key_file exclude each other: keep one")
        secret = secrets.in_url(self.base_url or "")
        if secret:
            raise ValueError(f"base_url holds {secret}: name the key's variable with api_key_env, or header_env")
        secret = secrets.in_settings(self.extra)
        if secret:
            raise ValueError(f"extra.{secret} would store a secret: name its variable with api_key_env or header_env")
        duplicates = {name.lower() for name in self.headers} & {name.lower() for name in self.header_env}
        if duplicates:
            raise ValueError(f"the header {min(duplicates)} is in headers and in header_env: keep one")
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
        if self.task.kind != "rag" and any(player.passages is not None for player in self.players):
            raise ValueError("a player's passages are a setting of the rag task: set task.kind to rag")
        if "referee" in names:
            raise ValueError("no player can be called 'referee': the ledger keeps that name for the judge")
        duplicates = sorted({name for name in names if names.count(name) > 1})
        if duplicates:
            raise ValueError(f"two players are called {duplicates[0]!r}: give every player its own name")
        return self

    @property
    def judge(self) -> str:
        """The detector that decides the score."""
        return self.detector or ("simpleqa" if self.task.kind == "qa" else "grounding")

    @property
    def guided_by(self) -> str:
        """What guides the players: `judge` (the same scores), `confidence` (their own), or a detector's name."""
        return self.guide or ("confidence" if self.task.kind == "qa" else "judge")

    @property
    def beta(self) -> float:
        """The weight of P: 0.1 by default, or 0.001 for tasks where an answer is either right or wrong."""
        if self.score.beta is not None:
            return self.score.beta
        return 0.001 if self.task.kind == "qa" else 0.1

    def model(self, name: str) -> ModelConfig:
        """The settings of a model, or the defaults if the file has none for it."""
        return self.models.get(name, ModelConfig())
