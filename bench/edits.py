"""The pairs that grounding is fitted and measured on, with single-fact edits: one name, number, date, negation or
role of a faithful summary changed.

`edits(articles, rng)` yields (kind, document, answer, label) in pairs: label 1 unedited, 0 edited, so that the edit
is the only difference. A replacement is of the same kind; "within" takes it from the same article, so that the
wrong fact is a word of the source. Summaries are sentences of the article, copied or shortened (a clause or
a bracket dropped, two sentences joined), or are given.
"""

from __future__ import annotations

import gzip
import json
import random
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

__all__ = ["KINDS", "edit", "edits", "extract", "pairs", "sentences", "shorten"]

_YEAR = "January February March April May June July August September October November December"
_WEEK = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"
_MONTHS, _DAYS = _YEAR.split(), _WEEK.split()
_DATE = re.compile(r"\b(?:" + "|".join([*_MONTHS, *_DAYS]) + r"|(?:19|20)\d\d)\b")
_NUMBER = re.compile(r"(?<![\w.,])\d+(?:[.,]\d+)*(?![\w,]|\.\d)")
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-zà-ÿ]+(?: [A-Z][a-zà-ÿ]+)*")
_VERB = re.compile(r"\b(?:is|are|was|were|has|have|had|will|would|can|could|should|did|does)\b(?! (?:not|n't))")
_NOT = re.compile(r" not\b|n't\b")
KINDS = ("name", "name-within", "number", "number-within", "date", "negation", "role")


def sentences(text: str) -> list[str]:
    """Return the sentences of 8 to 60 words."""
    parts = re.split(r"(?<=[.!?])\s+|\n+", text)
    return [s.strip() for s in parts if 8 <= len(s.split()) <= 60 and s.strip()[-1:] in ".!?"]


def names(text: str) -> list[str]:
    return [n for n in _NAME.findall(text) if not _DATE.fullmatch(n)]


def extract(text: str, rng: random.Random) -> str:
    """Return one to four sentences of a text, in order."""
    candidates = sentences(text)
    chosen = sorted(rng.sample(range(len(candidates)), min(len(candidates), rng.randint(1, 4))))
    return " ".join(candidates[i] for i in chosen)


def shorten(summary: str, rng: random.Random) -> str:
    """Return the summary with brackets and some clauses dropped and some sentences joined; still faithful."""
    shortened: list[str] = []
    for sentence in sentences(summary):
        text = re.sub(r"\s*\([^)]*\)", "", sentence)
        clauses = text.split(", ")
        if len(clauses) >= 3 and rng.random() < 0.6:
            del clauses[rng.randrange(1, len(clauses) - 1)]
        elif len(clauses) == 2 and rng.random() < 0.5 and len(clauses[0].split()) >= 8:
            clauses = [clauses[0] + "."]
        text = ", ".join(clauses)
        if rng.random() < 0.3:
            text = re.sub(r"\b(?:also|however|just|very|then|reportedly|recently|currently) ", "", text)
        if shortened and rng.random() < 0.3:
            shortened[-1] = shortened[-1].rstrip(".") + ", and " + text
        else:
            shortened.append(text)
    return " ".join(shortened) or summary


def edit(kind: str, document: str, summary: str, foreign: Sequence[str], rng: random.Random) -> str | None:
    """Return the summary with one fact of this kind changed, or None when it has none."""
    if kind == "negation":
        return _negate(summary, rng)
    if kind == "role":
        return _swap(summary, rng)
    pattern = {"name": _NAME, "number": _NUMBER, "date": _DATE}[kind.partition("-")[0]]
    spots = [m for m in pattern.finditer(summary) if kind == "date" or not _DATE.fullmatch(m.group())]
    if not spots:
        return None
    spot = rng.choice(spots)
    new = _replacement(kind, spot.group(), document, foreign, rng)
    return None if new is None else summary[: spot.start()] + new + summary[spot.end() :]


