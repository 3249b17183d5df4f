"""Conditions that were decided, for a terminal, for JUnit's XML and for a Markdown summary."""

from collections.abc import Sequence
from xml.etree import ElementTree

from mashq.analysis.conditions import Checked
from mashq.analysis.score_types import ScoreReport
from mashq.report.text.formatting import safe
from mashq.report.text.score import best_set_said, sentences, table
from mashq.report.text.tables import markdown, prose, written

LONGEST = 2000


def said(check: Checked) -> str:
    """One condition in a line: whether it was true, and the values."""
    told = "failed" if check.true else "passed"
    return f"mashq: {told}: {safe(check.condition, LONGEST)} ({safe(check.values, LONGEST)})"


def junit(score: ScoreReport, checks: Sequence[Checked], source: str) -> str:
    """A test case for each condition; one that is true has failed."""
    failed = str(sum(check.true for check in checks))
    name = safe(source, LONGEST)
    suites = ElementTree.Element("testsuites", tests=str(len(checks)), failures=failed)
    suite = ElementTree.SubElement(
        suites, "testsuite", name=f"mashq {name}", tests=str(len(checks)), failures=failed, errors="0", skipped="0"
    )
    for check in checks:
        text, values = safe(check.condition, LONGEST), safe(check.values, LONGEST)
        case = ElementTree.SubElement(suite, "testcase", classname=f"mashq.{name}", name=f"not ({text})", time="0")
        if check.true:
            failure = ElementTree.SubElement(case, "failure", type="fail-if", message=f"{text}: {values}")
            failure.text = safe(score.headline, LONGEST)
        else:
            ElementTree.SubElement(case, "system-out").text = values
    ElementTree.SubElement(suite, "system-out").text = safe(score.headline, LONGEST)
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def summary(score: ScoreReport, checks: Sequence[Checked], source: str) -> str:
    """The headline, the conditions, the table and what must be said with it, as Markdown."""
    parts = [f"### mashq: {markdown(source)}", f"**{markdown(score.headline)}**"]
    if checks:
        told = {True: "❌ failed", False: "✅ passed"}
        rows = [f"| {told[one.true]} | {markdown(one.condition)} | {markdown(one.values)} |" for one in checks]
        parts.append("\n".join(["| | fails if | values |", "|---|---|---|", *rows]))
    parts.append(written(table(score), "md"))
    rest = [line for line in sentences(score) if line != safe(score.headline, 600)]
    if len(score.best_set) > 1:
        rest.append(best_set_said(score))
    parts.append("<details><summary>Details</summary>\n\n" + prose(rest, "md") + "\n\n</details>")
    return "\n\n".join(parts) + "\n\n"
