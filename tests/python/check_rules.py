"""Tests the rules that a correct server never exercises: frames in, frames out, without a network."""

from __future__ import annotations

import asyncio
import os
import struct
import tempfile
import unittest
from contextlib import asynccontextmanager
from typing import AsyncIterator

from runner import Runner
from session import Session
from wire import FIN, Close, Code, Frame, Kind, LinkError, Message, Request, pack_bytes

ID = bytes(range(16))
OTHER_ID = bytes(16)


class Link:
    """The server's end of a link, which the session uses as its socket."""

    def __init__(self) -> None:
        self._to_runner: asyncio.Queue[Frame | None] = asyncio.Queue()
        self._to_server: asyncio.Queue[Frame] = asyncio.Queue()

    async def receive(self) -> bytes:
        frame = await self._to_runner.get()
        if frame is None:
            raise ConnectionError("cut")
        return frame.encode()

    def send(self, data: bytes) -> None:
        self._to_server.put_nowait(Frame.decode(data))

    async def drain(self) -> None:
        pass

    def abort(self) -> None:
        pass

    def put(self, frame: Frame | None) -> None:
        self._to_runner.put_nowait(frame)

    def open(self, stream: int, request: int, body: bytes, credit: int = 1000) -> None:
        self.put(Frame(Kind.OPEN, 0, request, stream, credit, body))

    async def next(self) -> Frame:
        return await asyncio.wait_for(self._to_server.get(), 10)

    async def data(self) -> Frame:
        """Returns the next frame of data; skips messages before it."""
        while (frame := await self.next()).kind != Kind.DATA:
            pass
        return frame

    async def answer(self) -> list[Frame]:
        """Returns the frames up to the one that ends the stream."""
        frames = [await self.next()]
        while not (frames[-1].kind == Kind.FAIL or frames[-1].flags & FIN):
            frames.append(await self.next())
        return frames

    async def failure(self) -> Code:
        frames = await self.answer()
        assert frames[-1].kind == Kind.FAIL, frames
        return Code(struct.unpack_from("<H", frames[-1].body)[0])


def exec_body(script: bytes, exec_id: bytes = ID, age_ms: int = 0, stdin: int = 0) -> bytes:
    """Returns an Exec of a line of shell without any other options."""
    command = struct.pack("<I", 1) + pack_bytes(script)
    rest = struct.pack("<BQIBBBIBBBBQ", 0, 0, stdin, 0, 0, 0, 0, 0, 0, 0, 0, age_ms)
    return exec_id + command + rest


def attach_body(offset: int, wanted: bytes = ID) -> bytes:
    return wanted + struct.pack("<Q?", offset, True)


def write_body(path: bytes) -> bytes:
    return ID + pack_bytes(path) + bytes(4)


def output(frames: list[Frame]) -> bytes:
    return b"".join(frame.body for frame in frames if frame.kind == Kind.DATA)


