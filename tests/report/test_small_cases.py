"""Runs with next to nothing in them: every command gives the right values of them, or a sentence, and no warning."""

import asyncio
import json
import os
import signal
import sqlite3
import urllib.error
import urllib.parse
import urllib.request
import warnings
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from click.testing import CliRunner

pytest.importorskip("vl_convert", reason="the extra 'charts' is not installed")

from mashq.arena import metering
from mashq.cli import cli
from mashq.config import check
from mashq.errors import MashqError
from mashq.gateway.clock import RealClock
from mashq.report.html import page
from tests.arena.helpers import rows
from tests.report.runs import play

KINDS: dict[str, dict[str, Any]] = {
    "match": {},
    "trials": {"trials": 2},
    "sweep": {"kind": "sweep", "over": [["rules.T", [0.7, 0.95]]]},
    "tournament": {"kind": "tournament", "system": "round-robin", "seats": 2},
    "game": {"kind": "game", "vision": ["never", "review"]},
    "vision": {"kind": "vision", "when": "review"},
}
MODELS = {"simulated/fails": {"simulate": {"failure_rate": 1.0}}}
GOOD, FAILS = "simulated/default", "simulated/fails"


def said(items: int, *models: str, **more: Any) -> dict[str, Any]:
    players = [
        {"name": f"p{at}", "model": model, "policy": "rule", "T": 0.95, "R": 1} for at, model in enumerate(models)
    ]
    return {"task": {"limit": items}, "players": players, "models": MODELS, **more}


CASES: dict[str, dict[str, Any]] = {
    "one item": said(1, GOOD, GOOD),
    "nobody answers": said(6, FAILS, FAILS),
    "no common item": said(6, GOOD, FAILS),
    "one has a score": said(6, GOOD, FAILS, score={"refusals": "answered"}),
    "unfinished": said(6, GOOD, GOOD),
}
ALONE = {"one player": said(6, GOOD), "one player fails": said(6, FAILS)}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Path]:
    """A run of a kind and a case, played once."""
    folder = tmp_path_factory.mktemp("small")

    def run(kind: str, case: str) -> Path:
        path = folder / f"{kind}-{case}".replace(" ", "-")
        if not path.exists():
            play((CASES | ALONE)[case], path, **KINDS[kind])
            if case == "unfinished":
                unfinish(path)
        return path

    return run


def unfinish(run: Path) -> None:
    """As if it had been stopped in the third round of its last match."""
    manifest = json.loads((run / "manifest.json").read_text())
    (run / "manifest.json").write_text(json.dumps(manifest | {"ended": None}))
    with closing(sqlite3.connect(run / "run.db")) as connection, connection:
        ((last,),) = connection.execute("SELECT id FROM matches ORDER BY position DESC LIMIT 1").fetchall()
        for table in ("seats", "results", "spent", "charges"):
            connection.execute(f"DELETE FROM {table} WHERE match = ?", (last,))
        connection.execute("UPDATE matches SET ended = NULL WHERE id = ?", (last,))
        for table in ("events", "attempts"):
            connection.execute(f"DELETE FROM {table} WHERE match = ? AND round > 1", (last,))


