"""Frames and bodies of the Sandbridge protocol: sections 3 and 4 of PROTOCOL.md."""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import Any, Callable, NamedTuple, TypeVar

T = TypeVar("T")

FIN = 0x80
MAX_DATA_BYTES = 64 << 10
STREAM_CREDIT_BYTES = 256 << 10
MAX_REQUESTS = 1024
MAX_PATH_BYTES = 4096
HEARTBEAT_INTERVAL_S = 10
HEARTBEAT_TIMEOUT_S = 30

_HEADER = struct.Struct("<BBHIQ")


class Kind(IntEnum):
    OPEN, MESSAGE, DATA, END, GAP, FAIL = 1, 2, 3, 4, 5, 6
    CREDIT, CANCEL, ACK, PING, PONG, CLOSE = 16, 17, 18, 19, 20, 21


class Request(IntEnum):
    EXEC, SIGNAL, ATTACH, LIST = 1, 2, 3, 5
    READ_FILE, WRITE_FILE, STAT = 10, 11, 12


class Message(IntEnum):
    DONE, EXEC_STARTED, EXEC_EXITED, EXEC_STREAMS_CLOSED, EXEC_TREE_GONE, ATTACHED = 1, 2, 3, 4, 5, 6
    EXEC_LIST, FILE_OPENED, FILE_READ, FILE_WRITTEN, METADATA = 8, 10, 11, 12, 13


class Code(IntEnum):
    NOT_FOUND, ALREADY_EXISTS, PERMISSION_DENIED, ESCAPES_WORKSPACE, NOT_A_DIRECTORY = 1, 2, 3, 4, 5
    IS_A_DIRECTORY, SPECIAL_FILE, INVALID_PATH, IO = 6, 8, 11, 15
    COMMAND_NOT_FOUND, NOT_EXECUTABLE, INVALID_CWD, CONFLICT, EXPIRED = 20, 21, 23, 24, 25
    NO_SUCH_EXEC, CANCELLED, PRECONDITION_FAILED, DETACHED = 27, 28, 30, 31
    UNKNOWN_REQUEST, INVALID_BODY, BUSY, UNSUPPORTED, INTERNAL = 40, 41, 42, 43, 46


class Close(IntEnum):
    GOING_AWAY, REPLACED, REVOKED = 1, 2, 3
    PROTOCOL, SEQUENCE_GAP, CREDIT_OVERRUN, FLOODED, DEAD = 10, 11, 12, 13, 14


class Failure(Exception):
    """An error of one request, sent as FAIL on its stream."""

    def __init__(self, code: Code, description: str) -> None:
        super().__init__(description)
        self.code = code
        self.description = description


class LinkError(Exception):
    """A violation of the link's rules, sent as CLOSE."""

    def __init__(self, code: Close, reason: str) -> None:
        super().__init__(reason)
        self.code = code


class Frame(NamedTuple):
    kind: int
    flags: int = 0
    type: int = 0
    stream: int = 0
    sequence: int = 0
    body: bytes = b""

    def encode(self) -> bytes:
        return _HEADER.pack(self.kind, self.flags, self.type, self.stream, self.sequence) + self.body

    @classmethod
    def decode(cls, data: bytes) -> Frame:
        if len(data) < _HEADER.size:
            raise LinkError(Close.PROTOCOL, "a frame shorter than its header")
        kind, flags, type_number, stream, sequence = _HEADER.unpack_from(data)
        return cls(kind, flags, type_number, stream, sequence, data[_HEADER.size :])


class Body:
    """Reads the fields of a body in order; anything that does not fit is `invalid_body`."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, count: int) -> bytes:
        end = self._at + count
        if end > len(self._data):
            raise Failure(Code.INVALID_BODY, "the body ends early")
        part, self._at = self._data[self._at : end], end
        return part

    def number(self, code: str) -> int:
        """Reads a number of fixed width, given by its `struct` code."""
        layout = struct.Struct("<" + code)
        value: int = layout.unpack(self.take(layout.size))[0]
        return value

    def flag(self) -> bool:
        return self.choice8("a bool")

    def bytes(self) -> bytes:
        return self.take(self.number("Q"))

    def text(self) -> str:
        try:
            return self.bytes().decode()
        except UnicodeDecodeError as error:
            raise Failure(Code.INVALID_BODY, str(error)) from error

    def list(self, element: Callable[[], T]) -> list[T]:
        return [element() for _ in range(self.number("Q"))]

    def option(self, inner: Callable[[], T]) -> T | None:
        return inner() if self.choice8("an option") else None

    def variant(self, *variants: Callable[[], Any]) -> tuple[int, Any]:
        """Reads an enum: the variant's number, and the result of the variant's reader."""
        number = self.number("I")
        if number >= len(variants):
            raise Failure(Code.INVALID_BODY, f"variant {number} is unknown")
        return number, variants[number]()

    def choice8(self, what: str) -> bool:
        value = self.number("B")
        if value > 1:
            raise Failure(Code.INVALID_BODY, f"{what} is {value}")
        return value == 1

    def finish(self) -> None:
        if self._at != len(self._data):
            raise Failure(Code.INVALID_BODY, "the body continues after its last field")


def nothing() -> None:
    """Reads a variant without fields."""


def pack_bytes(value: bytes) -> bytes:
    return struct.pack("<Q", len(value)) + value
