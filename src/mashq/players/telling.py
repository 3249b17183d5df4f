"""What a player is told about the rules: as sections of a prompt, and as data for an external program.

`rules.tell` selects it: `formula` (how the score is computed), `costs` (what a review does and costs) and
`disclosure` (what rivals are shown). A section that is not told is empty, except the goal, which then only names what
counts.
"""

from mashq.protocol.resources import Unknown
from mashq.protocol.rules import LABELS
from mashq.protocol.state import Observation

WORDS = {"qa": ("question", "answer"), "rag": ("question", "answer"), "summarise": ("text", "summary")}


def told_sections(seen: Observation, task: str) -> dict[str, str]:
    """The prompt sections that explain how a match is scored and what is disclosed."""
    thing, work = WORDS.get(task, ("item", "answer"))
    payoff = seen.rules.payoff
    return {
        "alpha": f"{payoff.alpha:g}",
        "beta": f"{payoff.beta:g}",
        "h_section": _h_section(seen, task, thing, work),
        "goal_section": _goal_section(seen),
        "review_section": _review_section(seen, thing, work),
        "disclosure_section": _disclosure_section(seen),
    }


def _h_section(seen: Observation, task: str, thing: str, work: str) -> str:
    """What the H shown to the player means."""
    if seen.rules.confidence:
        return (
            f"The H you are shown of an {work} is the confidence it was given with, from 0 (surely wrong) to 1 "
            "(surely right); whether it is right is decided by a referee and not shown."
        )
    if task == "rag":
        return (
            f"A detector gives each {work} a score H from 0 (its passages support none of it) to 1 (they support all "
            "of it); where a player says that they do not hold the answer, H is how sure of that it was."
        )
    if task == "summarise":
        return (
            f"A detector gives each {work} a factuality score H, from 0 (its {thing} supports nothing of it) to 1 "
            f"(its {thing} supports all of it)."
        )
    return f"A detector gives each {work} a score H from 0 (wrong or not supported) to 1 (right or fully supported)."


def _goal_section(seen: Observation) -> str:
    """The goal, with the formula if the player is told it."""
    if "formula" not in seen.rules.tell:
        return (
            "Your goal is to win the match: keep the average H high and the cost low. What counts as cost: "
            f"{', '.join(seen.resources)}."
        )
    payoff = seen.rules.payoff
    weights = ", ".join(name if weight == 1 else f"{name} (weight {weight:g})" for name, weight in payoff.weights)
    if payoff.reference:
        per_item = " per item" if payoff.per_item else ""
        reference = ", ".join(f"{name} {value:g}" for name, value in payoff.reference)
        relative = f"your total divided by a fixed one ({reference}{per_item}): every unit you spend costs the same"
    elif seen.rivals:
        relative = (
            "your total divided by the largest total of any player in the match, you included: while a rival has the "
            "largest, every unit you spend adds to P, and if yours is the largest you have the full weight"
        )
    else:
        relative = "your total divided by the largest in the match, which is your own: P does not depend on it"
    return (
        f"Your goal is to win the match, that is to end it with the highest Q = {payoff.alpha:g} x (average H) - "
        f"{payoff.beta:g} x P. P adds up, for each of {weights}, {relative}."
    )


def _review_section(seen: Observation, thing: str, work: str) -> str:
    """What a review does, and its rated cost."""
    if "costs" not in seen.rules.tell:
        return ""
    times = "once"
    if seen.rules.turn == "cycle" and seen.max_reviews > 1:
        limit = f"it has been rewritten {seen.max_reviews} times"
        times = f"again and again until its H is at least {seen.threshold:g} or {limit}"
    kept = "is kept if its H is higher" if seen.keep == "better" else "replaces the old one, even if its H is lower"
    return (
        f"- one review rewrites the {work} {times}; each rewrite is a model call and counts as a review, and {kept}\n"
        f"- weigh each rewrite as if it cost {seen.review_cost:g} of that one {thing}'s H; this is advice, and no "
        "part of Q\n"
    )


def _disclosure_section(seen: Observation) -> str:
    """What rivals see of the player."""
    vision = seen.rules.vision
    if "disclosure" not in seen.rules.tell or not seen.rivals:
        return ""
    shown = ", ".join(LABELS[name] for name in seen.rules.shown)
    if vision.when == "never" or not shown:
        return "- rivals see nothing of you, and you nothing of them\n"
    if vision.when == "always":
        return f"- after every round each rival is shown your {shown}\n"
    return (
        f"- if you review in this round, each rival is shown your {shown} in the next one; if you do not, nothing\n"
    )


def told_rules(seen: Observation) -> dict[str, object]:
    """The same rules as data, for an external program."""
    rules, payoff = seen.rules, seen.rules.payoff
    document: dict[str, object] = {
        "items": seen.total,
        "rivals": seen.rivals,
        "T": seen.threshold,
        "R": seen.max_reviews,
        "turn": rules.turn,
        "keep": rules.keep,
        "resources": list(seen.resources),
        "h": "confidence" if rules.confidence else "detector",
    }
    if "formula" in rules.tell:
        document |= {"alpha": payoff.alpha, "beta": payoff.beta, "weights": dict(payoff.weights)}
        document["relative_to"] = (
            dict(payoff.reference) | {"per_item": payoff.per_item} if payoff.reference else "match"
        )
    if "costs" in rules.tell:
        document["review_cost"] = seen.review_cost
    if "disclosure" in rules.tell:
        document["vision"] = {"when": rules.vision.when, "show": list(rules.shown), "keep": rules.vision.keep}
    return document


def told_state(seen: Observation) -> dict[str, object]:
    """The player's current state and what it was shown of rivals, as data; an unknown cost is null."""
    spent: dict[str, object] = {}
    for name in seen.resources:
        if name == "seconds" and not seen.show_seconds:
            continue
        value = seen.spend.amount(name).value
        spent[name] = None if isinstance(value, Unknown) else value
    return {
        "done": seen.handled,
        "average_h": seen.average_h,
        "worst": None if seen.worst is None else {"item": seen.worst[0], "h": seen.worst[1]},
        "recommended": seen.recommended,
        "spent": spent,
        "rivals": [
            {"name": snapshot.player, "round": snapshot.round, "stopped": snapshot.stopped, **dict(snapshot.fields)}
            for snapshot in seen.snapshots
        ],
    }
