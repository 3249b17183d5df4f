"""A match as sections, further: course, spread of H, items that decide, failures, choices, story, lengths."""

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
from mashq.report.text.formatting import carried_columns, dollars, is_shown, number, safe
from mashq.report.text.score import flips
from mashq.report.text.tables import Grid, half


def course(facts: Facts) -> Section:
    """What each player had spent by which round."""
    known, shown = labels(facts.names), drawn(facts) or list(facts.names[:8])
    rows = [
        {"player": known[p.player], "round": p.round, "tokens": p.tokens, "seconds": p.seconds, "reviews": p.reviews}
        for p in facts.course.points
        if p.player in shown
    ]
    which = f" of the first of {len(facts.matches)} trials" if len(facts.matches) > 1 else ""
    caption = f"Tokens spent{which} by round; a mark is where a player reviewed, larger for more reviews."
    ends = "; ".join(f"{row['player']} {row['tokens']:,.0f}" for row in rows if row["round"] == facts.course.rounds)
    figure = Figure(
        "course", charts.course(rows, [known[name] for name in shown]), caption, f"Tokens at the end: {ends}."
    )
    return Section("course", "Cost over the course of the match", [figure])


def spread(facts: Facts) -> Section:
    """How H is spread over the items."""
    known, shown = labels(facts.names), drawn(facts)
    bins = [f"{at / BINS:.1f}" for at in range(BINS)]
    rows = [
        {"player": known[name], "bin": bins[at], "share": share}
        for name in shown
        for at, share in enumerate(facts.shares[facts.names.index(name)])
    ]
    caption = "How the H of the scored answers is spread."
    top = {row["player"]: row["share"] for row in rows if row["bin"] == bins[-1]}
    told = f"Answers with H from {bins[-1]} on: " + ", ".join(f"{name} {share:.0%}" for name, share in top.items())
    figure = Figure("spread", charts.spread(rows, [known[name] for name in shown]), caption, f"{caption} {told}.")
    return Section("spread", "The distribution of H", [figure])


def deciding(facts: Facts) -> Section | None:
    """The items with the largest part in the lead."""
    if facts.top is None or not facts.decisive:
        return None
    known = labels(facts.names)
    a, b = (known[facts.names[seat]] for seat in facts.top)
    items = labels([one.item for one in facts.decisive], 40)
    rows = [{"item": items[one.item], "part": one.part} for one in facts.decisive]
    said = f"← {b} · part in the lead · {a} →"
    caption = f"The items that decide between {a} and {b}: what each adds to the lead, to first order."
    most = facts.decisive[0]
    told = f"The largest part has {items[most.item]}, {abs(most.part):.4f} towards {a if most.part > 0 else b}."
    told = told if most.part else "No item favours one of them."
    names = [known[name] for name in drawn(facts)]
    hues = charts.hue(a, names), charts.hue(b, names)
    figure = Figure("deciding", charts.decisive(rows, said, hues), caption, f"{caption} {told}")
    grid = Grid(
        ["item", f"H {a}", f"H {b}", f"tokens {a}", f"tokens {b}", "part in the lead", "lead without it"],
        [
            [
                items[one.item],
                f"{one.h[0]:.3f}",
                f"{one.h[1]:.3f}",
                number(one.tokens[0]),
                number(one.tokens[1]),
                f"{one.part:+z.5f}",
                f"{one.without:+z.4f}",
            ]
            for one in facts.decisive
        ],
    )
    count, fewest = len(facts.seen.items), facts.fewest_to_flip
    if {facts.names[seat] for seat in facts.top} <= set(facts.report.tied) and abs(most.part) < TIE:
        told = f"{a} and {b} tie, and no item favours one of them."
    elif fewest is None:
        told = f"Not even without the half of the items that favour {a} most would {b} win."
    else:
        plural = "item" if fewest == 1 else "items"
        told = f"Without the {fewest} {plural} ({fewest / count:.1%}) that favour {a} most, {b} would win."
    exact = "The lead without an item is computed again, with its normaliser; the part in the lead is to first order."
    return Section("deciding", "Which items decide", [Prose([told]), figure, Table("deciding", grid, exact)])


