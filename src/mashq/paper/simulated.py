"""An experiment without models: players drawn from what the paper prints of first answers and costs, and no more.

Of each player only H before review, tokens and seconds a call are set, from its printed row or, where that lacks
them, from what the paper prints of its model; what it prints nowhere is left at the default of a simulated model, and
said. Reviews, calls and the final H come of the protocol and of the policy. All simulated policies respond alike to
what they are told: RESPONSE is an assumption of ours, and the same for every model.
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
    f"{HEAD.capitalize()}: H before review, tokens and seconds a call are set as the paper prints them; reviews, "
    "calls and the final H come of the protocol and of simulated policies, which all respond alike to what a review "
    "costs and to snapshots (our assumption)."
)
PRINTED = {"h": "H before review", "tokens_in": "tokens", "seconds": "seconds"}


def with_simulated_players(found: Experiment, items: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The configuration and season of an experiment with simulated players."""
    config, season = found.config().model_dump(mode="json"), found.season()
    models: dict[str, dict[str, Any]] = {}
    names: list[list[str]] = []
    for group in found.groups:
        own: list[str] = []
        for label, drawn in drawn_players(found, group):
            name, model = f"simulated/{label}", {"simulate": drawn | RESPONSE}
            while models.get(name, model) != model:
                name += "'"
            models[name] = model
            own.append(name)
        names.append(own)
    _seat(config, season, names)
    document = config | {"models": models, "detector": None, "seed": 0}
    document["task"] = {"kind": config["task"]["kind"], "limit": items}
    return document, season


def is_drawn_from_print(found: Experiment, config: Config) -> bool:
    """Whether a run of an experiment is one with such players."""
    return config.players[0].model == f"simulated/{found.groups[0].labels[0]}"


def said_of_drawn(found: Experiment) -> Iterator[str]:
    """What must be said of such a run: what was set, and what was not printed and left at defaults."""
    yield SAID
    lacking: dict[str, list[str]] = {}
    for group in found.groups:
        for label, drawn in drawn_players(found, group):
            missing = ", ".join(said for key, said in PRINTED.items() if key not in drawn)
            if missing and label not in lacking.setdefault(missing, []):
                lacking[missing].append(label)
    for what, who in lacking.items():
        yield f"Not printed, so left at the defaults of a simulated model: {what} of {'; '.join(who)}."


def drawn_players(found: Experiment, group: Group) -> Iterator[tuple[str, dict[str, float]]]:
    """The rows of a match, each with what is set of its simulated player."""
    questions = found.config().task.kind == "qa"
    for at, label in enumerate(group.labels):
        yield label, parameters(label, group.printed[at] if group.printed else None, questions=questions)


def _seat(config: dict[str, Any], season: dict[str, Any], names: Sequence[Sequence[str]]) -> None:
    """Give every match its players' models; where a sweep does not change models, they come to change as well."""
    for at, player in enumerate(config["players"]):
        player["model"] = names[0][at]
    if season["kind"] != "sweep":
        return
    ((key, values), *_) = season["over"]
    keys = [f"players.{at}.model" for at in range(len(config["players"]))]
    kept = [name for name in key.split(",") if name not in keys]
    each: list[list[Any]] = [value if isinstance(value, list) else [value] for value in values]
    places = [key.split(",").index(name) for name in kept]
    changed = [[value[at] for at in places] + list(own) for value, own in zip(each, names, strict=True)]
    season["over"] = [[",".join([*kept, *keys]), changed]]


def parameters(label: str, printed: Printed | None, *, questions: bool = False) -> dict[str, float]:
    """What is set of a simulated player: nothing but what the paper prints of its model's first answers and costs."""
    own = {} if printed is None else dict(printed.figures)
    side = label if printed is None else printed.player
    known: Mapping[str, float | None] = {} if questions else _of_model(model_of(label, printed), side)
    found: dict[str, float] = {}
    h = own.get("h_before_review") or known.get("h_before_review")
    usual = SimulateConfig()
    if h is not None:
        found["h"] = unclipped(h, usual.h_spread)
    priced = own if own.get("calls") and own.get("tokens") and own.get("seconds") else known
    calls, seconds = priced.get("calls"), priced.get("seconds")
    both = tokens_in_and_out(priced, label)
    if calls and both is not None:
        spread = math.exp(usual.tokens_spread**2 / 2)
        found |= {
            name: amount / calls / spread for name, amount in zip(("tokens_in", "tokens_out"), both, strict=True)
        }
    if calls and seconds:
        found["seconds"] = seconds / calls / math.exp(usual.seconds_spread**2 / 2)
    return {name: round(value, 6) for name, value in found.items()}


def tokens_in_and_out(figures: Mapping[str, float | None], label: str) -> tuple[float, float] | None:
    """Tokens in and out; where only their sum is printed, in the proportion of GPT-4o-mini in the main table."""
    into, out, total = (figures.get(name) for name in ("tokens_in", "tokens_out", "tokens"))
    if into is not None and out is not None:
        return into, out
    if total is None:
        return None
    main = main_figures(label)
    share = (main["tokens_in"] or 0.0) / (main["tokens"] or 1.0)
    return share * total, (1 - share) * total


def model_of(label: str, printed: Printed | None) -> str:
    """The model of a row, as the paper names it."""
    if printed is not None and printed.model is not None:
        return printed.model
    named = label.rpartition(": ")[2]
    return named if named in MODELS else "GPT-4o-mini"


def _of_model(model: str, player: str) -> Mapping[str, float | None]:
    """What the main table prints of a model, for the player on the same side; nothing if it does not have it."""
    for group in experiments()["main_results_1"].groups:
        for row in group.printed:
            if row.model == model and row.player == ("B" if player.startswith("B:") or player == "B" else "A"):
                return row.figures
    return {}


def unclipped(mean: float, spread: float) -> float:
    """The centre, up to 1, of a bell whose mean is `mean` once it is cut off at 0 and 1."""
    low, high = 0.0, 1.0
    for _ in range(60):
        centre = (low + high) / 2
        low, high = (centre, high) if _clipped_mean(centre, spread) < mean else (low, centre)
    return (low + high) / 2


def _clipped_mean(centre: float, spread: float) -> float:
    """The mean of a normal number that is cut off at 0 and 1."""

    def below(x: float) -> float:
        return 0.5 * math.erfc(-(x - centre) / spread / math.sqrt(2))

    def density(x: float) -> float:
        return math.exp(-(((x - centre) / spread) ** 2) / 2) / math.sqrt(2 * math.pi)

    inside = centre * (below(1) - below(0)) - spread * (density(1) - density(0))
    return inside + 1 - below(1)


def placeholders(items: int, kind: str) -> str:
    """Items that stand for any, as JSON lines: what an item is like is drawn from its id."""
    text = "question" if kind == "qa" else "text"
    return "".join(_lines(items, text))


def _lines(items: int, text: str) -> Iterator[str]:
    for number in range(1, items + 1):
        yield json.dumps({"id": f"simulated-{number}", text: f"[simulated item {number}]", "answer": "[none]"}) + "\n"
