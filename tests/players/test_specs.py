"""An agent declares itself: what is known of it elsewhere follows from its spec, a new agent's too."""

import json
import sys
from dataclasses import fields, replace
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

import mashq
from mashq.analysis.calibration.fit import fit
from mashq.arena.plan_costs import NAMES
from mashq.arena.plan_season import plan
from mashq.arena.simulation import recorded, settings
from mashq.config import PlayerConfig, check
from mashq.errors import ConfigError
from mashq.players import registry
from mashq.players.base import UNDECLARED, AgentSpec, declared
from mashq.players.q_agent import QAgent
from mashq.protocol.resources import UNKNOWN
from tests.arena.helpers import mashq as command

DOCS = Path(__file__).parent.parent.parent / "docs" / "players.md"
THRICE = """
from mashq.errors import ConfigError
from mashq.players.base import AgentSpec, answers_and_reviews
from mashq.players.baselines import Retry


def _odd(player):
    if player.n % 2 == 0:
        raise ConfigError(f"player {player.name!r} has an even n")


class Thrice(Retry):
    spec = AgentSpec(
        "asks another model, up to three times",
        "1 + reviews",
        calls=answers_and_reviews,
        asks_again=True,
        max_reviews=3,
        settings=frozenset({"to", "n", "prompts"}),
        check=_odd,
        simulated_as="escalate",
    )


class Bare:
    def __init__(self):
        self.spec_less = True

    async def move(self, seen, model):
        from mashq.gateway.types import Message
        from mashq.protocol import Answer, Decision

        if seen.step == "decide":
            return Decision("continue", source="rule")
        reply = await model.ask([Message("user", seen.item.text)])
        return Answer("ok", reply.text, reply.h, simulated=True)


class Odd(Bare):
    spec = {"about": "not a spec"}
"""
ENTRIES = """[mashq.players]
thrice = thrice_agent:Thrice
bare = thrice_agent:Bare
odd = thrice_agent:Odd
gone = no_such_module:Gone
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package with agents of its own: one module, and an entry point each."""
    folder = tmp_path / "site"
    (folder / "thrice-1.0.dist-info").mkdir(parents=True)
    (folder / "thrice_agent.py").write_text(THRICE)
    (folder / "thrice-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: thrice\nVersion: 1.0\n")
    (folder / "thrice-1.0.dist-info" / "entry_points.txt").write_text(ENTRIES)
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    return folder


def document(**player: Any) -> dict[str, Any]:
    one = {"name": "A", "model": "simulated/weak", **player}
    models = {"simulated/weak": {"simulate": {"h": 0.6}}, "simulated/strong": {"simulate": {"h": 0.7}}}
    return {"task": {"limit": 10}, "players": [one], "rules": {"R": 1}, "models": models}


THRICE_PLAYER: dict[str, Any] = {"agent": "thrice", "to": "simulated/strong", "n": 3}


