"""The functions of the Python API. Each does what the command of the same name does."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from numbers import Integral
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from mashq.api.frames import cells_of, is_frame
from mashq.api.results import Comparison, Detection, Detections, MatchRun, Page, Plan, Run, Score
from mashq.api.studies import MeteredRun, Power, Rescored, Verification
from mashq.errors import ConfigError, DataError
from mashq.protocol.score import Height, Refusals

if TYPE_CHECKING:
    from mashq import config as configuration
    from mashq.detectors.base import Pair
    from mashq.export.base import What
    from mashq.report.documents.source import Source
    from mashq.runs.open import Season

Config = Mapping[str, Any] | str | PathLike[str]
"""What is played: a mapping with what a configuration file holds, or the path of a YAML file."""
RunLike = Run | str | PathLike[str]
"""A run, or the path of its directory."""
SourceLike = RunLike | Iterable[Mapping[str, Any]] | Any
"""What can be scored: a run, a file of results, a data frame, or rows of names and values."""
Pairs = Iterable[Sequence[str]] | Iterable[Mapping[str, Any]] | Any
"""Pairs of source and answer (and reference): tuples, mappings with these names, or a data frame."""

T = TypeVar("T")
RESAMPLES = 10_000
BATCH = 256


def play(
    config: Config,
    out: str | PathLike[str] | None = None,
    *,
    trials: int = 1,
    progress: bool | None = None,
    changes: Mapping[str, Any] | None = None,
) -> MatchRun:
    """Play the match that `config` describes, as `mashq run` does, and return its result.

    The run is written to `out`, by default a new directory under runs/. `changes` are settings such as {"rules.T":
    0.9}. `progress` shows live progress; by default only in a terminal or a notebook. Works inside a running event
    loop, which it blocks; `play_async` does not.
    """
    return _run_to_end(play_async(config, out, trials=trials, progress=progress, changes=changes))


async def play_async(
    config: Config,
    out: str | PathLike[str] | None = None,
    *,
    trials: int = 1,
    progress: bool | None = None,
    changes: Mapping[str, Any] | None = None,
) -> MatchRun:
    """Async version of `play`."""
    from mashq.api.progress import shown
    from mashq.arena import match
    from mashq.gateway.clock import RealClock
    from mashq.runs.manifest import default_out

    _check_whole("trials", trials, 1)
    settings, base = _settings(config, changes)
    place = Path(out) if out is not None else default_out(RealClock())
    with shown(settings, progress) as show:
        season = await match.run(settings, place, season={"kind": "match", "trials": trials}, base=base, show=show)
    return MatchRun(season)


def resume(run: RunLike, *, progress: bool | None = None) -> Run:
    """Continue a run that stopped, as `mashq resume` does; nothing acknowledged is paid for again."""
    return _run_to_end(resume_async(run, progress=progress))


async def resume_async(run: RunLike, *, progress: bool | None = None) -> Run:
    """Async version of `resume`."""
    from mashq.api.progress import shown
    from mashq.arena import match
    from mashq.runs.manifest import config_of, read_manifest

    place = _path(run)
    settings = config_of(read_manifest(place), str(place))
    with shown(settings, progress) as show:
        return _run(await match.resume(place, show=show))


def open_run(run: RunLike) -> Run:
    """Open a run, finished or not; a match or its trials give a `MatchRun`, a gateway's ledger a `MeteredRun`."""
    from mashq.runs.metered import is_metered
    from mashq.runs.open import load_season

    path = _path(run)
    return MeteredRun(path) if is_metered(path) else _run(load_season(path))


def show(run: RunLike) -> dict[str, Any]:
    """What `mashq show --json` prints of a run."""
    return open_run(run).to_dict()


