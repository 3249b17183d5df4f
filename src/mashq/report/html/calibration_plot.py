"""The calibration plot of a detector: one self-contained HTML file."""

from mashq.report.annotation_sheet import policy, shown
from mashq.report.documents.validate import ValidationReport
from mashq.report.text.formatting import safe
from mashq.report.text.validate import detector_name, sentences

SIDE, EDGE = 420, 52
STYLE = """
:root { color-scheme: light dark; --back: #fff; --text: #1b1b1b; --soft: #767676; --mark: #0b57d0; }
@media (prefers-color-scheme: dark) { :root { --back: #16181b; --text: #e8e8e8; --soft: #8d9197; --mark: #8ab4f8; } }
body { margin: 1rem auto; max-width: 44rem; padding: 0 1rem; background: var(--back); color: var(--text);
  font: 1rem/1.5 system-ui, sans-serif; }
svg { width: 100%; height: auto; max-width: 36rem; }
text { fill: var(--text); font: 13px system-ui, sans-serif; }
.axis { stroke: var(--soft); fill: none; } .ideal { stroke: var(--soft); stroke-dasharray: 4 4; }
.row { fill: var(--soft); opacity: .35; } .bin { fill: var(--mark); } .bar, .line { stroke: var(--mark); }
.line { fill: none; stroke-width: 1.5; } .bar { stroke-width: 2; }
"""


def plot(document: ValidationReport) -> str:
    """Return the calibration plot as an HTML page."""
    rows = "".join(f'<circle class="row" cx="{_x(x)}" cy="{_y(y)}" r="2.5"/>' for x, y in document.found.points)
    bins = document.found.calibration
    bars = "".join(
        f'<line class="bar" x1="{_x(b.score)}" x2="{_x(b.score)}" y1="{_y(b.low)}" y2="{_y(b.high)}"/>'
        for b in bins
        if b.low is not None and b.high is not None
    )
    dots = "".join(
        f'<circle class="bin" cx="{_x(b.score)}" cy="{_y(b.rating)}" r="5"><title>{b.n} answers: '
        f"mean H {b.score:.3f}, mean rating {b.rating:.3f}</title></circle>"
        for b in bins
        if b.rating is not None
    )
    line = " ".join(f"{_x(b.score)},{_y(b.rating)}" for b in bins if b.rating is not None)
    name = shown(safe(detector_name(document)))
    lines = "".join(f"<p>{shown(sentence)}</p>" for sentence in sentences(document))
    page = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta http-equiv="Content-Security-Policy" content="@@policy@@">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Calibration of {name}</title><style>{STYLE}</style></head><body>"
        f'<svg viewBox="0 0 {SIDE + 2 * EDGE} {SIDE + 2 * EDGE}" role="img" '
        f'aria-label="Mean rating against mean score of {name}">'
        f"{_axes()}{rows}{bars}"
        f'<polyline class="line" points="{line}"/>{dots}</svg>'
        "<p>Large dots: bins of about equal size with 95% intervals of the mean rating; small dots: single answers; "
        f"dashed: H equals the rating.</p>{lines}</body></html>\n"
    )
    return page.replace("@@policy@@", policy(page), 1)


def _axes() -> str:
    parts = [
        f'<rect class="axis" x="{EDGE}" y="{EDGE}" width="{SIDE}" height="{SIDE}"/>',
        f'<line class="ideal" x1="{_x(0)}" y1="{_y(0)}" x2="{_x(1)}" y2="{_y(1)}"/>',
    ]
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(f'<text x="{_x(tick)}" y="{EDGE + SIDE + 18}" text-anchor="middle">{tick:g}</text>')
        parts.append(
            f'<text x="{EDGE - 8}" y="{_y(tick)}" text-anchor="end" dominant-baseline="middle">{tick:g}</text>'
        )
    middle = EDGE + SIDE / 2
    parts.append(f'<text x="{middle}" y="{EDGE + SIDE + 40}" text-anchor="middle">score of the detector (H)</text>')
    rotation = f'transform="rotate(-90 14 {middle})"'
    parts.append(f'<text x="14" y="{middle}" text-anchor="middle" {rotation}>rating by people</text>')
    return "".join(parts)


def _x(value: float) -> float:
    return round(EDGE + SIDE * value, 1)


def _y(value: float) -> float:
    return round(EDGE + SIDE * (1 - value), 1)
