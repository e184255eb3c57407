"""A small Sandbridge runner, written from PROTOCOL.md alone: proof that the document is sufficient.

It confines nothing. Usage: runner.py SERVER TOKEN_FILE NAME WORKSPACE. SIGUSR1 makes it drop its connection.

| file | section of PROTOCOL.md |
|---|---|
| websocket.py | 1, links |
| runner.py | 2, handshake; 6, remembered execs |
| session.py | 3, frames and streams |
| wire.py | 3 and 4, encodings |
| execs.py, files.py | 4, requests |
| check_*.py | checks that no run with a real server covers |
"""

from __future__ import annotations

import asyncio
import json
import os
import platform
import signal
import struct
import sys
import time
from collections import OrderedDict
from pathlib import Path

import files
import wire
from execs import Exec, ExecRequest
from session import Session, Stream
from websocket import TEXT, WebSocket
from wire import Body, Close, Code, Failure, Message, Request

SHELL = b"/bin/sh"
RETRY_S = 0.2
SLOW_RETRY_S = 60.0
HANDSHAKE_TIMEOUT_S = 10
RESULT_KEPT_S = 600
MAX_REMEMBERED = 100_000
A_PERSON_MUST_ACT = ("token_unknown", "token_expired", "token_revoked", "protocol_version")

Answer = tuple[Message, bytes] | Failure


class Refused(Exception):
    """The server does not register this runner."""


