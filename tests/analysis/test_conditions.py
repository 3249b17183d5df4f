"""What `--fail-if` takes, decides and refuses."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mashq.analysis.conditions import FIGURES, Condition, check, check_names, holds, parse
from mashq.analysis.parts import Lead
from mashq.analysis.score_types import ScoredPlayer
from mashq.errors import ConfigError
from mashq.protocol.results import COST_NAMES


@dataclass(frozen=True)
class Score:
    """As much of a score as conditions look at."""

    players: Sequence[ScoredPlayer]
    differences: Sequence[Lead] = field(default_factory=list[Lead])


def player(name: str, **known: float) -> ScoredPlayer:
    """A player of which little is known."""
    costs = {resource: known.pop(resource, None) for resource in COST_NAMES}
    nothing: dict[str, float | None] = dict.fromkeys(name for name in FIGURES if name not in COST_NAMES)
    return ScoredPlayer(name=name, costs=costs, charged={}, unknown_attempts=0, **(nothing | known))


SCORE = Score(
    [
        player("A", q=0.5, h=0.8, p_win=0.9, dollars=1.5, q_low=0.4),
        player("B", q=0.4, h=0.7),
        player("A (x)", tokens=7),
        player("a, b", q=0.1),
    ],
    [
        Lead("A", "B", 0.1, 0.02, 0.18, 0.01, 0.19),
        Lead("A", "a, b", 0.4, -0.1, 0.9, -0.2, 1.0),
        Lead("B", "A (x)", 1, None, None),
    ],
)


@pytest.mark.parametrize(
    ("condition", "true", "values"),
    [
        ("q(A) < q(B)", False, "q(A) = 0.5, q(B) = 0.4"),
        ("q(A) >= q(B)", True, "q(A) = 0.5, q(B) = 0.4"),
        ("q(A)<q(B)+0.2", True, "q(A) = 0.5, q(B) = 0.4; left side 0.5, right side 0.6"),
        ("q(A) < q(B) + 0.1", False, "q(A) = 0.5, q(B) = 0.4; left side 0.5, right side 0.5"),
        ("q(A) - q(B) * 2 < -.2", True, "q(A) = 0.5, q(B) = 0.4; left side -0.3, right side -0.2"),
        ("(q(A) - q(B)) * 2 < 0.3", True, "q(A) = 0.5, q(B) = 0.4; left side 0.2, right side 0.3"),
        ("8 - 4 - 2 == 2", True, "left side 2, right side 2"),
        ("8 / 4 / 2 != 1e0", False, "left side 1, right side 1"),
        ("-(1 + 2) < -2.5", True, "left side -3, right side -2.5"),
        ("h( A ) < 0.9", True, "h(A) = 0.8"),
        ("p_win(A) < 0.5", False, "p_win(A) = 0.9"),
        ("dollars(A) > 1", True, "dollars(A) = 1.5"),
        ("q_low(A) < 0.4", False, "q_low(A) = 0.4"),
        ("tokens(A (x)) == 7", True, "tokens(A (x)) = 7"),
        ("tokens('A (x)') == 7", True, "tokens(A (x)) = 7"),
        ("0.1 != h(A)", True, "h(A) = 0.8"),
        ("not q(A) < q(B)", True, "q(A) = 0.5, q(B) = 0.4"),
        ("clear(A, B)", True, "q(A) - q(B) = 0.1, 95% CI 0.01 to 0.19"),
        ("clear(B, A)", False, "q(B) - q(A) = -0.1, 95% CI -0.19 to -0.01"),
        ('not clear(A, "a, b")', True, "q(A) - q(a, b) = 0.4, 95% CI -0.2 to 1"),
    ],
)
def test_conditions_are_decided_and_say_by_what(condition: str, true: bool, values: str) -> None:
    found = check(parse(condition), SCORE)
    assert (found.condition, found.true, found.values) == (condition, true, values)


@pytest.mark.parametrize(
    ("condition", "why"),
    [
        ("q(A)", "nothing compared"),
        ("q(A) ~ 3", "nothing compared"),
        ("z(A) < 1", "does not begin with a number"),
        ("q(A) < ", "does not begin with a number"),
        ("q(C) < 1", "there is no player 'C' .there are A, B, A .x., a, b."),
        ("clear(A, C)", "there is no player 'C'"),
        ("dollars(B) < 1", "dollars of 'B' is unknown"),
        ("clear(A (x), B)", "the interval between 'A .x.' and 'B' is unknown"),
        ("__import__('os') < 1", "does not begin with a number"),
        ("q(A) < 1 < 2", "'< 2' is left over"),
        ("q(A) < 1; import os", "is left over"),
        ("q() < 1", "name is missing"),
        ("q(A < 1", r"'\)' is missing"),
        ("clear(A)", "',' is missing"),
        ("(q(A) < 1", r"'\)' is missing"),
        ("q(A) / (q(B) - q(B)) > 1", "divides by 0"),
        ("q(A) * 1e308 * 1e308 > 1", "too large"),
        ("(" * 60 + "1" + ")" * 60 + " < 2", "too deep"),
        ("1" * 1200 + " < 2", "longer than 1000"),
        ("", "does not begin with a number"),
    ],
)
def test_bad_conditions_are_one_sentence(condition: str, why: str) -> None:
    with pytest.raises(ConfigError, match=f"--fail-if .*{why}"):
        holds(parse(condition), SCORE)


@given(st.text(alphabet="qhA()<>=!+-*/. ,'\"10enotclear", max_size=60))
def test_any_text_is_a_condition_or_one_sentence(text: str) -> None:
    try:
        found = parse(text)
        assert isinstance(found, Condition) and all(found.players)
        check(found, SCORE)
    except ConfigError as error:
        said = str(error)
    else:
        said = "--fail-if "
    assert said.startswith("--fail-if ")


def test_names_are_checked_before_anything_is_played() -> None:
    conditions = [parse("q(A) < q(B) + h(A)"), parse("clear(A, B)")]
    check_names(conditions, ["A", "B"])
    with pytest.raises(ConfigError, match="there is no player 'B'"):
        check_names(conditions, ["A"])
