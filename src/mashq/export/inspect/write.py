"""Writes a run as Inspect logs: one per player, because an Inspect evaluation is one model on one task.

Samples are the items, epochs the trials. The score is H; the costs, the versions and Q are in the metadata under
`mashq`. A log is an `.eval` file: a zip of JSON with one member per sample, so that nothing has to be held in memory.
"""

import hashlib
import json
import os
import re
import tempfile
import zipfile
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO

from mashq import outputs
from mashq.config import Config
from mashq.errors import ConfigError, DataError
from mashq.export.base import Options, What
from mashq.export.files import Cell, place
from mashq.export.inspect.sample import SCORER, Document, Usage, sample_of, summary_of, usage_of
from mashq.export.tables import chosen, player_rows, reading
from mashq.protocol.items import Item
from mashq.protocol.score import ScoreRules, score
from mashq.report.documents.columns import season_results
from mashq.runs.open import Season, load_season
from mashq.runs.reading import read_items
from mashq.runs.seasons import Fixture
from mashq.runs.setup import score_rules_of

USAGE = """SELECT player, item, model, sum(tokens_in) AS tokens_in, sum(tokens_out) AS tokens_out,
  sum(cached) AS cached, sum(reasoning) AS reasoning, sum(dollars) AS dollars, min(opened) AS opened,
  max(closed) AS closed FROM attempts WHERE match = ? GROUP BY player, item, model"""


class Inspect:
    """A folder with one log per player."""

    suffixes: tuple[str, ...] = ()
    holds: tuple[What, ...] = ("results",)

    def write(self, run: Path, out: Path | None, options: Options) -> list[str]:
        """Write the logs; returns their paths."""
        if out is None:
            raise ConfigError("inspect writes a log for each player: name a folder with -o")
        return [str(path) for path in write(load_season(run), out, options.matches)]


def write(season: Season, folder: Path, matches: Collection[str] = ()) -> list[Path]:
    """Write the logs into a folder; returns their paths."""
    if os.path.exists(folder) and not os.path.isdir(folder):
        raise ConfigError(f"{folder} is a file: give a folder for the logs with -o")
    try:
        outputs.make_folder(folder)
    except OSError as error:
        raise DataError(f"{folder} cannot be made ({error.strerror}): choose another -o") from None
    cells: dict[int, list[Fixture]] = defaultdict(list)
    for fixture in chosen(season, matches):
        cells[fixture.number].append(fixture)
    items = read_items(season.path)
    return [path for fixtures in cells.values() for path in _write_cell(season, fixtures, items, folder)]


def _write_cell(season: Season, fixtures: Sequence[Fixture], items: Sequence[Item], folder: Path) -> list[Path]:
    """Write the logs of the matches that differ only in the trial."""
    names = dict.fromkeys(player.name for fixture in fixtures for player in fixture.config.players)
    scored = _scored(season, fixtures)
    with ExitStack() as stack:
        logs = {name: _Log(stack, folder, _Eval(season, fixtures, name, items)) for name in names}
        for fixture in fixtures:
            _write_match(season, fixture, items, logs)
        for name, log in logs.items():
            log.close(scored.get(name))
    return [log.path for log in logs.values()]


def _write_match(season: Season, fixture: Fixture, items: Sequence[Item], logs: Mapping[str, "_Log"]) -> None:
    """Add the samples of one match to its players' logs."""
    played = season.played(fixture)
    usage: dict[tuple[str, str | None], Usage] = defaultdict(dict)
    times: dict[tuple[str, str | None], list[float]] = defaultdict(list)
    with reading(season.path) as connection:
        for player, item, model, *sums in connection.execute(USAGE, (fixture.id,)):
            times[player, item] += [time for time in sums[-2:] if time is not None]
            model_usage = usage_of(*sums[:-2])
            if model_usage is not None:
                usage[player, item][model] = model_usage
    for result, state in zip(played.results, played.state.players, strict=True):
        texts = {items[index].id: work.text for index, work in zip(state.order, state.items, strict=True)}
        log = logs[result.name]
        log.spend(usage.get((result.name, None), {}))
        epoch = log.epoch(fixture.trial + 1)
        for item, row in zip(items, player_rows(result, fixture.trial), strict=True):
            key = (result.name, item.id)
            log.add(item, epoch, row, texts[item.id], usage.get(key, {}), times.get(key, []))


