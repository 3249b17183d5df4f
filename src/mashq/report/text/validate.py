"""How well a detector agrees with people, for a person."""

from collections.abc import Iterator

from mashq.analysis.validation.agreement import Agreement, Bin, Estimate
from mashq.report.documents.validate import ValidationReport
from mashq.report.text.formatting import number, safe
from mashq.report.text.tables import Format, Grid, prose, written


def validation_text(document: ValidationReport, form: Format) -> str:
    """The whole output as text."""
    parts = [written(_agreement(document), form), written(_calibration(document), form)]
    return "\n\n".join([*parts, prose(sentences(document), form)])


def sentences(document: ValidationReport) -> Iterator[str]:
    """What the tables alone would hide."""
    yield (
        f"{document.found.n} answers to {document.found.sources} sources, detector {detector_name(document)}; "
        f"a rating of {document.found.positive:g} or more is good; intervals (95%) resample the sources."
    )
    if document.found.alpha is not None and document.found.alpha_binary is not None:
        yield (
            f"Agreement between annotators on {document.found.rated_twice} answers (Krippendorff's alpha): "
            f"{_value(document.found.alpha)} for the ratings, {_value(document.found.alpha_binary)} for good or not."
        )
    gap = document.found.difference
    if gap.value is not None:
        side = "above" if gap.value >= 0 else "below"
        span = "" if gap.low is None else f" (H less rating: {gap.low:+z.3f} to {gap.high:+z.3f})"
        yield f"On average H is {abs(gap.value):.3f} {side} the ratings{span}."
    if document.found.in_run is not None:
        yield (
            "The sample takes low and high scores alike, which makes r larger; weighted back to the answers of the "
            f"run, r = {_value(document.found.in_run.pearson)} and AUC = {_value(document.found.in_run.auc)}."
        )
    yield _paper(document)
    for note in document.notes:
        yield f"Note: {safe(note, 500)}"


def _agreement(document: ValidationReport) -> Grid:
    rows = [[row.name, *_measured(row.agreement)] for row in document.found.annotators]
    if len(rows) > 1:
        rows.append(["mean rating", *_measured(document.found.mean)])
    headings = ["ratings of", "n", "good", "Pearson r", "95%", "Spearman", "95%", "AUC", "95%"]
    return Grid(headings, rows)


def _measured(row: Agreement) -> list[str]:
    cells = [number(row.n), number(row.good)]
    for found in (row.pearson, row.spearman, row.auc):
        cells += [number(found.value, 3), _span(found, 2)]
    return cells


def _calibration(document: ValidationReport) -> Grid:
    rows = [
        [
            f"{b.start:.3f} to {b.end:.3f}",
            number(b.n),
            number(b.score, 3),
            number(b.rating, 3),
            _span(b),
        ]
        for b in document.found.calibration
    ]
    return Grid(["H", "n", "mean H", "mean rating", "95%"], rows)


def _paper(document: ValidationReport) -> str:
    paper, found = document.found.paper, document.found.mean.pearson
    reported = f"The paper reports r = {paper.pearson} between HHEM and people on {paper.n} answers"
    other = "" if document.detector.name == paper.detector else ", of another detector"
    if found.value is None:
        return f"{reported}; here r cannot be computed, because the scores or the ratings are all the same."
    here = f"{reported}; here, on {document.found.mean.n}{other}, r = {_value(found)}"
    if found.low is None or found.high is None:
        return f"{here}: too few or too uniform to compare."
    if found.low <= paper.pearson <= found.high:
        return f"{here}, which agrees with it."
    return f"{here}, which is {'lower' if found.value < paper.pearson else 'higher'}."


def detector_name(document: ValidationReport) -> str:
    """Which detector scored."""
    return f"{document.detector.name} {document.detector.version}"


def _value(found: Estimate) -> str:
    if found.value is None:
        return "undefined"
    return f"{found.value:.3f}" + ("" if found.low is None else f" ({_span(found)})")


def _span(found: Estimate | Bin, digits: int = 3) -> str:
    return "?" if found.low is None else f"{found.low:.{digits}f} to {found.high:.{digits}f}"
