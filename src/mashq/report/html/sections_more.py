"""More sections of a match: course, distribution of H, deciding items, failures, sensitivity, story, lengths."""

from collections.abc import Mapping, Sequence

from mashq.analysis.score_report import FAITHFUL, faithful_answers
from mashq.analysis.score_types import Ranking, ScoredPlayer
from mashq.protocol.resources import RESOURCES
from mashq.protocol.score import TIE
from mashq.report.documents.match import COUNTS, AttemptCounts, Attempts, Match
from mashq.report.html import charts
from mashq.report.html.events import texts
from mashq.report.html.facts import BINS, Facts
from mashq.report.html.labels import labels
from mashq.report.html.parts import Block, Figure, Prose, Quotes, Section, Table
from mashq.report.html.verdicts import drawn
from mashq.report.text.formatting import carried_columns, dollars, is_shown, number, safe, signed
from mashq.report.text.score import flips, weightings
from mashq.report.text.tables import Grid, half


def course(facts: Facts) -> Section:
    """Plot what each player had spent by round."""
    label_of, shown = labels(facts.names), drawn(facts) or list(facts.names[:8])
    rows = [
        {
            "player": label_of[p.player],
            "round": p.round,
            "tokens": p.tokens,
            "seconds": p.seconds,
            "reviews": p.reviews,
        }
        for p in facts.course.points
        if p.player in shown
    ]
    scope = f" of the first of {len(facts.matches)} trials" if len(facts.matches) > 1 else ""
    caption = f"Tokens spent{scope} by round; a mark is where a player reviewed, larger for more reviews."
    ends = "; ".join(f"{row['player']} {row['tokens']:,.0f}" for row in rows if row["round"] == facts.course.rounds)
    figure = Figure(
        "course", charts.course(rows, [label_of[name] for name in shown]), caption, f"Tokens at the end: {ends}."
    )
    return Section("course", "Cost over the course of the match", [figure])


def spread(facts: Facts) -> Section:
    """Plot the distribution of H over the items."""
    label_of, shown = labels(facts.names), drawn(facts)
    bins = [f"{index / BINS:.1f}" for index in range(BINS)]
    rows = [
        {"player": label_of[name], "bin": bins[index], "share": share}
        for name in shown
        for index, share in enumerate(facts.shares[facts.names.index(name)])
    ]
    caption = "How the H of the scored answers is spread."
    top = {row["player"]: row["share"] for row in rows if row["bin"] == bins[-1]}
    top_shares = f"Answers with H from {bins[-1]} on: " + ", ".join(
        f"{name} {share:.0%}" for name, share in top.items()
    )
    figure = Figure(
        "spread", charts.spread(rows, [label_of[name] for name in shown]), caption, f"{caption} {top_shares}."
    )
    return Section("spread", "The distribution of H", [figure])


def deciding(facts: Facts) -> Section | None:
    """Show the items with the largest influence on the lead; None without a lead."""
    if facts.top is None or not facts.decisive:
        return None
    label_of = labels(facts.names)
    a, b = (label_of[facts.names[seat]] for seat in facts.top)
    items = labels([row.item for row in facts.decisive], 40)
    rows = [{"item": items[row.item], "part": row.part} for row in facts.decisive]
    axis_title = [f"← {b} · {a} →", "influence on the lead"]
    caption = (
        f"The items that decide between {a} and {b}: how much more than an average item each favours one of them."
    )
    top = facts.decisive[0]
    summary = f"The largest influence has {items[top.item]}, {abs(top.part):.4f} towards {a if top.part > 0 else b}."
    summary = summary if top.part else "No item favours one of them."
    names = [label_of[name] for name in drawn(facts)]
    hues = charts.hue(a, names), charts.hue(b, names)
    figure = Figure("deciding", charts.decisive(rows, axis_title, hues), caption, f"{caption} {summary}")
    grid = Grid(
        ["item", f"H {a}", f"H {b}", f"tokens {a}", f"tokens {b}", "influence", "lead without it"],
        [
            [
                items[row.item],
                f"{row.h[0]:.3f}",
                f"{row.h[1]:.3f}",
                number(row.tokens[0]),
                number(row.tokens[1]),
                signed(row.part, 5),
                signed(row.without),
            ]
            for row in facts.decisive
        ],
    )
    count, fewest = len(facts.seen.items), facts.fewest_to_flip
    if {facts.names[seat] for seat in facts.top} <= set(facts.report.tied) and abs(top.part) < TIE:
        summary = f"{a} and {b} tie, and no item favours one of them."
    elif fewest is None:
        summary = f"{a} would still lead {b} without the half of the items that favour it most."
    else:
        plural = "item" if fewest == 1 else "items"
        summary = f"Without the {fewest} {plural} ({fewest / count:.1%}) that favour {a} most, {b} would win."
    exact = "The lead without an item is computed anew, with its normaliser; the influence is a linear approximation."
    return Section("deciding", "Which items decide", [Prose([summary]), figure, Table("deciding", grid, exact)])