def _scored(season: Season, fixtures: Sequence[Fixture]) -> dict[str, Document]:
    """H, P and Q of each player, as in `mashq score`; empty if players or items are not the same."""
    if len({tuple(player.name for player in fixture.config.players) for fixture in fixtures}) > 1:
        return {}
    rules = score_rules_of(fixtures[0].config)
    scores = score(season_results([season.played(fixture) for fixture in fixtures]), rules)
    names = ("h", "penalty", "q", "words", "coverage", "copied")
    return {row.name: {name: getattr(row, name) for name in names} for row in scores.players if row.q is not None}


class _Eval:
    """The description of a log's evaluation as a whole."""

    def __init__(self, season: Season, fixtures: Sequence[Fixture], name: str, items: Sequence[Item]) -> None:
        self.season, self.name, self.items = season, name, items
        matching = next(fixture for fixture in fixtures if any(p.name == name for p in fixture.config.players))
        self.config: Config = matching.config
        self.player = next(player for player in self.config.players if player.name == name)
        self.cell, self.trials = matching.cell, len(fixtures)
        manifest = season.manifest
        identity = [
            manifest["started"],
            manifest.get("digests"),
            manifest["seed"],
            name,
            [list(pair) for pair in matching.cell],
            *([matching.number] if matching.number else []),  # a sweep can contain the same settings twice
        ]
        self.id = hashlib.blake2b(json.dumps(identity, default=str).encode(), digest_size=11).hexdigest()

    @property
    def file(self) -> str:
        """The log's file name in Inspect's style: time, player, id."""
        when = re.sub(r"[^0-9T]", "-", self.season.manifest["started"])
        return f"{when}_{re.sub(r'[^A-Za-z0-9.-]+', '-', self.name)[:40]}_{self.id}.eval"

    def spec(self) -> Document:
        """The `eval` part of the header."""
        manifest, config = self.season.manifest, self.config
        return {
            "eval_id": self.id,
            "run_id": hashlib.blake2b(json.dumps(manifest["started"]).encode(), digest_size=11).hexdigest(),
            "created": manifest["started"],
            "task": config.task.kind,
            "task_id": self.id,
            "task_version": 0,
            "solver": self.player.agent,
            "tags": [self.name, *(["simulated"] if manifest["simulated"] else [])],
            "dataset": {
                "name": Path(config.task.data).name,
                "samples": len(self.items),
                "sample_ids": [item.id for item in self.items],
            },
            "model": self.player.model,
            "config": {"epochs": self.trials},
            "packages": {"mashq": manifest["versions"].get("mashq", "")},
            "scorers": [{"name": SCORER, "options": {}, "metadata": dict(manifest["detector"])}],
        }

    def about(self, scored: Document | None) -> Document:
        """The metadata of the log."""
        manifest = self.season.manifest
        rules = score_rules_of(self.config)
        return {
            "player": self.name,
            "agent": self.player.agent,
            "cell": dict(self.cell),
            "alpha": rules.alpha,
            "beta": rules.beta,
            "weights": dict(rules.weights),
            "normalise": _normalise(rules),
            "refusals": rules.refusals,
            "h_is": rules.h,
            **(scored or {"h": None, "penalty": None, "q": None}),
            "detector": manifest["detector"],
            "guide": manifest.get("guide"),
            "simulated": manifest["simulated"],
            "finished": self.season.finished,
            "versions": manifest["versions"],
            "digests": manifest["digests"],
        }


