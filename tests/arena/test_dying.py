"""A provider that dies: steps are held, the run stops with 3, and goes on as if nothing had been."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

import mashq
from mashq.arena import match
from mashq.config import check
from mashq.errors import Stopped
from mashq.gateway.backends.simulated import Parameters, SimulatedBackend
from mashq.gateway.limits import Limiter
from mashq.gateway.model import Endpoint
from mashq.gateway.profiles import Health
from mashq.gateway.retry import Patience
from mashq.gateway.types import Completion, Outcome
from mashq.testing import FakeProvider
from tests.arena.helpers import check_ledger, http_config, rows, story, write_items
from tests.arena.helpers import mashq as command
from tests.gateway.fakes import FakeClock
from tests.torture.honest import complaints

QUICK = {"attempts": 2, "base": 0.01, "cap": 0.02}


def settings(provider: FakeProvider, folder: Path, **model: Any) -> dict[str, Any]:
    config = http_config(provider.base_url, write_items(folder / "items.jsonl", 4))
    for own in config["models"].values():
        own |= {"retry": QUICK, "concurrency": 2, **model}
    return config


@pytest.mark.parametrize("fault", ["500", "reset_before", "401", "html"])
def test_a_run_whose_provider_dies_stops_and_goes_on_as_if_it_had_not(tmp_path: Path, fault: str) -> None:
    with FakeProvider() as provider:
        whole = settings(provider, tmp_path)
        for player in whole["players"]:
            player["policy"] = (
                "rule"  # a policy that is asked is told how many calls were made, those in vain included
            )
        mashq.play(whole, tmp_path / "whole")
        provider.configure(models={"beta": {"script": ["ok"] * 3 + [fault] * 30}})
        with pytest.raises(Stopped, match=r"my/beta gave nothing usable in 20 attempts .* continue with 'mashq"):
            mashq.play(whole, tmp_path / "run")
        made = rows(tmp_path / "run", "SELECT kind, move FROM events")
        assert not [move for _, move in made if '"failed"' in move or "fallback" in move], "held, not failed"
        assert rows(tmp_path / "run", "SELECT count(*) FROM attempts WHERE outcome IS NULL") == [(0,)]
        assert complaints(tmp_path / "run") == []
        provider.configure()
        mashq.resume(tmp_path / "run")
        assert story(tmp_path / "run") == story(tmp_path / "whole")
        assert complaints(tmp_path / "run") == []


def test_the_command_ends_with_3_and_says_so(tmp_path: Path) -> None:
    with FakeProvider() as provider:
        config = settings(provider, tmp_path, timeout=0.2, give_up={"attempts": 5})
        provider.configure(rates={"hang": 1.0})
        (tmp_path / "match.yaml").write_text(json.dumps(config))
        done = command("run", tmp_path / "match.yaml", "--out", tmp_path / "run")
        assert done.returncode == 3, done.stderr
        assert "gave nothing usable in 5 attempts" in done.stderr and "mashq resume" in done.stderr
        assert "Traceback" not in done.stderr
        provider.configure()
        assert command("resume", tmp_path / "run").returncode == 0


def test_a_step_fails_where_the_model_answers_others(tmp_path: Path) -> None:
    """One item that always fails is that item's failure, not the provider's end."""
    with FakeProvider() as provider:
        provider.configure(rates={"500": 0.5})
        config = settings(provider, tmp_path, give_up={"attempts": 500})
        config["players"][1]["model"] = "my/alpha"
        before = len(provider.hits())
        mashq.play(config, tmp_path / "run")
        check_ledger(tmp_path / "run", provider.hits()[before:])


def test_without_giving_up_what_fails_has_failed(tmp_path: Path) -> None:
    with FakeProvider() as provider:
        provider.configure(rates={"500": 1.0})
        result = mashq.play(settings(provider, tmp_path, give_up=False), tmp_path / "run")
        assert result["attempts"]["failed"] == result["attempts"]["opened"] > 20


def endpoint(patience: Patience | None) -> Endpoint:
    backend = SimulatedBackend(Parameters(), 0)
    return Endpoint("my/m", backend, Limiter(FakeClock(), 1), patience=patience)


OWN_DOING = [
    Outcome("http", status=400, error="no"),
    Outcome("left", error="the agent left before the end of the stream"),
]
DOUBTFUL = [
    Outcome("http", status=500, error="no"),
    Outcome("timeout", error="no complete reply within 1 s"),
    Outcome("unparsable", error="the reply is not JSON"),
    Outcome("dropped", error="the connection was lost"),
]


@pytest.mark.parametrize("outcome", OWN_DOING, ids=lambda outcome: outcome.kind)
@pytest.mark.parametrize("answered", [True, False])
def test_what_a_program_did_by_itself_gives_nobody_up(outcome: Outcome, answered: bool) -> None:
    own = endpoint(Patience(attempts=5))
    if answered:
        own.note(Outcome("ok", Completion("x")), 0.0)
    for at in range(100):
        own.note(outcome, 100.0 * at, foreign=True)
    own.despair()
    assert own.experience.health.silent == 0
    for at in range(5):
        own.note(Outcome("timeout", error="no"), float(at))
    assert own.experience.ending.given_up, "our own attempts count whatever comes of them"


@pytest.mark.parametrize("outcome", DOUBTFUL, ids=lambda outcome: outcome.kind)
def test_what_a_program_might_have_brought_about_counts_by_time_only(outcome: Outcome) -> None:
    own = endpoint(Patience(attempts=5, seconds=300))
    for at in range(100):
        own.note(outcome, 0.1 * at, foreign=True)
    own.despair()
    own.note(Outcome("ok", Completion("x")), 20.0)
    for at in (30.0, 329.0):
        own.note(outcome, at, foreign=True)
        own.despair()
    own.note(outcome, 331.0, foreign=True)
    assert own.experience.ending.given_up, "a provider that gives nobody anything for so long is away"


@pytest.mark.parametrize("outcome", [Outcome("unreachable", error="no"), Outcome("http", status=503, error="no")])
def test_a_provider_that_is_away_is_given_up_whoever_asks(outcome: Outcome) -> None:
    own = endpoint(Patience(attempts=5))
    for at in range(5):
        assert own.experience.ending.why is None
        own.note(outcome, float(at), foreign=True)
    assert own.experience.ending.given_up


def test_minutes_of_nothing_are_enough_after_a_few_attempts() -> None:
    own = endpoint(Patience(attempts=20, seconds=300))
    for at in (0.0, 400.0):
        own.note(Outcome("timeout", error="no"), at)
    assert own.experience.ending.why is None, "two attempts are no proof"
    own.note(Outcome("timeout", error="no"), 401.0)
    assert own.experience.ending.given_up


def test_silence_is_told_after_a_minute() -> None:
    health = Health()
    health.sent(10.0)
    assert health.told(60.0) == ""
    assert health.told(71.0) == "no reply for 61 s (1 under way)"
    health.back(Outcome("timeout", error="no complete reply"), 80.0)
    assert health.told(90.0) == "1 attempts without a usable reply for 10 s: no complete reply"
    health.sent(90.0)
    health.back(Outcome("ok", Completion("x")), 91.0)
    assert health.told(500.0) == ""


class Listening:
    """Someone who is told what is wrong."""

    def __init__(self) -> None:
        self.troubles: list[str] = []

    def batch(self, matches: int, done: int) -> None:
        """Nothing to remember."""

    def moved(self, fixture: object, state: object, seat: object, move: object) -> None:
        """Nothing to remember."""

    def ended(self, fixture: object) -> None:
        """Nothing to remember."""

    def trouble(self, said: str) -> None:
        """What is wrong."""
        self.troubles.append(said)


def test_who_looks_on_is_told_the_last_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(match, "LOOK", 0.01)
    heard = Listening()
    with FakeProvider() as provider:
        provider.configure(rates={"500": 1.0})
        with pytest.raises(Stopped):
            asyncio.run(match.run(check(settings(provider, tmp_path)), tmp_path / "run", show=heard))
    assert any("my/alpha: " in said and "HTTP 500" in said for said in heard.troubles)
