"""Agents of anyone's that cheat, break and will not end, in a match with an honest one.

`trial(seed, folder)` is one match of the honest agent and a few that each have some of the tricks below; the first
has the seed's own. The models count what they are asked, by player. What must hold:

    all that arrived is in the ledger, opened and closed, and nothing else is
    no player is charged less than its models counted, nor has it a lower P than the honest one for no fewer requests
    nobody else's token opens anything, nothing that lies is passed on, an isolated agent reaches nothing else
    what no answer may be is none; the honest one answers everything; the match ends, and verifies
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
HANGS, PATIENT = 3.0, 60.0  # seconds of a turn, of one that hangs and of others
ENOUGH = 240.0  # seconds of a whole match
NEVER = {"lies": 200, "rival": 200, ELSEWHERE: 200}  # what no such attempt may be answered with


def trial(seed: int, folder: Path) -> Counter[str]:
    """One match; what it met. Violation says what does not hold."""
    folder.mkdir(parents=True)
    try:
        return _played(seed, folder)
    except Violation as violation:
        raise Violation(f"seed {seed}: {violation}") from violation
    except Exception as error:
        raise Violation(f"seed {seed}: {type(error).__name__}: {error}") from error


def lineup(seed: int) -> tuple[dict[str, list[str]], bool]:
    """The players with their tricks, and whether they are isolated."""
    rng, own = random.Random(f"hostile {seed}"), TRICKS[seed % len(TRICKS)]
    isolated = isolates() and (own == ELSEWHERE or rng.random() < 0.2)
    if own == ELSEWHERE and not isolated:  # it would get there
        own = "odd"
    players = {HONEST: [HONEST], "first": [own]}
    if rng.random() < 0.5:
        players["second"] = []
    for tricks in list(players.values())[1:]:
        for kind in (MANNERS, BESIDES, (*ENDINGS, "answers"), (ELSEWHERE,) if isolated else ()):
            if kind and rng.random() < 0.6 and not set(kind) & set(tricks):
                tricks.append(rng.choice(kind))
    return players, isolated


def _played(seed: int, folder: Path) -> Counter[str]:
    players, isolated = lineup(seed)
    rng = random.Random(seed)
    tells = rng.random() < 0.6
    bill = match(folder, players, items=rng.randint(1, 3), tells=tells, isolated=isolated, seed=seed)
    met = Counter({f"trick {trick}": 1 for tricks in players.values() for trick in tricks if trick in TRICKS})
    met.update(agents=len(players) - 1, attempts=sum(bill.requests.values()), isolated=isolated, silent=not tells)
    for name, query in (
        ("turned away", "SELECT count(*) FROM refusals"),
        ("failed answers", "SELECT count(*) FROM events WHERE json_extract(move, '$.status') = 'failed'"),
    ):
        met[name] = rows(folder / "run", query)[0][0]
    return met


def match(
    folder: Path, players: dict[str, list[str]], *, items: int, tells: bool, isolated: bool = False, seed: int = 0
) -> Bill:
    """Play one, and see that all holds of it; what the models counted."""
    with patch.dict(os.environ, CHEATED_KEY=cheating.KEY), cheating.counting(tells=tells) as (bill, port):
        config = cheating.match_of(folder, port, players, items=items, isolate=isolated, seed=seed)
        for player in config["players"]:
            player["turn_timeout"] = HANGS if "hangs" in players[player["name"]] else PATIENT
        result = _within(config, folder / "run")
    holds(folder / "run", result, bill, players)
    return bill


def _within(config: dict[str, Any], run: Path) -> dict[str, Any]:
    """Play, but not for ever."""

    async def playing() -> Any:
        async with asyncio.timeout(ENOUGH):
            return await mashq.play_async(config, run, progress=False)

    try:
        return asyncio.run(playing())
    except TimeoutError:
        raise Violation(f"the match has no end within {ENOUGH:g} s") from None


def holds(run: Path, result: dict[str, Any], bill: Bill, players: dict[str, list[str]]) -> None:
    """All that must hold of such a match."""
    invariants.law(run, sum(bill.requests.values()), killed=False)
    invariants.sums(run, foreign=True)
    invariants.no_key(run, cheating.KEY)
    strange = set(bill.requests) - set(players)
    if strange:
        raise Violation(f"the models were reached past the endpoint: {strange}")
    told = {own["name"]: own for own in result["players"]}
    opened = dict(rows(run, "SELECT player, count(*) FROM attempts GROUP BY 1"))
    for name in players:
        requests, tokens = bill.requests.get(name, 0), bill.tokens.get(name, 0)
        if not requests == opened.get(name, 0) == told[name]["calls"]:
            raise Violation(
                f"{name} asked {requests} times, {opened.get(name, 0)} were opened, {told[name]['calls']} told"
            )
        if told[name]["tokens"] is None or told[name]["tokens"] < tokens:
            raise Violation(f"{name} is charged {told[name]['tokens']} tokens, and {tokens} were counted")
        no_less = requests >= bill.requests[HONEST] and tokens >= bill.tokens[HONEST]
        if no_less and told[name]["penalty"] < told[HONEST]["penalty"]:
            raise Violation(f"{name} asked for no less than {HONEST}, and has the lower P")
    for name, move in rows(run, "SELECT player, move FROM events WHERE kind = 'answer'"):
        _answered(name, json.loads(move))


def _answered(name: str, move: dict[str, Any]) -> None:
    """What an answer says of what was tried."""
    text = move.get("text", "")
    if len(text) > AGENT:
        raise Violation(f"an answer of {len(text)} characters stands")
    if name == HONEST and move["status"] != "ok":
        raise Violation(f"{name} has a failed answer: {move.get('error')}")
    _, brace, came = text.partition("{")
    tried: dict[str, list[object]] = json.loads(brace + came) if brace else {}
    for trick, wrong in NEVER.items():
        if wrong in tried.get(trick, ()):
            raise Violation(f"{name} got what it must not ({trick}): {tried[trick]}")


def isolates() -> bool:
    """Whether agents can be isolated here."""
    if bubblewrap() is None:
        return False
    return asyncio.run(Sandbox(("true",), {"PATH": os.environ["PATH"]}).look()) is None
