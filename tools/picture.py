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
    """Values to places."""
    span = (high - low) or 1.0
    return lambda value: start + (value - low) / span * (end - start)


def text(x: float, y: float, said: str, css: str = "", anchor: str = "start") -> str:
    """Words at a place."""
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{css}" text-anchor="{anchor}">{escape(said)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, rest: str) -> str:
    """A straight line."""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" {rest}/>'


def picture(judged: ScoreReport) -> str:
    """The result as SVG."""
    players = [player for player in judged.players if player.q is not None][: len(COLOURS)]
    told = escape(f"{judged.headline} {message(judged)}")
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{told}">',
        f"<title>{told}</title><style>{STYLE}</style>",
        f'<rect class="back" width="{WIDTH}" height="{HEIGHT}" rx="8"/>',
        *_costs(players),
        *_betas(judged, players),
        text(LEFT[0] - 44, HEIGHT - 12, judged.headline, "soft"),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def message(judged: ScoreReport) -> str:
    """Who leads at which beta."""
    stretches = judged.envelope
    if len(stretches) < 2:
        return f"{stretches[0].winner} leads at every beta." if stretches else ""
    found = [
        f"{one.winner} from {one.beta_from:.3g}" + (" on" if one.beta_to is None else f" to {one.beta_to:.3g}")
        for one in stretches
    ]
    return f"Leads by beta: {', '.join(found)}."


def _costs(players: Sequence[ScoredPlayer]) -> Iterator[str]:
    """Factuality against cost."""
    most = max(1.0, *(player.penalty or 0.0 for player in players)) * 1.15
    x, y = scale(0, most, *LEFT), scale(0, 1, BOTTOM, TOP)
    yield text(LEFT[0] - 44, 26, "Factuality against cost", "title")
    yield text(LEFT[0] - 44, 46, "H: how factual the answers are; P: what they cost.", "soft")
    for tick in (0, 0.25, 0.5, 0.75, 1):
        yield line(LEFT[0], y(tick), LEFT[1], y(tick), 'class="line"')
        yield text(LEFT[0] - 8, y(tick) + 4, f"{tick:g}", "soft", "end")
    for tick in range(int(most) + 1):
        yield text(x(tick), BOTTOM + 18, f"{tick}", "soft", "middle")
    yield text(LEFT[0] - 8, TOP - 12, "H", anchor="end")
    yield text(LEFT[1] + 8, BOTTOM + 18, "P")
    for player, colour in zip(players, COLOURS, strict=False):
        at, up = x(player.penalty or 0.0), y(player.h or 0.0)
        yield f'<circle cx="{at:.1f}" cy="{up:.1f}" r="7" fill="{colour}"/>'
        anchor = "end" if at > LEFT[1] - 60 else "middle"
        yield text(at, up - 13, player.name, "name", anchor)
        yield text(at, up + 24, f"H {player.h:.3f}, P {player.penalty:.2f}", "soft", anchor)


def _betas(judged: ScoreReport, players: Sequence[ScoredPlayer]) -> Iterator[str]:
    """Q over beta: where the lines cross, the order changes."""
    most = 2 * judged.beta or 0.2
    ends = [judged.alpha * (p.h or 0.0) - beta * (p.penalty or 0.0) for p in players for beta in (0.0, most)]
    low, high = min(0.0, *ends), max(ends)
    x, y = scale(0, most, *RIGHT), scale(low, high, BOTTOM, TOP)
    yield text(RIGHT[0] - 44, 26, "Whose answers are worth it?", "title")
    yield text(RIGHT[0] - 44, 46, "Q = H − beta · P, for every weight of the cost.", "soft")
    step = next((one for one in (0.1, 0.2, 0.25, 0.5, 1.0) if (high - low) / one <= 5), high - low)
    for tick in (step * n for n in range(math.ceil(low / step), math.floor(high / step) + 1)):
        yield line(RIGHT[0], y(tick), RIGHT[1], y(tick), 'class="line"')
        yield text(RIGHT[0] - 8, y(tick) + 4, f"{tick:g}", "soft", "end")
    for tick in (0.0, most / 2, most):
        yield text(x(tick), BOTTOM + 18, f"{tick:g}", "soft", "middle")
    yield text(RIGHT[1] + 22, BOTTOM + 18, "beta")
    yield text(RIGHT[0] - 8, TOP - 12, "Q", anchor="end")
    yield line(x(judged.beta), TOP, x(judged.beta), BOTTOM, 'class="rule"')
    for player, colour in zip(players, COLOURS, strict=False):
        start, end = (judged.alpha * (player.h or 0.0) - beta * (player.penalty or 0.0) for beta in (0.0, most))
        yield line(x(0), y(start), x(most), y(end), f'stroke="{colour}" stroke-width="2.5"')
        yield text(RIGHT[1] + 8, y(end), player.name, "name")
    for stretch in judged.envelope:
        if stretch.beta_from and stretch.beta_from <= most:
            winner = next(player for player in players if player.name == stretch.winner)
            q = judged.alpha * (winner.h or 0.0) - stretch.beta_from * (winner.penalty or 0.0)
            at, up = x(stretch.beta_from), y(q)
            yield f'<circle cx="{at:.1f}" cy="{up:.1f}" r="5" class="back line" stroke-width="2"/>'
            yield text(at + 10, up - 8, f"{stretch.beta_from:.3f}", "soft")


def main(arguments: Sequence[str]) -> None:
    """Read a run and write its picture."""
    wanted = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    wanted.add_argument("run", type=Path)
    wanted.add_argument("-o", "--out", type=Path, required=True)
    said = wanted.parse_args(arguments)
    season = load_season(said.run)
    judged = judge(
        season_results(trials_of(season)), Options(score_rules_of(season.config), finished=season.finished)
    )
    said.out.write_text(picture(judged), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
