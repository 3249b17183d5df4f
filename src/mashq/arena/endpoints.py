"""Create the models of a match, ready to be asked, from their names and settings."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mashq.bounds import TEXT, read_text
from mashq.config import Config, ModelConfig, nearest
from mashq.detectors.llm_judge import model_of
from mashq.errors import ConfigError
from mashq.extensions import WIRES
from mashq.gateway import prices
from mashq.gateway.backends import weights
from mashq.gateway.backends.http import HttpBackend, Pool, Silence
from mashq.gateway.backends.nobody import NobodyBackend
from mashq.gateway.backends.recorded import RecordedBackend
from mashq.gateway.backends.simulated import Parameters, SimulatedBackend
from mashq.gateway.limits import Limiter
from mashq.gateway.model import Endpoint
from mashq.gateway.prices import Rate
from mashq.gateway.profiles import Ending, Experience, Lesson, Profile, profile_of
from mashq.gateway.providers import IN_PROCESS, LIMIT, PROVIDERS, UNLISTED, Provider, also_spoken
from mashq.gateway.providers import wire_of as usual_wire
from mashq.gateway.retry import Patience, Policy
from mashq.gateway.types import Backend, Clock
from mashq.gateway.wire.base import Options
from mashq.players.registry import settled, spec_of
from mashq.protocol.resources import RATED, TABLE
from mashq.protocol.rules import RULES_OF_PLAY

EMBEDDED = "smollm2-135m"


class Facilities:
    """What the matches of a run share: connections, limits, loaded or connected models, what was learnt about them,
    and the version of the rules of play."""

    ending: "Ending"
    environment: dict[str, str]
    pool: "Pool"

    def __init__(self, environment: Mapping[str, str] | None = None, *, rules_of_play: int = RULES_OF_PLAY) -> None:
        self.rules_of_play = rules_of_play
        self.ending = Ending()
        self.experiences: dict[str, Experience] = {}
        self.environment = dict(os.environ if environment is None else environment)
        self.pool = Pool()
        self.limiters: dict[str, Limiter] = {}
        self.backends: dict[tuple[str, str], Backend] = {}

    def experience(self, model: str) -> Experience:
        """What the run has learnt about a model."""
        return self.experiences.setdefault(model, Experience(self.ending))

    def troubles(self, now: float) -> str:
        """What is wrong with the models, or an empty string."""
        messages = {model: experience.health.told(now) for model, experience in self.experiences.items()}
        return "; ".join(f"{model}: {message}" for model, message in messages.items() if message)

    def remember(self, known: "Learnt") -> None:
        """Load what is stored about the run so far."""
        for model, lessons in known.lessons.items():
            self.experience(model).lessons.update({lesson.field: lesson for lesson in lessons})
        for model in known.answering:
            self.experience(model).answered = True

    async def close(self) -> None:
        """Close every model and connection."""
        for backend in self.backends.values():
            await backend.close()
        await self.pool.close()


@dataclass(frozen=True, slots=True)
class Learnt:
    """What is stored about a run's models: what they do not accept, and which of them have answered."""

    lessons: Mapping[str, Iterable[Lesson]]
    answering: frozenset[str] = frozenset()


NOTHING_YET = Learnt({})


@dataclass(frozen=True, slots=True)
class OutputLimit:
    """The output limit that is sent (None: none), whether it applies regardless of the remaining budget, and the
    longest output without one."""

    sent: int | None
    fixed: bool
    largest: int

    @property
    def longest(self) -> int:
        """The longest output that a request can produce."""
        return self.largest if self.sent is None else self.sent


