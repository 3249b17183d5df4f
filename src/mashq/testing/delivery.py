"""How a reply reaches the client: whole, or spoilt on the wire.

Contract: `deliver` sends the reply under the fault and says whether the connection can serve another
request. Whenever a header block goes out and the connection closes after it, the block says `Connection:
close`, so that no client reuses a connection that is about to go. Raises OSError when the client leaves
first.
"""

import asyncio

from mashq.testing.faults import Timing
from mashq.testing.wire import Connection, Reply

_ENDLESS = 64 * 1024 * 1024
_PIECE = b"and so on " * 6554


async def deliver(connection: Connection, reply: Reply, kind: str, timing: Timing, *, close: bool) -> bool:
    """Send `reply` as `kind` demands; True when the connection stays usable."""
    match kind:
        case "hang":
            await connection.until_gone(timing.hang)
        case "reset_before":
            connection.reset()
        case "half_close":
            connection.finish()
            await connection.until_gone(timing.hang)
        case "drop_headers":
            head = reply.head(len(reply.body), close=True)
            await connection.send(head[: head.index(b"\r\n") + 12])
        case "drop_body":
            half = reply.body[: len(reply.body) // 2]
            await connection.send(reply.head(len(reply.body), close=True) + half)
        case "wrong_length":
            await connection.send(reply.head(len(reply.body) // 2, close=True) + reply.body)
        case "endless":
            await _endless(connection, reply)
        case "slow_drip":
            await _drip(connection, reply, timing.drip, close=close)
            return not close
        case _:
            await connection.send(reply.head(len(reply.body), close=close) + reply.body)
            return not close
    return False


async def _endless(connection: Connection, reply: Reply) -> None:
    """A string in a JSON object that goes on for 64 MB and is never closed."""
    await connection.send(reply.head(None, close=True) + b'{"text": "')
    for _ in range(_ENDLESS // len(_PIECE)):
        await connection.send(_PIECE)


async def _drip(connection: Connection, reply: Reply, pause: float, *, close: bool) -> None:
    await connection.send(reply.head(len(reply.body), close=close))
    for index in range(len(reply.body)):
        await asyncio.sleep(pause)
        await connection.send(reply.body[index : index + 1])