def failures(facts: Facts) -> Section:
    """Show refusals, failures and attempts."""
    label_of = labels(facts.names)
    ends = ["ok", "refused", "failed", "unanswered"]
    if any(count["cut"] for count in facts.statuses.values()):
        ends.insert(3, "cut")
    rows = [[label_of[name], *(number(count[end]) for end in ends)] for name, count in facts.statuses.items()]
    head = ["player", "answered", *("cut off" if end == "cut" else end for end in ends[1:])]
    blocks: list[Block] = [Table("statuses", Grid(head, rows), "How the items ended.")]
    attempts = facts.document.attempts
    counts_by_player = attempts.by_player if isinstance(attempts, Attempts) else None
    counts_of: Mapping[str, AttemptCounts] = counts_by_player or {"all players": attempts}
    attempt_rows = [
        [label_of.get(name, name), *(number(getattr(row, kind)) for kind in COUNTS)]
        for name, row in counts_of.items()
    ]
    caption = "Attempts in the ledger, over all items: every request, retries included."
    blocks.append(Table("attempts", Grid(["player", *COUNTS], attempt_rows), caption))
    dropped = facts.document.dropped if isinstance(facts.document, Match) else ()
    if dropped:
        entries = [f"{safe(drop.item, 40)} ({', '.join(label_of[n] for n in drop.by)})" for drop in dropped[:30]]
        more = f" and {len(dropped) - 30} more" if len(dropped) > 30 else ""
        blocks.append(Prose([f"Items that somebody refused or failed: {', '.join(entries)}{more}."]))
    return Section("failures", "Refusals and failures", blocks)


def sensitivity(facts: Facts, judges: Sequence[Facts]) -> Section:
    """Show what depends on the rule for refusals, the normaliser, the weights and the detector."""
    report = facts.report
    label_of = labels(facts.names)
    rows: list[list[str]] = []
    for view in report.views:
        ranking = view.ranking
        order = "nothing can be scored" if ranking is None else _order(view, label_of)
        rows.append([view.refusals, _NORMALISERS[view.normalise], view.h, str(view.items), order])
    leaders = {view.leaders for view in report.views if view.leaders}
    same = "The leader is the same under every rule for refusals and every normaliser."
    depends = "The leader depends on the rule for refusals or on the normaliser."
    if len({view.h for view in report.views}) > 1:
        same = (
            "The leader is the same under every rule for refusals, every normaliser and both meanings of H "
            "(faithful, adequate)."
        )
        depends = (
            "The leader depends on the rule for refusals, on the normaliser or on what H means (faithful, adequate)."
        )
    sentences = [same if len(leaders) == 1 else depends] if len(facts.names) > 1 else []
    for name, stretches in report.weight_envelopes.items():
        if len(stretches) > 1:
            sentences.append(flips(f"the weight of {name}", stretches))
    if report.simplex:
        sentences.append(weightings(report, label_of))
    grid = Grid(["refusals", "costs relative to", "H", "items", "ranking"], rows, left=5)
    blocks: list[Block] = [Table("views", grid, "The ranking under other rules."), Prose(sentences)]
    blocks += _judges(facts, judges)
    return Section("sensitivity", "What depends on a choice", blocks)


def _order(view: Ranking, label_of: dict[str, str]) -> str:
    """Format the best six players, with = between those that tie."""
    ranking, text = list(view.ranking or ())[:6], ""
    for index, name in enumerate(ranking):
        is_tie = index and any({ranking[index - 1], name} <= set(tied) for tied in view.tied or ())
        text += ("" if not index else " = " if is_tie else " > ") + label_of[name]
    return text


_NORMALISERS = {
    "match": "the largest in the match",
    "median": "the median player",
    "reference": "the reference totals",
    "per_item": "the reference per item",
}


