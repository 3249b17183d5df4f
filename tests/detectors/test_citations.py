"""What an answer cites, and what is left without the marks."""

import pytest

from mashq.detectors.citations import cited, ids_in, without_citations

KNOWN = ("p1", "p2", "fares", "Doc 7")


@pytest.mark.parametrize(
    ("inside", "ids"),
    [
        ("p1", ("p1",)),
        ("p1, p2", ("p1", "p2")),
        ("p1; fares", ("p1", "fares")),
        ("Doc 7", ("Doc 7",)),
        ("p9", ("p9",)),
        ("3", ("3",)),
        ("sic", None),
        ("p1, sic", None),
        ("", None),
    ],
)
def test_which_brackets_are_citations(inside: str, ids: tuple[str, ...] | None) -> None:
    assert ids_in(inside, KNOWN) == ids


def test_a_mark_belongs_to_its_sentence_wherever_it_stands() -> None:
    before, after = (
        "It opened in 1931 [p1]. It is long [p2][fares].",
        "It opened in 1931. [p1] It is long. [p2, fares]",
    )
    for text in (before, after):
        found = cited(text, KNOWN)
        assert [(one.text, one.ids) for one in found] == [
            ("It opened in 1931.", ("p1",)),
            ("It is long.", ("p2", "fares")),
        ]
        assert all(text[one.start : one.end].strip() for one in found)


def test_a_sentence_without_a_mark_cites_nothing_and_other_brackets_stay() -> None:
    (one,) = cited("He wrote [sic] that.", KNOWN)
    assert (one.text, one.ids) == ("He wrote [sic] that.", ())
    assert without_citations("A [p1] b [sic] c [p1, p3].", KNOWN) == "A b [sic] c."
    assert cited("[p1]", KNOWN) == [] == cited("", KNOWN)
