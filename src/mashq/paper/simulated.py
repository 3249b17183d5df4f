"""An experiment without models: players drawn from the first answers and costs that the paper prints, and nothing
else.

For each player only H before review, tokens and seconds per call are set, from its printed row or, if that lacks
them, from what the paper prints for its model; what is not printed anywhere is left at the default of a simulated
model, and reported. Reviews, calls and the final H result from the protocol and the policy. All simulated policies
respond alike to what they are told: RESPONSE is our assumption, and the same for every model.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mashq.config import Config, SimulateConfig
from mashq.paper.experiments import MODELS, Experiment, Group, Printed, experiments, main_figures

HEAD = "simulated from printed figures"
RESPONSE = {"cost_response": 0.5, "snapshot_response": 0.25}
SAID = (
    f"{HEAD.capitalize()}: H before review, tokens and seconds per call are set as the paper prints them; "
    "reviews, calls and the final H follow from the protocol and from simulated policies, which all respond alike "
    "to what a review costs and to snapshots (our assumption)."
)
PRINTED = {"h": "H before review", "tokens_in": "tokens", "seconds": "seconds"}


def with_simulated_players(experiment: Experiment, items: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The configuration and season of an experiment with simulated players."""
    config, season = experiment.config().model_dump(mode="json"), experiment.season()
    models: dict[str, dict[str, Any]] = {}
    names: list[list[str]] = []
    for group in experiment.groups:
        group_names: list[str] = []
        for label, drawn in drawn_players(experiment, group):
            name, model = f"simulated/{label}", {"simulate": drawn | RESPONSE}
            while models.get(name, model) != model:
                name += "'"
            models[name] = model
            group_names.append(name)
        names.append(group_names)
    _assign_models(config, season, names)
    document = config | {"models": models, "detector": None, "seed": 0}
    document["task"] = {"kind": config["task"]["kind"], "limit": items}
    return document, season


def is_drawn_from_print(experiment: Experiment, config: Config) -> bool:
    """Whether a run of an experiment has such players."""
    return config.players[0].model == f"simulated/{experiment.groups[0].labels[0]}"


def said_of_drawn(experiment: Experiment) -> Iterator[str]:
    """Notes for such a run: what was set, and what was not printed and left at defaults."""
    yield SAID
    lacking: dict[str, list[str]] = {}
    for group in experiment.groups:
        for label, drawn in drawn_players(experiment, group):
            missing = ", ".join(heading for key, heading in PRINTED.items() if key not in drawn)
            if missing and label not in lacking.setdefault(missing, []):
                lacking[missing].append(label)
    for figures, labels in lacking.items():
        yield f"Not printed, so left at the defaults of a simulated model: {figures} of {'; '.join(labels)}."


def drawn_players(experiment: Experiment, group: Group) -> Iterator[tuple[str, dict[str, float]]]:
    """The rows of a match, each with the parameters of its simulated player."""
    questions = experiment.config().task.kind == "qa"
    for index, label in enumerate(group.labels):
        yield label, parameters(label, group.printed[index] if group.printed else None, questions=questions)


def _assign_models(config: dict[str, Any], season: dict[str, Any], names: Sequence[Sequence[str]]) -> None:
    """Set the models of every match's players; a sweep that does not change models is extended to do so."""
    for index, player in enumerate(config["players"]):
        player["model"] = names[0][index]
    if season["kind"] != "sweep":
        return
    ((key, values), *_) = season["over"]
    keys = [f"players.{index}.model" for index in range(len(config["players"]))]
    kept = [name for name in key.split(",") if name not in keys]
    value_lists: list[list[Any]] = [value if isinstance(value, list) else [value] for value in values]
    indices = [key.split(",").index(name) for name in kept]
    changed = [
        [value[index] for index in indices] + list(models) for value, models in zip(value_lists, names, strict=True)
    ]
    season["over"] = [[",".join([*kept, *keys]), changed]]


def parameters(label: str, printed: Printed | None, *, questions: bool = False) -> dict[str, float]:
    """The parameters of a simulated player: only what the paper prints of its model's first answers and costs."""
    row = {} if printed is None else dict(printed.figures)
    side = label if printed is None else printed.player
    known: Mapping[str, float | None] = {} if questions else _of_model(model_of(label, printed), side)
    values: dict[str, float] = {}
    h = row.get("h_before_review") or known.get("h_before_review")
    defaults = SimulateConfig()
    if h is not None:
        values["h"] = unclipped(h, defaults.h_spread)
    priced = row if row.get("calls") and row.get("tokens") and row.get("seconds") else known
    calls, seconds = priced.get("calls"), priced.get("seconds")
    tokens = tokens_in_and_out(priced, label)
    if calls and tokens is not None:
        spread = math.exp(defaults.tokens_spread**2 / 2)
        values |= {
            name: amount / calls / spread for name, amount in zip(("tokens_in", "tokens_out"), tokens, strict=True)
        }
    if calls and seconds:
        values["seconds"] = seconds / calls / math.exp(defaults.seconds_spread**2 / 2)
    return {name: round(value, 6) for name, value in values.items()}


def tokens_in_and_out(figures: Mapping[str, float | None], label: str) -> tuple[float, float] | None:
    """Input and output tokens; if only their sum is printed, split as for GPT-4o-mini in the main table."""
    inputs, outputs, total = (figures.get(name) for name in ("tokens_in", "tokens_out", "tokens"))
    if inputs is not None and outputs is not None:
        return inputs, outputs
    if total is None:
        return None
    main = main_figures(label)
    share = (main["tokens_in"] or 0.0) / (main["tokens"] or 1.0)
    return share * total, (1 - share) * total


def model_of(label: str, printed: Printed | None) -> str:
    """The model of a row, as the paper names it."""
    if printed is not None and printed.model is not None:
        return printed.model
    suffix = label.rpartition(": ")[2]
    return suffix if suffix in MODELS else "GPT-4o-mini"


def _of_model(model: str, player: str) -> Mapping[str, float | None]:
    """What the main table prints for a model, for the player on the same side; empty if it is not in the table."""
    for group in experiments()["main_results_1"].groups:
        for row in group.printed:
            if row.model == model and row.player == ("B" if player.startswith("B:") or player == "B" else "A"):
                return row.figures
    return {}


def unclipped(mean: float, spread: float) -> float:
    """The centre, up to 1, of a normal distribution whose mean is `mean` after clipping to [0, 1]."""
    low, high = 0.0, 1.0
    for _ in range(60):
        centre = (low + high) / 2
        low, high = (centre, high) if _clipped_mean(centre, spread) < mean else (low, centre)
    return (low + high) / 2


def _clipped_mean(centre: float, spread: float) -> float:
    """The mean of a normal variable clipped to [0, 1]."""

    def below(x: float) -> float:
        return 0.5 * math.erfc(-(x - centre) / spread / math.sqrt(2))

    def density(x: float) -> float:
        return math.exp(-(((x - centre) / spread) ** 2) / 2) / math.sqrt(2 * math.pi)

    inside = centre * (below(1) - below(0)) - spread * (density(1) - density(0))
    return inside + 1 - below(1)


def placeholders(items: int, kind: str) -> str:
    """Placeholder items as JSON lines: an item's properties are drawn from its id."""
    text = "question" if kind == "qa" else "text"
    return "".join(_lines(items, text))


def _lines(items: int, text: str) -> Iterator[str]:
    for number in range(1, items + 1):
        yield json.dumps({"id": f"simulated-{number}", text: f"[simulated item {number}]", "answer": "[none]"}) + "\n"
