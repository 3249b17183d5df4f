"""The picture of a result for the README: H against P, and Q over beta, drawn from a run.

    python -m tools.picture runs/demo -o docs/images/result.svg

Contract: every number in it is the run's own, as `mashq score RUN` prints it; names are escaped; the same run gives
the same bytes. It is read in the dark as well: its colours follow the reader's.
"""

import argparse
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from html import escape
from pathlib import Path

from mashq.analysis.score_report import Options, judge
from mashq.analysis.score_types import ScoredPlayer, ScoreReport
from mashq.report.documents.columns import season_results, trials_of
from mashq.report.html.style import COLOURS
from mashq.runs.open import load_season
from mashq.runs.setup import score_rules_of

WIDTH, HEIGHT, TOP, BOTTOM = 860, 350, 84, 290
LEFT, RIGHT = (70, 400), (510, 770)
STYLE = (
    "text{font:13px system-ui,'Segoe UI','Helvetica Neue',Arial,sans-serif;fill:#24292f}.soft{fill:#57606a}"
    ".title{font-weight:600;font-size:15px}.name{font-weight:600}.back{fill:#fff}.line{stroke:#d0d7de}"
    ".rule{stroke:#57606a;stroke-dasharray:4 3}"
    "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.soft{fill:#9da7b1}.back{fill:#0d1117}.line{stroke:#3d444d}"
    ".rule{stroke:#9da7b1}}"
)
Scale = Callable[[float], float]


def scale(low: float, high: float, start: float, end: float) -> Scale:
    """Return a function from values to coordinates."""
    span = (high - low) or 1.0
    return lambda value: start + (value - low) / span * (end - start)


def text(x: float, y: float, content: str, css: str = "", anchor: str = "start") -> str:
    """Return a text element."""
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{css}" text-anchor="{anchor}">{escape(content)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, attributes: str) -> str:
    """Return a line element."""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" {attributes}/>'


def picture(report: ScoreReport) -> str:
    """Return the result as SVG."""
    players = [player for player in report.players if player.q is not None][: len(COLOURS)]
    label = escape(f"{report.headline} {message(report)}")
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">',
        f"<title>{label}</title><style>{STYLE}</style>",
        f'<rect class="back" width="{WIDTH}" height="{HEIGHT}" rx="8"/>',
        *_costs(players),
        *_betas(report, players),
        text(LEFT[0] - 44, HEIGHT - 12, report.headline, "soft"),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def message(report: ScoreReport) -> str:
    """Return a sentence on who leads at which beta."""
    stretches = report.envelope
    if len(stretches) < 2:
        return f"{stretches[0].winner} leads at every beta." if stretches else ""
    stretch_texts = [
        f"{stretch.winner} from {stretch.beta_from:.3g}"
        + (" on" if stretch.beta_to is None else f" to {stretch.beta_to:.3g}")
        for stretch in stretches
    ]
    return f"Leads by beta: {', '.join(stretch_texts)}."


def _costs(players: Sequence[ScoredPlayer]) -> Iterator[str]:
    """Yield the plot of factuality against cost."""
    x_max = max(1.0, *(player.penalty or 0.0 for player in players)) * 1.15
    x, y = scale(0, x_max, *LEFT), scale(0, 1, BOTTOM, TOP)
    yield text(LEFT[0] - 44, 26, "Factuality against cost", "title")
    yield text(LEFT[0] - 44, 46, "H: how factual the answers are; P: what they cost.", "soft")
    for tick in (0, 0.25, 0.5, 0.75, 1):
        yield line(LEFT[0], y(tick), LEFT[1], y(tick), 'class="line"')
        yield text(LEFT[0] - 8, y(tick) + 4, f"{tick:g}", "soft", "end")
    for tick in range(int(x_max) + 1):
        yield text(x(tick), BOTTOM + 18, f"{tick}", "soft", "middle")
    yield text(LEFT[0] - 8, TOP - 12, "H", anchor="end")
    yield text(LEFT[1] + 8, BOTTOM + 18, "P")
    for player, colour in zip(players, COLOURS, strict=False):
        cx, cy = x(player.penalty or 0.0), y(player.h or 0.0)
        yield f'<circle cx="{cx:.1f}" cy="{cy:.1f}" r="7" fill="{colour}"/>'
        anchor = "end" if cx > LEFT[1] - 60 else "middle"
        yield text(cx, cy - 13, player.name, "name", anchor)
        yield text(cx, cy + 24, f"H {player.h:.3f}, P {player.penalty:.2f}", "soft", anchor)


def _betas(report: ScoreReport, players: Sequence[ScoredPlayer]) -> Iterator[str]:
    """Yield the plot of Q over beta: where the lines cross, the order changes."""
    beta_max = 2 * report.beta or 0.2
    ends = [report.alpha * (p.h or 0.0) - beta * (p.penalty or 0.0) for p in players for beta in (0.0, beta_max)]
    low, high = min(0.0, *ends), max(ends)
    x, y = scale(0, beta_max, *RIGHT), scale(low, high, BOTTOM, TOP)
    yield text(RIGHT[0] - 44, 26, "Whose answers are worth it?", "title")
    yield text(RIGHT[0] - 44, 46, "Q = H − beta · P, for every weight of the cost.", "soft")
    step = next((candidate for candidate in (0.1, 0.2, 0.25, 0.5, 1.0) if (high - low) / candidate <= 5), high - low)
    for tick in (step * n for n in range(math.ceil(low / step), math.floor(high / step) + 1)):
        yield line(RIGHT[0], y(tick), RIGHT[1], y(tick), 'class="line"')
        yield text(RIGHT[0] - 8, y(tick) + 4, f"{tick:g}", "soft", "end")
    for tick in (0.0, beta_max / 2, beta_max):
        yield text(x(tick), BOTTOM + 18, f"{tick:g}", "soft", "middle")
    yield text(RIGHT[1] + 22, BOTTOM + 18, "beta")
    yield text(RIGHT[0] - 8, TOP - 12, "Q", anchor="end")
    yield line(x(report.beta), TOP, x(report.beta), BOTTOM, 'class="rule"')
    for player, colour in zip(players, COLOURS, strict=False):
        start, end = (report.alpha * (player.h or 0.0) - beta * (player.penalty or 0.0) for beta in (0.0, beta_max))
        yield line(x(0), y(start), x(beta_max), y(end), f'stroke="{colour}" stroke-width="2.5"')
        yield text(RIGHT[1] + 8, y(end), player.name, "name")
    for stretch in report.envelope:
        if stretch.beta_from and stretch.beta_from <= beta_max:
            winner = next(player for player in players if player.name == stretch.winner)
            q = report.alpha * (winner.h or 0.0) - stretch.beta_from * (winner.penalty or 0.0)
            cx, cy = x(stretch.beta_from), y(q)
            yield f'<circle cx="{cx:.1f}" cy="{cy:.1f}" r="5" class="back line" stroke-width="2"/>'
            yield text(cx + 10, cy - 8, f"{stretch.beta_from:.3f}", "soft")


def main(arguments: Sequence[str]) -> None:
    """Read a run and write its picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("-o", "--out", type=Path, required=True)
    options = parser.parse_args(arguments)
    season = load_season(options.run)
    report = judge(
        season_results(trials_of(season)), Options(score_rules_of(season.config), finished=season.finished)
    )
    options.out.write_text(picture(report), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
