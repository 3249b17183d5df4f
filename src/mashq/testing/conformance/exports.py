"""`check_export`: a small run is written twice, and what cannot be written is an error of one sentence."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from mashq.errors import MashqError
from mashq.export.base import Export, Options

MATCH: Mapping[str, Any] = {
    "task": {"limit": 3},
    "players": [{"name": "A", "model": "simulated/a"}, {"name": "B, the second", "model": "simulated/b"}],
    "models": {"simulated/b": {"simulate": {"failure_rate": 0.3, "refusal_rate": 0.3}}},
}


def check_export(export: object) -> None:
    """Write everything the export declares for a simulated run, then request what does not exist."""
    from mashq.api import play

    subject = cast(Export, export)
    assert subject.holds, "an export holds results, attempts or events"
    assert all(suffix.startswith(".") for suffix in subject.suffixes), "a suffix begins with a dot, as in .csv"
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        run = folder / "run"
        play(MATCH, run)
        before = _contents(run)
        suffix = next(iter(subject.suffixes), "")
        for what in subject.holds:
            outs = [folder / f"{what}-{number}{suffix}" for number in (1, 2)]
            for out in outs:
                notes = subject.write(run, out, Options(what))
                assert all(isinstance(note, str) for note in notes), "write returns sentences for the user"
                assert out.exists(), f"write made no {out.name}"
            first, second = map(_contents, outs)
            assert any(first.values()), f"the {what} it wrote are empty"
            assert list(first.values()) == list(second.values()), f"writing {what} twice gives different bytes"
        assert _contents(run) == before, "writing changed the run"
        _check_refused(subject, folder / "no-run", folder / f"none{suffix}", Options(), "a run that is not there")
        if subject.suffixes:
            _check_refused(
                subject, run, folder / "no-folder" / f"out{suffix}", Options(), "a place that is not there"
            )
        options = Options(subject.holds[0], ("no such match",))
        _check_refused(subject, run, folder / f"unknown{suffix}", options, "a match that the run does not have")


def _check_refused(export: Export, run: Path, out: Path, options: Options, what: str) -> None:
    """Check that what cannot be written raises a MashqError and leaves no file behind."""
    try:
        export.write(run, out, options)
    except MashqError:
        assert not out.is_file(), f"{what}: it failed and left a file behind"
        return
    except Exception as error:
        raise AssertionError(f"{what} must be a MashqError, not {type(error).__name__}: {error}") from error
    raise AssertionError(f"{what} must be a MashqError")


def _contents(path: Path) -> dict[str, bytes]:
    """Return the bytes of a file or of the files in a folder, without SQLite's -wal and -shm files."""
    if path.is_file():
        return {"": path.read_bytes()}
    files = [file for file in sorted(path.rglob("*")) if file.is_file() and not file.name.endswith(("-wal", "-shm"))]
    return {str(file.relative_to(path)): file.read_bytes() for file in files}
