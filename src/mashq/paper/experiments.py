"""Which experiments the paper has, what each of them plays, and what it prints.

The table is `experiments.toml`, the configurations are `configs/*.yaml`, and the printed figures those of
`mashq paper`: `analysis/paper_figures.json`.
"""

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal, cast

from mashq.config import Config, nearest, parse
from mashq.errors import ConfigError

What = Literal["table", "figure", "ablation", "validation"]
ITEMS = 813  # passages of a match, at most: those that a bracket of models all answered
FIGURES = ("h_before_review", "h", "calls", "tokens", "tokens_in", "tokens_out", "reviews", "seconds", "penalty", "q")
MODELS: Mapping[str, str] = {
    "GPT-4o-mini": "openai/gpt-4o-mini",
    "GPT-4o": "openai/gpt-4o",
    "GPT-5": "openai/gpt-5",
    "Qwen-Max": "qwen/qwen-max",
    "Deepseek-V3": "deepseek/deepseek-chat",
    "Gemini-2.0-Flash": "gemini/gemini-2.0-flash",
    "Gemini-2.5-Pro": "gemini/gemini-2.5-pro",
    "Grok-3-beta": "xai/grok-3-beta",
}
AGENTS = ("q-agent", "react")
MAIN = "gpt-4o-mini"  # the match whose figures stand for GPT-4o-mini where a table does not print them


@dataclass(frozen=True, slots=True)
class Printed:
    """A row as the paper prints it; what it leaves out is None. `sd` are standard deviations over trials."""

    player: str
    figures: Mapping[str, float | None]
    sd: Mapping[str, float]
    model: str | None = None

    @property
    def items(self) -> float | None:
        """How many items the match had: calls = 2 x items + reviews."""
        calls, reviews = self.figures["calls"], self.figures["reviews"]
        return None if calls is None or reviews is None else (calls - reviews) / 2


@dataclass(frozen=True, slots=True)
class Group:
    """One match: the labels of its rows and, where the paper prints any, its printed rows."""

    labels: Sequence[str]
    printed: Sequence[Printed]


@dataclass(frozen=True, slots=True)
class Experiment:
    """A table, figure or ablation of the paper.

    `over` are the settings that it sweeps, by the paper's names of models; `of` the experiments whose matches it
    shows instead of playing any. `mean`: its rows are means over the players of a match.
    """

    name: str
    what: What
    title: str
    columns: Sequence[str]
    groups: Sequence[Group]
    over: Sequence[tuple[str, Sequence[Any]]] = ()
    of: Sequence[str] = ()
    trials: int = 1
    items: int = ITEMS
    mean: bool = False
    betas: Sequence[float] = ()
    note: str = ""

    @property
    def plays(self) -> Sequence[str]:
        """The experiments whose matches it shows: itself, or others."""
        return self.of or (self.name,)

    @property
    def configuration(self) -> str:
        """Its configuration, as it stands in the package."""
        return files("mashq.paper").joinpath("configs", f"{self.name}.yaml").read_text("utf-8")

    def config(self, overrides: Sequence[str] = ()) -> Config:
        """The same, read, with `key=value` overrides."""
        return parse(self.configuration, f"the configuration of {self.name}", overrides)

    def season(self, models: Mapping[str, str] = MODELS) -> dict[str, Any]:
        """What is played, as a run's manifest says it; `models` are the names under which models are asked."""
        if not self.over:
            return {"kind": "match", "trials": self.trials}
        named = [[key, [_named(value, models) for value in values]] for key, values in self.over]
        return {"kind": "sweep", "trials": self.trials, "over": named}

    @property
    def options(self) -> str:
        """The command that plays its configuration."""
        if not self.over:
            return f"run {self.name}.yaml" + (f" --trials {self.trials}" if self.trials > 1 else "")
        said: list[str] = []
        for key, values in self.season()["over"]:
            if "," in key:
                said.append(f"--with '{key}={','.join('[' + ','.join(map(str, value)) + ']' for value in values)}'")
            else:
                said.append(f"--over {key}={','.join(map(str, values))}")
        return " ".join([f"sweep {self.name}.yaml", *said])


def _named(value: Any, models: Mapping[str, str]) -> Any:
    """A value of a setting, with models under the names by which they are asked."""
    if isinstance(value, list):
        return [_named(one, models) for one in cast(list[Any], value)]
    return models.get(value, value) if isinstance(value, str) else value


@cache
def experiments() -> Mapping[str, Experiment]:
    """Every experiment, in the order of the paper."""
    table = tomllib.loads(files("mashq.paper").joinpath("experiments.toml").read_text("utf-8"))
    return {row["name"]: _experiment(row) for row in table["experiment"]}


def experiment(name: str) -> Experiment:
    """The experiment with a name."""
    found = experiments()
    if name not in found:
        raise ConfigError(f"the paper has no {name!r}{nearest(name, list(found))}")
    return found[name]


def named(names: Sequence[str]) -> list[Experiment]:
    """The experiments with these names; `all` is every one."""
    return list(experiments().values()) if "all" in names else [experiment(name) for name in dict.fromkeys(names)]


def _experiment(row: Mapping[str, Any]) -> Experiment:
    rest = {key: value for key, value in row.items() if key not in ("with", "over", "groups")}
    groups = tuple(
        Group(group["labels"], _rows(group["printed"]) if "printed" in group else ()) for group in row["groups"]
    )
    over = [(key, [_pair(value) for value in values]) for key, values in row.get("with", [])]
    over += [(key, values) for key, values in row.get("over", [])]
    return Experiment(**rest, groups=groups, over=over)


def _pair(value: str | list[str]) -> list[str]:
    """What two players have; one value is that of both."""
    return value if isinstance(value, list) else [value, value]


@cache
def figures() -> Mapping[str, Any]:
    """All printed figures."""
    return json.loads(files("mashq.analysis").joinpath("paper_figures.json").read_text("utf-8"))


def _rows(matches: str | Sequence[str]) -> tuple[Printed, ...]:
    """The printed rows of a match, or of several that stand in one table."""
    wanted = [matches] if isinstance(matches, str) else matches
    found = figures()
    places = ("counts", "penalties", "trials", "not_recomputable")
    rows: list[Printed] = []
    for match in wanted:
        for place in places:
            own = [_printed(row) for row in found[place] if row["match"] == match]
            if own:
                rows += own
                break
    return tuple(rows)


def _printed(row: Mapping[str, Any]) -> Printed:
    known = {"q": row.get("printed_q"), **row}
    sd = {name: row[f"{name}_sd"] for name in FIGURES if f"{name}_sd" in row}
    return Printed(row["player"], {name: known.get(name) for name in FIGURES}, sd, row.get("model"))


def main_figures(player: str) -> Mapping[str, float | None]:
    """What the paper prints of GPT-4o-mini in its main table, for players of which it prints less."""
    first, second = _rows(MAIN)
    return second.figures if player.endswith("B") else first.figures
