"""What an experiment takes at full size: the calls and tokens that the paper prints, at today's list prices."""

from collections.abc import Mapping

from mashq.gateway.prices import listed
from mashq.paper.documents import PaperCost, PaperPlan
from mashq.paper.experiments import MODELS, Experiment, experiments, main_figures
from mashq.paper.simulated import model_of, tokens_in_and_out


def plan(models: Mapping[str, str] = MODELS) -> PaperPlan:
    """Every experiment, and all of them; `models` are the names under which models are asked."""
    found = [cost(one, models) for one in experiments().values()]
    own = [one for one in found if not one.shares]
    return PaperPlan(
        experiments=found,
        calls=sum(one.calls for one in own),
        tokens=sum(one.tokens_in + one.tokens_out for one in own),
        dollars=sum(one.dollars for one in own),
        unpriced=sorted({name for one in own for name in one.unpriced}),
    )


def cost(found: Experiment, models: Mapping[str, str] = MODELS) -> PaperCost:
    """What one experiment takes; nothing where it shows the matches of others."""
    calls = tokens_in = tokens_out = dollars = 0.0
    unpriced: set[str] = set()
    assumed = False
    for group in () if found.of else found.groups:
        for at, label in enumerate(group.labels):
            row = group.printed[at] if group.printed else None
            made, into, out, guessed = _taken(found, label, {} if row is None else row.figures)
            assumed = assumed or guessed
            calls, tokens_in, tokens_out = calls + made, tokens_in + into, tokens_out + out
            model = models[model_of(label, row)]
            price = _dollars(model, into, out)
            dollars += price or 0.0
            unpriced |= {model} if price is None else set()
    times = found.trials
    return PaperCost(
        name=found.name,
        kind=found.what,
        title=found.title,
        command=f"mashq paper play {found.name}",
        shares=list(found.of),
        matches=0 if found.of else len(found.groups) * times,
        items=found.items,
        calls=calls * times,
        tokens_in=tokens_in * times,
        tokens_out=tokens_out * times,
        dollars=dollars * times,
        unpriced=sorted(unpriced),
        assumed=assumed,
    )


def _taken(found: Experiment, label: str, figures: Mapping[str, float | None]) -> tuple[float, float, float, bool]:
    """Calls, tokens in and out of a row; what it does not print goes by GPT-4o-mini's calls of the main table."""
    main = main_figures(label)
    main_calls = main["calls"] or 1.0
    reviews = figures.get("reviews")
    calls = figures.get("calls")
    if calls is None:
        a_review = (main["reviews"] or 0.0) / (main_calls - (main["reviews"] or 0.0)) * 2
        steps = 1 if label.startswith("ReAct") else 2
        calls = steps * found.items + (found.items * a_review if reviews is None else reviews)
    both = tokens_in_and_out(figures, label)
    if both is not None:
        return calls, *both, figures.get("tokens_in") is None
    return (
        calls,
        calls * (main["tokens_in"] or 0.0) / main_calls,
        calls * (main["tokens_out"] or 0.0) / main_calls,
        True,
    )


def _dollars(model: str, tokens_in: float, tokens_out: float) -> float | None:
    """What tokens cost at a model's list price; nothing at one that runs here; None where it has no price."""
    provider, _, name = model.partition("/")
    if provider in ("local", "simulated", "recorded", "ollama", "vllm"):
        return 0.0
    rate = listed(provider, name)
    return None if rate is None else rate.plain(round(tokens_in), round(tokens_out))
