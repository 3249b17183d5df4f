"""The grounding detector: range, order, copies, inventions, spans, speed."""

from __future__ import annotations

import gzip
import json
import random
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mashq.detectors import Pair
from mashq.detectors.grounding.detector import COPY, Grounding
from mashq.detectors.grounding.reading import read

SOURCE = (
    "The council approved a budget of $1.2 million on Monday. "
    "Mayor Anna Lopez said the new library would open in 2025. "
    "About 40 percent of residents opposed the plan. The old library, built in 1931, will become a museum."
)
INVENTED = "A spokesman for Google denied rumours of a takeover by Berlin investors."
LABELLED = Path(__file__).resolve().parents[4] / "shared/data/detector/labelled.jsonl.gz"

# Invented words share nothing with WORDS, whatever their endings.
WORDS = [
    "river",
    "bank",
    "Lopez",
    "budget",
    "12",
    "library",
    "the",
    "of",
    "was",
    "Monday",
    "opened",
    "5%",
    "and",
    "east",
]
FOREIGN = ["zeppelin", "quartz", "Vienna", "orchid", "juggling", "Oslo", "kumquat", "hydra"]
sentences = st.lists(st.sampled_from(WORDS), min_size=1, max_size=12).map(lambda words: " ".join(words) + ".")
texts = st.lists(sentences, min_size=1, max_size=8)
inventions = st.lists(st.sampled_from(FOREIGN), min_size=1, max_size=10).map(lambda words: " ".join(words) + ".")
wild = st.text() | st.text(alphabet=st.characters(codec=None, categories=["Cs", "Cc", "So", "Lo", "Nd", "Mn", "Zs"]))


def h(source: str, answer: str) -> float:
    return Grounding().score([Pair(source, answer)])[0]


def unsupported(answer: str) -> list[str]:
    return [answer[start:end] for start, end in Grounding().spans(Pair(SOURCE, answer))]


def test_a_copy_scores_high_and_an_invention_low() -> None:
    assert h(SOURCE, SOURCE) >= 0.95
    assert h(SOURCE, "Mayor Anna Lopez said the new library would open in 2025.") >= 0.95
    assert h(SOURCE, f"{SOURCE} {INVENTED}") < 0.6
    assert h(SOURCE, INVENTED) < 0.3
    assert h("", INVENTED) < 0.3


@pytest.mark.parametrize("answer", ["", "   \n", "...", "🙂🙂", "\x00\u200b"])
def test_an_answer_that_says_nothing_scores_zero(answer: str) -> None:
    assert h(SOURCE, answer) == 0.0


def test_the_same_number_written_otherwise_is_supported() -> None:
    right = "The council approved a budget of {} on Monday."
    same = [h(SOURCE, right.format(n)) for n in ("$1.2 million", "$1.2m", "$1,200,000", "1,200,000 dollars")]
    assert max(same) - min(same) < 0.005
    for wrong in ("$1.3 million", "$1.2 billion", "£1.2 million", "40 million"):
        assert h(SOURCE, right.format(wrong)) < same[0] - 0.1


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("Lopez beat Weber in Vienna on Monday.", "Weber beat Lopez in Vienna on Monday."),
        ("Lopez beat Weber in Vienna on Monday.", "Lopez beat Weber in Vienna on Friday."),
        ("Lopez beat Weber in Vienna on Monday.", "Lopez beat Weber in Oslo on Monday."),
        ("She won 14 of her last 20 matches.", "She won 20 of her last 14 matches."),
        ("Weber did not attend the ceremony in Oslo.", "Weber did attend the ceremony in Oslo."),
        ("The club will pay for the trip.", "The club will not pay for the trip."),
    ],
)
def test_one_changed_fact_lowers_the_score(right: str, wrong: str) -> None:
    source = (
        "Lopez beat Weber in Vienna on Monday. She won 14 of her last 20 matches. "
        "Weber did not attend the ceremony in Oslo on Friday. The club will pay for the trip."
    )
    assert h(source, wrong) < h(source, right) - 0.1
    assert h(source, f"{source} {wrong}") < h(source, source)


def test_a_wrong_name_costs_more_than_a_new_verb() -> None:
    assert h(SOURCE, "On Monday Mayor Maria Lopez spoke.") < h(SOURCE, "On Monday Mayor Anna Lopez spoke.")


def test_a_sentence_of_function_words_is_judged_by_them() -> None:
    assert h("It is. We were.", "It is.") >= 0.95
    assert h("We were.", "It is.") < 0.6


def test_spans_show_what_the_source_lacks() -> None:
    assert unsupported(SOURCE) == []
    assert unsupported("The council rejected a budget of $1.3 million.") == ["rejected", "1.3 million"]
    assert unsupported("Lopez denied the rumours. Google agreed.") == ["denied the rumours", "Google agreed"]


