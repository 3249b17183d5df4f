"""Evaluated conditions as text for a terminal, as JUnit XML and as a Markdown summary."""

from collections.abc import Sequence
from xml.etree import ElementTree

from mashq.analysis.conditions import Checked
from mashq.analysis.score_types import ScoreReport
from mashq.report.text.formatting import safe
from mashq.report.text.score import best_set_said, sentences, table
from mashq.report.text.tables import markdown, prose, written

LONGEST = 2000


def said(check: Checked) -> str:
    """Describe one condition on one line: what it means for the command, whether it is true, and its values."""
    outcome = "failed" if check.true else "ok"
    return f"mashq: {outcome}: {safe(check.condition, LONGEST)} is {_truth(check)} ({safe(check.values, LONGEST)})"


def _truth(check: Checked) -> str:
    return "true" if check.true else "false"


def junit(score: ScoreReport, checks: Sequence[Checked], source: str) -> str:
    """Return JUnit XML with one test case per condition, which fails if the condition is true."""
    failed = str(sum(check.true for check in checks))
    name = safe(source, LONGEST)
    suites = ElementTree.Element("testsuites", tests=str(len(checks)), failures=failed)
    suite = ElementTree.SubElement(
        suites, "testsuite", name=f"mashq {name}", tests=str(len(checks)), failures=failed, errors="0", skipped="0"
    )
    for check in checks:
        text = safe(check.condition, LONGEST)
        outcome = f"{text} is {_truth(check)}: {safe(check.values, LONGEST)}"
        case = ElementTree.SubElement(suite, "testcase", classname=f"mashq.{name}", name=f"not ({text})", time="0")
        if check.true:
            failure = ElementTree.SubElement(case, "failure", type="fail-if", message=outcome)
            failure.text = safe(score.headline, LONGEST)
        else:
            ElementTree.SubElement(case, "system-out").text = outcome
    ElementTree.SubElement(suite, "system-out").text = safe(score.headline, LONGEST)
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def summary(score: ScoreReport, checks: Sequence[Checked], source: str) -> str:
    """Return the headline, the conditions, the table and its notes as Markdown."""
    parts = [f"### mashq: {markdown(source)}", f"**{markdown(score.headline)}**"]
    if checks:
        labels = {True: "❌ failed", False: "✅ ok"}
        rows = [
            f"| {labels[check.true]} | {markdown(check.condition)} | {_truth(check)} | {markdown(check.values)} |"
            for check in checks
        ]
        parts.append("\n".join(["| | fails if | it is | values |", "|---|---|---|---|", *rows]))
    parts.append(written(table(score), "md"))
    lines = [line for line in sentences(score) if line != safe(score.headline, 600)]
    if len(score.best_set) > 1:
        lines.append(best_set_said(score))
    parts.append("<details><summary>Details</summary>\n\n" + prose(lines, "md") + "\n\n</details>")
    return "\n\n".join(parts) + "\n\n"
