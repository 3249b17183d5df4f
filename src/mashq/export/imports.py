"""Other tools' results as a file that `mashq score` reads: from Inspect logs, or from rows of any source.

Values that a log does not contain stay unknown: an empty cell, never 0. If a log was written by mashq itself, the
exact costs in its metadata are used.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

from mashq.analysis.results import check
from mashq.errors import ConfigError, DataError
from mashq.export.files import Cell, Kind, Table
from mashq.export.inspect.read import Document, Log, is_log, read
from mashq.protocol.results import COST_NAMES
from mashq.runs import result_files as tables
from mashq.tasks.rows import read_rows

COLUMNS: tuple[tuple[str, Kind], ...] = (
    ("player", "text"),
    ("item", "text"),
    ("trial", "text"),
    ("h", "real"),
    ("status", "text"),
    *((name, "real") for name in COST_NAMES),
)
LETTERS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
GRADER = "grader"
Row = tuple[Cell, ...]


@dataclass(slots=True)
class Reading:
    """How to read the files, and what was noticed while reading (each with its count)."""

    scorer: str | None = None
    player: str | None = None
    usage: Literal["own", "all"] = "own"
    renamed: Mapping[str, str] = field(default_factory=dict[str, str])
    noticed: Counter[str] = field(default_factory=Counter[str])
    said: list[str] = field(default_factory=list[str])

    @property
    def notes(self) -> list[str]:
        """What was noticed, as sentences."""
        counted = [f"{text[0].upper()}{text[1:]} ({count:,} rows)." for text, count in self.noticed.items()]
        return [*self.said, *counted]


def table(files: Sequence[Path], how: Reading) -> Table:
    """The rows of all files; raises DataError if a player, item and trial occur twice."""

    def rows() -> Iterator[Row]:
        seen: dict[Row, Path] = {}
        tasks: dict[str, Path] = {}
        for path in files:
            for row in _log_rows(path, how, tasks) if is_log(path) else _generic(path, how):
                key = row[:3]
                if key in seen:
                    raise DataError(
                        f"{path} has player {row[0]!r}, item {row[1]!r}, trial {row[2]!r}, as {seen[key]} has: "
                        "tell players apart with --player, as in --player '{model} {file}'"
                    )
                seen[key] = path
                yield row

    return Table(COLUMNS, rows())


def _generic(path: Path, how: Reading) -> Iterator[Row]:
    """Rows of a file that `mashq score` reads, with the same checks and names."""
    results, notes = tables.read(path, how.renamed)
    if results.totals:
        raise DataError(f"{path} has no column 'item': totals by player are scored as they are, with 'mashq score'")
    how.said += [f"{path}: {note}" for note in notes]
    for _, cells in read_rows(path, "give a file of results"):
        row = {name: cells.get(name) for name in tables.KNOWN} | {
            ours: cells.get(theirs) for ours, theirs in how.renamed.items()
        }
        kept = {name: None if isinstance(cell, str) and not cell.strip() else cell for name, cell in row.items()}
        h = _real(kept["h"])
        status = str(kept["status"] or ("ok" if h is not None else "unanswered")).strip().lower()
        trial = "" if kept["trial"] is None else str(kept["trial"])
        yield (str(kept["player"]), str(kept["item"]), trial, h, status, *(_real(kept[name]) for name in COST_NAMES))


def _log_rows(path: Path, how: Reading, tasks: dict[str, Path]) -> Iterator[Row]:
    """The rows for the samples of an Inspect log."""
    log = read(path)
    task = str(log.spec.get("task"))
    first = next(iter(tasks.items()), (task, path))
    tasks.setdefault(task, path)
    if task != first[0]:
        raise DataError(
            f"{path} is of the task {task!r} and {first[1]} of {first[0]!r}: their items are not the same, so import "
            "each task into a file of its own"
        )
    if log.header.get("status", "success") != "success":
        how.said.append(f"{path} has the status {log.header['status']!r}: its samples may not be all.")
    player, choose = _player(log, how.player), _Choice(log, how)
    for sample in log.samples:
        where = f"{path} sample {str(sample.get('id'))!r} epoch {sample.get('epoch')}"
        if sample.get("id") is None or not isinstance(sample.get("epoch"), int):
            raise DataError(f"{path} has a sample without an id or an epoch: is it a log that Inspect wrote?")
        if sample.get("completed") is False:
            how.noticed["samples that were still running are left out"] += 1
            continue
        status, h = choose.score(sample, where)
        costs = _recorded_costs(sample) or _costs(log, sample, how, where)
        check(h, status, {name: value for name, value in costs.items() if isinstance(value, int | float)}, where)
        trial = str(sample["epoch"] - 1)
        yield (player, str(sample["id"]), trial, h, status, *(costs.get(name) for name in COST_NAMES))


def _player(log: Log, template: str | None) -> str:
    """The player's name: from the template, else as recorded by mashq, else the model."""
    metadata = _mapping(_mapping(log.spec.get("metadata")).get("mashq"))
    if template is None:
        return str(metadata.get("player") or log.spec["model"])
    parts = {"model": log.spec["model"], "task": log.spec.get("task"), "solver": log.spec.get("solver")}
    parts |= {"file": log.path.stem, "player": metadata.get("player") or log.spec["model"]}
    name = template
    for key, value in parts.items():
        name = name.replace(f"{{{key}}}", str(value or ""))
    if not name.strip():
        raise ConfigError(
            f"--player {template!r} gives {log.path} an empty name: use {{model}}, {{file}}, {{solver}}"
        )
    return name.strip()


