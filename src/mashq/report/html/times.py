"""How long players take per call, and per answer with all its calls."""

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
    """Show the median and the 95th percentile of the time per call and per answer for each player, and of the time to
    the first data if some replies were streamed."""
    calls: dict[str, list[float]] = defaultdict(list)
    answers: dict[tuple[str, str, str], float] = defaultdict(float)
    for match in facts.matches:
        for player, item, outcome, seconds, waited in read_times(facts.season.path, match):
            if outcome in ANSWERED:
                calls[player].append(seconds)
            answers[player, match, item] += seconds + waited
    label_of = labels(facts.names)
    first_bytes = facts.document.first_byte
    rows: list[list[str]] = []
    for name in facts.names:
        answer_times = [seconds for (player, _, item), seconds in answers.items() if player == name and item]
        first_byte_cells = [] if first_bytes is None else _first_byte_cells(first_bytes.get(name))
        rows.append([label_of[name], *_figures(calls[name]), *_figures(answer_times), *first_byte_cells])
    grid = Grid(HEADINGS if first_bytes is None else HEADINGS + FIRST, rows)
    caption = SAID if first_bytes is None else SAID + STREAMED
    return Section("times", "Time per call and per answer", [Table("times", grid, caption)])


def _first_byte_cells(first_byte: FirstByte | None) -> list[str]:
    """Format the number of streamed replies and their time to first byte."""
    if first_byte is None:
        return ["0", "not streamed", "not streamed"]
    return [number(first_byte.replies), f"{first_byte.median:,.2f}", f"{first_byte.p95:,.2f}"]


def _figures(seconds: list[float]) -> list[str]:
    """Format the count, median and 95th percentile of some times; unknown if there are none."""
    if not seconds:
        return ["0", "?", "?"]
    median, p95 = np.quantile(seconds, [0.5, 0.95]).tolist()
    return [number(len(seconds)), f"{median:,.2f}", f"{p95:,.2f}"]
