"""Another judge over a stored run."""

from pathlib import Path

from tests.pinned.door import command
from tests.pinned.stage import copied


def test_a_detector_that_needs_references_is_refused_where_there_are_none(tmp_path: Path) -> None:
    run = copied("summaries", tmp_path / "run")
    done = command(["rescore", str(run), "--detector", "exact-match"])
    assert done.code == 2 and "needs reference answers, and the run's items have none" in done.err
