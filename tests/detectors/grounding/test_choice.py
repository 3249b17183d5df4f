"""The fit of grounding: what is left out has no say in what is chosen."""

from __future__ import annotations

from bench.grounding_parts import HUMAN, Choice, Found, choose

SMALL, LARGE = Choice("all", "even", 100), Choice("all", "even", 300)
PARTS = (*HUMAN, "articles")


def table(small: dict[str, list[float]], large: dict[str, list[float]]) -> Found:
    """Figures by the part they are measured on, whatever is left out beside it."""
    found: Found = {}
    for choice, figures in ((SMALL, small), (LARGE, large)):
        for one in PARTS:
            for two in PARTS:
                if one != two:
                    found[one, two, choice] = figures.get(two, [0.8] if two in HUMAN else [0.77, 0.76])
        found["articles", "more articles", choice] = figures.get("articles", [0.77, 0.76])
    return found


def test_the_better_choice_is_taken() -> None:
    assert choose(table({}, {"frank": [0.9]}), None) == LARGE
    assert choose(table({"frank": [0.9]}, {}), None) == SMALL


def test_what_is_left_out_has_no_say() -> None:
    found = table({"frank": [1.0]}, {"xsumfaith": [0.81]})
    assert choose(found, "frank") == LARGE
    assert choose(found, "xsumfaith") == SMALL


def test_edits_count_up_to_a_point() -> None:
    better = {"articles": [0.77, 0.9]}
    assert choose(table({"frank": [0.81]}, better), None) == SMALL
    assert choose(table({"frank": [0.81], "articles": [0.77, 0.7]}, better), None) == LARGE
