"""Every way to extend mashq, on one page.

| group             | what it adds                 | its Protocol                          | checked with     |
|-------------------|------------------------------|---------------------------------------|------------------|
| `mashq.players`   | an agent                     | `mashq.players.base.Player`           | `check_player`   |
| `mashq.detectors` | a way to score answers       | `mashq.detectors.base.Detector`       | `check_detector` |
| `mashq.wires`     | a provider's wire format     | `mashq.gateway.wire.base.Wire`        | `check_wire`     |
| `mashq.exports`   | a file format for runs       | `mashq.export.base.Export`            | `check_export`   |
| `mashq.executors` | a place to play matches      | `mashq.arena.executors.base.Executor` | `check_executor` |

An extension is a class with a few methods; an installed package names it with an entry point in its group, and
`create` calls it without arguments. Built-in extensions are listed in the tables below by import path, are looked up
the same way, and are imported on first use. `mashq.testing` has the checks, `docs/extending.md` an example of each.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from mashq.errors import ConfigError, MashqError, nearest

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from mashq.arena.executors.base import Executor
    from mashq.detectors.base import Detector
    from mashq.export.base import Export
    from mashq.gateway.wire.base import Wire
    from mashq.players.base import Player

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Extensions(Generic[T]):
    """The extensions of one kind: built-in ones by import path, and those of installed packages."""

    kind: str
    group: str
    members: tuple[str, ...]  # attributes every extension must have
    built_in: Mapping[str, str]  # name -> "module:attribute"
    with_argument: tuple[str, ...] = ()  # built-in names that take an argument after a colon, as in hhem:FOLDER

    def names(self) -> list[str]:
        """All usable names: built-in ones, then installed ones."""
        return [*self.built_in, *sorted(self._installed().keys() - self.built_in.keys())]

    def load(self, name: str) -> Callable[..., T]:
        """The factory of an extension, usually its class."""
        if name not in self.built_in:
            return self._use_installed(name, lambda entry: entry.load())
        module, _, attribute = self.built_in[name].partition(":")
        return getattr(import_module(module), attribute)

    def create(self, name: str) -> T:
        """A new extension of that name; raises ConfigError listing the known names, or naming the broken package."""
        base, _, argument = name.partition(":")
        if name in self.built_in:
            return self.load(name)()
        if base in self.with_argument:
            return self.load(base)(argument)
        return self._use_installed(name, self._create_from_entry)

    def _create_from_entry(self, entry: EntryPoint) -> T:
        extension: Any = entry.load()()
        for member in self.members:
            if not hasattr(extension, member):
                raise TypeError(f"it has no {member}, see docs/extending.md")
        return extension

    def _installed(self) -> Mapping[str, EntryPoint]:
        from importlib.metadata import entry_points  # slow to import, and seldom needed

        return _entry_points(entry_points, self.group, tuple(sys.path))

    def _use_installed(self, name: str, use: Callable[[EntryPoint], R]) -> R:
        """Apply `use` to an installed entry point; an error in its code becomes a ConfigError naming the package."""
        entry = self._installed().get(name)
        if entry is None:
            raise ConfigError(f"there is no {self.kind} {name!r}{nearest(name, self.names())}")
        try:
            return use(entry)
        except MashqError:
            raise
        except Exception as error:
            raise ConfigError(
                f"The {self.kind} {name!r} of the package {_package_name(entry)} cannot be used "
                f"({type(error).__name__}: {error}): repair the package, or uninstall it."
            ) from error


@cache  # scanning all installed packages takes milliseconds, and a season does it for every match
def _entry_points(
    look_up: Callable[..., Iterable[EntryPoint]], group: str, _path: tuple[str, ...]
) -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in look_up(group=group)}


def _package_name(entry: EntryPoint) -> str:
    return entry.value if entry.dist is None else f"{entry.dist.name} {entry.dist.version}"


PLAYERS: Extensions[Player] = Extensions(
    "agent",
    "mashq.players",
    ("move",),
    {  # `external` is created by the arena, which runs the server it plays through
        "q-agent": "mashq.players.q_agent:QAgent",
        "plain": "mashq.players.baselines:Plain",
        "retry": "mashq.players.baselines:Retry",
        "escalate": "mashq.players.baselines:Escalate",
        "best-of-n": "mashq.players.best_of_n:BestOfN",
        "react": "mashq.players.react:React",
        "lead": "mashq.players.lead:Lead",
    },
)
DETECTORS: Extensions[Detector] = Extensions(
    "detector",
    "mashq.detectors",
    ("name", "version", "score"),
    {
        "grounding": "mashq.detectors.grounding.detector:Grounding",
        "reader": "mashq.detectors.reader.detector:Reader",
        "coverage": "mashq.detectors.coverage:Coverage",
        "exact-match": "mashq.detectors.exact_match:ExactMatch",
        "simpleqa": "mashq.detectors.simpleqa:SimpleQA",
        "hhem": "mashq.detectors.neural.hhem:Hhem",
        "minicheck": "mashq.detectors.neural.minicheck:Minicheck",
    },
    with_argument=("hhem", "minicheck", "reader"),
)
WIRES: Extensions[Wire] = Extensions(
    "wire format",
    "mashq.wires",
    ("path", "headers", "encode", "decode", "usage", "served"),
    {
        "openai": "mashq.gateway.wire.openai_chat:OpenAIChat",
        "responses": "mashq.gateway.wire.openai_responses:OpenAIResponses",
        "anthropic": "mashq.gateway.wire.anthropic_messages:AnthropicMessages",
        "gemini": "mashq.gateway.wire.gemini:Gemini",
    },
)
EXPORTS: Extensions[Export] = Extensions(
    "export format",
    "mashq.exports",
    ("suffixes", "holds", "write"),
    {
        "csv": "mashq.export.rows:Csv",
        "jsonl": "mashq.export.rows:Jsonl",
        "parquet": "mashq.export.rows:Parquet",
        "latex": "mashq.export.latex:Latex",
        "otel": "mashq.export.otel:Otel",
        "inspect": "mashq.export.inspect.write:Inspect",
    },
)
EXECUTORS: Extensions[Executor] = Extensions(
    "executor",
    "mashq.executors",
    ("play",),
    {
        "local": "mashq.arena.executors.local:LocalExecutor",
        "processes": "mashq.arena.executors.processes:Processes",
        "ray": "mashq.arena.executors.ray_cluster:Cluster",
    },
    with_argument=("ray",),
)
