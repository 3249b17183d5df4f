"""`mashq detect`: score pairs of source and answer."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, cast

import click

from mashq.errors import DataError

BATCH = 256


@click.command()
@click.argument("pairs", type=click.Path(path_type=Path))
@click.option(
    "--detector", default="grounding", show_default=True, help="Which detector; hhem:FOLDER names its weights."
)
@click.option("--cache/--no-cache", default=True, show_default=True, help="Remember scores by content and version.")
def detect(pairs: Path, detector: str, cache: bool) -> None:
    """Score PAIRS, a JSONL file with "source" and "answer" (and "reference") on each line.

    One JSON line comes out for each line in, in order, with "h" and, where the detector can say why, "spans": the
    unsupported parts of the answer as character offsets.

    \b
    Example:
      mashq detect pairs.jsonl --detector grounding > scores.jsonl
    """
    from mashq.detectors.base import Pair, load
    from mashq.runs.score_cache import Cached

    loaded = load(detector)
    scorer = Cached(loaded, _cache_file()) if cache else loaded
    spans = getattr(loaded, "spans", None)
    batch: list[Pair] = []
    for pair in _read(pairs):
        batch.append(pair)
        if len(batch) == BATCH:
            _write(batch, scorer.score(batch), spans)
            batch = []
    if batch:
        _write(batch, scorer.score(batch), spans)


def _cache_file() -> Path:
    from mashq.gateway.backends.weights import cache_dir

    return cache_dir() / "scores.db"


def _write(batch: list[Any], scores: list[float], spans: Any) -> None:
    for pair, h in zip(batch, scores, strict=True):
        line: dict[str, Any] = {"h": h}
        if spans is not None:
            line["spans"] = [list(span) for span in spans(pair)]
        click.echo(json.dumps(line))


def _read(path: Path) -> Iterator[Any]:
    from mashq.bounds import file_at

    try:
        with file_at(path) as file:
            yield from _pairs(path, file)
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error}): give a JSONL file of pairs") from None


def _pairs(path: Path, file: IO[bytes]) -> Iterator[Any]:
    from mashq.bounds import json_lines
    from mashq.detectors.base import Pair

    empty = True
    for number, row in json_lines(file, str(path)):
        empty = False
        values = cast(dict[str, Any], row) if isinstance(row, dict) else {}
        if not isinstance(values.get("source"), str) or not isinstance(values.get("answer"), str):
            raise DataError(f'{path} line {number} needs "source" and "answer", both strings')
        reference = values.get("reference")
        yield Pair(values["source"], values["answer"], None if reference is None else str(reference))
    if empty:
        raise DataError(f"{path} is empty: it needs a pair on each line")
