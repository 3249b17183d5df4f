"""Rewrites of faithful summaries: some keep the meaning, some change one fact.

`keep(text, document, rng)` gives the text in other words with the same facts (digits for number words and
back, contractions, synonyms, surnames alone, adverbs and sentences dropped); `change(kind, ...)` changes one
fact of that kind or gives None where there is none. The kinds of `bench/edits.py` are used as they are; those
here are added.
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import edits

__all__ = ["ADDED", "KINDS", "SCATTERED", "change", "keep"]

ADDED = ("opposite", "amount", "modality", "unit", "word", "subject", "relation", "sentence", "tail")
KINDS = (*edits.KINDS, *ADDED)
SCATTERED = ("role", "subject")  # changed in more than one place


def _pairs(text: str) -> list[tuple[str, str]]:
    """Parse "a / b; c / d" as pairs."""
    parts = [part.partition(" / ") for part in " ".join(text.split()).split("; ")]
    return [(a, b) for a, _, b in parts]


_NUMBERS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_SAME = _pairs("""
said / stated; about / approximately; began / started; begin / start; bought / purchased; many / numerous;
people / individuals; but / however,; big / large; ended / finished; children / kids; help / assist;
helped / assisted; near / close to; show / reveal; showed / revealed; while / whereas; such as / like;
because / since; after / following; shop / store; almost / nearly; around / about; also / additionally;
former / ex-; happened / took place; was held / took place; per cent / percent; film / movie;
got / received; need / require; needs / requires; use / utilise; used / utilised; attempt / effort;
job / post; wants / would like; tried / attempted; allow / permit
""")
_CONTRACTED = _pairs("""
is not / isn't; are not / aren't; was not / wasn't; were not / weren't; did not / didn't;
does not / doesn't; has not / hasn't; have not / haven't; will not / won't; cannot / can't;
could not / couldn't; would not / wouldn't; it is / it's; he is / he's; she is / she's
""")
_OPPOSITES = _pairs("""
increased / decreased; increase / decrease; increasing / decreasing; rose / fell; won / lost; rise / fall;
win / lose; wins / loses; winning / losing; higher / lower; high / low; more / less; larger / smaller;
largest / smallest; large / small; big / small; up / down; best / worst; better / worse; good / bad;
new / old; young / old; younger / older; first / last; early / late; earlier / later; open / closed;
opened / closed; male / female; accepted / rejected; accept / reject; approved / rejected;
approve / reject; guilty / innocent; success / failure; successful / failed; succeeded / failed;
success / defeat; victory / defeat; support / oppose; supported / opposed; supports / opposes;
supporters / opponents; rich / poor; agreed / refused; agree / disagree; allowed / forbidden;
allow / forbid; positive / negative; strong / weak; safe / dangerous; public / private; north / south;
northern / southern; east / west; eastern / western; left / right; arrived / departed; joined / left;
men / women; man / woman; boy / girl; father / mother; son / daughter; brother / sister; husband / wife;
alive / dead; survived / died; same / different; possible / impossible; legal / illegal; began / ended;
begin / end; start / end; started / ended; long / short; longer / shorter; love / hate; loved / hated;
hot / cold; fast / slow; easy / difficult; cheap / expensive; praised / criticised; praised / criticized;
gained / lost; domestic / foreign; confirmed / denied; inside / outside; above / below; over / under;
buy / sell; bought / sold; future / past; major / minor; local / international; son / father;
mother / daughter; city / village
""")
_AMOUNTS = _pairs("""
all / some; most / few; many / few; several / no; every / no; both / neither of the; at least / at most;
more than / less than; over / under; only / not only; never / always; often / rarely; half / a third;
twice / three times; some / all; one / two; two / three; three / five; four / six; five / nine; six / four;
seven / three; ten / twenty; majority / minority; nearly / well over; once / twice; dozens / hundreds;
hundreds / thousands
""")
_MODAL = _pairs("""
may / will; might / will; could / will; will / may; would / did; should / must not; plans to / refuses to;
expected to / confirmed to; allegedly / certainly; accused of / convicted of; suspected of / convicted of;
likely / unlikely; hopes to / does not want to; arrested / released; proposed / adopted;
considering / ruling out; is expected / is certain; charged with / cleared of; claims / denies;
claimed / denied; tried to / managed to; believed to be / known not to be; denied / admitted;
denies / admits; called for / warned against; injured / killed; killed / injured
""")
_UNITS = _pairs("""
million / billion; billion / million; thousand / million; hours / days; days / weeks; weeks / months;
months / years; years / months; minutes / hours; hour / day; day / week; week / month; month / year;
year / month; km / miles; miles / metres; dollars / euros; feet / miles; points / percent;
percent / points; kilometers / meters; tonnes / kilograms
""")
_RELATION = _pairs("""
before / after; after / before; because of / despite; despite / because of; by / against; with / without;
against / for; for / against; from / to; to / from; since / until; until / since; during / after;
due to / despite; in favour of / against; his / her; he / she; she / he; led to / prevented;
caused / prevented; while / before; and / but not; her / his
""")
_TABLES = {"opposite": _OPPOSITES, "amount": _AMOUNTS, "modality": _MODAL, "unit": _UNITS, "relation": _RELATION}
_WORD = re.compile(r"(?<=[a-z,] )[a-z]{5,}\b")
_ADVERBS = re.compile(r"\b(?:also|however|just|very|then|reportedly|recently|currently|additionally|notably) ")


def _table(pairs: Sequence[tuple[str, str]], both: bool) -> tuple[re.Pattern[str], dict[str, list[str]]]:
    replacements: dict[str, list[str]] = {}
    for a, b in pairs:
        replacements.setdefault(a, []).append(b)
        if both:
            replacements.setdefault(b, []).append(a)
    longest = sorted(replacements, key=len, reverse=True)
    return re.compile(r"\b(?:" + "|".join(map(re.escape, longest)) + r")\b", re.IGNORECASE), replacements


_SWAPS = {kind: _table(pairs, kind in ("opposite", "unit")) for kind, pairs in _TABLES.items()}
_KEEP = _table([*_SAME, *_CONTRACTED], both=True)


def _cased(new: str, old: str) -> str:
    return new[:1].upper() + new[1:] if old[:1].isupper() else new


def keep(text: str, document: str, rng: random.Random) -> str:
    """Return the text with the same facts in other words."""
    pattern, table = _KEEP
    share = rng.choice([0.2, 0.6, 1.0])

    def same(match: re.Match[str]) -> str:
        options = table.get(match.group().lower())
        return _cased(rng.choice(options), match.group()) if options and rng.random() < share else match.group()

    if rng.random() < 0.7:
        text = pattern.sub(same, text)
    if rng.random() < 0.4:
        text = re.sub(
            r"(?<![\w.,$£€-])(1[0-2]|[2-9])(?![\w.,%-]|\.\d| [A-Z])", lambda m: _NUMBERS[int(m.group())], text
        )
    elif rng.random() < 0.4:
        text = re.sub(r"\b(" + "|".join(_NUMBERS[2:]) + r")\b", lambda m: str(_NUMBERS.index(m.group())), text)
    if rng.random() < 0.3:
        text = _ADVERBS.sub("", text)
    if rng.random() < 0.2:
        text = re.sub(r"(\d) ?%", r"\1 percent", text) if "%" in text else re.sub(r"(\d) per ?cent\b", r"\1%", text)
    if rng.random() < 0.2:
        names = [n for n in edits.names(text) if len(n.split()) == 2 and document.count(n.split()[1]) > 1]
        if names:
            name = rng.choice(names)
            text = text.replace(name, name.split()[1])
    parts = re.split(r"(?<=[.!?])\s+", text)
    if len(parts) > 2 and rng.random() < 0.25:
        del parts[rng.randrange(1, len(parts))]
        text = " ".join(parts)
    return text


def change(
    kind: str, document: str, text: str, foreign: Sequence[str], others: Sequence[str], rng: random.Random
) -> str | None:
    """Return the text with one fact changed; `foreign` are names and `others` sentences of other articles."""
    if kind in _SWAPS:
        return _swapped(kind, text, rng)
    if kind == "word":
        return _word(document, text, rng)
    if kind == "subject":
        return _subject(text, rng)
    if kind == "sentence":
        parts = re.split(r"(?<=[.!?])\s+", text)
        parts.insert(rng.randint(0, len(parts)), rng.choice(others))
        return " ".join(parts)
    if kind == "tail":
        return _tail(text, rng.choice(others), rng)
    return edits.edit(kind, document, text, foreign, rng)


def _swapped(kind: str, text: str, rng: random.Random) -> str | None:
    pattern, table = _SWAPS[kind]
    spots = [m for m in pattern.finditer(text) if m.group().lower() in table]
    if not spots:
        return None
    spot = rng.choice(spots)
    new = _cased(rng.choice(table[spot.group().lower()]), spot.group())
    return text[: spot.start()] + new + text[spot.end() :]


def _word(document: str, text: str, rng: random.Random) -> str | None:
    """Replace a plain word by another with the same ending."""
    spots = list(_WORD.finditer(text))
    if not spots:
        return None
    spot = rng.choice(spots)
    old = spot.group()
    options = sorted({w for w in _WORD.findall(document) if w[-2:] == old[-2:] and w[:4] != old[:4]})
    return text[: spot.start()] + rng.choice(options) + text[spot.end() :] if options else None


def _subject(text: str, rng: random.Random) -> str | None:
    """Swap the beginnings of two sentences, up to their first verb."""
    parts = re.split(r"(?<=[.!?])\s+", text)
    heads = [
        (i, m)
        for i, part in enumerate(parts)
        if (m := re.match(r"[A-Z][^,.]{3,40}?(?= (?:is|was|are|were|has|had|will|said|have)\b)", part))
    ]
    if len(heads) < 2:
        return None
    (i, a), (j, b) = rng.sample(heads, 2)
    if a.group() == b.group():
        return None
    parts[i], parts[j] = b.group() + parts[i][a.end() :], a.group() + parts[j][b.end() :]
    return " ".join(parts)


def _tail(text: str, other: str, rng: random.Random) -> str | None:
    """Continue a sentence with the end of another article's sentence."""
    parts = re.split(r"(?<=[.!?])\s+", text)
    cut = re.search(r",? (?:after|because|when|while|which|who|where|with|following|in|at|for) .{12,}$", other)
    if cut is None:
        return None
    index = rng.randrange(len(parts))
    parts[index] = parts[index].rstrip(".!?") + cut.group()
    return " ".join(parts)
