"""Whether an answer says, in plain words, that its passages do not hold the answer.

A rule for English words, used where a reply does not state it in a field of its own: an answer abstains when its
first sentence says so. It matches patterns, without understanding; `tests/detectors/test_abstention.py` counts how
many of 200 phrasings it gets right, and every output says how many abstentions were detected this way.
"""

import re

from mashq.detectors.citations import without_citations

LONGEST = 600  # characters that are examined: an abstention comes first
_NOUN = (
    r"(?:passages?|documents?|contexts?|texts?|sources?|source materials?|excerpts?|snippets?|articles?|extracts?)"
)
_THE = r"(?:(?:the|these|those|any|your|all|of|two|three|four|five|six|given|provided|supplied|retrieved) )*"
_MATERIAL = rf"\b{_THE}{_NOUN}\b"
_NOT = r"(?:do not|does not|did not|don't|doesn't|didn't|cannot|can't|never|fails? to)"
_VERB = (
    r"(?:say|state|mention|contain|hold|give|provide|include|specify|answer|address|reveal|indicate|cover|discuss|show|"
    r"disclose|name|tell|support|help|let|make (?:it )?clear|offer|report|explain|identify|describe|list|allow|have|"
    r"go into|deal with|touch on|concern)"
)
_PAST = (
    r"(?:stated|mentioned|given|specified|answered|answerable|available|provided|included|known|disclosed|covered|"
    r"addressed|found|clear|in)"
)
_FINDING = r"(?:determined?|answer(?:ed)?|established?|tell|told|say|said|inferred|infer|found|known|locate|find|see)"
_KNOWLEDGE = r"(?:information|mention|answer|statement|details?|indication|evidence|figure|context)"
_PREFACE = r"(?:[^,;]{0,60}, |i'm afraid |sorry |so )?"

_DECLINES = re.compile(
    "|".join(
        (
            # The passages do not say …; none of them does; they give no …
            rf"{_MATERIAL}(?: [\w']+){{0,6}},? {_NOT} (?:\w+ly )?{_VERB}\b",
            rf"{_MATERIAL}.*\b(?:but|and) (?:they )?(?:{_NOT} {_VERB}\b|not\b)",
            rf"{_MATERIAL} only .*\bnot\b",
            rf"\b{_NOUN} \w+ .*\bthey {_NOT} {_VERB}\b",
            rf"\b(?:none|neither|nothing|nowhere) (?:of|in) (?:{_MATERIAL}|(?:them|these|it) {_VERB}s?\b)",
            rf"\b(?:no|neither) {_NOUN}\b",
            rf"{_MATERIAL} (?:\w+ )?(?:{_VERB}s?|makes?|turn(?:s|ed)? up) (?:us |me )?(?:no|nothing)\b",
            rf"{_MATERIAL} (?:\w+ )?lacks?\b",
            rf"{_MATERIAL} (?:(?:is|are) (?:silent|not about)|leaves? (?:\w+ ){{1,3}}open)\b",
            # … is not in the passages
            rf"\b(?:no|nothing)\b.*\bin (?:{_MATERIAL}|p\d)",
            rf"\b(?:not|isn't|aren't|never|doesn't) (?:(?:{_PAST}|appear) )?(?:in|by|from) (?:any )?{_MATERIAL}",
            rf"\b(?:missing|absent|unclear|not clear|not answerable) (?:from|in) {_MATERIAL}",
            rf"\b(?:cannot|can't|not possible to|impossible to|unable to) (?:be )?{_FINDING}\b.* "
            rf"(?:{_MATERIAL}|information)",
            rf"^(?:it|this|that) is (?:not|never) {_PAST} (?:how|who|when|where|what|which|why|whether|if)\b",
            r"^we are (?:not|never) told\b",
            # The whole sentence is the abstention
            rf"^(?:[\w' ]+ (?:is|are|was|were) )?(?:not|never) {_PAST}$",
            rf"^[\w' ]+ isn't {_PAST}$",
            rf"^(?:there(?: is|'s) )?(?:not enough|insufficient) {_KNOWLEDGE}\b(?: in {_MATERIAL})?"
            rf"(?: to {_FINDING})?$",
            r"^no (?:\w+ )?(?:information|answer|mention|indication)\b(?: (?:is|was|can be) \w+\b.*)?$",
            rf"^nothing is {_FINDING}\b",
            rf"^(?:(?:it|this) )?(?:cannot|can't) (?:be )?{_FINDING}$",
            r"^(?:unknown|unanswerable|n/?a|no idea\b.*)$",
            # I cannot tell
            rf"^{_PREFACE}(?:i|we|one|it is|it was) (?:cannot|can't|could not|couldn't|do not|don't|am unable to|"
            r"was unable to|impossible to|have no|do not have|don't have) (?:(?:enough|that|this|the|any) )?"
            rf"(?:{_FINDING}|know|{_KNOWLEDGE})\b",
            rf"\bso (?:i|we) (?:cannot|can't) {_FINDING}\b",
        )
    )
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+")


def abstains(text: str) -> bool:
    """Whether this answer is an abstention."""
    normalised = " ".join(without_citations(text[:LONGEST]).replace("’", "'").casefold().split())
    sentence = _SENTENCE.split(normalised, maxsplit=1)[0].strip(" .!?;:\"'*")
    return bool(sentence) and _DECLINES.search(sentence) is not None
