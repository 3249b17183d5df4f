"""Charges stand where the known costs of the same attempts would: on the item that was worked on."""

from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

import mashq
from mashq.report.documents.columns import season_results, trials_of
from mashq.runs.open import load_season
from mashq.testing import FakeProvider
from tests.arena.helpers import http_config, rows, write_items


@pytest.mark.parametrize("turn", ["single", "cycle"])
def test_an_unknown_decision_to_review_is_charged_to_the_reviewed_item(tmp_path: Path, turn: str) -> None:
    """In `single` a decision to review belongs to the item that it reviews, though it was made at the next one."""
    with FakeProvider(faults={"models": {"alpha": {"rates": {"no_usage": 0.6}}}}, seed=4) as provider:
        rules: dict[str, Any] = {"show_seconds": False, "turn": turn, "T": 1.0, "R": 2}
        config = http_config(provider.base_url, write_items(tmp_path / "items.jsonl", 6), rules=rules)
        shown = mashq.play(config, tmp_path / "run")
    run = tmp_path / "run"
    attempts = rows(run, "SELECT round, item, purpose, tokens_in, tokens_out FROM attempts WHERE player = 'A'")
    reviewed = dict(rows(run, "SELECT round, item FROM events WHERE player = 'A' AND kind = 'rewrite'"))
    moved = {
        round_: reviewed[round_]
        for round_, item, purpose, *_ in attempts
        if turn == "single" and purpose == "decision" and item is not None and round_ in reviewed
    }
    wanted: dict[str | None, float] = {}
    for round_, item, purpose, *tokens in attempts:
        for at, value in enumerate(tokens):
            known = [row[3 + at] for row in attempts if row[2] == purpose and row[3 + at] is not None]
            place = moved[round_] if purpose == "decision" and round_ in moved else item
            wanted[place] = wanted.get(place, 0.0) + (fmean(known) if value is None else value)
    shared = wanted.pop(None, 0.0) / 6
    results = season_results(trials_of(load_season(run)))
    found = dict(zip(results.items, results.costs["tokens"].value[0].tolist(), strict=True))
    assert found == {item: pytest.approx(tokens + shared) for item, tokens in wanted.items()}
    assert shown["players"][0]["tokens"] == pytest.approx(sum(wanted.values()) + 6 * shared)
    if turn == "single":
        lost = [row[0] for row in attempts if row[2] == "decision" and row[3] is None and row[0] in moved]
        assert lost, "the case that left tokens out of P"
