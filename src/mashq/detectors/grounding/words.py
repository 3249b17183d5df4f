"""Word lists of the grounding detector, as keys: each word as written and stemmed."""

from __future__ import annotations

from mashq.detectors.grounding.reading import stem

__all__ = ["DATES", "HEDGES", "INFERENCES", "PAST", "PRONOUNS", "QUANTIFIERS", "RELATIVE", "SAYING"]


def _keys(words: str) -> frozenset[str]:
    return frozenset(words.split()) | frozenset(map(stem, words.split()))


_CALENDAR = """
january february march april may june july august september october november december monday tuesday wednesday
thursday friday saturday sunday
"""
DATES = frozenset(_CALENDAR.split())
_PERSONS = "he she it they his her their its him them this that these those i we my our"
PRONOUNS = frozenset(_PERSONS.split())
HEDGES = _keys(
    "may might could would should expected likely alleged allegedly reported reportedly suspected believed appear "
    "seem possible possibly perhaps claim plan hope intend propose potential suggest about around nearly almost "
    "approximately least"
)
PAST = _keys("was were had did been ago last previous former")
RELATIVE = _keys(
    "yesterday today tomorrow tonight now recent recently week month year ago last next current earlier later"
)
SAYING = _keys("said say told tell add ask claim insist admit announce")
QUANTIFIERS = _keys(
    "all every each most many several some few only both any first last always never more less least mostly entire "
    "whole various multiple numerous"
)
INFERENCES = _keys(
    "highlight emphasize emphasis reflect show demonstrate underscore significant significantly notable notably "
    "various including overall despite concern impact ensure aim focus effort challenge issue important potential "
    "express"
)