class Endpoints:
    """All the models of a match; equal names share one endpoint, and equal base URLs share one limit."""

    def __init__(self, config: Config, clock: Clock, seed: int, facilities: Facilities) -> None:
        self._config, self._clock, self._seed, self._facilities = config, clock, seed, facilities
        self._endpoints: dict[str, Endpoint] = {}
        self.urls: dict[str, str] = {}
        self.key_variables: set[str] = set()
        for name in models_of(config):
            self._endpoints[name] = self._make(name)

    def __getitem__(self, name: str) -> Endpoint:
        return self._endpoints[name]

    @property
    def simulated(self) -> bool:
        """Whether any of the models is simulated."""
        return any(endpoint.backend.simulated for endpoint in self._endpoints.values())

    def described(self) -> dict[str, dict[str, Any]]:
        """The manifest's description of each model."""
        return {
            name: {
                "backend": type(endpoint.backend).__name__.removesuffix("Backend").lower(),
                "base_url": self.urls.get(name),
                "simulated": endpoint.backend.simulated,
                **{TABLE[name].rate: _label(endpoint.rates.get(name)) for name in RATED},
                **_price_row(endpoint.rates.get("dollars")),
            }
            for name, endpoint in self._endpoints.items()
        }

    def _make(self, name: str) -> Endpoint:
        provider, slash, model = name.partition("/")
        if not slash or not provider or not model:
            raise ConfigError(f"the model {name!r} must be written as provider/model, for example openai/gpt-4o-mini")
        settings = self._config.model(name)
        if provider in IN_PROCESS:
            place, at_once = ("local", 1) if provider == "local" else (name, 1_000_000)
        else:
            place, at_once = place_of(self._config, name), concurrency_of(self._config, name)
        backend = self._backend(provider, model, name, settings)
        limiter = self._facilities.limiters.get(place)
        if limiter is None:
            limiter = self._facilities.limiters[place] = Limiter(
                self._clock, at_once, per_minute_of(self._config, name)
            )
        profile, version = profile_for(name, settings), self._facilities.rules_of_play
        temperature = settings.temperature
        if temperature == "auto":
            temperature = 0.0 if profile.temperature else None
        limit = output_limit_of(name, settings, version)
        return Endpoint(
            name,
            backend,
            limiter,
            limit.sent,
            temperature,
            settings.timeout,
            rates_of(name, settings),
            Policy(**settings.retry.model_dump()),
            limit.fixed,
            limit.largest,
            profile,
            self._facilities.experience(name),
            tells_cuts=version > 1,
            patience=_patience(settings) if backend.durable and version > 1 else None,
        )

    def _backend(self, provider: str, model: str, name: str, settings: ModelConfig) -> Backend:
        """The backend of a model: simulated ones are made per match, because their draws depend on the seed; others
        once."""
        if provider == "simulated":
            return SimulatedBackend(Parameters(**settings.simulate.model_dump()), self._seed)
        if provider not in IN_PROCESS:
            self._note_address(provider, name, settings)
        key = name, settings.model_dump_json()
        if key not in self._facilities.backends:
            make = {"recorded": self._recorded, "local": self._local, "none": self._none}.get(provider, self._http)
            self._facilities.backends[key] = make(provider, model, name, settings)
        return self._facilities.backends[key]

    def _none(self, _provider: str, _model: str, _name: str, _settings: ModelConfig) -> Backend:
        return NobodyBackend()

    def _recorded(self, _provider: str, model: str, _name: str, _settings: ModelConfig) -> Backend:
        return RecordedBackend(Path(model))

    def _local(self, _provider: str, model: str, name: str, settings: ModelConfig) -> Backend:
        from mashq.gateway.backends.llama import (  # imported only for local models: the engine is an extra
            Llama,
            LlamaError,
        )
        from mashq.gateway.backends.local import LocalBackend

        path = embedded() if model == EMBEDDED else Path(model)
        llama = Llama(path, threads=settings.threads or 1, n_ctx=settings.context)
        try:
            llama.load()
        except LlamaError as error:
            raise ConfigError(f"the model {name} cannot be used: {error}") from None
        return LocalBackend(llama, self._clock)

    def _note_address(self, provider: str, name: str, settings: ModelConfig) -> None:
        """Record where a model is asked and which variables hold its keys."""
        listed = PROVIDERS.get(provider)
        url = settings.base_url or (listed.base_url if listed is not None else None)
        if url is None:
            known = [*PROVIDERS, *IN_PROCESS]
            raise ConfigError(
                f"the model {name!r} has the unknown provider {provider!r}{nearest(provider, known)}; "
                f"or give it a base_url under models"
            )
        if not url.startswith(("http://", "https://")):
            raise ConfigError(f"the base_url of {name} is {url!r}: it must start with http:// or https://")
        self.urls[name] = url
        variable = _key_variable(settings, listed)
        self.key_variables |= {*settings.header_env.values(), *((variable,) if variable is not None else ())}

    def _http(self, provider: str, model: str, name: str, settings: ModelConfig) -> Backend:
        listed, url = PROVIDERS.get(provider), self.urls[name]
        profile = profile_for(name, settings)
        options = Options(
            json=profile.json,
            max_tokens_key=profile.limit_field,
            seed=profile.seed,
            stream_usage=profile.stream_options,
            extra=settings.extra,
        )
        wire = wire_of(name, settings)
        return HttpBackend(
            self._facilities.pool,
            self._clock,
            WIRES.create(wire),
            base_url=url,
            model=model,
            key=self._key(name, settings, listed),
            options=options,
            timeout=settings.timeout,
            silence=Silence(settings.first_byte_timeout, settings.idle_timeout),
            headers=settings.headers,
            secret_headers={
                header: self._secret(name, header, variable) for header, variable in settings.header_env.items()
            },
            also=[(WIRES.create(name), place) for name, place in also_spoken(provider, wire, url)],
        )

    def _secret(self, name: str, header: str, variable: str) -> str:
        """The value of a header that is kept out of the configuration."""
        value = self._facilities.environment.get(variable, "").strip()
        if not value:
            raise ConfigError(f"the model {name} needs the header {header}: set the environment variable {variable}")
        return _checked_key(value, variable)

    def _key(self, name: str, settings: ModelConfig, listed: Provider | None) -> str | None:
        """The key from its file or variable. A provider's own key is never sent to another base_url unless it is
        configured explicitly."""
        if settings.api_key_file is not None:
            return _checked_key(_read_key(name, Path(settings.api_key_file)), settings.api_key_file)
        variable = _key_variable(settings, listed)
        if variable is None:
            return None
        key = self._facilities.environment.get(variable, "").strip()
        if not key:
            raise ConfigError(f"the model {name} needs an API key: set the environment variable {variable}")
        return _checked_key(key, variable)