def failures(facts: Facts) -> Section:
    """Refusals, failures and attempts."""
    known = labels(facts.names)
    ends = ["ok", "refused", "failed", "unanswered"]
    if any(count["cut"] for count in facts.statuses.values()):
        ends.insert(3, "cut")
    rows = [[known[name], *(number(count[end]) for end in ends)] for name, count in facts.statuses.items()]
    head = ["player", "answered", *("cut off" if end == "cut" else end for end in ends[1:])]
    blocks: list[Block] = [Table("statuses", Grid(head, rows), "How the items ended.")]
    attempts = facts.document.attempts
    own = attempts.by_player if isinstance(attempts, Attempts) else None
    by: Mapping[str, AttemptCounts] = own or {"all players": attempts}
    made = [[known.get(name, name), *(number(getattr(row, kind)) for kind in COUNTS)] for name, row in by.items()]
    said = "Attempts in the ledger, over all items: every request, retries included."
    blocks.append(Table("attempts", Grid(["player", *COUNTS], made), said))
    dropped = facts.document.dropped if isinstance(facts.document, Match) else ()
    if dropped:
        some = [f"{safe(one.item, 40)} ({', '.join(known[n] for n in one.by)})" for one in dropped[:30]]
        more = f" and {len(dropped) - 30} more" if len(dropped) > 30 else ""
        blocks.append(Prose([f"Items that somebody refused or failed: {', '.join(some)}{more}."]))
    return Section("failures", "Refusals and failures", blocks)


def sensitivity(facts: Facts, judges: Sequence[Facts]) -> Section:
    """What depends on the rule for refusals, the normaliser, the weights and the detector."""
    judged = facts.report
    known = labels(facts.names)
    rows: list[list[str]] = []
    for view in judged.views:
        ranking = view.ranking
        order = "nothing can be scored" if ranking is None else _order(view, known)
        rows.append([view.refusals, _NORMALISERS[view.normalise], view.h, str(view.items), order])
    leaders = {view.leaders for view in judged.views if view.leaders}
    same = "The leader is the same under every rule for refusals and every normaliser."
    depends = "The leader depends on the rule for refusals or on the normaliser."
    if len({view.h for view in judged.views}) > 1:
        same = (
            "The leader is the same under every rule for refusals, every normaliser and both meanings of H "
            "(faithful, adequate)."
        )
        depends = (
            "The leader depends on the rule for refusals, on the normaliser or on what H means (faithful, adequate)."
        )
    told = [same if len(leaders) == 1 else depends] if len(facts.names) > 1 else []
    for name, stretches in judged.weight_envelopes.items():
        if len(stretches) > 1:
            told.append(flips(f"the weight of {name}", stretches))
    if judged.simplex:
        shares = sorted(judged.simplex.items(), key=lambda pair: -pair[1])[:5]
        won = ", ".join(f"{known[name]} wins {share:.0%}" for name, share in shares)
        told.append(f"Of all weightings of the counted resources {won}{' (ties shared)' if judged.tied else ''}.")
    grid = Grid(["refusals", "costs relative to", "H", "items", "ranking"], rows, left=5)
    blocks: list[Block] = [Table("views", grid, "The ranking under other rules."), Prose(told)]
    blocks += _judges(facts, judges)
    return Section("sensitivity", "What depends on a choice", blocks)


def _order(view: Ranking, known: dict[str, str]) -> str:
    """The best six, those that tie with = between them."""
    ranking, said = list(view.ranking or ())[:6], ""
    for at, name in enumerate(ranking):
        level = at and any({ranking[at - 1], name} <= set(tied) for tied in view.tied or ())
        said += ("" if not at else " = " if level else " > ") + known[name]
    return said


_NORMALISERS = {
    "match": "the largest in the match",
    "median": "the median player",
    "reference": "the reference totals",
    "per_item": "the reference per item",
}