def test_spans_show_what_stands_in_the_wrong_place() -> None:
    assert unsupported("Mayor Anna Lopez said the new library would open in 1931.") == ["1931"]
    assert unsupported("Mayor Anna Lopez said the new library would not open in 2025.") == ["not"]


@given(wild, wild)
def test_any_text_gets_a_score_in_range(source: str, answer: str) -> None:
    pair = Pair(source, answer)
    scores = Grounding().score([pair, Pair(answer, source)])
    assert all(0.0 <= score <= 1.0 for score in scores)
    assert all(0 <= start < end <= len(answer) for start, end in Grounding().spans(pair))


@given(wild)
def test_a_whole_copy_scores_high_in_any_script(text: str) -> None:
    assert h(text, text) >= 0.95 if read(text) else h(text, text) == 0.0


@given(texts, st.data())
def test_copied_sentences_score_high_in_any_order(source: list[str], data: st.DataObject) -> None:
    copied = data.draw(st.lists(st.sampled_from(source), min_size=1, max_size=10))
    assert h(" ".join(source), " ".join(copied)) >= 0.95


@given(texts, st.data(), inventions)
def test_nothing_but_a_copy_scores_like_one(source: list[str], data: st.DataObject, invented: str) -> None:
    copied = data.draw(st.lists(st.sampled_from(source), min_size=1, max_size=6))
    at = data.draw(st.integers(0, len(copied)))
    assert h(" ".join(source), " ".join([*copied[:at], invented, *copied[at:]])) < COPY


@pytest.mark.parametrize(
    "invented",
    [
        INVENTED,
        "Police in Oslo arrested three men over the theft of a painting by Munch.",
        "Shares of the airline fell 7 percent after the strike entered its second week.",
        "Scientists at Cornell found that the beetles navigate by starlight.",
    ],
)
def test_an_invented_sentence_lowers_the_score(invented: str) -> None:
    parts = SOURCE.split(". ")
    answer = f"{parts[0]}. {parts[1]}."
    assert h(SOURCE, answer) >= COPY
    assert h(SOURCE, f"{answer} {invented}") < 0.6
    assert h(SOURCE, f"{invented} {answer}") < 0.6


@given(st.lists(st.tuples(texts, texts), max_size=6), st.randoms(use_true_random=False))
def test_batches_and_order_do_not_matter(rows: list[tuple[list[str], list[str]]], rng: random.Random) -> None:
    pairs = [Pair(" ".join(source), " ".join(answer)) for source, answer in rows]
    alone = [Grounding().score([pair])[0] for pair in pairs]
    assert Grounding().score(pairs) == alone
    order = rng.sample(range(len(pairs)), len(pairs))
    assert Grounding().score([pairs[i] for i in order]) == [alone[i] for i in order]


def article(words: int, seed: int) -> str:
    rng = random.Random(seed)
    vocabulary = [f"{rng.choice(WORDS)}{chr(97 + i % 26)}{chr(97 + i // 26 % 26)}" for i in range(600)] + WORDS
    return "".join(rng.choice(vocabulary) + rng.choice([" ", " ", " ", " ", " ", " ", ". "]) for _ in range(words))


def test_a_pair_takes_milliseconds() -> None:
    pairs = [Pair(article(300, seed), article(60, seed + 100)) for seed in range(40)]
    best = min(seconds(pairs) for _ in range(3))
    assert best / len(pairs) < 0.03  # measured: 0.002; the margin is for coverage and slow machines


def test_time_is_linear_in_the_source() -> None:
    small, large = article(10_000, 1), article(100_000, 1)
    copied = large[-400:].partition(". ")[2]
    assert h(large, copied) > 0.5
    assert seconds([Pair(large, copied)]) < 40 * min(seconds([Pair(small, copied)]) for _ in range(3))


def test_time_is_linear_in_the_answer() -> None:
    source, answer = article(2_000, 1), article(20_000, 1)
    assert seconds([Pair(source, answer)]) < 40 * min(seconds([Pair(source, answer[:14_000])]) for _ in range(3))


def seconds(pairs: list[Pair]) -> float:
    start = time.process_time()
    Grounding().score(pairs)
    return time.process_time() - start


@pytest.mark.skipif(not LABELLED.exists(), reason="the human-labelled pairs are not part of the project")
def test_it_agrees_with_people() -> None:
    good: list[float] = []
    bad: list[float] = []
    with gzip.open(LABELLED, "rt", encoding="utf-8") as lines:
        rows = [row for row in map(json.loads, lines) if row["set"] == "frank"]
    scores = Grounding().score([Pair(row["document"], row["claim"]) for row in rows])
    for row, score in zip(rows, scores, strict=True):
        (good if row["label"] else bad).append(score)
    wins = sum((g > b) + (g == b) / 2 for g in good for b in bad)
    assert wins / (len(good) * len(bad)) > 0.85
