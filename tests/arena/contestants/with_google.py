"""A contestant on the `google-genai` client: contents whole, streamed, and with a function that it calls itself."""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false

from typing import Any

from common import play
from google import genai
from google.genai import types

client: Any = genai.Client(
    http_options=types.HttpOptions(retry_options=types.HttpRetryOptions(attempts=3, initial_delay=0.1))
)


def look_up(word: str) -> str:
    """Look a word up."""
    return f"{word} is in no dictionary."


async def one(text: str, number: int) -> str:
    if number % 3 == 0:
        reply = await client.aio.models.generate_content(model="any", contents=text)
        return reply.text or ""
    if number % 3 == 1:
        chunks = await client.aio.models.generate_content_stream(model="any", contents=text)
        return "".join([chunk.text or "" async for chunk in chunks])
    config = types.GenerateContentConfig(tools=[look_up], system_instruction="Be brief.")
    return (await client.aio.models.generate_content(model="any", contents=text, config=config)).text or ""


play(one)
