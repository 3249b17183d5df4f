"""A contestant on the `openai` client as it comes: many requests at once, half of them streamed, with its retries."""

import asyncio
import json
import sys

from openai import AsyncOpenAI, OpenAIError

MANY = int(sys.argv[1])


async def whole(client: AsyncOpenAI, text: str) -> str:
    reply = await client.chat.completions.create(model="any", messages=[{"role": "user", "content": text}])
    return reply.choices[0].message.content or ""


async def streamed(client: AsyncOpenAI, text: str) -> str:
    pieces: list[str] = []
    async for chunk in await client.chat.completions.create(
        model="any", messages=[{"role": "user", "content": text}], stream=True
    ):
        pieces += [choice.delta.content or "" for choice in chunk.choices]
    return "".join(pieces)


async def one(client: AsyncOpenAI, text: str, number: int) -> str:
    try:
        return await (streamed if number % 2 else whole)(client, f"Request {number}.\n\n{text}")
    except OpenAIError:
        return ""


async def answer(text: str) -> str:
    async with AsyncOpenAI() as client:
        said = await asyncio.gather(*(one(client, text, number) for number in range(MANY)))
    return next(filter(None, said), "")


for line in sys.stdin:
    sys.stdout.write(json.dumps({"answer": asyncio.run(answer(json.loads(line)["text"]))}) + "\n")
    sys.stdout.flush()
