"""Coverage: what raises it and what does not, how it ranks summaries, and how long it takes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import adequacy
from mashq.detectors.base import Pair
from mashq.detectors.coverage import Coverage, matters
from mashq.protocol.texts import RUN, copied, first_sentences, words
from mashq.tasks.load import load
from mashq.testing.conformance import check_detector

PASSAGES = [item.text for item in load("builtin")]
passages = st.sampled_from(PASSAGES)


def covered(source: str, answer: str) -> float:
    return Coverage().score([Pair(source, answer)])[0]


@st.composite
def answers(draw: st.DrawFn) -> tuple[str, str]:
    """A passage, and some of its words and others."""
    source = draw(passages)
    own = draw(st.lists(st.sampled_from(source.split()), max_size=60))
    return source, " ".join([*own, *draw(st.lists(st.text(max_size=8), max_size=5))])


def test_it_is_a_detector() -> None:
    check_detector(Coverage())


@given(answers())
def test_it_is_a_share_and_repeating_does_not_raise_it(pair: tuple[str, str]) -> None:
    source, answer = pair
    found = covered(source, answer)
    assert 0 <= found <= 1
    assert covered(source, f"{answer} {answer}\n{answer}") == found


@given(answers(), st.text(alphabet="bcdfghjklmnpqrstvwxz ", max_size=200))
def test_padding_does_not_raise_it(pair: tuple[str, str], padding: str) -> None:
    source, answer = pair
    strange = " ".join(word for word in padding.split() if word not in set(words(source)))
    assert covered(source, f"{answer} {strange}") <= max(
        covered(source, answer), covered(source, f"{answer} {source}")
    )
    if not set(matters(source)) & {word[:4] for word in strange.split()}:
        assert covered(source, f"{answer} zzzz qqqq") == covered(source, answer)


@given(passages, st.integers(1, 12), st.integers(1, 12))
def test_more_of_the_source_never_lowers_it_and_a_copy_has_all(source: str, few: int, more: int) -> None:
    less, whole = first_sentences(source, few), first_sentences(source, few + more)
    assert covered(source, less) <= covered(source, whole) <= covered(source, source) == pytest.approx(1.0)
    assert covered(source, f"{source}\n{less}") == covered(source, source)


@given(passages)
def test_only_the_words_that_matter_count(source: str) -> None:
    wanted = matters(source)
    assert sum(wanted.values()) == pytest.approx(1.0)
    assert covered(source, " ".join(wanted)) <= 1.0
    assert covered(source, "the of and because it") == 0.0


def test_texts_without_words() -> None:
    assert covered("", "anything") == 1.0
    assert covered("", "") == covered("…", "?!") == 0.0
    assert covered(PASSAGES[0], "") == 0.0


def test_what_a_text_comes_back_to_weighs_more_and_numbers_too() -> None:
    source = "The bridge is old. The bridge is shut. The bridge cost 40 pounds. A cat slept there."
    wanted = matters(source)
    assert max(wanted, key=wanted.__getitem__) == "bridg"
    assert wanted["40"] > wanted["cat"]
    assert covered(source, "A bridge.") > covered(source, "A cat.")


def test_sentences_at_the_beginning() -> None:
    text = 'Mr. J. Lunn paid £4.6m. "It was late!" he said.\n\nNobody came'
    assert first_sentences(text, 1) == "Mr. J. Lunn paid £4.6m."
    assert first_sentences(text, 2) == 'Mr. J. Lunn paid £4.6m. "It was late!"'
    assert first_sentences(text, 9) == text
    assert first_sentences("  ", 1) == first_sentences("", 3) == ""


def test_the_share_inside_long_verbatim_runs() -> None:
    source = [str(at) for at in range(30)]
    assert copied(source[:RUN], source) == 1.0
    assert copied(source[: RUN - 1], source) == 0.0
    assert copied([*source[3 : 3 + RUN + 2], *("x" for _ in range(RUN + 2))], source) == 0.5
    assert copied([*source[:RUN], *source[:RUN]], source) == 1.0
    assert copied([], source) is None


@pytest.mark.slow
@pytest.mark.skipif(not adequacy.DATA.exists(), reason="needs the judgements in ../shared")
def test_it_ranks_as_people_do_and_better_than_length() -> None:
    found = adequacy.table(adequacy.judged())
    for name, (within, between) in {
        "summeval": (0.28, 0.5),
        "realsumm": (0.36, 0.8),
        "newsroom": (0.70, 0.92),
    }.items():
        for measure in ("coverage", "left out"):
            assert found[measure][name][0] >= within and found[measure][name][1] >= between
        if name != "newsroom":
            assert found["coverage"][name][0] > found["words"][name][0]
