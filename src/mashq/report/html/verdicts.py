"""The first screen of a match: who wins, how sure that is, and where it would be another."""

from collections.abc import Iterator, Sequence

from mashq.analysis.score_types import ScoredPlayer, ScoreReport, chance_said
from mashq.report.documents.trials import Trials
from mashq.report.html import charts
from mashq.report.html.facts import Facts
from mashq.report.html.labels import labels
from mashq.report.html.parts import Figure, Tile, Verdict
from mashq.report.html.style import MAX_COST
from mashq.report.text.formatting import number
from mashq.report.text.score import tied_here_alone
from mashq.report.text.tables import half
from mashq.report.text.trials import best_in

SHOWN_TILES = 4
FEW = 30


def drawn(facts: Facts) -> list[str]:
    """The players that the charts show: who leads somewhere along beta, then the best, in their seats."""
    judged = facts.judged
    if judged is None:
        return []
    leaders = [name for stretch in judged.envelope for name in stretch.names]
    ranked = sorted((p for p in judged.players if p.q is not None), key=lambda p: -(p.q or 0.0))
    chosen = list(dict.fromkeys([*leaders, *(player.name for player in ranked)]))[:MAX_COST]
    return [name for name in facts.names if name in chosen]


def verdict(facts: Facts) -> Verdict:
    """The answer first."""
    judged = facts.judged
    if judged is None:
        return Verdict("No winner: nothing can be scored", [facts.why])
    known = labels(facts.names)
    if not facts.document.finished:
        there = sum(count["ok"] for count in facts.statuses.values())
        asked = sum(sum(count.values()) for count in facts.statuses.values())
        said = f"{there:,} of {asked:,} answers are there; each player is scored over what it has played so far."
        return Verdict("Not finished: nobody has won yet", [said])
    players = sorted(judged.players, key=lambda p: -(p.q if p.q is not None else -9e9))
    return Verdict(
        _headline(judged, known),
        [*_sentences(facts, judged, known)],
        _mark(judged),
        [_tile(player, judged, known) for player in players[:SHOWN_TILES]],
        _figure(facts, players, known),
    )


def _headline(judged: ScoreReport, known: dict[str, str]) -> str:
    if judged.tied:
        return f"A tie between {', '.join(known[name] for name in judged.tied)}"
    if len(judged.players) == 1:
        return f"{known[judged.players[0].name]} played alone"
    if not judged.differences:
        return f"{known[_only(judged).name]} is the only one with a score"
    leader = known[judged.differences[0].a]
    return f"{leader} wins" if judged.clear else f"No clear winner: {leader} leads"


def _only(judged: ScoreReport) -> ScoredPlayer:
    return next(player for player in judged.players if player.q is not None)


def _mark(judged: ScoreReport) -> str:
    first = next(iter(judged.differences), None)
    if first is None or first.low is None or judged.tied:
        return ""
    return "sure" if judged.clear else "unsure"


def _sentences(facts: Facts, judged: ScoreReport, known: dict[str, str]) -> Iterator[str]:
    by = {player.name: player for player in judged.players}
    first = next(iter(judged.differences), None)
    if first is None:
        only = _only(judged)
        yield f"Q {number(only.q, 4)}, with H {number(only.h, 4)} and P {number(only.penalty, 3)}."
        return
    a, b = by[first.a], by[first.b]
    yield (
        f"Q {number(a.q, 4)} against {number(b.q, 4)} ({known[b.name]}); in H {number(a.h, 4)} against "
        f"{number(b.h, 4)}, in cost P {number(a.penalty, 3)} against {number(b.penalty, 3)}."
    )
    yield judged.headline
    if len(judged.best_set) > 1 and len(judged.players) > 2:
        yield f"Cannot be told apart from the best: {', '.join(known[name] for name in judged.best_set)}."
    if first.low is not None and not judged.clear and (judged.items or 0) < FEW:
        yield "So few items leave the interval wide: more items would tell."
    yield _where(judged, known)
    if isinstance(facts.document, Trials) and facts.document.trials:
        yield best_in(facts.document, {name: known[name] for name in judged.tied or [a.name]})


def _where(judged: ScoreReport, known: dict[str, str]) -> str:
    """Who would win at another beta."""
    stretches = judged.envelope
    here = ""
    if tied_here_alone(judged):
        here = f"{' and '.join(known[name] for name in judged.tied)} tie at beta {judged.beta:g} alone. "
    if len(stretches) == 1:
        names = [known[name] for name in stretches[0].names]
        how = f"{' and '.join(names)} {'leads' if len(names) == 1 else 'tie'} at every {'other ' if here else ''}beta"
        return f"{here}{how}, however much cost weighs."
    parts: list[str] = []
    for stretch in stretches[:6]:
        start, end, name = stretch.beta_from, stretch.beta_to, " and ".join(known[name] for name in stretch.names)
        if not start:
            parts.append(f"{name} below {end:.4g}")
        else:
            parts.append(f"{name} above {start:.4g}" if end is None else f"{name} from {start:.4g} to {end:.4g}")
    more = "" if len(stretches) <= 6 else f" and {len(stretches) - 6} more"
    return (
        f"{here}The leader depends on beta: {', '.join(parts)}{more}. This run weighs cost with beta {judged.beta:g}."
    )


def _tile(player: ScoredPlayer, judged: ScoreReport, known: dict[str, str]) -> Tile:
    low, high = player.q_low, player.q_high
    width = "" if low is None else f" ± {half(low, high)}"
    note = f"H {number(player.h, 4)} · P {number(player.penalty, 3)}"
    if player.p_win is not None and len(judged.players) > 1:
        note += f" · P(win) {chance_said(player.p_win)}"
    best = player.name == judged.winner and len(judged.players) > 1
    return Tile(known[player.name], f"Q {number(player.q, 4)}{width}", note, best)


def _figure(facts: Facts, players: Sequence[ScoredPlayer], known: dict[str, str]) -> Figure | None:
    shown = [known[name] for name in drawn(facts)]
    rows = [
        {"player": known[p.name], "q": p.q, "low": p.q_low, "high": p.q_high}
        for p in players
        if known[p.name] in shown and p.q is not None
    ]
    if len(rows) < 2 or any(row["low"] is None for row in rows):
        return None
    told = "; ".join(f"{row['player']} {row['q']:.4f} ({row['low']:.4f} to {row['high']:.4f})" for row in rows)
    caption = (
        "Q of each player with its 95% interval. Players share their items, so whether two differ is not to be read "
        "from these: it is in the table of differences."
    )
    return Figure("q-intervals", charts.q_intervals(rows, shown), caption, f"Q by player: {told}.")
