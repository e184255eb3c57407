"""Files of the workspace: ReadFile, WriteFile and Stat (PROTOCOL.md, section 4)."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import struct
import tempfile
from typing import Any

import wire
from session import Stream
from wire import Body, Code, Failure, Message

_CODES = {
    errno.ENOENT: Code.NOT_FOUND,
    errno.EEXIST: Code.ALREADY_EXISTS,
    errno.EACCES: Code.PERMISSION_DENIED,
    errno.EPERM: Code.PERMISSION_DENIED,
    errno.ENOTDIR: Code.NOT_A_DIRECTORY,
    errno.EISDIR: Code.IS_A_DIRECTORY,
}


def failure(error: OSError) -> Failure:
    return Failure(_CODES.get(error.errno or 0, Code.IO), error.strerror or str(error))


def resolve(workspace: bytes, path: bytes) -> bytes:
    """Returns the real path below the workspace. (A production runner walks the path without following links; this one is kept small.)"""
    if not path or b"\0" in path or len(path) > wire.MAX_PATH_BYTES:
        raise Failure(Code.INVALID_PATH, "the path is empty, too long or contains a NUL")
    real = os.path.realpath(os.path.join(workspace, path))
    if real != workspace and not real.startswith(workspace + b"/"):
        raise Failure(Code.ESCAPES_WORKSPACE, "path escapes the workspace")
    return real


async def read_file(stream: Stream, workspace: bytes, body: Body) -> None:
    path, offset, length = body.bytes(), body.number("Q"), body.option(lambda: body.number("Q"))
    body.finish()
    with open(resolve(workspace, path), "rb", buffering=0) as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise Failure(Code.SPECIAL_FILE, "not a regular file")
        mode, modified_ms = found.st_mode & 0o7777, found.st_mtime_ns // 1_000_000
        stream.message(Message.FILE_OPENED, struct.pack("<QIq", found.st_size, mode, modified_ms))
        file.seek(offset)
        left = found.st_size if length is None else length
        while left > 0:
            stream.wake.clear()
            if stream.credit == 0:
                await stream.wake.wait()
                continue
            data = file.read(min(left, stream.credit, wire.MAX_DATA_BYTES))
            if not data:
                break
            stream.data(0, data)
            left -= len(data)
            await stream.drain()
    stream.end(0)
    stream.answer(Message.FILE_READ, struct.pack("<Q", stream.sent))


async def stat_path(stream: Stream, workspace: bytes, body: Body) -> None:
    path = body.bytes()
    body.finish()
    found = os.stat(resolve(workspace, path))
    kind = 0 if stat.S_ISREG(found.st_mode) else 1 if stat.S_ISDIR(found.st_mode) else 3
    mode, modified_ms = found.st_mode & 0o7777, found.st_mtime_ns // 1_000_000
    stream.answer(Message.METADATA, struct.pack("<IQIq", kind, found.st_size, mode, modified_ms))


async def write_file(stream: Stream, workspace: bytes, body: Body) -> tuple[Message, bytes]:
    """Writes a temporary file next to the target, then renames it: a stream that ends before END leaves nothing."""
    path, mode = body.bytes(), body.option(lambda: body.number("I"))
    parents, size_bytes = body.flag(), body.option(lambda: body.number("Q"))
    if_match = body.option(lambda: body.take(32))
    body.finish()
    target = resolve(workspace, path)
    if os.path.isdir(target):
        raise Failure(Code.IS_A_DIRECTORY, "the path is a directory")
    if parents:
        os.makedirs(os.path.dirname(target), exist_ok=True)
    temporary: Any = tempfile.NamedTemporaryFile(dir=os.path.dirname(target), prefix=b".sandbridge-", delete=False)
    try:
        with temporary as file:
            while (item := await stream.inbox.get()) is not None:
                file.write(item[1])
                stream.grant(len(item[1]))
            if size_bytes not in (None, stream.expected):
                raise Failure(Code.INVALID_BODY, f"{stream.expected} bytes arrived, {size_bytes} were announced")
            os.fchmod(file.fileno(), _mode(target) if mode is None else mode)
            file.flush()
            os.fsync(file.fileno())
        if if_match is not None and _digest(target) != if_match:
            raise Failure(Code.PRECONDITION_FAILED, "the file has other content")
        os.rename(temporary.name, target)
    except BaseException:
        os.unlink(temporary.name)
        raise
    return Message.FILE_WRITTEN, struct.pack("<Q", stream.expected)


def _mode(path: bytes) -> int:
    """Returns the mode for a file that is overwritten: its present one."""
    return os.stat(path).st_mode & 0o7777 if os.path.exists(path) else 0o644


def _digest(path: bytes) -> bytes | None:
    if not os.path.exists(path):
        return None
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").digest()
