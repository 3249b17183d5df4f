"""Random results for property tests."""

from hypothesis import strategies as st

from mashq.analysis.results import Row

COSTS = ("tokens", "calls", "reviews", "seconds", "dollars")
amounts = st.one_of(st.just(0.0), st.integers(0, 1000).map(float), st.floats(0, 1e4, allow_subnormal=False))


@st.composite
def tables(
    draw: st.DrawFn, *, refusals: bool = True, trials: int = 2, most_players: int = 4, most_items: int = 8
) -> list[Row]:
    """Rows of every player on every item; some may be refused, but each item is answered by all at least once."""
    players = [f"p{n}" for n in range(draw(st.integers(1, most_players)))]
    items = [f"i{n}" for n in range(draw(st.integers(1, most_items)))]
    repeats = draw(st.integers(1, trials))
    rows: list[Row] = []
    for player in players:
        for at, item in enumerate(items):
            for trial in range(repeats):
                status = draw(st.sampled_from(["ok", "ok", "ok", "refused", "failed", "unanswered"]))
                if not refusals or at == 0:
                    status = "ok"
                h = draw(st.floats(0, 1)) if status == "ok" else None
                costs = {name: draw(amounts) for name in COSTS}
                rows.append(Row(player, item, str(trial), h, status, costs))
    return rows