def wire_of(name: str, settings: ModelConfig) -> str:
    """The wire format used to ask a model."""
    provider, _, model = name.partition("/")
    base_url = settings.base_url or PROVIDERS.get(provider, UNLISTED).base_url
    return settings.wire or usual_wire(provider, model, base_url)


def profile_for(name: str, settings: ModelConfig) -> Profile:
    """What a model accepts, as configured or as known."""
    profile = profile_of(name, wire_of(name, settings))
    return profile if settings.json_mode is None else replace(profile, json=settings.json_mode)


def output_limit_of(name: str, settings: ModelConfig, rules_of_play: int = RULES_OF_PLAY) -> OutputLimit:
    """The output limit of a model: as configured; fixed for in-process models; else none, or what its provider
    requires."""
    if settings.max_tokens is not None:
        return OutputLimit(settings.max_tokens, fixed=True, largest=settings.max_tokens)
    if name.partition("/")[0] in IN_PROCESS or rules_of_play == 1:
        return OutputLimit(LIMIT, fixed=True, largest=LIMIT)
    profile = profile_for(name, settings)
    return OutputLimit(profile.sent_limit, fixed=False, largest=profile.largest)


def rates_of(name: str, settings: ModelConfig) -> dict[str, Rate]:
    """The rates that convert a model's tokens to dollars and other rated resources: as declared, else as listed."""
    provider, _, model = name.partition("/")
    rates = {} if provider in IN_PROCESS or settings.price else prices.listed_rates(provider, model)
    if settings.price is not None:
        rates["dollars"] = prices.fixed(settings.price.input, settings.price.output, settings.price.cached)
    if settings.energy is not None:
        rates["joules"] = prices.energy(settings.energy.input, settings.energy.output)
    return rates


def _patience(settings: ModelConfig) -> Patience | None:
    """When to give up on a model; None: never."""
    return None if settings.give_up is False else Patience(settings.give_up.attempts, settings.give_up.seconds)