def _judges(facts: Facts, others: Sequence[Facts]) -> list[Block]:
    """The same answers under other detectors."""
    if not others:
        return [Prose(["One detector scored this. Whether another would agree: mashq report RUN --detector NAME."])]
    known = labels(facts.names)
    rows: list[list[str]] = []
    orders: set[tuple[str, ...]] = set()
    for one in (facts, *others):
        detector = one.played.manifest["detector"]
        players: Sequence[ScoredPlayer] = () if one.judged is None else one.judged.players
        ranked = sorted(players, key=lambda p: -(p.q if p.q is not None else -9e9))
        orders.add(tuple(player.name for player in ranked))
        for player in ranked:
            star = " ★" if one.judged and player.name == one.judged.winner else ""
            low, high = player.q_low, player.q_high
            width = "?" if low is None else f"± {half(low, high)}"
            name = f"{safe(detector['name'], 24)} {safe(detector['version'], 16)}"
            rows.append([name, known[player.name] + star, number(player.h, 4), number(player.q, 4), width])
    told = (
        "The ranking is the same under every detector."
        if len(orders) == 1
        else "The ranking depends on the detector."
    )
    grid = Grid(["detector", "player", "H", "Q", "95%"], rows, left=2)
    return [Table("detectors", grid, "The same answers scored by other detectors."), Prose([told])]


def story(facts: Facts) -> Section:
    """The match told as a story, and the item that decided most, in full."""
    which = f"The first of {len(facts.matches)} trials, told" if len(facts.matches) > 1 else "The match, told"
    highlights = [f"Round {one.round}: {one.sentence}" for one in facts.course.highlights]
    blocks: list[Block] = [
        Prose([f"{which} by its moves. Rounds are counted from 1; to follow something is not to be caused by it."]),
        Prose(highlights or ["Nothing happened yet."], listed=True),
    ]
    if facts.judged is not None and facts.decisive:
        item = facts.decisive[0].item
        found = texts(facts.played, item)
        if found:
            blocks.append(Quotes(f"The item that decided most: {safe(item, 60)}", found))
    return Section("story", "Case study", blocks)


def lengths(facts: Facts) -> Section:
    """How long the answers are, how much of what matters they carry, how much is copied, and the floors."""
    known, title = labels(facts.names), "Answer length and coverage"
    players = facts.report.players
    if all(player.words is None for player in players):
        return Section("lengths", title, [Prose(["These answers are drawn: they have no text."])])
    shown = carried_columns(players)
    rows: list[list[str]] = []
    for player in players:
        count = facts.statuses[player.name]
        answered = f"{count['ok'] / max(1, sum(count.values())):.1%}"
        cells = [number(getattr(player, name), digits) for name, digits in shown.items()]
        rows.append([known[player.name], answered, *cells])
    said = (
        "Means over the scored answers. Coverage: the share of what matters in the source that they carry (of "
        "questions, the share attempted). Copied: the share of their words inside runs of eight or more that stand "
        "in the source word for word. Copying the whole text would score H 1: read H beside these."
    )
    blocks: list[Block] = [Table("lengths", Grid(["player", "answered", *shown], rows), said)]
    floors = facts.report.floors
    if floors:
        grid = Grid(
            ["floor", "H", "coverage", "words", "Q"],
            [
                [one.name, number(one.h, 4), number(one.coverage, 3), number(one.words), number(one.q, 4)]
                for one in floors
            ],
        )
        told = "Floors: texts that take no model and cost nothing, outside of the match and of its normaliser."
        blocks.append(Table("floors", grid, told))
    return Section("lengths", title, blocks)


def faithful(facts: Facts) -> Section:
    """What a faithful answer cost."""
    known = labels(facts.names)
    rows: list[list[str]] = []
    judged = facts.report
    faithful = faithful_answers(facts.results, facts.rules.refusals)
    by = {player.name: player for player in judged.players}
    shown = [name for name in RESOURCES if is_shown(name, [player.costs for player in judged.players])]
    for seat, name in enumerate(facts.names):
        good, scored = float(faithful[seat]), int(facts.seen.h_counts[seat].sum())
        cells = [known[name], f"{number(good, 0 if good.is_integer() else 1)} of {scored:,}"]
        for resource in shown:
            total = by[name].costs[resource]
            each = total / good if total is not None and good else None
            cells.append(dollars(each) if resource == "dollars" else _small(each))
        rows.append(cells)
    grid = Grid(["player", "faithful answers", *(f"{name} each" for name in shown)], rows)
    said = (
        f"What a faithful answer (H of {FAITHFUL:g} or more) cost: all spent on the scored items over their number."
    )
    return Section("faithful", "Cost of a faithful answer", [Table("faithful", grid, said)])


def _small(value: float | None) -> str:
    if value is None:
        return "?"
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}" if value >= 0.01 or not value else f"{value:.6f}"
