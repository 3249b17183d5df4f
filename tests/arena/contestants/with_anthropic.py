"""A contestant on the `anthropic` client: messages whole, streamed and with a tool."""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false

from typing import Any

from anthropic import AsyncAnthropic
from common import play

client: Any = AsyncAnthropic()
TOOLS: Any = [{"name": "look_up", "input_schema": {"type": "object", "properties": {"word": {"type": "string"}}}}]


async def one(text: str, number: int) -> str:
    asked: list[Any] = [{"role": "user", "content": text}]
    if number % 3 == 0:
        reply = await client.messages.create(model="any", max_tokens=400, messages=asked, system="Be brief.")
        return "".join(block.text for block in reply.content if block.type == "text")
    if number % 3 == 1:
        async with client.messages.stream(model="any", max_tokens=400, messages=asked) as stream:
            return "".join([piece async for piece in stream.text_stream])
    reply = await client.messages.create(model="any", max_tokens=400, messages=asked, tools=TOOLS)
    (call,) = [block for block in reply.content if block.type == "tool_use"]
    result = {"type": "tool_result", "tool_use_id": call.id, "content": "no such word"}
    more = [*asked, {"role": "assistant", "content": reply.content}, {"role": "user", "content": [result]}]
    reply = await client.messages.create(model="any", max_tokens=400, messages=more, tools=TOOLS)
    return "".join(block.text for block in reply.content if block.type == "text")


play(one)