class _Log:
    """A log being written: samples as they come, then the summaries and the header."""

    def __init__(self, stack: ExitStack, folder: Path, evaluation: _Eval) -> None:
        self._eval = evaluation
        self.path = folder / evaluation.file
        temporary = stack.enter_context(place(self.path))
        self._zip = stack.enter_context(zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED))
        self._summaries: IO[bytes] = stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
        self._usage: Usage = {}
        self._epochs: set[int] = set()
        self._samples = self._scored = 0
        self._put("_journal/start.json", {"version": 2, "eval": evaluation.spec(), "plan": self._plan()})

    def epoch(self, wanted: int) -> int:
        """The number of the next epoch: the trial's, or the first free one."""
        while wanted in self._epochs:
            wanted += 1
        self._epochs.add(wanted)
        return wanted

    def spend(self, usage: Usage) -> None:
        """Add to the log's total usage."""
        for model, model_usage in usage.items():
            total = self._usage.setdefault(model, {})
            for key, value in model_usage.items():
                total[key] = total.get(key, 0) + value

    def add(
        self, item: Item, epoch: int, row: Mapping[str, Cell], answer: str, usage: Usage, times: list[float]
    ) -> None:
        """Write one sample and store its summary."""
        self.spend(usage)
        self._samples += 1
        self._scored += row["h"] is not None
        sample = sample_of(self._eval.id, self._eval.player.model, item, epoch, row, answer, usage, times)
        self._put(f"samples/{item.id}_epoch_{epoch}.json", sample)
        self._summaries.write((b"[" if self._samples == 1 else b",") + _encoded(summary_of(sample)))

    def close(self, scored: Document | None) -> None:
        """Write the summaries and the header."""
        self._summaries.write(b"]" if self._samples else b"[]")
        self._summaries.seek(0)
        with self._zip.open(_member("summaries.json"), "w") as file:
            while part := self._summaries.read(1 << 20):
                file.write(part)
        self._put("header.json", self._header(scored))

    def _header(self, scored: Document | None) -> Document:
        season = self._eval.season
        spec = self._eval.spec() | {"metadata": {"mashq": self._eval.about(scored)}}
        return {
            "version": 2,
            "status": "success" if season.finished else "cancelled",
            "eval": spec,
            "plan": self._plan(),
            "results": {
                "total_samples": self._samples,
                "completed_samples": self._samples,
                "scores": list(self._scores(scored)),
            },
            "stats": {
                "started_at": season.manifest["started"],
                "completed_at": season.manifest["ended"] or "",
                "model_usage": self._usage,
                "role_usage": {},
            },
        }

    def _scores(self, scored: Document | None) -> Iterator[Document]:
        """H first, as the headline; Q and P after it."""
        if scored is not None:
            missing = self._samples - self._scored
            counts: Document = {"scored_samples": self._scored, "unscored_samples": missing, "params": {}}
            yield {"name": SCORER, "scorer": SCORER, **counts, "metrics": _metrics({"mean": scored["h"]})}
            both = {"Q": scored["q"], "P": scored["penalty"]}
            yield {"name": "Q", "scorer": "mashq", "params": {}, "metrics": _metrics(both)}

    def _plan(self) -> Document:
        player, rules = self._eval.player, self._eval.config.rules
        params = {"T": rules.T if player.T is None else player.T, "R": rules.R if player.R is None else player.R}
        step = {"solver": player.agent, "params": params, "params_passed": params}
        return {"name": "plan", "steps": [step], "config": {}}

    def _put(self, name: str, document: Document) -> None:
        self._zip.writestr(_member(name), _encoded(document))


def _normalise(rules: ScoreRules) -> Document | str:
    """What costs are relative to, in the form of a configuration."""
    if rules.reference is None:
        return "match"
    return {"per_item": dict(rules.reference)} if rules.per_item else dict(rules.reference)


def _metrics(values: Mapping[str, float]) -> Document:
    return {name: {"name": name, "value": value, "params": {}} for name, value in values.items()}


def _member(name: str) -> zipfile.ZipInfo:
    """A zip member without a timestamp, so that exporting twice gives the same bytes."""
    info = zipfile.ZipInfo(name)
    info.compress_type = zipfile.ZIP_DEFLATED
    return info


def _encoded(document: Document) -> bytes:
    return json.dumps(document, ensure_ascii=False, allow_nan=False).encode()
