"""Execs that outlive links: PROTOCOL.md, sections 4 (an exec's stream) and 6 (resume)."""

from __future__ import annotations

import asyncio
import os
import signal
import struct
import subprocess
import time
from bisect import bisect_right
from typing import TYPE_CHECKING, Any, Callable, NamedTuple

from wire import MAX_DATA_BYTES, STREAM_CREDIT_BYTES, Body, Code, Failure, Message, nothing

if TYPE_CHECKING:
    from session import Stream

STDOUT, STDERR = 1, 2
IDLE_S = 0.2
GRACE_S = 2.0
MAX_SPOOL_BYTES = 64 << 20
CLEAN_ENVIRONMENT = {name: os.environb[name] for name in (b"PATH", b"HOME", b"LANG") if name in os.environb}


class ExecRequest(NamedTuple):
    exec_id: bytes
    command: tuple[int, Any]
    cwd: bytes | None
    env: list[tuple[bytes, bytes]]
    stdin: tuple[int, None]
    merge_stderr: bool
    timeout_ms: int | None
    output_cap_bytes: int | None
    overflow: tuple[int, None]
    run_as: str | None
    profile: tuple[int, None] | None
    pty: tuple[int, int, str] | None
    retain: bool
    age_ms: int

    @classmethod
    def read(cls, body: Body) -> ExecRequest:
        request = cls(
            body.take(16),
            body.variant(lambda: body.list(body.bytes), body.bytes),
            body.option(body.bytes),
            body.list(lambda: (body.bytes(), body.bytes())),
            body.variant(nothing, nothing),
            body.flag(),
            body.option(lambda: body.number("Q")),
            body.option(lambda: body.number("Q")),
            body.variant(nothing, nothing),
            body.option(body.text),
            body.option(lambda: body.variant(nothing, nothing, nothing)),
            body.option(lambda: (body.number("H"), body.number("H"), body.text())),
            body.flag(),
            body.number("Q"),
        )
        body.finish()
        return request


class Chunk(NamedTuple):
    offset: int
    channel: int
    data: bytes


