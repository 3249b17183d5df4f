"""A score made by hand, every field of it another value: what `mashq score` says of three players."""

from mashq.analysis.parts import BetaStretch, Lead, WeightStretch
from mashq.analysis.score_types import Chances, Dropped, Missing, Ranking, ScoredPlayer, ScoreReport
from mashq.protocol.results import COST_NAMES

HEADLINE = (
    "No clear winner: b leads c by 0.1000 in Q (95% CI −0.0100 to 0.2100; P(win) 0.875); it cannot be told "
    "apart from c."
)


def costs(**known: float) -> dict[str, float | None]:
    """Costs of which the rest is unknown."""
    return {name: known.get(name) for name in COST_NAMES}


A = ScoredPlayer(
    name="a",
    h=0.81234,
    h_before_review=0.5,
    answer_rate=0.975,
    costs=costs(tokens_in=3000, tokens_out=456, tokens=3456, calls=12, reviews=5, seconds=7.25, dollars=0.000027),
    charged={"tokens": 56.0, "seconds": 0.0},
    unknown_attempts=2,
    penalty=3.0,
    q=0.51234,
    q_min=0.5,
    q_max=0.52,
    q_low=0.40234,
    q_high=0.62234,
    p_win=0.0,
    dollars_per_faithful=0.00000135,
)
B = ScoredPlayer(
    name="b",
    h=0.9,
    h_before_review=0.85,
    answer_rate=1.0,
    costs=costs(tokens_in=1_900_000, tokens_out=100_000, tokens=2_000_000, calls=9, reviews=0, seconds=61.04),
    charged={},
    unknown_attempts=0,
    penalty=2.0,
    q=0.7,
    q_min=0.7,
    q_max=0.7,
    q_low=0.65,
    q_high=0.75,
    p_win=0.875,
    dollars_per_faithful=None,
)
C = ScoredPlayer(
    name="c",
    h=0.7,
    h_before_review=None,
    answer_rate=None,
    costs=costs(tokens=9_999, calls=40, reviews=41, seconds=1234.56, dollars=12.3),
    charged={"calls": 3.0},
    unknown_attempts=3,
    penalty=1.0,
    q=0.6,
    q_min=0.55,
    q_max=0.65,
    q_low=0.45,
    q_high=0.75,
    p_win=0.125,
    dollars_per_faithful=0.6,
)
REPORT = ScoreReport(
    alpha=1.0,
    beta=0.1,
    weights={"tokens": 1.0, "calls": 2.0},
    normalise="match",
    refusals="intersection",
    items=1040,
    units=2060,
    trials=2,
    level=0.95,
    players=[A, B, C],
    winner="b",
    tied=[],
    clear=False,
    best_set=["b", "c"],
    headline=HEADLINE,
    differences=[
        Lead("b", "c", 0.1, 0.01, 0.19, -0.01, 0.21),
        Lead("b", "a", 0.18766, 0.1, 0.27532, 0.05, 0.32532),
        Lead("c", "a", 0.08766, None, None),
    ],
    envelope=[BetaStretch(0.0, 0.04, "b"), BetaStretch(0.04, 0.5, "c"), BetaStretch(0.5, None, "a")],
    weight_envelopes={
        "tokens": [WeightStretch(0.0, 1.25, "b"), WeightStretch(1.25, None, "c")],
        "calls": [WeightStretch(0.0, None, "b")],
    },
    simplex={"a": 0.25, "b": 0.75},
    chance_along_beta=[Chances(beta=0.0, p={"b": 1.0}), Chances(beta=0.1, p={"b": 0.875, "c": 0.125})],
    pareto=["b", "c"],
    pareto_by={"tokens": ["a", "b"], "calls": ["c", "b"]},
    views=[
        Ranking(refusals="intersection", normalise="match", items=1040, ranking=["b", "c", "a"]),
        Ranking(refusals="penalised", normalise="median", items=1060, ranking=["c", "b", "a"]),
        Ranking(refusals="answered", normalise="reference", items=0, ranking=None),
    ],
    dropped=Dropped(items=7, units=20, by={"a": Missing(missing=20, alone=19)}),
    notes=["One note.", "Another | note."],
)
