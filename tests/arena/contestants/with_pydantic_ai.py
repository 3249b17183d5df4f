"""A contestant on `pydantic-ai` as it comes: an agent with a tool, many runs at once."""

import asyncio
import json
import sys

from pydantic_ai import Agent
from pydantic_ai.exceptions import AgentRunError
from pydantic_ai.models.openai import OpenAIChatModel

MANY = int(sys.argv[1])
agent = Agent(OpenAIChatModel("any"), instructions="Summarise the text.")


@agent.tool_plain
def look_up(word: str) -> str:
    """Look a word up."""
    return f"{word} is in no dictionary."


async def one(text: str, number: int) -> str:
    try:
        return (await agent.run(f"Request {number}.\n\n{text}")).output
    except (AgentRunError, OSError, RuntimeError) as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        return ""


async def main() -> None:
    for line in sys.stdin:
        text = json.loads(line)["text"]
        said = await asyncio.gather(*(one(text, number) for number in range(MANY)))
        sys.stdout.write(json.dumps({"answer": next(filter(None, said), "")}) + "\n")
        sys.stdout.flush()


asyncio.run(main())
