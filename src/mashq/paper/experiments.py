"""The experiments of the paper, what each of them plays, and its printed figures.

The table is `experiments.toml`, the configurations are `configs/*.yaml`, and the printed figures are those of
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
ITEMS = 813  # maximum passages of a match: those that all models of a bracket answered
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
MAIN = "gpt-4o-mini"  # the match whose figures are used for GPT-4o-mini if a table does not print them


@dataclass(frozen=True, slots=True)
class Printed:
    """A row as printed in the paper; missing values are None. `sd` are standard deviations over trials."""

    player: str
    figures: Mapping[str, float | None]
    sd: Mapping[str, float]
    model: str | None = None

    @property
    def items(self) -> float | None:
        """The number of items of the match: calls = 2 x items + reviews."""
        calls, reviews = self.figures["calls"], self.figures["reviews"]
        return None if calls is None or reviews is None else (calls - reviews) / 2


@dataclass(frozen=True, slots=True)
class Group:
    """One match: the labels of its rows and, if the paper prints any, its printed rows."""

    labels: Sequence[str]
    printed: Sequence[Printed]


@dataclass(frozen=True, slots=True)
class Experiment:
    """A table, figure or ablation of the paper.

    `over` are the settings it sweeps, using the paper's model names; `of` are the experiments whose matches it shows
    instead of playing any. `mean`: its rows are means over the players of a match.
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
        """The text of its configuration file in the package."""
        return files("mashq.paper").joinpath("configs", f"{self.name}.yaml").read_text("utf-8")

    def config(self, overrides: Sequence[str] = ()) -> Config:
        """The parsed configuration, with `key=value` overrides."""
        return parse(self.configuration, f"the configuration of {self.name}", overrides)

    def season(self, models: Mapping[str, str] = MODELS) -> dict[str, Any]:
        """What is played, in the form of a run's manifest; `models` maps the paper's model names to those asked."""
        if not self.over:
            return {"kind": "match", "trials": self.trials}
        named = [[key, [_with_models(value, models) for value in values]] for key, values in self.over]
        return {"kind": "sweep", "trials": self.trials, "over": named}

    @property
    def options(self) -> str:
        """The command that plays its configuration."""
        if not self.over:
            return f"run {self.name}.yaml" + (f" --trials {self.trials}" if self.trials > 1 else "")
        arguments: list[str] = []
        for key, values in self.season()["over"]:
            if "," in key:
                arguments.append(
                    f"--with '{key}={','.join('[' + ','.join(map(str, value)) + ']' for value in values)}'"
                )
            else:
                arguments.append(f"--over {key}={','.join(map(str, values))}")
        return " ".join([f"sweep {self.name}.yaml", *arguments])


def _with_models(value: Any, models: Mapping[str, str]) -> Any:
    """A setting's value with the paper's model names replaced by those asked."""
    if isinstance(value, list):
        return [_with_models(element, models) for element in cast(list[Any], value)]
    return models.get(value, value) if isinstance(value, str) else value


@cache
def experiments() -> Mapping[str, Experiment]:
    """Every experiment, in the order of the paper."""
    table = tomllib.loads(files("mashq.paper").joinpath("experiments.toml").read_text("utf-8"))
    return {row["name"]: _experiment(row) for row in table["experiment"]}


def experiment(name: str) -> Experiment:
    """The experiment with this name; raises ConfigError if there is none."""
    known = experiments()
    if name not in known:
        raise ConfigError(f"the paper has no {name!r}{nearest(name, list(known))}")
    return known[name]


def named(names: Sequence[str]) -> list[Experiment]:
    """The experiments with these names; `all` selects every one."""
    return list(experiments().values()) if "all" in names else [experiment(name) for name in dict.fromkeys(names)]


def _experiment(row: Mapping[str, Any]) -> Experiment:
    fields = {key: value for key, value in row.items() if key not in ("with", "over", "groups")}
    groups = tuple(
        Group(group["labels"], _rows(group["printed"]) if "printed" in group else ()) for group in row["groups"]
    )
    over = [(key, [_pair(value) for value in values]) for key, values in row.get("with", [])]
    over += [(key, values) for key, values in row.get("over", [])]
    return Experiment(**fields, groups=groups, over=over)


def _pair(value: str | list[str]) -> list[str]:
    """The values of two players; a single value applies to both."""
    return value if isinstance(value, list) else [value, value]


@cache
def figures() -> Mapping[str, Any]:
    """All printed figures."""
    return json.loads(files("mashq.analysis").joinpath("paper_figures.json").read_text("utf-8"))


def _rows(matches: str | Sequence[str]) -> tuple[Printed, ...]:
    """The printed rows of a match, or of several that share a table."""
    wanted = [matches] if isinstance(matches, str) else matches
    printed = figures()
    sections = ("counts", "penalties", "trials", "not_recomputable")
    rows: list[Printed] = []
    for match in wanted:
        for section in sections:
            match_rows = [_printed(row) for row in printed[section] if row["match"] == match]
            if match_rows:
                rows += match_rows
                break
    return tuple(rows)


def _printed(row: Mapping[str, Any]) -> Printed:
    known = {"q": row.get("printed_q"), **row}
    sd = {name: row[f"{name}_sd"] for name in FIGURES if f"{name}_sd" in row}
    return Printed(row["player"], {name: known.get(name) for name in FIGURES}, sd, row.get("model"))


def main_figures(player: str) -> Mapping[str, float | None]:
    """What the paper prints for GPT-4o-mini in its main table, for players it prints less about."""
    first, second = _rows(MAIN)
    return second.figures if player.endswith("B") else first.figures