class _Choice:
    """Selects which of a log's scores is H."""

    def __init__(self, log: Log, how: Reading) -> None:
        self._how = how
        names = list(dict.fromkeys(name for sample in log.samples for name in _mapping(sample.get("scores"))))
        scorer, self._key = how.scorer, None
        if scorer is None:
            if len(names) > 1:
                raise ConfigError(
                    f"{log.path} has {len(names)} scorers ({', '.join(names)}): choose one with --scorer"
                )
            scorer = next(iter(names), "")
        elif scorer not in names and "." in scorer:
            scorer, _, self._key = scorer.rpartition(".")
        if scorer not in names and (names or how.scorer is not None):
            raise ConfigError(
                f"{log.path} has no scorer {how.scorer!r}: it has {', '.join(names) or 'none, so no score at all'}"
            )
        self._name = scorer

    def score(self, sample: Document, where: str) -> tuple[str, float | None]:
        """The status and H of a sample. A status recorded by mashq itself takes precedence."""
        recorded = _mapping(_mapping(sample.get("metadata")).get("mashq")).get("status")
        if recorded in ("refused", "failed", "cut", "unanswered"):
            return str(recorded), None
        if sample.get("error"):
            self._how.noticed["samples that ended in an error are failed"] += 1
            return "failed", None
        value: object = _mapping(_mapping(sample.get("scores")).get(self._name)).get("value")
        if isinstance(value, dict):
            value = self._part(cast(Document, value), where)
        h = self._number(value, where)
        if h is None:
            self._how.noticed["samples without a score are failed"] += 1
            return "failed", None
        return "ok", h

    def _part(self, values: Document, where: str) -> object:
        if self._key is None or self._key not in values:
            kinds = ", ".join(f"{self._name}.{key}" for key in values)
            raise ConfigError(f"{where}: {self._name} gives several scores: choose one with --scorer ({kinds})")
        return values[self._key]

    def _number(self, value: object, where: str) -> float | None:
        """A score as a number; letters and booleans are converted as Inspect does, with a note."""
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return None
        if isinstance(value, str) and value in LETTERS:
            self._how.noticed["scores C, P, I and N were read as 1, 0.5, 0 and 0"] += 1
            return LETTERS[value]
        if isinstance(value, bool):
            self._how.noticed["scores true and false were read as 1 and 0"] += 1
            return float(value)
        number = value if isinstance(value, int | float) else None
        if number is None or not 0 <= number <= 1:
            raise DataError(
                f"{where}: {self._name} is {str(value)[:40]!r}, must be a number from 0 to 1 (or C, I): "
                "choose another scorer with --scorer"
            )
        return float(number)


