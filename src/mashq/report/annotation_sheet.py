"""The blind rating sheet: answers for people to rate, without the player and without the score.

    sheet.csv     id, source, (reference,) answer and an empty rating, for a spreadsheet
    sheet.html    the same as a form in one file that needs no network and saves as it goes
    key.json      which player's answer each id is, and its score: not for the annotators

Sources and answers are untrusted text. In the form they are escaped, and the page may run only its own script; in the
CSV a cell that a spreadsheet would interpret as a formula gets a leading apostrophe.
"""

import base64
import csv
import hashlib
import html
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

FORMULA = ("=", "+", "-", "@", "\t", "\r")
DIRECTIONS = dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)], "�")
CONTROLS = dict.fromkeys([*range(9), 11, 12, *range(14, 32), *range(127, 160), *range(0xD800, 0xE000)], "�")
WORDS = {
    "summarise": (
        "Does the source support the answer?",
        "Supported: the source says all of it. Partly: some of it is missing from the source or is wrong. "
        "Not supported: it is mostly made up or contradicts the source. What you know otherwise does not count.",
        ("Supported", "Partly", "Not supported"),
    ),
    "qa": (
        "Is the answer right?",
        "Right: it says what the reference answer says, in whatever words. Partly: some of it. "
        "Wrong: it says something else, or nothing.",
        ("Right", "Partly", "Wrong"),
    ),
    "rag": (
        "Do the passages support the answer?",
        "Supported: they say all of it. Partly: some of it is missing from them or is wrong. Not supported: it is "
        "mostly made up or contradicts them. An answer that says that they do not hold the answer is supported if "
        "they do not. What you know otherwise does not count.",
        ("Supported", "Partly", "Not supported"),
    ),
}


BOXES = {"qa": "Question", "rag": "Question and passages"}


@dataclass(frozen=True, slots=True)
class SheetRow:
    """One answer to rate."""

    id: str
    source: str
    answer: str
    reference: str | None = None


def opaque(seed: int, run: str, item: str, player: str) -> str:
    """Return the id of a row: reproducible, and revealing nothing about the player or the item."""
    return hashlib.sha256("\x1f".join((str(seed), run, item, player)).encode("utf-8", "replace")).hexdigest()[:12]


def sheet_csv(rows: Sequence[SheetRow]) -> str:
    """Return the sheet as CSV for a spreadsheet."""
    referenced = any(row.reference is not None for row in rows)
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["id", "source", *(["reference"] if referenced else []), "answer", "rating"])
    for row in rows:
        reference = [_cell(row.reference or "")] if referenced else []
        writer.writerow([row.id, _cell(row.source), *reference, _cell(row.answer), ""])
    return out.getvalue()


def sheet_html(rows: Sequence[SheetRow], kind: str = "summarise") -> str:
    """Return the sheet as an HTML form; `kind` is the kind of task."""
    question, advice, (yes, partly, no) = WORDS[kind]
    page = files("mashq.report").joinpath("annotation_sheet.html").read_text("utf-8")
    values = {
        "policy": policy(page),
        "sheet": hashlib.sha256("".join(row.id for row in rows).encode()).hexdigest()[:16],
        "question": question,
        "advice": advice,
        "yes": yes,
        "partly": partly,
        "no": no,
        "rows": "\n".join(_article(number, row, kind) for number, row in enumerate(rows)),
    }
    return re.sub(r"@@([a-z]+)@@", lambda match: values[match[1]], page)


def policy(page: str) -> str:
    """Return a content security policy that allows only the page's own inline style and script, by their digests."""
    parts = ["default-src 'none'", "base-uri 'none'", "form-action 'none'"]
    for tag in ("style", "script"):
        inline = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in inline]
        parts += [f"{tag}-src " + " ".join(f"'sha256-{digest}'" for digest in digests)] if digests else []
    return "; ".join(parts)


def shown(text: str) -> str:
    """Escape text for HTML, and replace characters that hide or reverse the text that follows."""
    return html.escape(text.replace("\r\n", "\n").replace("\r", "\n").translate(CONTROLS).translate(DIRECTIONS))


def _article(number: int, row: SheetRow, kind: str) -> str:
    boxes = [_box(BOXES.get(kind, "Source"), row.source)]
    if row.reference is not None:
        boxes.append(_box("Reference answer", row.reference))
    hidden = " hidden" if number else ""
    return (
        f'<article data-id="{html.escape(row.id)}"{hidden}><div class="pair"><div>{"".join(boxes)}</div>'
        f"<div>{_box('Answer', row.answer)}</div></div></article>"
    )


def _box(title: str, text: str) -> str:
    return (
        f'<section class="box"><h2>{title}</h2>'
        f'<div class="text" dir="auto" tabindex="0" role="region" aria-label="{title}">{shown(text)}</div></section>'
    )


def _cell(text: str) -> str:
    clean = text.translate(CONTROLS)
    return f"'{clean}" if clean.lstrip(" ").startswith(FORMULA) else clean
