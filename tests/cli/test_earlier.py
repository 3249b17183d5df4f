"""A run that 0.1.0 played says in one note where its figures may have been printed otherwise."""

import json
from pathlib import Path
from typing import Any, cast

import pytest

import mashq
from tests.pinned.door import command
from tests.pinned.stage import copied

AVERAGED = "averaged the scores of the trials"
KEPT = "kept an item if any trial of it was answered"
NOTHING = "counted attempts of unknown cost as nothing"
AS_ZERO = "scored items that are yet to be played as 0"
# By stored run, what 0.1.0 did otherwise with it.
REASONS = {
    "match": (),
    "refusals": (NOTHING,),
    "budget": (),
    "tournament": (),
    "swiss": (),
    "vision": (),
    "game": (KEPT,),
    "sweep": (),
    "faults": (NOTHING,),
    "unresolved": (NOTHING,),
    "stopped": (AS_ZERO,),
    "cut-off": (NOTHING, AS_ZERO),
    "trials": (AVERAGED,),
    "stopped-trials": (AVERAGED,),
    "trials-troubled": (AVERAGED, KEPT),
}


def notes_in(document: Any) -> list[str]:
    """The notes of a document that tell of an earlier version, wherever they stand."""
    if isinstance(document, dict):
        return [note for value in cast(dict[str, Any], document).values() for note in notes_in(value)]
    if isinstance(document, list):
        return [note for value in cast(list[Any], document) for note in notes_in(value)]
    return [document] if isinstance(document, str) and "figures printed then may differ" in document else []


def sentence(reasons: tuple[str, ...]) -> str:
    """The note."""
    said = " and ".join(reasons) if len(reasons) < 3 else ", ".join(reasons[:-1]) + f" and {reasons[-1]}"
    return f"Played by mashq 0.1.0, which {said}: figures printed then may differ."


@pytest.mark.parametrize("name", REASONS)
def test_a_run_of_an_earlier_version_says_what_was_scored_otherwise(tmp_path: Path, name: str) -> None:
    run, wanted = copied(name, tmp_path / name), REASONS[name]
    expected = [sentence(wanted)] if wanted else []
    shown = notes_in(json.loads(command(["show", str(run), "--json"]).out))
    assert list(dict.fromkeys(shown)) == expected
    assert " ".join(command(["show", str(run)]).out.split()).count("figures printed then may differ") == len(expected)


@pytest.mark.parametrize("name", ["faults", "trials-troubled", "stopped", "match"])
def test_score_compare_and_the_report_say_so_too(tmp_path: Path, name: str) -> None:
    run, wanted = copied(name, tmp_path / name), REASONS[name]
    expected = [sentence(wanted)] if wanted else []
    assert notes_in(json.loads(command(["score", str(run), "--json"]).out)) == expected
    compared = notes_in(json.loads(command(["compare", str(run), str(run), "--json"]).out))
    assert compared == [f"{name}: {one}" for one in expected]
    command(["report", str(run), "-o", str(tmp_path / "report.html")])
    assert (tmp_path / "report.html").read_text().count("figures printed then may differ") == len(expected)


def test_a_run_of_today_says_nothing(tmp_path: Path) -> None:
    players = [{"name": name, "model": "simulated/default"} for name in "AB"]
    models = {"simulated/default": {"simulate": {"refusal_rate": 0.4}}}
    (tmp_path / "match.json").write_text(json.dumps({"task": {"limit": 4}, "players": players, "models": models}))
    out = tmp_path / "run"
    done = command(["run", str(tmp_path / "match.json"), "--trials", "2", "--out", str(out), "--json"])
    assert notes_in(json.loads(done.out)) == []
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["versions"]["mashq"] == mashq.__version__
    manifest["versions"]["mashq"] = "0.1.7"
    (out / "manifest.json").write_text(json.dumps(manifest))
    said = notes_in(json.loads(command(["show", str(out), "--json"]).out))
    assert said == [sentence((AVERAGED, KEPT)).replace("0.1.0", "0.1.7")]
