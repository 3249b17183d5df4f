"""What an experiment costs at full size: the calls and tokens that the paper prints, at current list prices."""

from collections.abc import Mapping

from mashq.gateway.prices import listed
from mashq.paper.documents import PaperCost, PaperPlan
from mashq.paper.experiments import MODELS, Experiment, experiments, main_figures
from mashq.paper.simulated import model_of, tokens_in_and_out


def plan(models: Mapping[str, str] = MODELS) -> PaperPlan:
    """The cost of every experiment and of all together; `models` maps the paper's model names to those asked."""
    costs = [cost(entry, models) for entry in experiments().values()]
    played = [entry for entry in costs if not entry.shares]
    return PaperPlan(
        experiments=costs,
        calls=sum(entry.calls for entry in played),
        tokens=sum(entry.tokens_in + entry.tokens_out for entry in played),
        dollars=sum(entry.dollars for entry in played),
        unpriced=sorted({name for entry in played for name in entry.unpriced}),
    )


def cost(experiment: Experiment, models: Mapping[str, str] = MODELS) -> PaperCost:
    """The cost of one experiment; zero if it only shows the matches of others."""
    calls = tokens_in = tokens_out = dollars = 0.0
    unpriced: set[str] = set()
    assumed = False
    for group in () if experiment.of else experiment.groups:
        for index, label in enumerate(group.labels):
            row = group.printed[index] if group.printed else None
            row_calls, row_in, row_out, estimated = _row_cost(experiment, label, {} if row is None else row.figures)
            assumed = assumed or estimated
            calls, tokens_in, tokens_out = calls + row_calls, tokens_in + row_in, tokens_out + row_out
            model = models[model_of(label, row)]
            price = _dollars(model, row_in, row_out)
            dollars += price or 0.0
            unpriced |= {model} if price is None else set()
    trials = experiment.trials
    return PaperCost(
        name=experiment.name,
        kind=experiment.what,
        title=experiment.title,
        command=f"mashq paper play {experiment.name}",
        shares=list(experiment.of),
        matches=0 if experiment.of else len(experiment.groups) * trials,
        items=experiment.items,
        calls=calls * trials,
        tokens_in=tokens_in * trials,
        tokens_out=tokens_out * trials,
        dollars=dollars * trials,
        unpriced=sorted(unpriced),
        assumed=assumed,
    )


def _row_cost(
    experiment: Experiment, label: str, figures: Mapping[str, float | None]
) -> tuple[float, float, float, bool]:
    """Calls, input and output tokens of a row; what it does not print is estimated from GPT-4o-mini's calls in the
    main table."""
    main = main_figures(label)
    main_calls = main["calls"] or 1.0
    reviews = figures.get("reviews")
    calls = figures.get("calls")
    if calls is None:
        reviews_per_item = (main["reviews"] or 0.0) / (main_calls - (main["reviews"] or 0.0)) * 2
        steps = 1 if label.startswith("ReAct") else 2
        calls = steps * experiment.items + (experiment.items * reviews_per_item if reviews is None else reviews)
    tokens = tokens_in_and_out(figures, label)
    if tokens is not None:
        return calls, *tokens, figures.get("tokens_in") is None
    return (
        calls,
        calls * (main["tokens_in"] or 0.0) / main_calls,
        calls * (main["tokens_out"] or 0.0) / main_calls,
        True,
    )


def _dollars(model: str, tokens_in: float, tokens_out: float) -> float | None:
    """The cost of tokens at a model's list price; zero for local models; None if it has no price."""
    provider, _, name = model.partition("/")
    if provider in ("local", "simulated", "recorded", "ollama", "vllm"):
        return 0.0
    rate = listed(provider, name)
    return None if rate is None else rate.plain(round(tokens_in), round(tokens_out))