def _judges(facts: Facts, others: Sequence[Facts]) -> list[Block]:
    """Compare the same answers under other detectors."""
    if not others:
        return [Prose(["One detector scored this. Whether another would agree: mashq report RUN --detector NAME."])]
    label_of = labels(facts.names)
    rows: list[list[str]] = []
    orders: set[tuple[str, ...]] = set()
    for rescored in (facts, *others):
        detector = rescored.played.manifest["detector"]
        players: Sequence[ScoredPlayer] = () if rescored.judged is None else rescored.judged.players
        ranked = sorted(players, key=lambda p: -(p.q if p.q is not None else -9e9))
        orders.add(tuple(player.name for player in ranked))
        for player in ranked:
            star = " ★" if rescored.judged and player.name == rescored.judged.winner else ""
            low, high = player.q_low, player.q_high
            width = "?" if low is None else f"± {half(low, high)}"
            name = f"{safe(detector['name'], 24)} {safe(detector['version'], 16)}"
            rows.append([name, label_of[player.name] + star, number(player.h, 4), number(player.q, 4), width])
    verdict = (
        "The ranking is the same under every detector."
        if len(orders) == 1
        else "The ranking depends on the detector."
    )
    grid = Grid(["detector", "player", "H", "Q", "95%"], rows, left=2)
    return [Table("detectors", grid, "The same answers scored by other detectors."), Prose([verdict])]


def story(facts: Facts) -> Section:
    """Tell the match as a story, and quote the most decisive item in full."""
    subject = f"The first of {len(facts.matches)} trials, told" if len(facts.matches) > 1 else "The match, told"
    highlights = [f"Round {highlight.round}: {highlight.sentence}" for highlight in facts.course.highlights]
    blocks: list[Block] = [
        Prose([f"{subject} by its moves. Rounds are counted from 1; to follow something is not to be caused by it."]),
        Prose(highlights or ["Nothing happened yet."], listed=True),
    ]
    if facts.judged is not None and facts.decisive:
        item = facts.decisive[0].item
        quoted_texts = texts(facts.played, item)
        if quoted_texts:
            blocks.append(Quotes(f"The item that decided most: {safe(item, 60)}", quoted_texts))
    return Section("story", "Case study", blocks)


def lengths(facts: Facts) -> Section:
    """Show the length, coverage and copied share of the answers, and the baseline texts."""
    label_of, title = labels(facts.names), "Answer length and coverage"
    players = facts.report.players
    if all(player.words is None for player in players):
        return Section("lengths", title, [Prose(["These answers are drawn: they have no text."])])
    shown = carried_columns(players)
    rows: list[list[str]] = []
    for player in players:
        count = facts.statuses[player.name]
        answered = f"{count['ok'] / max(1, sum(count.values())):.1%}"
        cells = [number(getattr(player, name), digits) for name, digits in shown.items()]
        rows.append([label_of[player.name], answered, *cells])
    caption = (
        "Means over the scored answers. Coverage: the share of what matters in the source that they carry (of "
        "questions, the share attempted). Copied: the share of their words inside runs of eight or more that stand "
        "in the source word for word. Copying the whole text would score H 1: read H beside these."
    )
    blocks: list[Block] = [Table("lengths", Grid(["player", "answered", *shown], rows), caption)]
    floors = facts.report.floors
    if floors:
        grid = Grid(
            ["floor", "H", "coverage", "words", "Q"],
            [
                [floor.name, number(floor.h, 4), number(floor.coverage, 3), number(floor.words), number(floor.q, 4)]
                for floor in floors
            ],
        )
        floor_caption = (
            "Floors: texts that need no model and cost nothing; no players of the match, nor part of its P."
        )
        blocks.append(Table("floors", grid, floor_caption))
    return Section("lengths", title, blocks)


def faithful(facts: Facts) -> Section:
    """Show the cost per faithful answer."""
    label_of = labels(facts.names)
    rows: list[list[str]] = []
    report = facts.report
    faithful = faithful_answers(facts.results, facts.rules.refusals)
    by_name = {player.name: player for player in report.players}
    shown = [name for name in RESOURCES if is_shown(name, [player.costs for player in report.players])]
    for seat, name in enumerate(facts.names):
        faithful_count, scored = float(faithful[seat]), int(facts.seen.h_counts[seat].sum())
        cells = [label_of[name], f"{number(faithful_count, 0 if faithful_count.is_integer() else 1)} of {scored:,}"]
        for resource in shown:
            total = by_name[name].costs[resource]
            unit_cost = total / faithful_count if total is not None and faithful_count else None
            cells.append(dollars(unit_cost) if resource == "dollars" else _small(unit_cost))
        rows.append(cells)
    grid = Grid(["player", "faithful answers", *(f"{name} each" for name in shown)], rows)
    caption = (
        f"What a faithful answer (H of {FAITHFUL:g} or more) cost: all spent on the scored items over their number."
    )
    return Section("faithful", "Cost of a faithful answer", [Table("faithful", grid, caption)])


def _small(value: float | None) -> str:
    if value is None:
        return "?"
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}" if value >= 0.01 or not value else f"{value:.6f}"
