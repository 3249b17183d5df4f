"""The pair that a detector scores, made from an item and an answer."""

from mashq.detectors.base import Pair
from mashq.detectors.citations import without_citations
from mashq.protocol.items import Item


def pair_of(item: Item, answer: str, *, by_reference: bool = True) -> Pair:
    """Return the pair to score. An answer from passages loses its citations and is scored by its support: only a
    judge that compares with references (`by_reference`) gets the reference."""
    if not item.passages:
        return Pair(item.text, answer, item.reference)
    plain = without_citations(answer, {passage.id for passage in item.passages})
    return Pair(item.source, plain, item.reference if by_reference else None)
