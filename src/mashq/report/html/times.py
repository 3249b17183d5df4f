"""How long players take: a call, and an answer with all that was done for it."""

from collections import defaultdict

import numpy as np

from mashq.report.documents.first_byte import FirstByte
from mashq.report.html.facts import Facts
from mashq.report.html.labels import labels
from mashq.report.html.parts import Section, Table
from mashq.report.text.formatting import number
from mashq.report.text.tables import Grid
from mashq.runs.reading import read_times

ANSWERED = ("ok", "refused")
FIRST = ["streamed", "median (s)", "95th percentile (s)"]
HEADINGS = ["player", "calls", "median (s)", "95th percentile (s)", "answers", "median (s)", "95th percentile (s)"]
SAID = (
    "Model time. A call: from the request to the end of a reply, for every attempt that was answered. An answer: all "
    "calls of one item, with failed attempts, decisions, reviews and the waits between repeats."
)
STREAMED = " Streamed: from the request to the first data of a reply that was streamed, however it ended."


def times(facts: Facts) -> Section:
    """The median and the 95th percentile of the time of a call and of an answer, for each player; where somebody had
    replies streamed, of the time to their first data too."""
    calls: dict[str, list[float]] = defaultdict(list)
    answers: dict[tuple[str, str, str], float] = defaultdict(float)
    for match in facts.matches:
        for player, item, outcome, seconds, waited in read_times(facts.season.path, match):
            if outcome in ANSWERED:
                calls[player].append(seconds)
            answers[player, match, item] += seconds + waited
    known = labels(facts.names)
    begun = facts.document.first_byte
    rows: list[list[str]] = []
    for name in facts.names:
        whole = [seconds for (player, _, item), seconds in answers.items() if player == name and item]
        first = [] if begun is None else _first(begun.get(name))
        rows.append([known[name], *_figures(calls[name]), *_figures(whole), *first])
    grid = Grid(HEADINGS if begun is None else HEADINGS + FIRST, rows)
    said = SAID if begun is None else SAID + STREAMED
    return Section("times", "Time per call and per answer", [Table("times", grid, said)])


def _first(begun: FirstByte | None) -> list[str]:
    """How many replies were streamed and when they began."""
    if begun is None:
        return ["0", "not streamed", "not streamed"]
    return [number(begun.replies), f"{begun.median:,.2f}", f"{begun.p95:,.2f}"]


def _figures(seconds: list[float]) -> list[str]:
    """How many there are, their median and their 95th percentile; unknown where there are none."""
    if not seconds:
        return ["0", "?", "?"]
    middle, most = np.quantile(seconds, [0.5, 0.95]).tolist()
    return [number(len(seconds)), f"{middle:,.2f}", f"{most:,.2f}"]
