"""One JSON document to a service and one back: how an agent that is a service is handed its items."""

import aiohttp

from mashq.bounds import TooMuch, parse
from mashq.gateway.untrusted import as_object


class ServiceError(Exception):
    """The service gave no usable reply; the sentence says why."""


async def post_json(url: str, document: dict[str, object], most: int) -> bytes:
    """The body of a reply with status 200, of at most `most` bytes. How long to wait is the caller's business."""
    try:
        async with (
            aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar(), timeout=aiohttp.ClientTimeout()) as session,
            session.post(url, json=document, allow_redirects=False) as response,
        ):
            data = bytearray()
            async for chunk in response.content.iter_any():
                data += chunk
                if len(data) > most:
                    raise ServiceError(f"the agent's service sent more than {most} bytes")
            if response.status != 200:
                raise ServiceError(f"the agent's service answered with HTTP {response.status}")
            return bytes(data)
    except (aiohttp.ClientError, OSError, ValueError) as error:
        raise ServiceError(f"the agent's service could not be asked ({type(error).__name__}: {error})") from None


def answer_in(data: bytes) -> tuple[dict[str, object] | None, str]:
    """The JSON object in a line or a body, or what is wrong with it."""
    try:
        document = as_object(parse(data.decode("utf-8"), "it"))
    except (ValueError, RecursionError, TooMuch):
        return None, f"the agent sent something that is not JSON: {data[:100].decode('utf-8', 'replace')!r}"
    if document is None or not isinstance(document.get("answer"), str):
        return None, 'the agent sent no {"answer": "…"}: ' + repr(data[:100].decode("utf-8", "replace"))
    return document, ""
