"""Display experiments: in the terminal, in Markdown, as LaTeX for a paper and as one HTML page.

Below each of our rows is the printed one, and below that the difference: absolute for scores, relative and per item
for counts, because the two seldom have the same number of items.
"""

from collections.abc import Iterator, Sequence

from mashq.paper.documents import PaperFigures, PaperPlan, PaperTable, PaperTableRow, PaperTables
from mashq.paper.simulated import HEAD
from mashq.report.html.parts import Block, Chapter, Figure, Prose, Section, Table, Verdict
from mashq.report.text.formatting import cost, number, safe
from mashq.report.text.tables import Format, Grid, best, floating, latex, prose, written

HEADINGS = {
    "h_before_review": "H before",
    "h": "H",
    "calls": "calls",
    "tokens": "tokens",
    "tokens_in": "tokens in",
    "tokens_out": "tokens out",
    "reviews": "reviews",
    "seconds": "seconds",
    "penalty": "beta·P",
    "q": "Q",
}
BEFORE = "h_before_review"
SCORES = ("h_before_review", "h", "penalty", "q")
HIGHEST = ("h_before_review", "h", "q")
CHARTED = ("review", "main_results_1", "main_results_2", "sota_results")
PRINTED, APART = "  printed", "  difference"


def text(document: PaperTables, form: Format) -> str:
    """Every experiment: its table, then its notes."""
    return "\n\n\n".join(_table_text(table, form) for table in document.experiments)


def _table_text(table: PaperTable, form: Format) -> str:
    body = written(grid(table), form)
    if form == "latex":
        body = floating(body, latex(f"{title(table)}."), f"tab:{table.name}")
    parts = [body]
    if table.along_beta:
        parts.append(written(_beta_grid(table), form))
    return "\n\n".join([*parts, prose(sentences(table), form)])


def title(table: PaperTable) -> str:
    """The title of a table."""
    head = HEAD if table.from_print else "simulated" if table.simulated else ""
    if not head and len(table.models) == 1:
        head = f"ours: {safe(table.models[0], 60)} in every row"
    return f"{table.name}: {table.title}" + (f" ({head})" if head else "")


def grid(table: PaperTable) -> Grid:
    """The paper's columns; each of our rows followed by the printed row and the difference."""
    columns = [name for name in table.columns if name != BEFORE]
    arrow = BEFORE in table.columns
    ours = bool(table.rows)
    rows: list[list[str]] = []
    bold: set[tuple[int, int]] = set()
    shaded: set[int] = set()
    main = table.rows if ours else table.printed
    positions: list[int] = []
    for index, row in enumerate(main):
        positions.append(len(rows))
        if row.winner:
            shaded.add(len(rows))
        rows.append([row.label + (" ★" if row.winner else ""), *_values(row, columns, arrow)])
        if ours and len(table.printed) == len(table.rows):
            rows.append([PRINTED, *_values(table.printed[index], columns, arrow)])
            rows.append([APART, *(_difference(table.differences[index], name) for name in columns)])
    for group in sorted({row.group for row in main}):
        members = [index for index, row in enumerate(main) if row.group == group]
        values = [[getattr(main[index].figures, name) for index in members] for name in columns]
        winners = best(values, [name in HIGHEST for name in columns])
        bold |= {(positions[members[row]], column) for row, column in winners}
    headings = ["", *("H before → after" if arrow and name == "h" else HEADINGS[name] for name in columns)]
    return Grid(headings, rows, title=title(table), bold=frozenset(bold), shaded=frozenset(shaded))


def _values(row: PaperTableRow, columns: Sequence[str], arrow: bool) -> list[str]:
    cells: list[str] = []
    for name in columns:
        value = getattr(row.figures, name)
        spread = None if row.sd is None else getattr(row.sd, name, None)
        shown = "" if value is None else number(value, 4) if name in SCORES else cost(name, value)
        if arrow and name == "h":
            shown = f"{number(row.figures.h_before_review, 4)} → {shown}"
        cells.append(shown if spread is None else f"{shown}±{_spread(name, spread)}")
    return cells


def _spread(name: str, value: float) -> str:
    return number(value, 4) if name in SCORES else cost(name, value)


def _difference(difference: PaperFigures | None, name: str) -> str:
    value = None if difference is None else getattr(difference, name)
    if value is None:
        return ""
    return f"{value:+z.4f}" if name in SCORES else f"{100 * value:+z.1f}%"


def _beta_grid(table: PaperTable) -> Grid:
    rows = [[row.label, f"{row.beta:g}", number(row.q, 4)] for row in table.along_beta]
    return Grid(["", "beta", "Q"], rows, title="Q of the same moves under other weights of cost")


