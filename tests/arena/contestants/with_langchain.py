"""A contestant on LangChain as it comes: chat, streams and embeddings, many at once."""

import asyncio
import json
import sys

from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from openai import OpenAIError

MANY = int(sys.argv[1])
model = ChatOpenAI(model="any")
embeddings = OpenAIEmbeddings(model="small-embedder", check_embedding_ctx_length=False)


async def one(text: str, number: int) -> str:
    asked = f"Request {number}.\n\n{text}"
    try:
        if number % 8 == 7:
            await embeddings.aembed_documents([asked])
            return ""
        if number % 2:
            return "".join([str(chunk.content) async for chunk in model.astream(asked)])
        return str((await model.ainvoke(asked)).content)
    except (OpenAIError, OSError, ValueError, TypeError) as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        return ""


async def main() -> None:
    for line in sys.stdin:
        text = json.loads(line)["text"]
        said = await asyncio.gather(*(one(text, number) for number in range(MANY)))
        sys.stdout.write(json.dumps({"answer": next(filter(None, said), "")}) + "\n")
        sys.stdout.flush()


asyncio.run(main())
