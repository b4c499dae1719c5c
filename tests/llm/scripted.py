"""A server that says what it is told, byte by byte, and remembers what it was sent: for replies that no proper server gives."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Scripted:
    """What came in, and whether somebody asked, and hung up while the server still had something to say."""

    url: str = ""
    heads: list[str] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    hung_up: asyncio.Event = field(default_factory=asyncio.Event)


def event(kind: str, **data: Any) -> bytes:
    """One server-sent event."""
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n".encode()


def answer(status: int, body: bytes, *headers: str, kind: str = "application/json") -> bytes:
    """A whole HTTP answer."""
    lines = [f"HTTP/1.1 {status} Said", f"content-type: {kind}", f"content-length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"
"""The head of a stream that ends with the connection."""
START = event("message_start", message={"usage": {"input_tokens": 3, "output_tokens": 1}})
STOP = event("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 2}) + event("message_stop")


@asynccontextmanager
async def scripted(*parts: bytes, hold: bool = False, times: Sequence[Sequence[bytes]] = ()) -> AsyncIterator[Scripted]:
    """A server that answers every request with PARTS (or the n-th with the n-th of TIMES); HOLD keeps the connection then."""
    seen = Scripted()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        length = next((int(v) for k, _, v in (x.partition(":") for x in head.splitlines()) if k.lower() == "content-length"), 0)
        seen.heads.append(head)
        seen.bodies.append(await reader.readexactly(length))
        seen.asked.set()
        said = times[min(len(seen.heads), len(times)) - 1] if times else parts
        try:
            for part in said:
                writer.write(part)
                await writer.drain()
            if hold and not await reader.read(1):
                seen.hung_up.set()
        except ConnectionError:
            seen.hung_up.set()
        finally:
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    seen.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield seen
    finally:
        server.close()
