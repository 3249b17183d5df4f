"""How a reply reaches the client: whole, or damaged in transit.

Contract: `deliver` sends the reply under the fault and returns whether the connection can serve another
request. Whenever a header block is sent and the connection closes after it, the block has `Connection:
close`, so that no client reuses a connection that is about to close. Raises OSError when the client disconnects
first.
"""

import asyncio

from mashq.testing.faults import Timing
from mashq.testing.wire import Connection, Reply

_ENDLESS = 64 * 1024 * 1024
_PIECE = b"and so on " * 6554


async def deliver(connection: Connection, reply: Reply, kind: str, timing: Timing, *, close: bool) -> bool:
    """Send `reply` under the fault `kind`; return True when the connection stays usable."""
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
    """Send a string in a JSON object that goes on for 64 MB and is never closed."""
    await connection.send(reply.head(None, close=True) + b'{"text": "')
    for _ in range(_ENDLESS // len(_PIECE)):
        await connection.send(_PIECE)


async def _drip(connection: Connection, reply: Reply, pause: float, *, close: bool) -> None:
    await connection.send(reply.head(len(reply.body), close=close))
    for index in range(len(reply.body)):
        await asyncio.sleep(pause)
        await connection.send(reply.body[index : index + 1])
