"""How well a detector agrees with people, as text."""

from collections.abc import Iterator

from mashq.analysis.validation.agreement import Agreement, Bin, Estimate
from mashq.report.documents.validate import ValidationReport
from mashq.report.text.formatting import number, safe, signed
from mashq.report.text.tables import Format, Grid, prose, written


def validation_text(document: ValidationReport, form: Format) -> str:
    """Return the whole output as text."""
    parts = [written(_agreement(document), form), written(_calibration(document), form)]
    return "\n\n".join([*parts, prose(sentences(document), form)])


def sentences(document: ValidationReport) -> Iterator[str]:
    """Yield the context and notes that the tables do not show."""
    yield (
        f"{document.found.n} answers to {document.found.sources} sources, detector {detector_name(document)}; "
        f"a rating of {document.found.positive:g} or more is good; intervals (95%) resample the sources."
    )
    if document.found.alpha is not None and document.found.alpha_binary is not None:
        yield (
            f"Agreement between annotators on {document.found.rated_twice} answers (Krippendorff's alpha): "
            f"{_value(document.found.alpha)} for the ratings, {_value(document.found.alpha_binary)} for good or not."
        )
    difference = document.found.difference
    if difference.value is not None:
        side = "above" if difference.value >= 0 else "below"
        span = (
            ""
            if difference.low is None
            else f" (H less rating: {signed(difference.low, 3)} to {signed(difference.high or 0.0, 3)})"
        )
        yield f"On average H is {abs(difference.value):.3f} {side} the ratings{span}."
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
    for estimate in (row.pearson, row.spearman, row.auc):
        cells += [number(estimate.value, 3), _span(estimate, 2)]
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
    paper, pearson = document.found.paper, document.found.mean.pearson
    reported = f"The paper reports r = {paper.pearson} between HHEM and people on {paper.n} answers"
    suffix = "" if document.detector.name == paper.detector else ", of another detector"
    if pearson.value is None:
        return f"{reported}; here r cannot be computed, because the scores or the ratings are all the same."
    comparison = f"{reported}; here, on {document.found.mean.n}{suffix}, r = {_value(pearson)}"
    if pearson.low is None or pearson.high is None:
        return f"{comparison}: too few or too uniform to compare."
    if pearson.low <= paper.pearson <= pearson.high:
        return f"{comparison}, which agrees with it."
    return f"{comparison}, which is {'lower' if pearson.value < paper.pearson else 'higher'}."


def detector_name(document: ValidationReport) -> str:
    """Return the name and version of the detector that scored."""
    return f"{document.detector.name} {document.detector.version}"


def _value(estimate: Estimate) -> str:
    if estimate.value is None:
        return "undefined"
    return f"{estimate.value:.3f}" + ("" if estimate.low is None else f" ({_span(estimate)})")


def _span(estimate: Estimate | Bin, digits: int = 3) -> str:
    return "?" if estimate.low is None else f"{estimate.low:.{digits}f} to {estimate.high:.{digits}f}"
