"""Evaluation of answers over documents, as text."""

from collections.abc import Callable, Iterator

from mashq.analysis.passages import Part, PassagePlayer, PassageViews
from mashq.report.text.formatting import cost, number, safe
from mashq.report.text.tables import Grid

MAX_SHOWN = 12


def grid(views: PassageViews) -> Grid:
    """Build a table with one row per player: answerable and unanswerable items, both errors, citations."""
    headings = ["player", "H answerable", "wrongly abstained", "H unanswerable", "wrongly answered"]
    headings += ["correct", "citations hold", "sentences cited"]
    return Grid(headings, [_row(player) for player in views.players])


def _row(player: PassagePlayer) -> list[str]:
    answerable, unanswerable, cited = player.answerable, player.unanswerable, player.citations
    return [
        player.name,
        number(answerable.h, 4),
        _of(answerable.abstained, answerable.answers),
        number(unanswerable.h, 4),
        _of(unanswerable.answers - unanswerable.abstained, unanswerable.answers),
        "?" if player.correct is None else _of(player.correct, player.referenced),
        "?" if cited is None else _share(cited.precision),
        "?" if cited is None else _share(cited.recall),
    ]


def sentences(views: PassageViews, *, beside_table: bool = False) -> Iterator[str]:
    """Yield the figures as sentences (omitted if shown `beside_table`), then those by passages and by costs."""
    lines: list[str] = []
    if not beside_table:
        lines += [
            _sentence(views, "Where the passages hold the answer", lambda player: _part(player.answerable)),
            _sentence(views, "Where they do not", lambda player: _part(player.unanswerable)),
            _sentence(views, "Correct by the reference", _correct),
            _sentence(views, "Citations", _cited),
        ]
    lines += [
        _sentence(views, "Where nobody said whether they do", lambda player: _part(player.unknown)),
        _sentence(views, "Supported answers (H of 0.5 or more, abstentions aside)", _supported),
        _sentence(views, "H by passages shown", _counts),
        _sentence(views, "H by the place of the evidence", _places),
    ]
    yield from (line for line in lines if line)
    yield (
        f"An abstention scores 1 where the passages do not hold the answer and {views.abstention:g} elsewhere; an "
        "answer where they do not scores 0. Players are told support, and of an abstention their own confidence."
    )
    if views.note is not None:
        yield f"Note: {views.note}"


def _sentence(views: PassageViews, label: str, describe: Callable[[PassagePlayer], str]) -> str:
    """Join the descriptions of all players into one sentence; empty if no player has one."""
    parts = [(safe(player.name), describe(player)) for player in views.players[:MAX_SHOWN]]
    entries = [f"{name} {text}" for name, text in parts if text]
    return f"{label}: {'; '.join(entries)}." if entries else ""


def _part(part: Part) -> str:
    if not part.answers:
        return ""
    return f"H {number(part.h, 4)} on {part.answers}, abstained on {_of(part.abstained, part.answers)}"


def _supported(player: PassagePlayer) -> str:
    costs = player.cost_per_supported.items()
    unit_costs = [f"{_unit_cost(name, value)} {name}" for name, value in costs if value is not None and value > 0]
    return f"{player.supported}" + (f", each for {', '.join(unit_costs)}" if unit_costs else "")


def _unit_cost(name: str, value: float) -> str:
    return number(value, 1) if name != "dollars" and value < 100 else cost(name, value)


def _correct(player: PassagePlayer) -> str:
    return "" if player.correct is None or not player.referenced else _of(player.correct, player.referenced)


def _cited(player: PassagePlayer) -> str:
    stats = player.citations
    if stats is None or not stats.sentences:
        return ""
    precision = f"{_share(stats.precision)} of {stats.cited} hold" if stats.cited else "none"
    return f"{precision}, and {_share(stats.recall)} of {stats.sentences} sentences are supported by what they cite"


def _counts(player: PassagePlayer) -> str:
    return ", ".join(f"{number(part.h, 4)} at {part.passages}" for part in player.by_count[:MAX_SHOWN])


def _places(player: PassagePlayer) -> str:
    return ", ".join(f"{number(part.h, 4)} {part.place} ({part.answers})" for part in player.by_place)


def _of(part: int, total: int) -> str:
    return f"{part} of {total} ({part / total:.1%})" if total else "none"


def _share(value: float | None) -> str:
    return "?" if value is None else f"{value:.1%}"
