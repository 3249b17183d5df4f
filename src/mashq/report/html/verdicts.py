"""The summary of a match: who wins, how clearly, and at which beta the winner would change."""

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
    """Return the players that charts show, in seat order: those that lead at some beta, then the best ones."""
    report = facts.judged
    if report is None:
        return []
    leaders = [name for stretch in report.envelope for name in stretch.names]
    ranked = sorted((p for p in report.players if p.q is not None), key=lambda p: -(p.q or 0.0))
    chosen = list(dict.fromkeys([*leaders, *(player.name for player in ranked)]))[:MAX_COST]
    return [name for name in facts.names if name in chosen]


def verdict(facts: Facts) -> Verdict:
    """Build the summary at the top of a report."""
    report = facts.judged
    if report is None:
        return Verdict("No winner: nothing can be scored", [facts.why])
    label_of = labels(facts.names)
    if not facts.document.finished:
        answered = sum(count["ok"] for count in facts.statuses.values())
        expected = sum(sum(count.values()) for count in facts.statuses.values())
        sentence = (
            f"{answered:,} of {expected:,} answers are there; each player is scored over what it has played so far."
        )
        return Verdict("Not finished: nobody has won yet", [sentence])
    players = sorted(report.players, key=lambda p: -(p.q if p.q is not None else -9e9))
    return Verdict(
        _headline(report, label_of),
        [*_sentences(facts, report, label_of)],
        _mark(report),
        [_tile(player, report, label_of) for player in players[:SHOWN_TILES]],
        _figure(facts, players, label_of),
    )


def _headline(report: ScoreReport, label_of: dict[str, str]) -> str:
    if report.tied:
        return f"A tie between {', '.join(label_of[name] for name in report.tied)}"
    if len(report.players) == 1:
        return f"{label_of[report.players[0].name]} played alone"
    if not report.differences:
        return f"{label_of[_only_scored(report).name]} is the only one with a score"
    leader = label_of[report.differences[0].a]
    return f"{leader} wins" if report.clear else f"No clear winner: {leader} leads"


def _only_scored(report: ScoreReport) -> ScoredPlayer:
    return next(player for player in report.players if player.q is not None)


def _mark(report: ScoreReport) -> str:
    lead = next(iter(report.differences), None)
    if lead is None or lead.low is None or report.tied:
        return ""
    return "sure" if report.clear else "unsure"


def _sentences(facts: Facts, report: ScoreReport, label_of: dict[str, str]) -> Iterator[str]:
    by_name = {player.name: player for player in report.players}
    lead = next(iter(report.differences), None)
    if lead is None:
        only = _only_scored(report)
        yield f"Q {number(only.q, 4)}, with H {number(only.h, 4)} and P {number(only.penalty, 3)}."
        return
    a, b = by_name[lead.a], by_name[lead.b]
    yield (
        f"Q {number(a.q, 4)} against {number(b.q, 4)} ({label_of[b.name]}); in H {number(a.h, 4)} against "
        f"{number(b.h, 4)}, in cost P {number(a.penalty, 3)} against {number(b.penalty, 3)}."
    )
    yield report.headline
    if len(report.best_set) > 1 and len(report.players) > 2:
        yield f"Cannot be told apart from the best: {', '.join(label_of[name] for name in report.best_set)}."
    if lead.low is not None and not report.clear and (report.items or 0) < FEW:
        yield "The interval is wide because there are few items; more would narrow it."
    yield _other_betas(report, label_of)
    if isinstance(facts.document, Trials) and facts.document.trials:
        yield best_in(facts.document, {name: label_of[name] for name in report.tied or [a.name]})


def _other_betas(report: ScoreReport, label_of: dict[str, str]) -> str:
    """Describe who would win at another beta."""
    stretches = report.envelope
    tie = ""
    if tied_here_alone(report):
        tie = f"{' and '.join(label_of[name] for name in report.tied)} tie at beta {report.beta:g} alone. "
    if len(stretches) == 1:
        names = [label_of[name] for name in stretches[0].names]
        leader = (
            f"{' and '.join(names)} {'leads' if len(names) == 1 else 'tie'} at every {'other ' if tie else ''}beta"
        )
        return f"{tie}{leader}, however much cost weighs."
    parts: list[str] = []
    for stretch in stretches[:6]:
        start, end, name = stretch.beta_from, stretch.beta_to, " and ".join(label_of[name] for name in stretch.names)
        if not start:
            parts.append(f"{name} below {end:.4g}")
        else:
            parts.append(f"{name} above {start:.4g}" if end is None else f"{name} from {start:.4g} to {end:.4g}")
    more = "" if len(stretches) <= 6 else f" and {len(stretches) - 6} more"
    return (
        f"{tie}The leader depends on beta: {', '.join(parts)}{more}. This run weighs cost with beta {report.beta:g}."
    )


def _tile(player: ScoredPlayer, report: ScoreReport, label_of: dict[str, str]) -> Tile:
    low, high = player.q_low, player.q_high
    width = "" if low is None else f" ± {half(low, high)}"
    note = f"H {number(player.h, 4)} · P {number(player.penalty, 3)}"
    if player.p_win is not None and len(report.players) > 1:
        note += f" · P(win) {chance_said(player.p_win)}"
    best = player.name == report.winner and len(report.players) > 1
    return Tile(label_of[player.name], f"Q {number(player.q, 4)}{width}", note, best)


def _figure(facts: Facts, players: Sequence[ScoredPlayer], label_of: dict[str, str]) -> Figure | None:
    shown = [label_of[name] for name in drawn(facts)]
    rows = [
        {"player": label_of[p.name], "q": p.q, "low": p.q_low, "high": p.q_high}
        for p in players
        if label_of[p.name] in shown and p.q is not None
    ]
    if len(rows) < 2 or any(row["low"] is None for row in rows):
        return None
    values = "; ".join(f"{row['player']} {row['q']:.4f} ({row['low']:.4f} to {row['high']:.4f})" for row in rows)
    caption = (
        "Q of each player with its 95% interval. Players share their items, so whether two differ is not to be read "
        "from these: it is in the table of differences."
    )
    return Figure("q-intervals", charts.q_intervals(rows, shown), caption, f"Q by player: {values}.")