def sentences(table: PaperTable) -> Iterator[str]:
    """What a table alone would not show."""
    if not table.rows:
        yield f"As printed. Play it with: mashq paper play {table.name}"
    elif table.printed:
        yield (
            "Differences are ours less the printed: of H, beta·P and Q as they are, of counts per item, in percent "
            "of the printed. Nothing is claimed of how close they should be."
        )
    if table.rows and not table.finished:
        yield "NOT FINISHED: play it again to go on."
    items = sorted({row.items for row in table.rows if row.items})
    if items:
        counts = ", ".join(f"{count:g}" for count in items)
        yield f"Ours: {counts} items per match, {table.trials} trial(s), judged by {', '.join(table.detectors)}."
        players = (
            f"Every row of ours is {table.models[0]}"
            if len(table.models) == 1
            else f"Ours are {', '.join(table.models)}"
        )
        yield f"{safe(players, 400)}; the names of the rows are the paper's."
    winners = [row for row in table.rows if row.winner]
    if winners:
        clear = sum(row.clear for row in winners)
        yield f"★ has the best Q of its match; clearly (95%) in {clear} of {len({row.group for row in table.rows})}."
    yield from (safe(line, 400) for line in table.exchange)
    yield from (f"Note: {safe(note, 600)}" for note in table.notes)


def html(document: PaperTables) -> str:
    """Every experiment as one self-contained page."""
    from mashq.report.html.page import render

    chapters = [_chapter(table) for table in document.experiments]
    rows = [[table.name, table.kind, table.title, str(len(table.rows))] for table in document.experiments]
    contents = Table("contents", Grid(["name", "kind", "shows", "rows of ours"], rows, left=3))
    overview = Section("contents", "What is here", [contents]) if len(chapters) > 1 else None
    return render("The MAS-HQ paper, table by table", chapters, overview)


def _chapter(table: PaperTable) -> Chapter:
    explanation = f"{HEAD}; no real model answered." if table.from_print else "some players were not real models."
    warnings = [f"SIMULATED: {explanation}"] if table.simulated else []
    blocks: list[Block] = [Table("table", grid(table), title(table))]
    blocks += _charts(table)
    if table.along_beta:
        blocks.append(Table("betas", _beta_grid(table), "Q of the same moves under other weights of cost."))
    blocks.append(Prose(list(sentences(table)), listed=True))
    played = f"{len(table.runs)} run(s)" if table.runs else "as printed"
    verdict = Verdict(table.title, [f"{table.kind.capitalize()} {table.name} of the paper, {played}."])
    section = Section("rows", "Ours beside the printed", blocks)
    return Chapter(table.name.replace("_", "-"), table.name, table.title, warnings, verdict, [section])


def _charts(table: PaperTable) -> Iterator[Figure]:
    """H before and after review, and Q, by row: for tables that the paper charts, or that compare models."""
    if not table.rows or table.name not in CHARTED:
        return
    from mashq.report.html.charts import paper_bars

    for name, columns, caption in (
        ("reviews", ("h_before_review", "h"), "H before and after review."),
        ("scores", ("q",), "Q."),
    ):
        rows = [
            {"row": row.label, "of": HEADINGS[column] + suffix, "value": value}
            for suffix, group in ((", ours", table.rows), (", printed", table.printed))
            for row in group
            for column in columns
            if (value := getattr(row.figures, column)) is not None
        ]
        if rows:
            yield Figure(f"{table.name}-{name}", paper_bars(rows), caption, caption)


def planned(document: PaperPlan, form: Format) -> str:
    """What every experiment costs at full size, and what it shows."""
    rows = [
        [
            experiment.name,
            experiment.kind,
            number(experiment.matches),
            number(experiment.calls),
            number(experiment.tokens_in + experiment.tokens_out),
            _dollars(experiment.dollars, experiment.unpriced),
        ]
        for experiment in document.experiments
    ]
    totals = [number(document.calls), number(document.tokens), _dollars(document.dollars, document.unpriced)]
    rows.append(["all", "", number(sum(experiment.matches for experiment in document.experiments)), *totals])
    table = Grid(["name", "kind", "matches", "calls", "tokens", "dollars"], rows, left=2)
    return written(table, form) + "\n\n" + prose(_plan_notes(document), form)


def _plan_notes(document: PaperPlan) -> Iterator[str]:
    yield (
        "At full size, by the calls and tokens that the paper prints, at today's list prices; where it prints none, "
        "by those of GPT-4o-mini's main match. What a detector costs is not in it."
    )
    if document.unpriced:
        yield f"+ without {', '.join(document.unpriced)}, for which no price is listed."
    for experiment in document.experiments:
        shares = f" (the matches of {' and '.join(experiment.shares)})" if experiment.shares else ""
        yield f"{experiment.command}: {experiment.title}{shares}"


def _dollars(value: float, unpriced: Sequence[str]) -> str:
    return f"{value:,.2f}" + ("+" if unpriced else "")
