"""A static leaderboard of finished runs: an index that re-ranks in the browser, and a linked report per run.

    index.html          matches in one sortable table with a slider over beta; tournaments; other runs
    reports/NAME.html   the reports
    site.json           which files belong to the site, so that it can be rebuilt in place

Contract: Q in the page equals the Q of `mashq score RUN --beta B --resources …` to the last bit: H and the cost
shares are stored unrounded and summed in the same order. The same runs give the same bytes. A directory that is not a
site is never written into.
"""

import errno
import json
import os
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from mashq import outputs
from mashq.bounds import TooMuch, read_json
from mashq.errors import ConfigError, MashqError, StoreError
from mashq.protocol.resources import RESOURCES
from mashq.protocol.score import ScoreRules, figures, reduce, view, with_known
from mashq.report.annotation_sheet import policy
from mashq.report.html.chapters import banners, title
from mashq.report.html.facts import Facts
from mashq.report.html.labels import labels
from mashq.report.html.methods import detector_of, without_folders
from mashq.report.html.page import POLICY, asset, data, environment
from mashq.report.html.parts import Chapter, Table
from mashq.report.html.report import report
from mashq.runs.manifest import MANIFEST
from mashq.runs.metered import is_metered
from mashq.runs.open import Season, load_season

MARK = "site.json"
INDEX = "index.html"


@dataclass(frozen=True, slots=True)
class Entry:
    """A player of a match: its H, and the unweighted contribution of each resource to P."""

    player: str
    agent: str
    model: str
    h: float | None
    shares: dict[str, float]
    answered: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Board:
    """A match as the index ranks it; `weights` are in the order in which they are summed. `winner` has the best Q at
    the match's own beta; None for a tie and for a player alone."""

    run: str
    link: str
    task: str
    items: int
    trials: int
    alpha: float
    beta: float
    weights: dict[str, float]
    detector: str
    simulated: bool
    winner: str | None
    entries: Sequence[Entry]


def write_site(folder: Path, out: Path) -> tuple[int, list[str]]:
    """Build the site of the finished runs under a folder; return their number, and what was skipped and why."""
    _check_output_folder(out)
    skipped: list[str] = []
    boards: list[Board] = []
    leagues: list[dict[str, Any]] = []
    others: list[dict[str, Any]] = []
    files: dict[str, str] = {}
    for name, season in _runs(folder, out, skipped):
        link = f"reports/{name}.html"
        try:
            run_report = report([season.path])
        except MashqError as error:
            skipped.append(f"{name}: {error}")
            continue
        files[link] = run_report.html()
        chapter = run_report.chapters[0]
        summary = {"run": title(season), "link": link, "kind": season.kind, "subtitle": chapter.subtitle}
        summary |= {"headline": chapter.verdict.headline, "banners": banners(season)}
        if season.kind == "match" and run_report.matches[0].judged is not None:
            boards.append(board(run_report.matches[0], link))
        elif season.kind == "tournament":
            leagues.append(summary | {"tables": _tables(chapter)})
        others.append(summary)
    if not files:
        raise ConfigError(f"{folder} holds no finished run of mashq: play one with 'mashq run'")
    files[INDEX] = _index(boards, leagues, others)
    _write(out, files)
    return len(files) - 1, skipped


def _tables(chapter: Chapter) -> list[Table]:
    """Return the rating table of a tournament."""
    return [block for block in chapter.blocks() if isinstance(block, Table) and block.name == "ratings"]


def board(facts: Facts, link: str) -> Board:
    """Return a match with the cost shares of every resource that is known for all its players, weighted or not."""
    score_report = facts.report
    label_of = labels(facts.names)
    rules = facts.rules
    all_weights = {**dict.fromkeys(RESOURCES, 1.0), **rules.weights}
    all_rules = with_known(facts.results, replace(rules, weights=all_weights), [])
    shares = {
        name: figures(
            view(facts.results, rules.refusals, (name,)), replace(all_rules, weights={name: 1.0}, alpha=1.0, beta=1.0)
        ).penalty[0]
        for name in all_rules.weights
    }
    models = {player.name: str(without_folders(player.model)) for player in facts.season.config.players}
    agents = {player.name: str(without_folders(player.agent)) for player in facts.season.config.players}
    players = {player.name: player for player in score_report.players}
    return Board(
        title(facts.season),
        link,
        facts.season.config.task.kind,
        score_report.items or 0,
        score_report.trials,
        score_report.alpha,
        score_report.beta,
        dict(rules.weights),
        detector_of(facts.season),
        bool(facts.season.manifest["simulated"]),
        None if score_report.winner is None or len(facts.names) < 2 else label_of[score_report.winner],
        [
            Entry(
                label_of[name],
                agents[name],
                models[name],
                players[name].h,
                {key: float(share[seat]) for key, share in shares.items()},
                players[name].answer_rate,
                players[name].q_low,
                players[name].q_high,
            )
            for seat, name in enumerate(facts.names)
        ],
    )