def score(
    source: SourceLike,
    *,
    alpha: float | None = None,
    beta: float | None = None,
    weights: Mapping[str, float] | None = None,
    resources: str | Sequence[str] | None = None,
    reference: Mapping[str, float] | None = None,
    per_item: bool = False,
    refusals: Refusals | None = None,
    h: Height | None = None,
    without: str | Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Score:
    """Score a run, a file of results (CSV, TSV, JSONL, Parquet), a data frame or rows, as `mashq score` does.

    `columns` maps names to the file's columns, such as {"h": "hhem_score"}; `reference` has the totals (with
    `per_item`, the costs per item) that costs are relative to instead of the largest; one name may stand for a list
    of one. Rules that are not given are those of the run.
    """
    from mashq.report.documents.source import changed_rules

    _check_mappings(columns=columns, weights=weights, reference=reference)
    _check_whole("resamples", resamples, 100, 1_000_000)
    _check_whole("seed", seed, 0)
    data = _source(source, columns)
    rules = changed_rules(
        data.rules,
        alpha=alpha,
        beta=beta,
        refusals=refusals,
        resources=None if resources is None else _names("resources", resources),
        weights=weights,
        normalise=None if reference is None else (reference, per_item),
        h=h,
    )
    return Score(data.without(_names("without", without)).scored(rules, resamples, seed))


def power(
    source: SourceLike,
    *,
    players: tuple[str, str] | None = None,
    level: float = 0.95,
    power: float = 0.8,
    beta: float | None = None,
    resources: str | Sequence[str] | None = None,
    refusals: Refusals | None = None,
    without: str | Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
    seed: int = 0,
) -> Power:
    """How many items tell two players apart (the best two unless named), as `mashq power` does.

    `level` is that of the confidence intervals (0.5 to 0.999) and `power` the one wanted (0.05 to 0.99).
    """
    from mashq.analysis.power import Options
    from mashq.analysis.power import power as analysed
    from mashq.report.documents.power import Power as PowerDocument
    from mashq.report.documents.source import changed_rules

    _check_mappings(columns=columns)
    _check_whole("seed", seed, 0)
    _check_within("level", level, 0.5, 0.999)
    _check_within("power", power, 0.05, 0.99)
    data = _source(source, columns).without(_names("without", without))
    rules = changed_rules(
        data.rules,
        alpha=None,
        beta=beta,
        refusals=refusals,
        resources=None if resources is None else _names("resources", resources),
        weights=None,
        normalise=None,
    )
    for name in players or ():
        if name not in data.results.players:
            raise ConfigError(f"there is no player {name!r}: there are {', '.join(data.results.players)}")
    if players is not None and len(set(players)) != 2:
        raise ConfigError(f"players is {players!r}, must be two different players")
    drawn = any(note.startswith("SIMULATED") for note in data.notes)
    notes = [note for note in data.notes if not note.startswith("SIMULATED")]
    report = analysed(data.results, rules, players, Options(level=level, power=power, seed=seed), notes)
    named = str(_path(cast(RunLike, source))) if isinstance(source, str | PathLike) else "rows"
    return Power(PowerDocument(found=report, simulated=drawn, drawn=False, recorded_needed=None, source=named))


def verify(run: RunLike, *, head: str | None = None, rescore: bool = False) -> Verification:
    """Check every number of a run against where it came from, as `mashq verify` does; true if all agree.

    `head` is the hash that was published with the result; `rescore` scores every answer again, too.
    """
    from mashq.report.documents.verify import document
    from mashq.runs import verify as checks

    return Verification(document(list(checks.verify(_path(run), head=head, rescore=rescore))))


def rescore(run: RunLike, *detectors: str) -> tuple[Rescored, ...]:
    """The answers of a match as other detectors score them, as `mashq rescore` does: one result for each detector, in
    their order; no model is called."""
    from mashq.detectors.base import load
    from mashq.gateway.backends.weights import cache_dir
    from mashq.report.documents import match, trials
    from mashq.report.documents.columns import trials_of
    from mashq.runs.open import load_season
    from mashq.runs.rescore import cache_file, rescored
    from mashq.runs.score_cache import Cached

    season = load_season(_path(run))
    if season.kind != "match":
        raise ConfigError(f"a {season.kind} cannot be rescored: give a match or its trials")
    if not detectors:
        raise ConfigError("no detector is named: name one or more, such as 'grounding'")
    several, played, results = season.manifest.get("season", {}).get("trials", 1) > 1, trials_of(season), list[Any]()
    for name in detectors:
        judge = Cached(load(name), cache_file(cache_dir()))
        judged = [rescored(one_trial, judge) for one_trial in played]
        results.append(Rescored(trials.document(season, judged) if several else match.document(judged[0])))
    return tuple(results)


def export(
    run: RunLike,
    out: str | PathLike[str],
    *,
    form: str | None = None,
    what: "What | None" = None,
    matches: str | Sequence[str] = (),
    content: bool = False,
) -> Path:
    """Write a run in a form that other tools read, as `mashq export` does, and return where.

    `form` is csv, jsonl, parquet, latex, otel, inspect or an installed one, by default what `out` ends in; `what`
    rows (results, attempts or events); `matches`: only these; `content`: prompts, replies and answers, too.
    """
    from mashq.export.base import Options
    from mashq.extensions import EXPORTS

    target = _as_path(out, "file: give the path to write to")
    ends = (
        name for name in EXPORTS.names() if target.name.lower().endswith(tuple(EXPORTS.create(name).suffixes) or "\0")
    )
    chosen = form or next(ends, None)
    if chosen is None:
        raise ConfigError(f"the format of {target} is not known: name it with form='csv' or the like")
    writer = EXPORTS.create(chosen)
    if what is not None and what not in writer.holds:
        raise ConfigError(f"what={what!r} is for csv, jsonl and parquet, not for {chosen}")
    writer.write(_path(run), target, Options(what or writer.holds[0], tuple(_names("matches", matches)), content))
    return target


def compare(*runs: RunLike | Iterable[RunLike]) -> Comparison:
    """The players that the runs have in common, side by side, as `mashq compare` does; the runs may be a list."""
    from mashq.report.documents.compare import document
    from mashq.runs.open import load_season

    listed = len(runs) == 1 and isinstance(runs[0], Iterable) and not isinstance(runs[0], str | PathLike)
    each = [*cast(Iterable[RunLike], runs[0])] if listed else cast(Sequence[RunLike], runs)
    if not each:
        raise ConfigError("a comparison needs runs: name two or more")
    return Comparison(document([load_season(_path(run)) for run in each]))


def report(
    *runs: RunLike,
    out: str | PathLike[str] | None = None,
    figures: str | PathLike[str] | None = None,
    tables: str | PathLike[str] | None = None,
    detectors: Sequence[str] = (),
) -> Page:
    """The runs as one HTML page, as `mashq report` writes it; written to `out` if given. Displays itself in a
    notebook.

    `figures` and `tables` are folders for every chart (SVG, PNG, PDF) and every table (LaTeX); the answers are also
    scored by `detectors`. Needs the extra: pip install 'mashq[charts]'.
    """
    from mashq.report.html.extra import needed

    needed()
    from mashq.report.html.figures import write_figures, write_tables
    from mashq.report.html.report import report as made

    if not runs:
        raise ConfigError("a report needs a run: name one")
    document = made([_path(run) for run in runs], detectors)
    page = Page(document.html())
    if figures is not None:
        write_figures(Path(figures), document.chapters, document.comparison)
    if tables is not None:
        write_tables(Path(tables), document.chapters, document.comparison)
    return page if out is None else page.save(fspath(out))


def plan(config: Config, *, trials: int = 1, changes: Mapping[str, Any] | None = None) -> Plan:
    """The expected and the maximum cost of playing, as `mashq plan` prints it; no model is called and nothing is
    paid."""
    from mashq.arena.plan_document import documented
    from mashq.arena.plan_season import plan as planned

    _check_whole("trials", trials, 1)
    settings, base = _settings(config, changes)
    return Plan(documented(planned(settings, base, {"kind": "match", "trials": trials})))


def detect(pairs: Pairs, *, detector: str = "grounding", cache: bool = True) -> Detections:
    """H of each pair of source and answer (and reference), as `mashq detect` prints it; `cache` stores scores."""
    from mashq.detectors.base import load
    from mashq.gateway.backends.weights import cache_dir
    from mashq.runs.rescore import cache_file
    from mashq.runs.score_cache import Cached

    all_pairs = _pairs(pairs)
    loaded = load(detector)
    scorer = Cached(loaded, cache_file(cache_dir())) if cache else loaded
    scores = [h for start in range(0, len(all_pairs), BATCH) for h in scorer.score(all_pairs[start : start + BATCH])]
    spans: Any = getattr(loaded, "spans", None)
    return Detections(
        [
            Detection(h, None if spans is None else tuple((int(a), int(b)) for a, b in spans(pair)))
            for pair, h in zip(all_pairs, scores, strict=True)
        ],
        loaded.name,
        loaded.version,
    )


async def detect_async(pairs: Pairs, *, detector: str = "grounding", cache: bool = True) -> Detections:
    """Async version of `detect`; it runs in a thread."""
    return await asyncio.to_thread(detect, pairs, detector=detector, cache=cache)


def _pairs(pairs: Pairs) -> "list[Pair]":
    from mashq.detectors.base import Pair

    rows: Any = cells_of(pairs) if is_frame(pairs) else pairs
    if not isinstance(rows, Iterable):
        raise DataError(f"a {type(rows).__name__} has no answers: give pairs of source and answer, or a data frame")
    result: list[Pair] = []
    for number, row in enumerate(cast(Iterable[Any], rows), 1):
        if isinstance(row, Mapping):
            values = cast(Mapping[str, Any], row)
            cells = [values.get("source"), values.get("answer"), values.get("reference")]
        elif isinstance(row, Sequence) and not isinstance(row, str):
            cells = [*cast(Sequence[Any], row), None]
        else:
            cells = []
        if len(cells) < 2 or not isinstance(cells[0], str) or not isinstance(cells[1], str):
            raise DataError(f'pair {number} needs "source" and "answer", both strings')
        result.append(Pair(cells[0], cells[1], None if cells[2] is None else str(cells[2])))
    return result


def _settings(config: Config, changes: Mapping[str, Any] | None) -> "tuple[configuration.Config, Path]":
    """The configuration, and the folder that its paths are relative to."""
    from mashq import config as configuration

    _check_mappings(changes=changes)
    if isinstance(config, Mapping):
        settings, base = configuration.check(config), Path()
    else:
        path = _as_path(config, "configuration: give a mapping, or the path of a YAML file")
        settings, base = configuration.load(path), path.parent
    return configuration.changed(settings, changes.items(), "changes") if changes else settings, base


def _check_whole(name: str, value: object, minimum: int, maximum: int | None = None) -> None:
    number = int(value) if not isinstance(value, bool) and isinstance(value, Integral) else minimum - 1
    if number < minimum or (maximum and number > maximum):
        limits = f"from {minimum:,} to {maximum:,}" if maximum else f"that is at least {minimum}"
        raise ConfigError(f"{name} is {value!r}, must be a whole number {limits}")


def _check_mappings(**values: object) -> None:
    for name, value in values.items():
        if value is None:
            continue
        if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in cast(Mapping[Any, Any], value)):
            raise ConfigError(f"{name} is {value!r}, must be a mapping with names as keys")


