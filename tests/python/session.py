"""One link after its handshake: streams, credit, heartbeat (PROTOCOL.md, section 3)."""

from __future__ import annotations

import asyncio
import struct
import time
from typing import Awaitable, Callable

import wire
from websocket import WebSocket
from wire import Close, Code, Failure, Frame, Kind, LinkError, Message


class Stream:
    """The stream of one request: the data that it may send, and the data that arrived for it."""

    def __init__(self, session: Session, opened: Frame) -> None:
        self.number, self.request, self.body = opened.stream, opened.type, opened.body
        self.credit = opened.sequence
        self.sent = 0  # offset of the next data this side sends
        self.dropped = 0  # the number of bytes in gaps of the sent output
        self.expected = 0  # offset of the next data the server sends
        self.allowed = wire.STREAM_CREDIT_BYTES
        self.inbox: asyncio.Queue[tuple[int, bytes] | None] = asyncio.Queue()  # bounded by the credit
        self.wake = asyncio.Event()
        self.released: int | None = None  # the offset up to which the server's consumer drained an exec's output
        self.on_credit: Callable[[int], None] | None = None
        self.on_cancel: Callable[[], None] | None = None
        self.task: asyncio.Task[None] | None = None
        self._session = session

    def _send(self, kind: Kind, flags: int = 0, type: int = 0, sequence: int = 0, body: bytes = b"") -> None:
        self._session.send(Frame(kind, flags, type, self.number, sequence, body))

    def message(self, kind: Message, body: bytes = b"", flags: int = 0) -> None:
        self._send(Kind.MESSAGE, flags, kind, body=body)

    def answer(self, kind: Message, body: bytes = b"") -> None:
        self.message(kind, body, wire.FIN)

    def data(self, channel: int, data: bytes) -> None:
        self._send(Kind.DATA, channel, sequence=self.sent, body=data)
        self.sent += len(data)
        self.credit -= len(data)

    def end(self, channel: int) -> None:
        self._send(Kind.END, channel, sequence=self.sent)

    def gap(self, count: int) -> None:
        self._send(Kind.GAP, sequence=self.sent, body=struct.pack("<Q", count))
        self.sent += count
        self.dropped += count

    def fail(self, failure: Failure) -> None:
        self._send(Kind.FAIL, body=struct.pack("<H", failure.code) + wire.pack_bytes(str(failure).encode()))

    def grant(self, count: int) -> None:
        self.allowed += count
        self._send(Kind.CREDIT, sequence=count)

    def leave(self) -> None:
        """Ends this stream; the work that it started continues."""
        self._session.end(self, Failure(Code.DETACHED, "this stream was left"))

    def cancel(self) -> None:
        """Ends this stream's work; an exec sends its own answer."""
        if self.on_cancel is not None:
            self.on_cancel()
        else:
            self._session.end(self, Failure(Code.CANCELLED, "cancelled"))

    async def drain(self) -> None:
        await self._session.socket.drain()

    def take(self, frame: Frame) -> None:
        """Takes a frame of data from the server."""
        if frame.sequence != self.expected:
            raise LinkError(Close.SEQUENCE_GAP, f"offset {frame.sequence} instead of {self.expected}")
        if frame.kind == Kind.END:
            self.inbox.put_nowait(None)
            return
        if not 0 < len(frame.body) <= wire.MAX_DATA_BYTES:
            raise LinkError(Close.PROTOCOL, f"{len(frame.body)} bytes of data in one frame")
        self.allowed -= len(frame.body)
        if self.allowed < 0:
            raise LinkError(Close.CREDIT_OVERRUN, "more data than credit")
        self.inbox.put_nowait((frame.sequence, frame.body))
        self.expected += len(frame.body)


