"""A contestant on the `openai` client: responses whole, streamed and with parallel tools, and embeddings."""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false

from typing import Any

from common import play
from openai import AsyncOpenAI

client: Any = AsyncOpenAI()
TOOLS: Any = [
    {"type": "function", "name": name, "parameters": {"type": "object", "properties": {"word": {"type": "string"}}}}
    for name in ("look_up", "count")
]


async def one(text: str, number: int) -> str:
    match number % 4:
        case 0:
            return (await client.responses.create(model="any", input=text, instructions="Be brief.")).output_text
        case 1:
            events = await client.responses.create(model="any", input=text, stream=True)
            return "".join([event.delta async for event in events if event.type == "response.output_text.delta"])
        case 2:
            await client.embeddings.create(model="small", input=[text, "another"])
            return ""
        case _:
            asked: list[Any] = [{"role": "user", "content": text}]
            reply = await client.responses.create(model="any", input=asked, tools=TOOLS, parallel_tool_calls=True)
            calls = [item for item in reply.output if item.type == "function_call"]
            if len(calls) != 2:
                raise ValueError(f"{len(calls)} tools were called, not both")
            results = [{"type": "function_call_output", "call_id": call.call_id, "output": "no"} for call in calls]
            ended = await client.responses.create(model="any", input=[*asked, *calls, *results], tools=TOOLS)
            return ended.output_text


play(one)
