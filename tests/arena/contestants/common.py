"""What every contestant does: read items, ask many times at once, answer with the first words that came back."""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable

MANY = int(sys.argv[1])


def play(one: Callable[[str, int], Awaitable[str]]) -> None:
    """Answer every item of standard input; `one(text, number)` is one request or one run of an agent."""

    async def guarded(text: str, number: int) -> str:
        try:
            return await one(f"Request {number}.\n\n{text}", number)
        except Exception as error:  # noqa: BLE001 - whatever a client makes of a fault, others answer the item
            sys.stderr.write(f"{type(error).__name__}: {error}\n")
            return ""

    async def answers() -> None:
        for line in sys.stdin:
            text = json.loads(line)["text"]
            said = await asyncio.gather(*(guarded(text, number) for number in range(MANY)))
            sys.stdout.write(json.dumps({"answer": next(filter(None, said), "")}) + "\n")
            sys.stdout.flush()

    asyncio.run(answers())
