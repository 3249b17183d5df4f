"""kill -9 at random moments, in short; the long form is `python -m tests.arena.crash`."""

from pathlib import Path

from tests.arena.crash import torture


def test_a_killed_match_resumes_to_the_same_end(tmp_path: Path) -> None:
    report = torture(kills=5, items=6, seed=11, folder=tmp_path)
    assert report.before_the_end >= 4
