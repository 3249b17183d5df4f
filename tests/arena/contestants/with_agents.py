"""A contestant on `openai-agents` as it comes, over the Responses API: an agent with a tool, half of it streamed."""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false

import os

from agents import Agent, Runner, function_tool, set_tracing_disabled
from common import play

set_tracing_disabled(disabled=True)
os.environ.setdefault("OPENAI_AGENTS_DISABLE_TRACING", "1")


@function_tool
def look_up(word: str) -> str:
    """Look a word up."""
    return f"{word} is in no dictionary."


agent = Agent(name="summariser", instructions="Summarise the text.", tools=[look_up], model="any")


async def one(text: str, number: int) -> str:
    if number % 2:
        running = Runner.run_streamed(agent, text)
        async for _ in running.stream_events():
            pass
        return str(running.final_output)
    return str((await Runner.run(agent, text)).final_output)


play(one)
