"""The report section on answers over documents."""

from mashq.report.html.facts import Facts
from mashq.report.html.parts import Block, Prose, Section, Table
from mashq.report.text.formatting import number
from mashq.report.text.passages import grid, sentences
from mashq.report.text.tables import Grid


def documents(facts: Facts) -> Section | None:
    """Show answerable and unanswerable items separately, citations, and H by passages; None for other tasks."""
    views = facts.document.passages
    if views is None:
        return None
    caption = (
        "Both errors apart: abstentions where the passages hold the answer, and answers where they do not. A "
        "citation holds when its passage supports the sentence; a sentence is cited when what it cites supports it."
    )
    blocks: list[Block] = [Table("documents", grid(views), caption)]
    counts = sorted({part.passages for player in views.players for part in player.by_count})
    if len(counts) > 1:
        rows = [
            [
                player.name,
                *({p.passages: number(p.h, 4) for p in player.by_count}.get(n, "") for n in counts),
            ]
            for player in views.players
        ]
        heads = ["player", *(f"{count} passages" for count in counts)]
        blocks.append(Table("passages", Grid(heads, rows), "Mean H by how many passages were shown."))
    places = list(dict.fromkeys(part.place for player in views.players for part in player.by_place))
    if places:
        rows = [
            [player.name, *({p.place: number(p.h, 4) for p in player.by_place}.get(n, "") for n in places)]
            for player in views.players
        ]
        evidence_caption = "Mean H by where the first passage that holds the answer stood among those shown."
        blocks.append(Table("evidence", Grid(["player", *places], rows), evidence_caption))
    blocks.append(Prose(list(sentences(views, beside_table=True))))
    return Section("documents", "Answers over documents", blocks)
