"""What answers over documents came to, for a person."""

from collections.abc import Callable, Iterator

from mashq.analysis.passages import Part, PassagePlayer, PassageViews
from mashq.report.text.formatting import cost, number, safe
from mashq.report.text.tables import Grid

MAX_SHOWN = 12


def grid(views: PassageViews) -> Grid:
    """A row for each player: both kinds of items, both errors, citations."""
    headings = ["player", "H answerable", "wrongly abstained", "H unanswerable", "wrongly answered"]
    headings += ["correct", "citations hold", "sentences cited"]
    return Grid(headings, [_row(player) for player in views.players])


def _row(player: PassagePlayer) -> list[str]:
    there, absent, cited = player.answerable, player.unanswerable, player.citations
    return [
        player.name,
        number(there.h, 4),
        _of(there.abstained, there.answers),
        number(absent.h, 4),
        _of(absent.answers - absent.abstained, absent.answers),
        "?" if player.correct is None else _of(player.correct, player.referenced),
        "?" if cited is None else _share(cited.precision),
        "?" if cited is None else _share(cited.recall),
    ]


def sentences(views: PassageViews, *, beside_table: bool = False) -> Iterator[str]:
    """The same in sentences (not where the table stands beside them), and by passages and costs."""
    told: list[str] = []
    if not beside_table:
        told += [
            _said(views, "Where the passages hold the answer", lambda player: _part(player.answerable)),
            _said(views, "Where they do not", lambda player: _part(player.unanswerable)),
            _said(views, "Correct by the reference", _correct),
            _said(views, "Citations", _cited),
        ]
    told += [
        _said(views, "Where nobody said whether they do", lambda player: _part(player.unknown)),
        _said(views, "Supported answers (H of 0.5 or more, abstentions aside)", _supported),
        _said(views, "H by passages shown", _counts),
        _said(views, "H by the place of the evidence", _places),
    ]
    yield from (line for line in told if line)
    yield (
        f"An abstention scores 1 where the passages do not hold the answer and {views.abstention:g} elsewhere; an "
        "answer where they do not scores 0. Players are told support, and of an abstention their own confidence."
    )
    if views.note is not None:
        yield f"Note: {views.note}"


def _said(views: PassageViews, what: str, each: Callable[[PassagePlayer], str]) -> str:
    """A sentence with what there is to say of each player; nothing where there is nothing."""
    parts = [(safe(player.name), each(player)) for player in views.players[:MAX_SHOWN]]
    told = [f"{name} {text}" for name, text in parts if text]
    return f"{what}: {'; '.join(told)}." if told else ""


def _part(part: Part) -> str:
    if not part.answers:
        return ""
    return f"H {number(part.h, 4)} on {part.answers}, abstained on {_of(part.abstained, part.answers)}"


def _supported(player: PassagePlayer) -> str:
    costs = player.cost_per_supported.items()
    each = [f"{_each(name, value)} {name}" for name, value in costs if value is not None and value > 0]
    return f"{player.supported}" + (f", each for {', '.join(each)}" if each else "")


def _each(name: str, value: float) -> str:
    return number(value, 1) if name != "dollars" and value < 100 else cost(name, value)


def _correct(player: PassagePlayer) -> str:
    return "" if player.correct is None or not player.referenced else _of(player.correct, player.referenced)


def _cited(player: PassagePlayer) -> str:
    found = player.citations
    if found is None or not found.sentences:
        return ""
    marks = f"{_share(found.precision)} of {found.cited} hold" if found.cited else "none"
    return f"{marks}, and {_share(found.recall)} of {found.sentences} sentences are supported by what they cite"


def _counts(player: PassagePlayer) -> str:
    return ", ".join(f"{number(part.h, 4)} at {part.passages}" for part in player.by_count[:MAX_SHOWN])


def _places(player: PassagePlayer) -> str:
    return ", ".join(f"{number(part.h, 4)} {part.place} ({part.answers})" for part in player.by_place)


def _of(some: int, all_: int) -> str:
    return f"{some} of {all_} ({some / all_:.1%})" if all_ else "none"


def _share(value: float | None) -> str:
    return "?" if value is None else f"{value:.1%}"
