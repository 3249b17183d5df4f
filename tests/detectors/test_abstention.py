"""The rule that reads an abstention from words: what it gets right of the phrasings written for it, and of others.

`abstains.txt` and `answers.txt` hold 100 phrasings each, which the rule was written with; `unseen.txt` holds 40 that
were written afterwards and changed nothing. docs/rag.md states both figures.
"""

import time
from pathlib import Path

import pytest

from mashq.detectors.abstention import LONGEST, abstains

PHRASINGS = Path(__file__).parent / "abstentions"


def lines(name: str) -> list[str]:
    return (PHRASINGS / name).read_text("utf-8").splitlines()


def test_right_on_95_of_100_phrasings_written_for_it() -> None:
    said = [(line, True) for line in lines("abstains.txt")] + [(line, False) for line in lines("answers.txt")]
    assert len(said) == len(dict(said)) == 200
    wrong = [line for line, wanted in said if abstains(line) != wanted]
    assert len(wrong) <= 1, wrong
    assert "99.5%" in (Path(__file__).parents[2] / "docs" / "rag.md").read_text("utf-8")


def test_of_unseen_phrasings_it_takes_no_answer_for_an_abstention() -> None:
    said = [line.partition(" ") for line in lines("unseen.txt")]
    assert len(said) == 40
    assert not [text for word, _, text in said if word == "no" and abstains(text)]
    right = sum(abstains(text) == (word == "yes") for word, _, text in said)
    assert right == 32, "docs/rag.md states this figure: 32 of 40"


@pytest.mark.parametrize("text", ["", "   ", "[p1]", "?!", "42"])
def test_nothing_said_is_no_abstention(text: str) -> None:
    assert not abstains(text)


def test_typography_case_and_citations_do_not_matter() -> None:
    assert abstains("THE PASSAGES DON’T SAY WHO WON [p1, p2].")
    assert abstains("  \n**The passages do not\nsay.**")


@pytest.mark.parametrize("part", ["the ", "from the passages, ", "passages a they ", "no nothing in ", "[p1] ", "x"])
def test_no_text_takes_long(part: str) -> None:
    began = time.perf_counter()
    abstains(part * (20_000 // len(part)))
    assert time.perf_counter() - began < 0.5
    assert LONGEST < 1000