def test_a_new_agent_is_planned_checked_and_listed_by_its_spec(
    installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (row,) = plan(check(document(**THRICE_PLAYER)), Path()).players
    assert (row.expected["calls"], row.worst["calls"]) == (19, 2 * 5 * 10 * (1 + 3)), (
        "its own R of 3, not the match's"
    )
    with pytest.raises(ConfigError, match="player 'A' has an even n"):
        plan(check(document(agent="thrice", n=2)), Path())
    with pytest.raises(ConfigError, match="a command or a url: only an 'agent: external' takes one"):
        plan(check(document(agent="thrice", n=3, url="http://127.0.0.1:1")), Path())
    with pytest.raises(ConfigError, match="unknown agent 'thrise': did you mean 'thrice'"):
        plan(check(document(agent="thrise")), Path())
    assert registry.names()[-4:] == ["bare", "gone", "odd", "thrice"]
    listed = command("doctor", PYTHONPATH=f"{installed}:{Path(mashq.__file__).parent.parent}").stdout
    assert "react, lead, external, bare, gone, odd, thrice" in " ".join(listed.split())


def test_a_new_agent_is_played_and_its_run_is_read_without_its_package(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = mashq.play(document(**THRICE_PLAYER), tmp_path / "run")
    (played,) = result["players"]
    assert played["R"] == 3 and played["calls"] == 10 + played["reviews"] > 20
    record = recorded(tmp_path / "run")
    (fitted,) = fit(record.players)
    assert fitted.agent == "escalate" and "rewrites" in fitted.simulate
    (simulated,) = settings(record, [fitted], "x.jsonl", 5)["players"]
    assert simulated == {
        "name": "A",
        "agent": "escalate",
        "model": "simulated/A",
        "n": 3,
        "R": 3,
        "to": "simulated/A, stronger",
    }
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: ())  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    assert mashq.show(tmp_path / "run") == result
    assert fit(recorded(tmp_path / "run").players)[0].agent == "plain"


def test_an_agent_without_a_spec_plays_and_is_not_guessed_at(installed: Path, tmp_path: Path) -> None:
    (row,) = plan(check(document(agent="bare")), Path()).players
    assert {row.expected[name] for name in NAMES} == {row.worst[name] for name in NAMES} == {UNKNOWN}
    assert row.repeats is None
    (played,) = mashq.play(document(agent="bare"), tmp_path / "run")["players"]
    assert (played["calls"], played["R"], played["answer_rate"]) == (10, 1, 1.0)
    with pytest.raises(ConfigError, match="has 'to', which only the agent escalate uses"):
        plan(check(document(agent="bare", to="simulated/strong")), Path())


def test_agents_that_cannot_be_used_are_one_sentence(installed: Path) -> None:
    with pytest.raises(ConfigError, match="the spec of the agent Odd is dict: make it"):
        plan(check(document(agent="odd")), Path())
    with pytest.raises(ConfigError, match=r"The agent 'gone' of the package thrice 1.0 cannot be used"):
        plan(check(document(agent="gone")), Path())


def test_answers_alone_may_stand_by_itself() -> None:
    class Alone:
        answers_alone = True

    assert declared(Alone()) == replace(UNDECLARED, answers_alone=True)
    assert declared(object()) is UNDECLARED and declared(QAgent) is QAgent.spec


def test_every_setting_a_spec_names_is_one_of_a_player() -> None:
    for name, spec in registry.BUILT_IN.items():
        assert spec.settings <= set(PlayerConfig.model_fields), name
        assert spec.simulated_as in (None, *registry.BUILT_IN), name


def test_the_documented_table_is_what_the_agents_declare() -> None:
    rows = [f"| `{name}` | {spec.about} | {spec.calls_per_item} |" for name, spec in registry.BUILT_IN.items()]
    text = DOCS.read_text("utf-8")
    assert "\n".join(["| `agent` | what it does | calls per item |", "|---|---|---|", *rows]) in text
    for field in fields(AgentSpec):
        assert f"`{field.name}`" in text or field.name == "external"


def test_a_run_of_a_match_keeps_the_settings_as_written(tmp_path: Path) -> None:
    mashq.play(document(agent="escalate", to="simulated/strong"), tmp_path / "run")
    (player,) = json.loads((tmp_path / "run" / "manifest.json").read_text())["config"]["players"]
    assert player["R"] is None, "what is known of our own agents is not copied into a run"


def test_our_own_agents_are_found_without_looking_through_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(**_: str) -> None:
        raise AssertionError("the installed packages were looked through, which takes milliseconds a player")

    monkeypatch.setattr(metadata, "entry_points", slow)
    for name in registry.BUILT_IN:
        more = {"escalate": {"to": "m/y"}, "external": {"command": "true"}}.get(name, {})
        player = PlayerConfig.model_validate({"name": "x", "model": "m/x", "agent": name, **more})
        assert registry.check(player) is registry.spec_of(name) is registry.recorded_spec(name)