class Runner:
    """The state that outlives a link: execs, answers to changes, and the ids of forgotten ones."""

    def __init__(self, server: str, token: str, name: str, workspace: bytes) -> None:
        self._url = server.rstrip("/") + "/runner"
        self._token, self._name, self._workspace = token, name, workspace
        self._boot_id = os.urandom(16).hex()
        self._execs: dict[bytes, Exec] = {}
        self._answers: dict[bytes, Answer] = {}
        self._forgotten: OrderedDict[bytes, float] = OrderedDict()
        self._blind_before = float("-inf")  # ids chosen before this time may have been dropped from `_forgotten`
        self._tasks: set[asyncio.Task[None]] = set()
        self._socket: WebSocket | None = None

    async def run(self) -> None:
        """Serves one link after another."""
        while True:
            wait_s = RETRY_S
            try:
                self._socket = await WebSocket.connect(self._url)
                await asyncio.wait_for(self._register(self._socket), HANDSHAKE_TIMEOUT_S)
                close = await Session(self._socket, self.handle, self.forget).run()
                if close in (Close.REPLACED, Close.REVOKED):
                    return
            except Refused as refused:
                print(f"refused: {refused}", file=sys.stderr)
                wait_s = SLOW_RETRY_S if refused.args[0] in A_PERSON_MUST_ACT else RETRY_S
            except (OSError, EOFError, TimeoutError, asyncio.TimeoutError, wire.LinkError) as error:
                print(f"link lost: {error!r}", file=sys.stderr)
            await asyncio.sleep(wait_s)

    def drop_link(self) -> None:
        if self._socket is not None:
            self._socket.abort()

    async def _register(self, socket: WebSocket) -> None:
        facts = {
            "protocol": {"min": 1, "max": 1},
            "runner_id": self._name,
            "boot_id": self._boot_id,
            "os": "linux",
            "arch": platform.machine(),
            "hostname": platform.node(),
            "version": "0.1.0",
            "profile": "full-control",
            "capabilities": [],
            "landlock_abi": 0,
            "kill_tier": "process-group",
            "layers": [],
        }
        body = {
            "user_id": "",
            "auth_token": self._token,
            "workspace": os.fsdecode(self._workspace),
            "shell": SHELL.decode(),
            "llm_provider": "",
            "llm_model": "",
            "sandbridge": facts,
        }
        socket.send(json.dumps({"type": "register", "user_id": "", "body": body}).encode(), TEXT)
        answer = json.loads(await socket.receive())
        if answer["type"] != "register_ok":
            raise Refused(answer["body"].get("reason"), answer["body"].get("message"))
        link = answer["body"]["sandbridge"]
        ready = {"type": "ready", "body": {"epoch": link["epoch"], "nonce": link["nonce"]}}
        socket.send(json.dumps(ready).encode(), TEXT)

    async def handle(self, stream: Stream) -> None:
        body = Body(stream.body)
        try:
            match stream.request:
                case Request.EXEC:
                    await self._exec(stream, body)
                case Request.SIGNAL:
                    exec_id, number = body.take(16), body.number("i")
                    body.finish()
                    self._find(exec_id).signal(number)
                    stream.answer(Message.DONE)
                case Request.ATTACH:
                    await self._attach(stream, body)
                case Request.LIST:
                    body.finish()
                    stream.answer(Message.EXEC_LIST, self._list())
                case Request.READ_FILE:
                    await files.read_file(stream, self._workspace, body)
                case Request.WRITE_FILE:
                    await self._change(stream, body)
                case Request.STAT:
                    await files.stat_path(stream, self._workspace, body)
                case unknown:
                    raise Failure(Code.UNKNOWN_REQUEST, f"request type {unknown} is unknown to this runner")
        except OSError as error:
            raise files.failure(error) from error

    async def _exec(self, stream: Stream, body: Body) -> None:
        request = ExecRequest.read(body)
        content = stream.body[:-8]  # except age_ms, the last field
        known = self._execs.get(request.exec_id)
        if known is None:
            self._refuse_used(request.exec_id, request.age_ms)
            known = self._start(request, content)
        elif known.content != content:
            raise Failure(Code.CONFLICT, "this exec_id was used for another command")
        await self._serve(stream, known, 0, True)

    def _start(self, request: ExecRequest, content: bytes) -> Exec:
        if request.run_as is not None or request.pty is not None or request.output_cap_bytes is not None:
            raise Failure(Code.UNSUPPORTED, "this runner has no users, terminals or output caps")
        if request.profile is not None and request.profile[0] != 2:
            raise Failure(Code.UNSUPPORTED, "this runner confines nothing")
        cwd = files.resolve(self._workspace, request.cwd or b".")
        if not os.path.isdir(cwd):
            raise Failure(Code.INVALID_CWD, "the working directory is not a directory")
        argv = request.command[1] if request.command[0] == 0 else [SHELL, b"-c", request.command[1]]
        if not argv:
            raise Failure(Code.INVALID_BODY, "the command is empty")
        started = Exec(request, argv, cwd, content)
        self._execs[started.id] = started
        task = asyncio.create_task(self._run(started, request.timeout_ms))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return started

    async def _run(self, started: Exec, timeout_ms: int | None) -> None:
        await started.run(timeout_ms)
        asyncio.get_running_loop().call_later(RESULT_KEPT_S, self.forget, started.id)

    async def _attach(self, stream: Stream, body: Body) -> None:
        wanted, offset, output = body.take(16), body.number("Q"), body.flag()
        body.finish()
        if wanted in self._answers:
            stream.message(Message.ATTACHED, struct.pack("<Q", 0))
            _answer(stream, self._answers[wanted])
            return
        known = self._find(wanted)
        offset = offset if output else known.produced
        if offset > known.produced:
            raise Failure(Code.INVALID_BODY, f"offset {offset} is beyond the output")
        stream.sent, stream.expected = offset, known.taken
        stream.message(Message.ATTACHED, struct.pack("<Q", known.taken))
        await self._serve(stream, known, offset, output)

    async def _serve(self, stream: Stream, known: Exec, offset: int, output: bool) -> None:
        stream.on_credit = lambda count: known.release(stream, count)
        stream.on_cancel = known.stop
        await known.serve(stream, offset, output)

    async def _change(self, stream: Stream, body: Body) -> None:
        change = body.take(16)
        if change not in self._answers:
            self._refuse_used(change, 0)
            try:
                self._answers[change] = await files.write_file(stream, self._workspace, body)
            except Failure as failure:
                self._answers[change] = failure
            except OSError as error:
                self._answers[change] = files.failure(error)
            asyncio.get_running_loop().call_later(RESULT_KEPT_S, self.forget, change)
        _answer(stream, self._answers[change])

    def _find(self, exec_id: bytes) -> Exec:
        self._refuse_used(exec_id, 0)
        if exec_id not in self._execs:
            raise Failure(Code.NO_SUCH_EXEC, "no exec has this id")
        return self._execs[exec_id]

    def _refuse_used(self, used: bytes, age_ms: int) -> None:
        if used in self._forgotten or time.monotonic() - age_ms / 1000 < self._blind_before:
            raise Failure(Code.EXPIRED, "the result was acknowledged or is too old")

    def forget(self, used: bytes) -> None:
        known = self._execs.get(used)
        if known is not None and known.is_complete:
            del self._execs[used]
        elif self._answers.pop(used, None) is None:
            return
        self._forgotten[used] = time.monotonic()
        if len(self._forgotten) > MAX_REMEMBERED:
            _, self._blind_before = self._forgotten.popitem(last=False)

    def _list(self) -> bytes:
        packed = struct.pack("<Q", len(self._execs))
        for known in self._execs.values():
            age_ms = int((time.monotonic() - known.started_at) * 1000)
            packed += known.id + struct.pack("<?QQ", known.is_running, age_ms, known.produced)
        return packed


def _answer(stream: Stream, answer: Answer) -> None:
    if isinstance(answer, Failure):
        raise answer
    stream.answer(*answer)


async def main() -> None:
    server, token_file, name, workspace = sys.argv[1:]
    token = Path(token_file).read_text().strip()
    runner = Runner(server, token, name, os.path.realpath(os.fsencode(workspace)))
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, runner.drop_link)
    await runner.run()


if __name__ == "__main__":
    asyncio.run(main())
