"""A WebSocket client (RFC 6455) with only the features that a runner needs: whole messages, no extensions."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import os
import struct
from urllib.parse import urlsplit

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10
MAX_MESSAGE_BYTES = 1 << 20
_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class WebSocket:
    """One connection. A lost connection raises `ConnectionError` or `EOFError` (asyncio.IncompleteReadError)."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def connect(cls, url: str) -> WebSocket:
        parts = urlsplit(url)
        is_tls = parts.scheme in ("https", "wss")
        port = parts.port or (443 if is_tls else 80)
        reader, writer = await asyncio.open_connection(parts.hostname, port, ssl=is_tls or None)
        key = base64.b64encode(os.urandom(16))
        writer.write(
            b"GET %s HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n\r\n"
            % (parts.path.encode(), parts.netloc.encode(), key)
        )
        answer = await reader.readuntil(b"\r\n\r\n")
        status, _, fields = answer.partition(b"\r\n")
        headers = dict(line.lower().split(b":", 1) for line in fields.split(b"\r\n") if b":" in line)
        accept = base64.b64encode(hashlib.sha1(key + _GUID).digest())
        if b" 101 " not in status or headers.get(b"sec-websocket-accept", b"").strip() != accept.lower():
            raise ConnectionError(f"{url} is not a WebSocket: {status.decode(errors='replace')}")
        return cls(reader, writer)

    def send(self, payload: bytes, opcode: int = BINARY) -> None:
        """Queues one message; `drain` waits until the connection has taken it."""
        size = len(payload)
        if size < 126:
            header = struct.pack(">BB", 0x80 | opcode, 0x80 | size)
        elif size < 1 << 16:
            header = struct.pack(">BBH", 0x80 | opcode, 0x80 | 126, size)
        else:
            header = struct.pack(">BBQ", 0x80 | opcode, 0x80 | 127, size)
        mask = os.urandom(4)
        self._writer.write(header + mask + _masked(payload, mask))

    async def drain(self) -> None:
        await self._writer.drain()

    async def receive(self) -> bytes | str:
        """Returns the next message, assembled from its fragments; answers pings in between."""
        message, kind = bytearray(), 0
        while True:
            first, second = await self._reader.readexactly(2)
            opcode, size = first & 0x0F, second & 0x7F
            if size >= 126:
                width, code = (2, ">H") if size == 126 else (8, ">Q")
                (size,) = struct.unpack(code, await self._reader.readexactly(width))
            if size + len(message) > MAX_MESSAGE_BYTES:
                raise ConnectionError("a message is larger than a frame may be")
            payload = await self._reader.readexactly(size)
            if opcode == PING:
                self.send(payload, PONG)
            elif opcode == CLOSE:
                raise ConnectionError("the server closed the connection")
            elif opcode != PONG:
                kind = kind or opcode
                message += payload
                if first & 0x80:
                    return message.decode() if kind == TEXT else bytes(message)

    def abort(self) -> None:
        """Drops the connection without a close frame."""
        self._writer.transport.abort()


def _masked(payload: bytes, mask: bytes) -> bytes:
    """Returns the payload XORed with the repeated mask, computed as one large number, since a loop over bytes is slow."""
    size = len(payload)
    repeated = (mask * (size // 4 + 1))[:size]
    return (int.from_bytes(payload, "little") ^ int.from_bytes(repeated, "little")).to_bytes(size, "little")
