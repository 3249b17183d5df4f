"""Numbers as values, so that `1,200`, `1200` and `twelve hundred` are the same fact.

Contract: `read` examines the raw words from index i on and returns the number that starts there, if any,
and how many raw words it took. Values are canonical strings, never floats, so that any number of digits is
safe. A unit is `%` or a currency sign, and empty when the text states none.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple

__all__ = ["Number", "Raw", "read"]

_UNITS = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16,
    "seventeen": 17, "eighteen": 18, "nineteen": 19,
}  # fmt: skip
_TENS = {
    "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
}  # fmt: skip
_ORDINALS = {
    "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8,
    "ninth": 9, "tenth": 10, "eleventh": 11, "twelfth": 12,
}  # fmt: skip
_MAGNITUDES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_LARGEST = 10**15
_ATTACHED = {"k": 10**3, "m": 10**6, "mn": 10**6, "bn": 10**9, "b": 10**9, "tn": 10**12}
_CURRENCY = {"$": "$", "£": "£", "€": "€", "¥": "¥", "₹": "₹"}
_CURRENCY_WORDS = {
    "dollar": "$", "dollars": "$", "pounds": "£", "euro": "€", "euros": "€", "yen": "¥", "rupees": "₹",
}  # fmt: skip
_LONGEST_EXACT = 24  # digits; a longer numeral is an identifier and is compared as written


class Raw(NamedTuple):
    """One word or numeral as written: its offsets in the text and its normalised form."""

    start: int
    end: int
    norm: str


class Number(NamedTuple):
    """A value, its unit ("" when none is stated) and how many raw words it took."""

    value: str
    unit: str
    taken: int


def read(text: str, raw: Sequence[Raw], i: int) -> Number | None:
    """Return the number that starts at raw word i, or None."""
    norm = raw[i].norm
    if norm[0].isdecimal():
        return _numeral(text, raw, i)
    if norm in _ORDINALS:
        return Number(str(_ORDINALS[norm]), "", 1)
    if norm in _UNITS or norm in _TENS:
        return _spelled(text, raw, i)
    return None


def _numeral(text: str, raw: Sequence[Raw], i: int) -> Number:
    value, taken = _canonical(raw[i].norm), 1
    follower = raw[i + 1] if i + 1 < len(raw) else None
    if follower is not None and len(value) <= _LONGEST_EXACT:
        attached = follower.start == raw[i].end
        factor = _ATTACHED.get(follower.norm) if attached else None
        if factor is None and follower.start - raw[i].end <= 1:
            factor = _MAGNITUDES.get(follower.norm)
        if factor is not None:
            value, taken = _scaled(value, factor), 2
        elif attached and follower.norm in {"st", "nd", "rd", "th", "s"}:
            taken = 2  # 21st, 1990s
    return _with_unit(text, raw, i, value, taken)


def _spelled(text: str, raw: Sequence[Raw], i: int) -> Number | None:
    """Spelled-out numbers: twelve, twenty-one, two hundred and five, three million two thousand."""
    total, current, taken, last = 0, 0, 0, "none"
    ceiling = _LARGEST  # magnitudes come in falling order, hundreds once between them: the value stays small
    while i + taken < len(raw):
        norm = raw[i + taken].norm
        if norm in _TENS and last in {"none", "hundred", "magnitude"}:
            current, last = current + _TENS[norm], "tens"
        elif norm in _UNITS and (last not in {"unit", "tens"} or (last == "tens" and 0 < _UNITS[norm] < 10)):
            current, last = current + _UNITS[norm], "unit"
        elif norm == "hundred" and last in {"unit", "tens"} and current < 100:
            current, last = current * 100, "hundred"
        elif norm in _MAGNITUDES and last in {"unit", "tens", "hundred"} and _MAGNITUDES[norm] < ceiling:
            ceiling = _MAGNITUDES[norm]
            total, current, last = total + current * ceiling, 0, "magnitude"
        elif norm == "and" and last in {"hundred", "magnitude"} and _continues(raw, i + taken + 1):
            pass
        else:
            break
        taken += 1
    if taken == 1 and raw[i].norm == "one":
        return None  # a pronoun far more often than a count
    return _with_unit(text, raw, i, str(total + current), taken)


def _continues(raw: Sequence[Raw], i: int) -> bool:
    return i < len(raw) and (raw[i].norm in _UNITS or raw[i].norm in _TENS)


def _with_unit(text: str, raw: Sequence[Raw], i: int, value: str, taken: int) -> Number:
    unit = _CURRENCY.get(text[raw[i].start - 1 : raw[i].start], "")
    end = raw[i + taken - 1].end
    after = [word.norm for word in raw[i + taken : i + taken + 2]]
    if text[end : end + 1] in {"%", "％"} or text[end : end + 2] == " %":
        unit = "%"
    elif after and after[0] == "percent":
        unit, taken = "%", taken + 1
    elif after == ["per", "cent"]:
        unit, taken = "%", taken + 2
    elif after and after[0] in _CURRENCY_WORDS:
        unit, taken = _CURRENCY_WORDS[after[0]], taken + 1
    return Number(value, unit, taken)


def _canonical(numeral: str) -> str:
    """A numeral without grouping commas, leading zeros or trailing decimal zeros."""
    if numeral.isascii() and numeral.isdecimal():
        return numeral.lstrip("0") or "0"
    digits = "".join(str(unicodedata.digit(c)) if c.isdecimal() else c for c in numeral)
    groups = digits.partition(".")[0].split(",")
    if len(groups) > 1 and all(len(group) == 3 for group in groups[1:]):
        digits = digits.replace(",", "")
    if "," in digits or digits.count(".") > 1:
        return digits
    whole, _, fraction = digits.partition(".")
    whole, fraction = whole.lstrip("0") or "0", fraction.rstrip("0")
    return f"{whole}.{fraction}" if fraction else whole


def _scaled(value: str, factor: int) -> str:
    if "," in value or value.count(".") > 1:
        return value
    return _canonical(format(Decimal(value) * factor, "f"))
