"""Messages between a supervisor and its lane: each one JSON text on a socket that keeps messages apart."""

from __future__ import annotations

import json
import select
import socket
import time
from collections.abc import Mapping
from typing import Any

from grader.errors import SandboxFailed

_LARGEST_BYTES = 1 << 16


def send(connection: socket.socket, message: Mapping[str, Any]) -> None:
    """One message to the lane."""
    connection.send(json.dumps(message).encode())


def receive(connection: socket.socket, deadline: float, descriptors: int = 0) -> tuple[dict[str, Any], list[int]]:
    """The lane's next message, with so many descriptors at most; `deadline` in `time.monotonic`'s seconds.

    Raises SandboxFailed where none comes in time, or one that says that the lane is broken.
    """
    if not readable(connection.fileno(), max(0.0, deadline - time.monotonic())):
        raise SandboxFailed("the lane does not answer")
    text, received, _flags, _address = socket.recv_fds(connection, _LARGEST_BYTES, descriptors)
    message = json.loads(text) if text else {"is": "broken", "why": "it ended without a word"}
    if message["is"] == "broken":
        raise SandboxFailed(f"the sandbox broke: {message['why']}")
    return message, received


def readable(descriptor: int, seconds: float) -> bool:
    """Whether something can be read, or has ended, in this time; `select` knows no descriptor above 1,023."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(seconds * 1000))