def _replacement(kind: str, old: str, document: str, foreign: Sequence[str], rng: random.Random) -> str | None:
    if kind == "name":
        options = [n for n in foreign if n not in document and len(n.split()) == len(old.split())]
    elif kind == "name-within":
        options = [n for n in names(document) if not set(n.split()) & set(old.split())]
    elif kind == "number":
        value = int(re.sub(r"\D", "", old)[:12])
        return str(rng.choice([value + 1, value + 2, value * 2 + 1, max(1, value // 2), value * 10 + 5]))
    elif kind == "number-within":
        options = [n for n in _NUMBER.findall(document) if n != old and not _DATE.fullmatch(n)]
    else:
        group = _MONTHS if old in _MONTHS else _DAYS if old in _DAYS else []
        same = [d for d in _DATE.findall(document) if d != old and (d in group or (not group and d.isdigit()))]
        generated = [d for d in group if d != old] or [str(int(old) + rng.choice([-3, -2, -1, 1, 2, 3]))]
        options = same if same and rng.random() < 0.6 else generated
    return rng.choice(options) if options else None


def _negate(summary: str, rng: random.Random) -> str | None:
    negations = list(_NOT.finditer(summary))
    if negations and rng.random() < 0.7:
        spot = rng.choice(negations)
        return summary[: spot.start()] + summary[spot.end() :]
    verbs = list(_VERB.finditer(summary))
    if not verbs:
        return None
    spot = rng.choice(verbs)
    return summary[: spot.end()] + " not" + summary[spot.end() :]


def _swap(summary: str, rng: random.Random) -> str | None:
    """Swap two names within one sentence."""
    candidates: list[tuple[re.Match[str], re.Match[str]]] = []
    start = 0
    for sentence in re.split(r"(?<=[.!?])\s+", summary):
        start = summary.index(sentence, start)
        spots = [m for m in _NAME.finditer(summary, start, start + len(sentence)) if not _DATE.fullmatch(m.group())]
        candidates += [(a, b) for a, b in pairwise(spots) if not set(a.group().split()) & set(b.group().split())]
    if not candidates:
        return None
    a, b = rng.choice(candidates)
    return summary[: a.start()] + b.group() + summary[a.end() : b.start()] + a.group() + summary[b.end() :]


def edits(
    articles: Sequence[tuple[str, str | None]], foreign: Sequence[str], each: int, rng: random.Random
) -> Iterator[tuple[str, str, str, float]]:
    """Try `each` edits per (document, summary or None); yield the good answer, then the edited one."""
    for document, reference in articles:
        if reference is None and len(sentences(document)) < 4:
            continue
        for kind in rng.sample(KINDS, min(each, len(KINDS))):
            summary = reference
            style = "model"
            if summary is None:
                summary, style = extract(document, rng), "copy"
                if rng.random() < 0.7:
                    summary, style = shorten(summary, rng), "short"
            changed = edit(kind, document, summary, foreign, rng)
            if changed is not None and changed != summary:
                yield f"{style}/{kind}", document, summary, 1.0
                yield f"{style}/{kind}", document, changed, 0.0


def planted(
    good: Sequence[tuple[str, str | None]], tries: int, rng: random.Random
) -> Iterator[tuple[str, str, float]]:
    """Yield (document, answer, label): a good answer, then one with, or only of, sentences about another article."""
    for _ in range(tries):
        (document, answer), (other, foreign) = rng.sample(good, 2)
        added = sentences(foreign or other)
        if other == document or not added or len(sentences(document)) < 4:
            continue
        answer = answer or extract(document, rng)
        parts = [answer, rng.choice(added)]
        yield document, answer, 1.0
        if rng.random() < 0.2:  # about another article altogether
            parts = rng.sample(added, min(len(added), rng.randint(1, 3)))
        yield document, " ".join(parts if rng.random() < 0.5 else parts[::-1]), 0.0


def records(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def pairs(data: Path, news: Path, rng: random.Random) -> Iterator[tuple[str, str, str, str, float]]:
    """Yield all (kind, test, document, answer, label)."""
    for row in records(data / "labelled.jsonl.gz"):
        yield row["set"], "", row["document"], row["claim"], float(row["label"])
    articles = {row["article"]: row["text"] for row in records(data / "articles.jsonl.gz")}
    judged = list(records(data / "pairs.jsonl.gz"))
    for row in judged:
        yield "hhem", "", articles[row["article"]], row["summary"], float(row["hhem"])
    texts = [json.loads(line)["text"] for line in news.read_text(encoding="utf-8").splitlines()]
    foreign = rng.sample(sorted({name for text in texts for name in names(text)}), 3000)
    good = [(articles[row["article"]], row["summary"]) for row in judged if row["hhem"] >= 0.8]
    edited = [*edits([(text, None) for text in texts], foreign, 3, rng)]
    edited += edits(rng.sample(good, 4000), foreign, 2, rng)
    for name, document, answer, label in edited:
        style, _, kind = name.partition("/")
        yield f"edit-{style}", kind, document, answer, label
    for document, answer, label in planted([*good, *[(text, None) for text in texts] * 6], 1500, rng):
        yield "planted", "", document, answer, label
