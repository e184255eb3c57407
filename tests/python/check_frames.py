"""Decodes every frame of proto/fixtures/frames.txt and encodes it again. Usage: check_frames.py FRAMES_TXT."""

import sys
from pathlib import Path

from execs import ExecRequest
from wire import Body, Frame, Kind, Request

# Examples whose names differ from the names of their frames.
NAMES = {"LEAVE": "CANCEL", "GOODBYE": "CLOSE"}


def main() -> None:
    checked = 0
    for line in Path(sys.argv[1]).read_text().splitlines():
        name, _, digits = line.partition(": ")
        if name.startswith("body "):
            continue
        data = bytes.fromhex(digits)
        frame = Frame.decode(data)
        assert frame.encode() == data, name
        assert Kind(frame.kind).name == NAMES.get(name, name.split()[0]), name
        if frame.kind == Kind.OPEN and frame.type == Request.EXEC:
            ExecRequest.read(Body(frame.body))  # this body has every type of field
        checked += 1
    assert checked > 0


if __name__ == "__main__":
    main()
