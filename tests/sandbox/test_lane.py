"""A lane by itself: children that are not ready yet."""

from __future__ import annotations

import json
import os
import socket
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from grader.records import Limits
from grader.sandbox.guest.lane import Lane
from grader.sandbox.guest.service import Reports
from grader.sandbox.guest.spare import Settings
from grader.sandbox.guest.walls import confine

pytestmark = pytest.mark.skipif(bool(confine.missing()), reason=f"no confinement here: {confine.missing()}")
PATIENCE_S = 20


def start_threads(_mode: str) -> None:
    """What the libraries of a GPU do when they are used first."""
    threads = [threading.Thread(target=lambda: None) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.fixture
def connection() -> Iterator[socket.socket]:
    """To a lane whose children start threads while they get ready."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        confinement = replace(confine.prepare(), readable=())  # Python may lie where a child's uid can't look
        settings = Settings(
            folder=Path(folder),
            confinement=confinement,
            mounted=False,
            spares=1,
            device="cpu",
            warm_up=start_threads,
        )
        reports = Reports()
        pid = os.fork()
        if pid == 0:
            ours.close()
            reports.for_lane()
            confine.adopt_orphans()
            Lane(theirs, settings, reports).serve()
            os._exit(0)
        theirs.close()
        ours.settimeout(PATIENCE_S)
        yield ours
        ours.close()
        os.waitpid(pid, 0)


def test_children_may_start_threads_while_they_get_ready(connection: socket.socket) -> None:
    """Nobody waits for the lane's word on them, though there is no run yet in which they would count."""
    connection.send(json.dumps({"do": "take", "mode": "real", "limits": asdict(Limits())}).encode())
    message, descriptors, _flags, _address = socket.recv_fds(connection, 1 << 16, 8)
    for descriptor in descriptors:
        os.close(descriptor)

    told = json.loads(message)
    assert told["is"] == "child", told