def _recorded_costs(sample: Document) -> dict[str, Cell] | None:
    """The costs recorded by mashq itself; None for a log from elsewhere."""
    metadata = _mapping(_mapping(sample.get("metadata")).get("mashq"))
    if "status" not in metadata:
        return None
    return {name: metadata.get(name) if isinstance(metadata.get(name), int | float) else None for name in COST_NAMES}


def _costs(log: Log, sample: Document, how: Reading, where: str) -> dict[str, Cell]:
    """Tokens and dollars from the usage, seconds from the working time; Inspect does not count the others."""
    usages = {model: _mapping(usage) for model, usage in _mapping(sample.get("model_usage")).items()}
    others = [model for model in usages if model != log.spec["model"]]
    if how.usage == "own" and others:
        how.noticed[f"usage of other models is left out ({', '.join(others[:3])}); --usage all counts it"] += 1
        usages = {model: usage for model, usage in usages.items() if model == log.spec["model"]}
    total: dict[str, float | None] = dict.fromkeys(("tokens_in", "tokens_out", "dollars"))
    for usage in usages.values():
        _add(total, usage, 1)
    grader = _mapping(_mapping(sample.get("role_usage")).get(GRADER))
    if usages and grader and (how.usage == "all" or _grades_itself(log)):
        how.noticed["the grader's own usage is taken off: the referee's costs are nobody's"] += 1
        _add(total, grader, -1)
    if not usages:
        how.noticed["samples without usage have unknown tokens"] += 1
    seconds = sample.get("working_time")
    if seconds is None and sample.get("total_time") is not None:
        how.noticed["the total time stands for the working time, which is not there"] += 1
        seconds = sample["total_time"]
    costs: dict[str, Cell] = {**total, "seconds": seconds}
    tokens_in, tokens_out = total["tokens_in"], total["tokens_out"]
    if tokens_in is not None and tokens_out is not None:
        costs["tokens"] = tokens_in + tokens_out
    for name, value in costs.items():
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise DataError(f"{where}: {name} is {str(value)[:40]!r}, must be a number")
    return costs


def _add(total: dict[str, float | None], usage: Document, sign: int) -> None:
    """Add usage to the totals. Everything but output is input, including tokens read from or written to a cache."""
    tokens_out, total_tokens = usage.get("output_tokens"), usage.get("total_tokens")
    parts = [usage.get(name) or 0 for name in ("input_tokens", "input_tokens_cache_read", "input_tokens_cache_write")]
    numbers = all(isinstance(value, int) for value in (tokens_out, *parts))
    if numbers and tokens_out is not None:
        tokens_in = (
            total_tokens - tokens_out
            if isinstance(total_tokens, int) and total_tokens >= tokens_out + parts[0]
            else sum(parts)
        )
        total["tokens_in"] = (total["tokens_in"] or 0) + sign * tokens_in
        total["tokens_out"] = (total["tokens_out"] or 0) + sign * tokens_out
    cost = usage.get("total_cost")
    if isinstance(cost, int | float):
        total["dollars"] = (total["dollars"] or 0) + sign * cost


def _grades_itself(log: Log) -> bool:
    """Whether the evaluated model also grades, in a separate role."""
    role = _mapping(log.spec.get("model_roles")).get(GRADER)
    roles = cast(list[object], role) if isinstance(role, list) else [role]
    return any(_mapping(entry).get("model") == log.spec["model"] for entry in roles)


def _mapping(value: object) -> Document:
    return cast(Document, value) if isinstance(value, dict) else {}


def _real(value: object) -> float | None:
    if value is None:
        return None
    number = float(cast(Any, value))
    return int(number) if abs(number) < 2**53 and number == int(number) else number
