"""External agents that cheat, break and do not end, in a match with an honest one.

`trial(seed, folder)` is one match of the honest agent and a few that each use some of the tricks below; the first
uses the seed's own. The models count requests by player. What must hold:

    everything that arrived is in the ledger, opened and closed, and nothing else is
    no player is charged less than its models counted, nor has it a lower P than the honest one for no fewer requests
    nobody else's token opens anything, no false request is passed on, an isolated agent reaches nothing else
    no invalid answer counts; the honest agent answers everything; the match ends, and verifies
"""

import asyncio
import json
import os
import random
from collections import Counter
from pathlib import Path
from typing import Any
from unittest.mock import patch

import mashq
from mashq.bounds import AGENT
from mashq.players.external.sandbox import Sandbox, bubblewrap
from tests.arena import cheating
from tests.arena.cheating import HONEST, Bill
from tests.arena.helpers import rows
from tests.torture import invariants
from tests.torture.invariants import Violation

MANNERS = ("leaves", "resets", "together")
BESIDES = ("lies", "odd", "baits", "rival", "late", "forks")
ENDINGS = ("hangs", "exits", "floods", "huge", "noise", "shouts")
ELSEWHERE = "elsewhere"
TRICKS = (*MANNERS, *BESIDES, *ENDINGS, ELSEWHERE)
HANGS, PATIENT = 3.0, 60.0  # seconds per turn, of an agent that hangs and of others
ENOUGH = 240.0  # seconds for a whole match
NEVER = {"lies": 200, "rival": 200, ELSEWHERE: 200}  # status that such an attempt must never get


def trial(seed: int, folder: Path) -> Counter[str]:
    """Play one match; return its counts. Raises Violation if an invariant does not hold."""
    folder.mkdir(parents=True)
    try:
        return _play(seed, folder)
    except Violation as violation:
        raise Violation(f"seed {seed}: {violation}") from violation
    except Exception as error:
        raise Violation(f"seed {seed}: {type(error).__name__}: {error}") from error


def lineup(seed: int) -> tuple[dict[str, list[str]], bool]:
    """Return the players with their tricks, and whether they are isolated."""
    rng, own_trick = random.Random(f"hostile {seed}"), TRICKS[seed % len(TRICKS)]
    isolated = isolates() and (own_trick == ELSEWHERE or rng.random() < 0.2)
    if own_trick == ELSEWHERE and not isolated:  # without isolation it would succeed
        own_trick = "odd"
    players = {HONEST: [HONEST], "first": [own_trick]}
    if rng.random() < 0.5:
        players["second"] = []
    for tricks in list(players.values())[1:]:
        for kind in (MANNERS, BESIDES, (*ENDINGS, "answers"), (ELSEWHERE,) if isolated else ()):
            if kind and rng.random() < 0.6 and not set(kind) & set(tricks):
                tricks.append(rng.choice(kind))
    return players, isolated


def _play(seed: int, folder: Path) -> Counter[str]:
    players, isolated = lineup(seed)
    rng = random.Random(seed)
    reports_usage = rng.random() < 0.6
    bill = match(folder, players, items=rng.randint(1, 3), tells=reports_usage, isolated=isolated, seed=seed)
    counts = Counter({f"trick {trick}": 1 for tricks in players.values() for trick in tricks if trick in TRICKS})
    counts.update(
        agents=len(players) - 1, attempts=sum(bill.requests.values()), isolated=isolated, silent=not reports_usage
    )
    for name, query in (
        ("turned away", "SELECT count(*) FROM refusals"),
        ("failed answers", "SELECT count(*) FROM events WHERE json_extract(move, '$.status') = 'failed'"),
    ):
        counts[name] = rows(folder / "run", query)[0][0]
    return counts


def match(
    folder: Path, players: dict[str, list[str]], *, items: int, tells: bool, isolated: bool = False, seed: int = 0
) -> Bill:
    """Play one match and check all invariants; return what the models counted."""
    with patch.dict(os.environ, CHEATED_KEY=cheating.KEY), cheating.counting(tells=tells) as (bill, port):
        config = cheating.match_of(folder, port, players, items=items, isolate=isolated, seed=seed)
        for player in config["players"]:
            player["turn_timeout"] = HANGS if "hangs" in players[player["name"]] else PATIENT
        result = _play_in_time(config, folder / "run")
    holds(folder / "run", result, bill, players)
    return bill


def _play_in_time(config: dict[str, Any], run: Path) -> dict[str, Any]:
    """Play with a time limit."""

    async def playing() -> Any:
        async with asyncio.timeout(ENOUGH):
            return await mashq.play_async(config, run, progress=False)

    try:
        return asyncio.run(playing())
    except TimeoutError:
        raise Violation(f"the match has no end within {ENOUGH:g} s") from None


def holds(run: Path, result: dict[str, Any], bill: Bill, players: dict[str, list[str]]) -> None:
    """Check everything that must hold of such a match."""
    invariants.law(run, sum(bill.requests.values()), killed=False)
    invariants.sums(run, foreign=True)
    invariants.no_key(run, cheating.KEY)
    unknown_players = set(bill.requests) - set(players)
    if unknown_players:
        raise Violation(f"the models were reached past the endpoint: {unknown_players}")
    by_player = {player["name"]: player for player in result["players"]}
    opened = dict(rows(run, "SELECT player, count(*) FROM attempts GROUP BY 1"))
    for name in players:
        requests, tokens = bill.requests.get(name, 0), bill.tokens.get(name, 0)
        if not requests == opened.get(name, 0) == by_player[name]["calls"]:
            raise Violation(
                f"{name} asked {requests} times, {opened.get(name, 0)} were opened, {by_player[name]['calls']} told"
            )
        if by_player[name]["tokens"] is None or by_player[name]["tokens"] < tokens:
            raise Violation(f"{name} is charged {by_player[name]['tokens']} tokens, and {tokens} were counted")
        no_less = requests >= bill.requests[HONEST] and tokens >= bill.tokens[HONEST]
        if no_less and by_player[name]["penalty"] < by_player[HONEST]["penalty"]:
            raise Violation(f"{name} asked for no less than {HONEST}, and has the lower P")
    for name, move in rows(run, "SELECT player, move FROM events WHERE kind = 'answer'"):
        _check_answer(name, json.loads(move))


def _check_answer(name: str, move: dict[str, Any]) -> None:
    """Check the tricks that an answer reports."""
    text = move.get("text", "")
    if len(text) > AGENT:
        raise Violation(f"an answer of {len(text)} characters stands")
    if name == HONEST and move["status"] != "ok":
        raise Violation(f"{name} has a failed answer: {move.get('error')}")
    _, brace, rest = text.partition("{")
    tried: dict[str, list[object]] = json.loads(brace + rest) if brace else {}
    for trick, wrong in NEVER.items():
        if wrong in tried.get(trick, ()):
            raise Violation(f"{name} got what it must not ({trick}): {tried[trick]}")


def isolates() -> bool:
    """Whether agents can be isolated here."""
    if bubblewrap() is None:
        return False
    return asyncio.run(Sandbox(("true",), {"PATH": os.environ["PATH"]}).look()) is None
