"""What the trials of a match say beside the match itself."""

from mashq.report.html.facts import Facts
from mashq.report.html.labels import labels
from mashq.report.text.formatting import number
from mashq.report.text.tables import Grid

TRIALS = {"h": 4, "tokens": 0, "reviews": 1, "seconds": 1, "q": 4}


def two_ways(facts: Facts) -> list[str]:
    """The mean of the trials' Q beside the Q of items averaged over trials, which everything else here is."""
    said = "Everything else in this report averages an item over its trials first, then scores, as mashq score does."
    first = next(iter(facts.document["differences"]), None)
    if first is None or first["low"] is None:
        return [said]
    known = labels(facts.names)
    lead = (
        f"By the mean Q of the trials {known[first['a']]} leads {known[first['b']]} by {first['dq']:.4f} (95%: "
        f"{first['low']:.4f} to {first['high']:.4f})."
    )
    differ = facts.document["winner"] != (facts.judged or {})["winner"]
    return [f"{lead} {said}" + (" The two ways do not have the same winner." if differ else "")]


def table(facts: Facts) -> Grid:
    """Means and standard deviations over the trials."""
    known = labels(facts.names)
    rows = [
        [
            known[p["name"]],
            *(_with_sd(p[key], p["sd"][key], digits) for key, digits in TRIALS.items()),
            number(p["wins"]),
        ]
        for p in facts.document["players"]
    ]
    return Grid(["player", "H", "tokens", "reviews", "seconds", "Q", "won"], rows)


def _with_sd(mean: float | None, spread: float | None, digits: int) -> str:
    return number(mean, digits) + ("" if spread is None else f" ± {number(spread, digits)}")