class Session:
    """Serves one link until it ends; `handler` answers each stream, `forget` is called for each ACK."""

    def __init__(
        self, socket: WebSocket, handler: Callable[[Stream], Awaitable[None]], forget: Callable[[bytes], None]
    ) -> None:
        self.socket = socket
        self._handler, self._forget = handler, forget
        self._streams: dict[int, Stream] = {}
        self._highest = 0
        self._last_sent = time.monotonic()

    async def run(self) -> Close:
        """Returns the server's close code; raises an exception if the link is lost."""
        heartbeat = asyncio.create_task(self._heartbeat())
        try:
            while True:
                message = await asyncio.wait_for(self.socket.receive(), wire.HEARTBEAT_TIMEOUT_S)
                if isinstance(message, str):
                    raise LinkError(Close.PROTOCOL, "a text frame after the handshake")
                frame = Frame.decode(message)
                if frame.kind == Kind.CLOSE:
                    return Close(frame.type)
                self._receive(frame)
        except LinkError as error:
            self.send(Frame(Kind.CLOSE, type=error.code, body=str(error).encode()[:1024]))
            await self.socket.drain()
            raise
        finally:
            heartbeat.cancel()
            for stream in self._streams.values():
                assert stream.task is not None
                stream.task.cancel()
            self.socket.abort()

    def send(self, frame: Frame) -> None:
        self._last_sent = time.monotonic()
        self.socket.send(frame.encode())

    def end(self, stream: Stream, failure: Failure) -> None:
        if self._streams.pop(stream.number, None) is not None:
            stream.fail(failure)
            assert stream.task is not None
            stream.task.cancel()

    def _receive(self, frame: Frame) -> None:
        if frame.kind == Kind.OPEN:
            self._open(frame)
        elif frame.kind == Kind.PING:
            self.send(frame._replace(kind=Kind.PONG))
        elif frame.kind == Kind.ACK:
            self._forget(frame.body)
        elif frame.kind in (Kind.DATA, Kind.END, Kind.CREDIT, Kind.CANCEL):
            if not 0 < frame.stream <= self._highest:
                raise LinkError(Close.PROTOCOL, f"stream {frame.stream} was never opened")
            if frame.stream in self._streams:  # otherwise the frame crossed the stream's end
                self._receive_on(self._streams[frame.stream], frame)
        elif frame.kind != Kind.PONG:
            raise LinkError(Close.PROTOCOL, f"frame kind {frame.kind} is not one that a server sends")

    def _receive_on(self, stream: Stream, frame: Frame) -> None:
        if frame.kind == Kind.CREDIT:
            stream.credit += frame.sequence
            if stream.on_credit is not None:
                stream.on_credit(frame.sequence)
            stream.wake.set()
        elif frame.kind == Kind.CANCEL:
            stream.leave() if frame.type == 1 else stream.cancel()
        else:
            stream.take(frame)

    def _open(self, frame: Frame) -> None:
        if frame.stream <= self._highest:
            raise LinkError(Close.PROTOCOL, f"stream {frame.stream} was opened before")
        self._highest = frame.stream
        stream = Stream(self, frame)
        if len(self._streams) >= wire.MAX_REQUESTS:
            stream.fail(Failure(Code.BUSY, "too many requests in flight"))
            return
        self._streams[stream.number] = stream
        stream.task = asyncio.create_task(self._serve(stream))

    async def _serve(self, stream: Stream) -> None:
        try:
            await self._handler(stream)
            self._streams.pop(stream.number, None)
        except Failure as failure:
            self.end(stream, failure)
        except (ConnectionError, asyncio.CancelledError):
            pass  # the link was lost, or the other side ended the stream
        except Exception as error:  # an error in this program must not leave the server waiting
            self.end(stream, Failure(Code.INTERNAL, repr(error)))

    async def _heartbeat(self) -> None:
        while True:
            silent_s = time.monotonic() - self._last_sent
            if silent_s >= wire.HEARTBEAT_INTERVAL_S:
                self.send(Frame(Kind.PING))
                silent_s = 0.0
            await asyncio.sleep(wire.HEARTBEAT_INTERVAL_S - silent_s)
