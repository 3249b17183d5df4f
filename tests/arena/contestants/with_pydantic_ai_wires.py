"""A contestant on `pydantic-ai` as it comes: `openai:`, `anthropic:` or `google:`, with a tool."""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false

import sys

from common import play
from pydantic_ai import Agent

agent = Agent(f"{sys.argv[2]}:any", instructions="Summarise the text.")


@agent.tool_plain
def look_up(word: str) -> str:
    """Look a word up."""
    return f"{word} is in no dictionary."


async def one(text: str, number: int) -> str:
    if number % 2:
        async with agent.run_stream(text) as running:
            return str(await running.get_output())
    return str((await agent.run(text)).output)


play(one)
