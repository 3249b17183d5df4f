"""What `mashq validate report` prints, and the calibration plot: one HTML file with the picture in it."""

from collections.abc import Iterator
from typing import Any

from mashq.report.annotation_sheet import policy, shown
from mashq.report.text.formatting import number, safe
from mashq.report.text.tables import Format, Grid, prose, written

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


def validation_text(document: dict[str, Any], form: Format) -> str:
    """The whole output as text."""
    parts = [written(_agreement(document), form), written(_calibration(document), form)]
    return "\n\n".join([*parts, prose(sentences(document), form)])


def sentences(document: dict[str, Any]) -> Iterator[str]:
    """What the tables alone would hide."""
    yield (
        f"{document['n']} answers to {document['sources']} sources, detector {_detector(document)}; a rating of "
        f"{document['positive']:g} or more is good; intervals (95%) resample the sources."
    )
    if document["alpha"] is not None:
        yield (
            f"Agreement between annotators on {document['rated_twice']} answers (Krippendorff's alpha): "
            f"{_told(document['alpha'])} for the ratings, {_told(document['alpha_binary'])} for good or not."
        )
    gap = document["difference"]
    if gap["value"] is not None:
        side = "above" if gap["value"] >= 0 else "below"
        span = "" if gap["low"] is None else f" (H less rating: {gap['low']:+.3f} to {gap['high']:+.3f})"
        yield f"On average H is {abs(gap['value']):.3f} {side} the ratings{span}."
    if document["in_run"] is not None:
        yield (
            "The sample takes low and high scores alike, which makes r larger; weighted back to the answers of the "
            f"run, r = {_told(document['in_run']['pearson'])} and AUC = {_told(document['in_run']['auc'])}."
        )
    yield _paper(document)
    for note in document["notes"]:
        yield f"Note: {safe(note, 500)}"


def plot(document: dict[str, Any]) -> str:
    """The calibration plot as a page of its own."""
    rows = "".join(f'<circle class="row" cx="{_x(x)}" cy="{_y(y)}" r="2.5"/>' for x, y in document["points"])
    bins = document["calibration"]
    bars = "".join(
        f'<line class="bar" x1="{_x(b["score"])}" x2="{_x(b["score"])}" y1="{_y(b["low"])}" y2="{_y(b["high"])}"/>'
        for b in bins
        if b["low"] is not None
    )
    dots = "".join(
        f'<circle class="bin" cx="{_x(b["score"])}" cy="{_y(b["rating"])}" r="5"><title>{b["n"]} answers: '
        f"mean H {b['score']:.3f}, mean rating {b['rating']:.3f}</title></circle>"
        for b in bins
    )
    line = " ".join(f"{_x(b['score'])},{_y(b['rating'])}" for b in bins)
    name = shown(safe(_detector(document)))
    said = "".join(f"<p>{shown(sentence)}</p>" for sentence in sentences(document))
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
        f"dashed: H equals the rating.</p>{said}</body></html>\n"
    )
    return page.replace("@@policy@@", policy(page), 1)


def _agreement(document: dict[str, Any]) -> Grid:
    rows = [[row["name"][:14], *_measured(row)] for row in document["annotators"]]
    if len(rows) > 1:
        rows.append(["mean rating", *_measured(document["mean"])])
    headings = ["ratings of", "n", "good", "Pearson r", "95%", "Spearman", "95%", "AUC", "95%"]
    return Grid(headings, rows)


def _measured(row: dict[str, Any]) -> list[str]:
    cells = [number(row["n"]), number(row["good"])]
    for name in ("pearson", "spearman", "auc"):
        cells += [number(row[name]["value"], 3), _span(row[name], 2)]
    return cells


def _calibration(document: dict[str, Any]) -> Grid:
    rows = [
        [
            f"{b['from']:.3f} to {b['to']:.3f}",
            number(b["n"]),
            number(b["score"], 3),
            number(b["rating"], 3),
            _span(b),
        ]
        for b in document["calibration"]
    ]
    return Grid(["H", "n", "mean H", "mean rating", "95%"], rows)


def _paper(document: dict[str, Any]) -> str:
    paper, found = document["paper"], document["mean"]["pearson"]
    told = f"The paper reports r = {paper['pearson']} between HHEM and people on {paper['n']} answers"
    other = "" if document["detector"]["name"] == paper["detector"] else ", of another detector"
    if found["value"] is None:
        return f"{told}; here r cannot be computed, because the scores or the ratings are all the same."
    here = f"{told}; here, on {document['mean']['n']}{other}, r = {_told(found)}"
    if found["low"] is None:
        return f"{here}: too few or too uniform to compare."
    if found["low"] <= paper["pearson"] <= found["high"]:
        return f"{here}, which agrees with it."
    return f"{here}, which is {'lower' if found['value'] < paper['pearson'] else 'higher'}."


def _detector(document: dict[str, Any]) -> str:
    return f"{document['detector']['name']} {document['detector']['version']}"


def _told(found: dict[str, Any]) -> str:
    if found["value"] is None:
        return "undefined"
    return f"{found['value']:.3f}" + ("" if found["low"] is None else f" ({_span(found)})")


def _span(found: dict[str, Any], digits: int = 3) -> str:
    return "?" if found["low"] is None else f"{found['low']:.{digits}f} to {found['high']:.{digits}f}"


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
    turned = f'transform="rotate(-90 14 {middle})"'
    parts.append(f'<text x="14" y="{middle}" text-anchor="middle" {turned}>rating by people</text>')
    return "".join(parts)


def _x(value: float) -> float:
    return round(EDGE + SIDE * value, 1)


def _y(value: float) -> float:
    return round(EDGE + SIDE * (1 - value), 1)