class Rules(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.workspace = os.path.realpath(os.fsencode(directory.name))
        self.runner = Runner("ws://unused", "token", "name", self.workspace)

    @asynccontextmanager
    async def link(self) -> AsyncIterator[Link]:
        link = Link()
        session = asyncio.create_task(Session(link, self.runner.handle, self.runner.forget).run())  # type: ignore[arg-type]
        yield link
        link.put(None)
        await asyncio.gather(session, return_exceptions=True)

    async def test_attach_goes_on_at_the_offset_over_another_link(self) -> None:
        async with self.link() as link:
            link.open(1, Request.EXEC, exec_body(b"printf 0123456789; exit 3"), credit=4)
            self.assertEqual((await link.data()).body, b"0123", "no more than the credit")
        async with self.link() as link:
            link.open(1, Request.ATTACH, attach_body(3))
            frames = await link.answer()
        self.assertEqual((frames[0].type, frames[0].body), (Message.ATTACHED, bytes(8)))
        data = [frame for frame in frames if frame.kind == Kind.DATA]
        self.assertEqual((data[0].sequence, output(frames)), (3, b"3456789"))
        exited = next(frame for frame in frames if frame.type == Message.EXEC_EXITED)
        self.assertEqual(struct.unpack_from("<Ii", exited.body), (0, 3))
        ends = [frame for frame in frames if frame.kind == Kind.END]
        self.assertEqual({(frame.flags, frame.sequence) for frame in ends}, {(1, 10), (2, 10)})
        self.assertEqual(struct.unpack("<QQQ?", frames[-1].body), (10, 0, 0, False))

    async def test_exec_runs_once(self) -> None:
        script = b"echo x >> log; cat log"
        async with self.link() as link:
            for stream in (1, 2):
                link.open(stream, Request.EXEC, exec_body(script, age_ms=stream))
                self.assertEqual(output(await link.answer()), b"x\n")
            link.open(3, Request.EXEC, exec_body(b"another"))
            self.assertEqual(await link.failure(), Code.CONFLICT)
            link.put(Frame(Kind.ACK, body=ID))
            link.open(4, Request.EXEC, exec_body(script))
            self.assertEqual(await link.failure(), Code.EXPIRED)
            link.open(5, Request.ATTACH, attach_body(0))
            self.assertEqual(await link.failure(), Code.EXPIRED)
            link.open(6, Request.ATTACH, attach_body(0, OTHER_ID))
            self.assertEqual(await link.failure(), Code.NO_SUCH_EXEC)

    async def test_input_that_was_taken_is_not_taken_again(self) -> None:
        body = exec_body(b"cat", stdin=1)
        async with self.link() as link:
            link.open(1, Request.EXEC, body)
            link.put(Frame(Kind.DATA, stream=1, body=b"abc"))
            self.assertEqual((await link.data()).body, b"abc")
            link.open(2, Request.EXEC, body)
            link.put(Frame(Kind.DATA, stream=2, body=b"abcdef"))
            link.put(Frame(Kind.END, stream=2, sequence=6))
            self.assertEqual(await link.failure(), Code.DETACHED, "one reader, the newest")
            self.assertEqual(output(await link.answer()), b"abcdef")

    async def test_write_without_its_end_changes_nothing_and_with_it_is_made_once(self) -> None:
        async with self.link() as link:
            link.open(1, Request.WRITE_FILE, write_body(b"file"))
            link.put(Frame(Kind.DATA, stream=1, body=b"part"))
            self.assertEqual((await link.next()).kind, Kind.CREDIT)
        self.assertEqual(os.listdir(self.workspace), [])
        async with self.link() as link:
            link.open(1, Request.ATTACH, attach_body(0))
            self.assertEqual(await link.failure(), Code.NO_SUCH_EXEC)
            link.open(2, Request.WRITE_FILE, write_body(b"file"))
            link.put(Frame(Kind.DATA, stream=2, body=b"whole"))
            link.put(Frame(Kind.END, stream=2, sequence=5))
            self.assertEqual((await link.answer())[-1].type, Message.FILE_WRITTEN)
            link.open(3, Request.ATTACH, attach_body(0))
            self.assertEqual([frame.type for frame in await link.answer()], [Message.ATTACHED, Message.FILE_WRITTEN])
            range_of = pack_bytes(b"file") + struct.pack("<QBQ", 1, 1, 3)
            link.open(4, Request.READ_FILE, range_of, credit=2)
            self.assertEqual([(await link.next()).kind for _ in range(2)], [Kind.MESSAGE, Kind.DATA])
            link.put(Frame(Kind.CREDIT, stream=4, sequence=1))
            self.assertEqual(output(await link.answer()), b"l")

    async def test_errors_of_a_request_fail_alone(self) -> None:
        async with self.link() as link:
            link.open(1, 999, b"")
            self.assertEqual(await link.failure(), Code.UNKNOWN_REQUEST)
            for stream, body in enumerate([b"", pack_bytes(b"a") + b"more", b"\xff" * 8], 2):
                link.open(stream, Request.STAT, body)
                self.assertEqual(await link.failure(), Code.INVALID_BODY)
            link.put(Frame(Kind.PING, sequence=7))
            self.assertEqual(await link.next(), Frame(Kind.PONG, sequence=7))

    async def test_errors_of_bookkeeping_close_the_link(self) -> None:
        cases = [
            (Frame(Kind.DATA, stream=1, sequence=5, body=b"x"), Close.SEQUENCE_GAP),
            (Frame(Kind.DATA, stream=2, body=b"x"), Close.PROTOCOL),
            (Frame(99), Close.PROTOCOL),
        ]
        for frame, code in cases:
            link = Link()
            link.open(1, Request.WRITE_FILE, write_body(b"file"))
            link.put(frame)
            with self.assertRaises(LinkError):
                await Session(link, self.runner.handle, self.runner.forget).run()  # type: ignore[arg-type]
            close = await link.next()
            self.assertEqual((close.kind, close.type), (Kind.CLOSE, code))


if __name__ == "__main__":
    unittest.main()