def command(*words: object) -> str:
    """What a command prints; a refusal is a sentence, and a warning an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        done = CliRunner().invoke(cli, [str(word) for word in words])
    if isinstance(done.exception, MashqError):
        assert "\n" not in str(done.exception) and len(str(done.exception)) < 300
        return f"refused: {done.exception}"
    assert done.exception is None, (words, done.exception)
    assert done.exit_code == 0
    return done.output


def shown(run: Path) -> dict[str, Any]:
    return json.loads(command("show", run, "--json"))


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "libraries", lambda: "")
    monkeypatch.setattr(page, "picture", lambda _spec: "data:,")  # pyright: ignore


def every() -> list[tuple[str, str]]:
    both = [(kind, case) for kind in KINDS for case in CASES]
    return both + [(kind, case) for kind in ("match", "trials", "sweep") for case in ALONE]


@pytest.mark.parametrize(("kind", "case"), every())
def test_every_command_gives_values_or_a_sentence(
    made: Callable[[str, str], Path], tmp_path: Path, kind: str, case: str
) -> None:
    run = made(kind, case)
    document = shown(run)
    text = command("show", run)
    assert "nan" not in text.lower().replace("finance", "") and "None" not in text and "inf" not in text.split()
    score = command("score", run, "--json")
    compared = command("compare", run, run, "--json")
    latex = command("export", run, "--format", "latex")
    if kind in ("match", "trials"):
        found = json.loads(score)
        assert found["headline"] == document["headline"]
        for key in ("h", "penalty", "q", "tokens", "calls", "charged"):
            assert [p[key] for p in found["players"]] == [p[key] for p in document["players"]], key
        again = json.loads(compared)
        for name, player in zip((p["name"] for p in document["players"]), again["players"], strict=True):
            (own,) = [p for p in document["players"] if p["name"] == name]
            assert [figures["q"] for figures in player["runs"]] == [own["q"], own["q"]]
        assert latex.count(r"\toprule") == 1 and "nan" not in latex
    else:
        called = "vision study" if kind == "vision" else kind
        assert score == f"refused: {run} is a {called}, not a single match: see 'mashq show {run}'"
        assert compared.startswith(f"refused: {run} is a {called}, and compare is for matches and their trials")
        if kind == "game":
            assert latex.startswith(f"refused: {run} is a game, not one match: export its rows")
        else:
            assert latex.count(r"\toprule") == latex.count(r"\end{table}") > 0 and "nan" not in latex
    html = tmp_path / "r.html"
    assert str(html) in command("report", run, "-o", html)
    assert html.read_text("utf-8").startswith("<!doctype html>") and ">nan<" not in html.read_text("utf-8")
    command("export", run, "--format", "csv", "-o", tmp_path / "r.csv")
    items, players = len(rows(run, "SELECT 1 FROM items")), document.get("players", [])
    lines = (tmp_path / "r.csv").read_text("utf-8").splitlines()
    if kind == "match":
        assert len(lines) == 1 + items * len(players)
    (spans,) = rows(run, "SELECT count(*) FROM attempts")
    told = command("export", run, "--format", "otel")
    assert told.count('"gen_ai.operation.name","value":{"stringValue":"chat"}') == spans[0]
    command("export", run, "--format", "inspect", "-o", tmp_path / "logs")
    assert list((tmp_path / "logs").glob("*.eval"))


def answers(run: Path, match: str = "0") -> dict[tuple[str, str], float]:
    """H of the last answer to each item, from the moves."""
    query = f"""SELECT player, item, json_extract(move, '$.h') FROM events
      WHERE match = '{match}' AND kind IN ('answer', 'rewrite') AND json_extract(move, '$.h') IS NOT NULL
      ORDER BY seq"""
    return {(player, item): h for player, item, h in rows(run, query)}


def means(run: Path) -> dict[str, float]:
    found = answers(run)
    return {name: fmean(h for (own, _), h in found.items() if own == name) for name in {key[0] for key in found}}


def test_one_item_is_scored_without_intervals(made: Callable[[str, str], Path]) -> None:
    document = shown(made("match", "one item"))
    assert {p["name"]: p["h"] for p in document["players"]} == pytest.approx(means(made("match", "one item")))
    first = document["differences"][0]
    by = {p["name"]: p["q"] for p in document["players"]}
    assert first["dq"] == pytest.approx(by[first["a"]] - by[first["b"]])
    assert document["winner"] == first["a"] == max(by, key=lambda name: by[name])
    assert (document["clear"], document["best_set"], set(document["p_win"].values())) == (False, [], {None})
    assert [first[key] for key in ("low", "high", "all_low", "all_high")] == [None] * 4
    assert document["headline"] == (
        f"{first['a']} leads {first['b']} by {first['dq']:.4f} in Q; 1 item is too few for a confidence interval (it "
        "takes 5)."
    )


@pytest.mark.parametrize("kind", ["match", "trials"])
def test_one_player_pays_the_full_penalty(made: Callable[[str, str], Path], kind: str) -> None:
    document = shown(made(kind, "one player"))
    (player,) = document["players"]
    assert player["penalty"] == pytest.approx(4.0) and player["q"] == pytest.approx(player["h"] - 0.4)
    assert document["headline"] == f"p0 played alone: Q {player['q']:.4f}."
    assert "One player alone is its own normaliser: every resource that it uses counts in full." in document["notes"]
    assert (document["differences"], document["clear"]) == ([], False)
    if kind == "match":
        assert player["h"] == pytest.approx(means(made(kind, "one player"))["p0"])


@pytest.mark.parametrize("case", ["nobody answers", "no common item", "one player fails"])
@pytest.mark.parametrize("kind", ["match", "trials"])
def test_without_a_common_item_nothing_is_scored(made: Callable[[str, str], Path], kind: str, case: str) -> None:
    document = shown(made(kind, case))
    for player in document["players"]:
        assert [player[key] for key in ("h", "penalty", "q", "tokens", "calls", "seconds")] == [None] * 6
    assert (document["winner"], document["tied"], document["items"]) == (None, [], 0)
    assert document["headline"] == "No winner: Q is undefined."
    units = 6 if kind == "match" else 12
    worst = "p1" if case == "no common item" else "p0"
    why = (
        f"Q is undefined: no item was answered by every player (of {units}, {worst} answered 0): leave a player out "
        "with --without, or use --refusals answered."
    )
    nobody = case in ("nobody answers", "one player fails")
    assert ("Q is undefined: nobody answered any item." if nobody else why) in document["notes"]
    assert not any("All trials are the same" in note for note in document["notes"])
    penalised = next(view for view in document["views"] if view["refusals"] == "penalised")
    assert penalised["players"][worst]["h"] == 0.0
    if case == "no common item" and kind == "match":
        h = means(made(kind, case))["p0"]
        assert penalised["players"]["p0"]["h"] == pytest.approx(h)
        answered = next(view for view in document["views"] if view["refusals"] == "answered")
        assert answered["players"] == {
            "p0": {"h": pytest.approx(h), "q": pytest.approx(h - 0.4)},
            "p1": {"h": None, "q": None},
        }


def test_one_with_a_score_is_alone_in_it(made: Callable[[str, str], Path]) -> None:
    run = made("match", "one has a score")
    document = shown(run)
    p0, p1 = document["players"]
    assert p0["h"] == pytest.approx(means(run)["p0"]) and p0["q"] == pytest.approx(p0["h"] - 0.4)
    assert (p1["h"], p1["q"], p1["calls"], p1["answer_rate"]) == (None, None, 6, 0.0)
    assert document["headline"] == f"p0 is the only one with a score: Q {p0['q']:.4f}."


def test_an_unfinished_match_is_scored_over_what_was_played(made: Callable[[str, str], Path]) -> None:
    run = made("match", "unfinished")
    document, found = shown(run), answers(run)
    assert len(found) == 4, "two rounds of two players"
    for player in document["players"]:
        own = [h for (name, _), h in found.items() if name == player["name"]]
        assert player["h"] == pytest.approx(fmean(own)) and player["answer_rate"] == 1.0
        ((calls, tokens),) = rows(
            run, f"SELECT count(*), sum(tokens_in + tokens_out) FROM attempts WHERE player = '{player['name']}'"
        )
        assert (player["calls"], player["tokens"]) == (calls, tokens)
    assert (document["winner"], document["clear"], document["finished"]) == (None, False, False)
    assert document["headline"].startswith("Not finished, so nobody has won yet. ")
    assert (
        "Not finished: each player is scored over what it has played so far (of 6 items: p0 2, p1 2)."
        in document["notes"]
    )
    assert "★" not in command("show", run) and "★" not in command("score", run)


def test_unfinished_trials_are_scored_over_those_that_ended(made: Callable[[str, str], Path]) -> None:
    run = made("trials", "unfinished")
    document = shown(run)
    assert (document["trials"], document["planned"], document["finished"], document["winner"]) == (1, 2, False, None)
    assert {p["name"]: p["h"] for p in document["players"]} == pytest.approx(means(run))


def test_sweeps_of_nothing_say_why(made: Callable[[str, str], Path]) -> None:
    document = shown(made("sweep", "no common item"))
    assert [(cell["items"], cell["winner"], cell["headline"]) for cell in document["cells"]] == [
        (0, None, "No winner: Q is undefined.")
    ] * 2
    said = command("show", made("sweep", "no common item"))
    assert "Note: Q is undefined: no item was answered by every player (of 6, p1 answered 0)" in said
    assert "best Q" not in said
    stopped = shown(made("sweep", "unfinished"))
    assert (len(stopped["cells"]), stopped["missing"]) == (1, 1)
    one = shown(made("sweep", "one player"))
    assert [cell["players"][0]["penalty"] for cell in one["cells"]] == [pytest.approx(4.0)] * 2


def test_seasons_of_nothing_say_why(made: Callable[[str, str], Path]) -> None:
    league = shown(made("tournament", "nobody answers"))
    assert league["players"] == [] and "there are no games to rate: play some first" in league["notes"]
    game = shown(made("game", "no common item"))
    assert all(
        found["notes"] == ["p0 and p1 have no item that both answered: play more items"]
        for found in game["games"].values()
    )
    vision = shown(made("vision", "no common item"))
    assert vision["players"][1]["changes"] == {"company": {}, "vision": {}}
    assert "What company and vision change is not known" not in command("show", made("vision", "unfinished"))
    assert "What company and vision change is not known" in command("show", made("vision", "nobody answers"))


def test_a_gateway_without_a_command_and_a_client_that_nobody_knows(tmp_path: Path) -> None:
    """One request with the key, one with another, one at nobody's address: what is metered, what turned away."""
    config = check(said(1, GOOD), "a test")
    asked: list[int] = []

    def ask(url: str, key: str) -> None:
        body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "Say something."}]}).encode()
        head = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        try:
            with urllib.request.urlopen(urllib.request.Request(f"{url}/chat/completions", body, head)) as reply:
                asked.append(reply.status)
        except urllib.error.HTTPError as refused:
            with refused:
                asked.append(refused.code)

    async def serve() -> int:
        loop = asyncio.get_running_loop()

        async def use(variables: Mapping[str, str]) -> None:
            await asyncio.to_thread(ask, variables["OPENAI_BASE_URL"], variables["OPENAI_API_KEY"])
            place = urllib.parse.urlsplit(variables["OPENAI_BASE_URL"])
            await asyncio.to_thread(ask, variables["OPENAI_BASE_URL"], "sk-of-a-stranger")
            await asyncio.to_thread(ask, f"{place.scheme}://{place.netloc}/nobody/v1", "sk-of-a-stranger")
            os.kill(os.getpid(), signal.SIGINT)

        used: list[asyncio.Task[None]] = []
        code = await metering.meter(
            config,
            tmp_path / "run",
            (),
            (),
            lambda variables: used.append(loop.create_task(use(variables["p0"]))),
            clock=RealClock(),
            base=tmp_path,
        )
        await used[0]
        return code

    assert asyncio.run(serve()) == 0
    run = tmp_path / "run"
    assert asked == [200, 401, 404]
    document = shown(run)
    ((tokens_in, tokens_out, seconds),) = rows(run, "SELECT tokens_in, tokens_out, seconds FROM attempts")
    (spent,) = document["spent"]
    assert (spent["player"], spent["model"], spent["attempts"], spent["failed"]) == ("p0", GOOD, 1, 0)
    assert (spent["tokens_in"], spent["tokens_out"], spent["seconds"]) == (tokens_in, tokens_out, seconds)
    assert [(row["player"], row["status"], row["requests"]) for row in document["refused"]] == [
        ("p0", 401, 1),
        (None, 404, 1),
    ]
    assert document["finished"] and document["simulated"]
    text = command("show", run)
    assert "Turned away: 1 x 401 (p0): " in text and "Turned away: 1 x 404 (nobody known): " in text
    for words in (
        ["score", run],
        ["report", run, "-o", tmp_path / "r.html"],
        ["compare", run, run],
        ["rescore", run, "--detector", "grounding"],
    ):
        assert "is the ledger of a gateway" in command(*words)
    assert "is the ledger of a gateway" in command("export", run, "--format", "csv")
    assert len(command("export", run, "--format", "jsonl", "--what", "attempts").splitlines()) == 1


def test_a_gateway_that_nobody_asked(tmp_path: Path) -> None:
    config = check(said(1, GOOD), "a test")

    def stop(_variables: Mapping[str, Mapping[str, str]]) -> None:
        asyncio.get_running_loop().call_later(0.05, os.kill, os.getpid(), signal.SIGINT)

    served = metering.meter(config, tmp_path / "run", (), (), stop, clock=RealClock(), base=tmp_path)
    assert asyncio.run(served) == 0
    document = shown(tmp_path / "run")
    assert (document["spent"], document["refused"], document["finished"]) == ([], [], True)
    assert command("show", tmp_path / "run").split()[:2] == ["player", "model"]