def _runs(folder: Path, out: Path, skipped: list[str]) -> Iterator[tuple[str, Season]]:
    """Yield the finished runs under a folder in the order of their paths, each with a unique name."""
    if not os.path.isdir(folder):
        raise ConfigError(f"{folder} is not a directory: name the one that holds your runs")
    taken: set[str] = set()
    for manifest in sorted(folder.rglob(MANIFEST), key=lambda path: path.as_posix()):
        path = manifest.parent
        if path.resolve().is_relative_to(out.resolve()):
            continue
        try:
            if is_metered(path):
                continue
            season = load_season(path)
        except MashqError as error:
            skipped.append(str(error))
            continue
        if not season.finished:
            skipped.append(f"{path} is not finished")
            continue
        name = _slug("-".join(path.relative_to(folder).parts) or path.resolve().name, taken)
        yield name, season


def _slug(text: str, taken: set[str]) -> str:
    """Return an unused file name that is valid on any server and file system."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    base = name = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:60] or "run"
    number = 1
    while name in taken:
        number += 1
        name = f"{base}-{number}"
    taken.add(name)
    return name


def _index(boards: Sequence[Board], leagues: Sequence[Any], others: Sequence[Any]) -> str:
    betas = {board.beta for board in boards}
    page = (
        environment()
        .get_template("site.html")
        .render(
            boards=[(board, ranking(board)) for board in boards],
            leagues=leagues,
            others=others,
            beta=betas.pop() if len(betas) == 1 else 0.1,
            same=len({board.beta for board in boards}) <= 1,
            most=max([0.2, *(2 * board.beta for board in boards)]),
            resources=[name for name in RESOURCES if any(name in board.weights for board in boards)],
            data=data([asdict(board) for board in boards]),
            policy=POLICY,
            style=Markup(asset("report.css") + asset("site.css")),
            script=Markup(asset("score.js") + asset("site.js")),
        )
    )
    return page.replace(POLICY, policy(page), 1)


def ranking(board: Board) -> list[tuple[int, Entry, float, float | None]]:
    """Rank the players of a match, best first: place, entry, P and Q at the match's own beta."""
    unit_reference = dict.fromkeys(board.weights, 1.0)
    rules = ScoreRules(
        alpha=board.alpha, beta=board.beta, weights=board.weights, reference=unit_reference, per_item=True
    )
    h = np.array([np.nan if entry.h is None else entry.h for entry in board.entries])
    shares = {name: np.array([entry.shares[name] for entry in board.entries]) for name in board.weights}
    penalty, q = reduce(h, shares, rules)
    rows = [
        (entry, float(penalty[index]), None if entry.h is None else float(q[index]))
        for index, entry in enumerate(board.entries)
    ]
    rows.sort(key=lambda row: -9e9 if row[2] is None else row[2], reverse=True)
    return [(place, *row) for place, row in enumerate(rows, start=1)]


def _check_output_folder(out: Path) -> None:
    """Raise StoreError if the output directory holds something else."""
    if not os.path.exists(out):
        return
    if not os.path.isdir(out):
        raise StoreError(f"{out} is a file: name a directory with -o")
    if any(out.iterdir()) and not os.path.isfile(out / MARK):
        raise StoreError(f"{out} is not empty and no site of mashq: choose a new directory with -o")


def _earlier_files(out: Path) -> list[str]:
    """List the files that an earlier build of the site wrote here; names it could not have written are ignored."""
    try:
        names: list[Any] = read_json(out / MARK)["files"]
    except (OSError, ValueError, KeyError, TypeError, TooMuch):
        return []
    return [
        name
        for name in names
        if isinstance(name, str) and re.fullmatch(r"index\.html|reports/[a-z0-9-]+\.html", name)
    ]


def _write(out: Path, files: dict[str, str]) -> None:
    try:
        if os.path.islink(out / "reports"):
            raise OSError(errno.ELOOP, "its folder reports is a link to another place")
        for name in _earlier_files(out):
            if name not in files:
                (out / name).unlink(missing_ok=True)
        mark = json.dumps({"made by": "mashq site", "files": sorted(files)}, indent=2) + "\n"
        for folder in (out, out / "reports"):
            outputs.make_folder(folder)
        outputs.write(out / MARK, mark)
        for name, text in files.items():
            outputs.write(out / name, text)
    except OSError as error:
        raise StoreError(f"{out} cannot be written ({error.strerror}): choose another -o") from None