def _check_within(name: str, value: object, low: float, high: float) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise ConfigError(f"{name} is {value!r}, must be a number from {low:g} to {high:g}")


def _names(name: str, value: object) -> list[Any]:
    """A list of names; a single name is a list of one."""
    if isinstance(value, str):
        return [value]
    if not isinstance(value, Iterable):
        raise ConfigError(f"{name} is {value!r}, must be a list of names")
    return [*cast(Iterable[Any], value)]


def _source(source: SourceLike, columns: Mapping[str, str] | None) -> "Source":
    """What is scored, read from wherever it is."""
    from mashq.report.documents.source import read_source, rows_source

    renames = dict(columns or {})
    if isinstance(source, str | PathLike):
        return read_source(_path(cast(RunLike, source)), renames)
    if is_frame(source) or isinstance(source, Iterable):
        return rows_source(cells_of(cast(object, source)), renames)
    raise DataError(f"a {type(source).__name__} cannot be scored: give a run, a file, a data frame or rows")


def _run(season: "Season") -> Run:
    return MatchRun(season) if season.kind == "match" else Run(season)


def _path(run: RunLike) -> Path:
    return run.path if isinstance(run, Run) else _as_path(run, "run: give one, or the path of its directory")


def _as_path(value: object, expected: str) -> Path:
    if not isinstance(value, str | PathLike):
        raise ConfigError(f"a {type(value).__name__} is no {expected}")
    path = Path(cast(str, value))
    if "\0" in str(path):
        raise ConfigError(f"{str(path)!r} holds a NUL, which no path can: leave it out")
    return path


def _run_to_end(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end; in a thread if an event loop is already running, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    cancel: list[Callable[[], object]] = []

    async def main() -> T:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        if task is not None:
            cancel.append(lambda: loop.call_soon_threadsafe(task.cancel))
        return await coroutine

    with ThreadPoolExecutor(1) as thread:
        future = thread.submit(asyncio.run, main())
        try:
            return future.result()
        except KeyboardInterrupt:
            for stop in cancel:
                stop()
            raise