class Exec:
    """A command: its output with offsets, its messages, and the streams that read them."""

    def __init__(self, request: ExecRequest, argv: list[bytes], cwd: bytes, content: bytes) -> None:
        self.id, self.content, self._retain = request.exec_id, content, request.retain
        has_input = request.stdin[0] == 1
        self._process = _spawn(argv, cwd, request.env, has_input, request.merge_stderr)
        self.started_at = time.monotonic()
        self.messages = [(Message.EXEC_STARTED, struct.pack("<I", self._process.pid))]
        self.is_running = True
        self.is_complete = False
        self.taken = 0  # bytes of standard input that the command has taken
        self.produced = 0  # the offset of the next byte of output
        self._kept: list[Chunk] = []
        self._kept_bytes = 0
        self._channel_bytes = {STDOUT: 0, STDERR: 0}
        self._ended: list[int] = []
        self._still_open = self._timed_out = self._cancelled = False
        self._streams: set[Stream] = set()
        self._reader: Stream | None = None
        self._cursor = 0  # the offset up to which output was sent to the reader
        self._drained = asyncio.Event()

    async def run(self, timeout_ms: int | None) -> None:
        """Runs the process from its start to the end of its output; links may be lost and replaced meanwhile."""
        loop = asyncio.get_running_loop()
        timers = [loop.call_later(timeout_ms / 1000, self.stop, True)] if timeout_ms is not None else []
        outputs = [(self._process.stdout, STDOUT), (self._process.stderr, STDERR)]
        readers = [asyncio.create_task(self._read(pipe, channel)) for pipe, channel in outputs]
        pidfd = os.pidfd_open(self._process.pid)
        await _ready(loop.add_reader, loop.remove_reader, pidfd)
        os.close(pidfd)
        code = self._process.wait()
        self.is_running = False
        for timer in timers:
            timer.cancel()
        duration_us = int((time.monotonic() - self.started_at) * 1e6)
        status = struct.pack("<Ii", *((1, -code) if code < 0 else (0, code)))
        flags = struct.pack("<???Q", self._timed_out, self._cancelled, False, duration_us)
        self.messages.append((Message.EXEC_EXITED, status + flags))
        self._wake()
        await asyncio.gather(*readers)
        self.is_complete = True
        self._wake()

    def stop(self, timed_out: bool = False) -> None:
        """Sends TERM to the whole tree, and KILL after a grace period."""
        if self.is_running:
            self._timed_out, self._cancelled = timed_out, not timed_out
            self.signal(signal.SIGTERM)
            asyncio.get_running_loop().call_later(GRACE_S, self.signal, signal.SIGKILL)

    def signal(self, number: int) -> None:
        try:
            os.killpg(self._process.pid, number)
        except ProcessLookupError:
            pass  # the process has just ended

    async def serve(self, stream: Stream, offset: int, output: bool) -> None:
        """Serves one stream until the exec's end; raises nothing but `CancelledError`."""
        if output:
            if self._reader is not None:
                self._reader.leave()
            self._reader, self._cursor = stream, offset
        self._streams.add(stream)
        feed = asyncio.create_task(self._feed(stream)) if output else None
        try:
            await self._pump(stream, output)
        finally:
            if feed is not None:
                feed.cancel()
            self._streams.discard(stream)
            if self._reader is stream:
                self._reader = None
                self._drained.set()

    async def _pump(self, stream: Stream, output: bool) -> None:
        """Sends the output that the stream has not got yet, as its credit allows."""
        said, ended = 0, 0
        stream.released = None
        while True:
            stream.wake.clear()
            while said < len(self.messages):
                stream.message(*self.messages[said])
                said += 1
            if output and self._cursor < self.produced:
                if self._send_output(stream):
                    await stream.drain()
                    continue
            else:
                for channel in self._ended[ended:] if output else []:
                    stream.end(channel)
                    ended += 1
                if self.is_complete:
                    sums = (self._channel_bytes[STDOUT], self._channel_bytes[STDERR], stream.dropped)
                    stream.answer(Message.EXEC_STREAMS_CLOSED, struct.pack("<QQQ?", *sums, self._still_open))
                    return
            await stream.wake.wait()

    def _send_output(self, stream: Stream) -> bool:
        """Sends the next piece of output; returns false if the credit is used up."""
        at = bisect_right(self._kept, self._cursor, key=lambda chunk: chunk.offset) - 1
        if at < 0:
            next_kept = self._kept[0].offset if self._kept else self.produced
            stream.gap(next_kept - self._cursor)
            self._cursor = next_kept
        else:
            chunk = self._kept[at]
            start = self._cursor - chunk.offset
            part = chunk.data[start : start + min(stream.credit, MAX_DATA_BYTES)]
            if not part:
                return False
            if stream.released is None:
                stream.released = self._cursor
            stream.data(chunk.channel, part)
            self._cursor += len(part)
        self._drained.set()
        return True

    def release(self, stream: Stream, count: int) -> None:
        """Drops `count` bytes that the consumer has drained and that are not needed again."""
        if self._reader is not stream or stream.released is None:
            return
        stream.released = min(stream.released + count, self._cursor)
        while not self._retain and self._kept and self._kept[0].offset + len(self._kept[0].data) <= stream.released:
            self._kept_bytes -= len(self._kept.pop(0).data)

    async def _read(self, pipe: Any, channel: int) -> None:
        """Reads one pipe to its end, or until it is idle for a short time after the command's end."""
        while pipe is not None:
            while self._reader is not None and self.produced - self._cursor >= STREAM_CREDIT_BYTES:
                self._drained.clear()
                await self._drained.wait()
            was_running = self.is_running
            if await _readable(pipe.fileno(), IDLE_S):
                data = os.read(pipe.fileno(), MAX_DATA_BYTES)
                if not data:
                    break
                self._keep(channel, data)
            elif not was_running:
                self._still_open = True
                break
        if pipe is not None:
            pipe.close()
        self._ended.append(channel)
        self._wake()

    def _keep(self, channel: int, data: bytes) -> None:
        self._kept.append(Chunk(self.produced, channel, data))
        self._kept_bytes += len(data)
        self.produced += len(data)
        self._channel_bytes[channel] += len(data)
        while (self._reader is None or self._retain) and self._kept_bytes > MAX_SPOOL_BYTES:
            self._kept_bytes -= len(self._kept.pop(0).data)
        self._wake()

    async def _feed(self, stream: Stream) -> None:
        """Takes standard input from a stream; skips the bytes that an earlier stream already delivered."""
        pipe = self._process.stdin
        if pipe is None:
            return
        loop = asyncio.get_running_loop()
        while (item := await stream.inbox.get()) is not None:
            offset, data = item
            rest = memoryview(data)[max(0, self.taken - offset) :]
            while rest and not pipe.closed:
                try:
                    count = os.write(pipe.fileno(), rest)
                    self.taken += count
                    rest = rest[count:]
                except BlockingIOError:
                    await _ready(loop.add_writer, loop.remove_writer, pipe.fileno())
                except BrokenPipeError:
                    self.taken += len(rest)  # the input has no reader, so it counts as taken
                    break
            stream.grant(len(data))
        if not pipe.closed:
            pipe.close()

    def _wake(self) -> None:
        for stream in self._streams:
            stream.wake.set()


def _spawn(
    argv: list[bytes], cwd: bytes, env: list[tuple[bytes, bytes]], has_input: bool, merge: bool
) -> subprocess.Popen[bytes]:
    try:
        process = subprocess.Popen(
            argv,
            cwd=cwd,
            env={**CLEAN_ENVIRONMENT, **dict(env)},
            stdin=subprocess.PIPE if has_input else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if merge else subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
    except FileNotFoundError as error:
        raise Failure(Code.COMMAND_NOT_FOUND, f"{os.fsdecode(argv[0])}: not found") from error
    except OSError as error:
        raise Failure(Code.NOT_EXECUTABLE, f"{os.fsdecode(argv[0])}: {error.strerror}") from error
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            os.set_blocking(pipe.fileno(), False)
    return process


async def _ready(add: Callable[..., Any], remove: Callable[[int], Any], descriptor: int) -> None:
    event = asyncio.Event()
    add(descriptor, event.set)
    try:
        await event.wait()
    finally:
        remove(descriptor)


async def _readable(descriptor: int, timeout_s: float) -> bool:
    loop = asyncio.get_running_loop()
    try:
        await asyncio.wait_for(_ready(loop.add_reader, loop.remove_reader, descriptor), timeout_s)
    except asyncio.TimeoutError:
        return False
    return True