def _price_row(rate: Rate | None) -> dict[str, dict[str, float]]:
    """The prices in dollars per million tokens, so that a cost can be recomputed."""
    if rate is None or rate.row is None:
        return {}
    return {"price_row": dict(zip(("input", "output", "cached"), rate.row, strict=True))}


def _label(rate: Rate | None) -> str | None:
    return None if rate is None else rate.label


def _key_variable(settings: ModelConfig, listed: Provider | None) -> str | None:
    """The environment variable that holds a model's key, if any."""
    if settings.api_key_file is not None:
        return None
    if settings.api_key_env is None and settings.base_url is None and listed is not None:
        return listed.key_env
    return settings.api_key_env


def _checked_key(key: str, place: str) -> str:
    if not (key.isascii() and key.isprintable()):
        raise ConfigError(f"the API key in {place} holds characters no key can have: set it again")
    return key


def _read_key(name: str, path: Path) -> str:
    """The key in a file that only its owner may read."""
    try:
        if path.stat().st_mode & 0o077:
            raise ConfigError(f"the key file {path} can be read by others: run 'chmod 600 {path}'")
        key = read_text(path, TEXT).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"the key file {path} of {name} cannot be read ({error}): fix api_key_file") from None
    if not key:
        raise ConfigError(f"the key file {path} of {name} is empty: write the key into it")
    return key


def models_of(config: Config) -> list[str]:
    """The models of a match, without duplicates."""
    named = [name for player in config.players for name in (player.model, player.to) if name is not None]
    judges = [model for name in (config.judge, config.guided_by) if (model := model_of(name)) is not None]
    return list(dict.fromkeys(named + judges))


def place_of(config: Config, name: str) -> str:
    """Where a model is asked: its base URL, or its own name."""
    listed = PROVIDERS.get(name.partition("/")[0])
    return (config.model(name).base_url or (listed.base_url if listed is not None else name)).rstrip("/")


def concurrency_of(config: Config, name: str) -> int:
    """The concurrency limit shared by all models at a base URL: the smallest of theirs."""
    return min(settings.concurrency for settings in _models_sharing(config, name))


def per_minute_of(config: Config, name: str) -> float | None:
    """The requests per minute shared by all models at a base URL: the smallest of theirs."""
    rates = [s.requests_per_minute for s in _models_sharing(config, name) if s.requests_per_minute is not None]
    return min(rates, default=None)


def _models_sharing(config: Config, name: str) -> list[ModelConfig]:
    """The settings of all the models at this model's base URL."""
    place = place_of(config, name)
    return [config.model(other) for other in models_of(config) if other == name or place_of(config, other) == place]


def embedded() -> Path:
    """The embedded model's file; raises ConfigError with how to get it."""
    path = weights.find()
    if path is None:
        raise ConfigError("the embedded model's weights are not here: run 'mashq weights' once to fetch them (98 MB)")
    return path


def located(config: Config, base: Path) -> Config:
    """The checked configuration with its paths made absolute, so that it means the same anywhere."""
    document = settled(config).model_dump(mode="json")
    names = {player.model: _absolute_model(player.model, base) for player in config.players}
    for player in document["players"]:
        player["model"] = names[player["model"]]
        if player.get("to") is not None:
            player["to"] = _absolute_model(player["to"], base)
        if player.get("prompts") is not None:
            player["prompts"] = os.path.realpath(base / player["prompts"])
        if "directory" in spec_of(player["agent"]).settings:
            player["directory"] = os.path.realpath(base / (player.get("directory") or "."))
    for model in document["models"].values():
        if model.get("api_key_file") is not None:
            model["api_key_file"] = os.path.realpath(base / model["api_key_file"])
    document["models"] = {_absolute_model(name, base): value for name, value in document.get("models", {}).items()}
    if config.task.data != "builtin" and not config.task.data.startswith("hub:"):
        document["task"]["data"] = os.path.realpath(base / config.task.data)
    return Config.model_validate(document)


def _absolute_model(name: str, base: Path) -> str:
    provider, _, path = name.partition("/")
    if provider == "recorded" or (provider == "local" and path != EMBEDDED):
        return f"{provider}/{os.path.realpath(base / path)}"
    return name
