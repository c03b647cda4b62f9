"""What every way to a guest has in common: lanes that are kept for the next job, and GPUs that serve one at a time.

A guest may end between two jobs: it has done enough, or its container was restarted. A lane of it is found to be closed
before a job is given to it, or gives no child; then nothing was run, and the job goes to another lane.
"""

from __future__ import annotations

import contextlib
import os
import queue
import socket
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path

from grader.errors import SandboxFailed, SandboxUnavailable
from grader.records import CaseReport, Job, RunEnd
from grader.sandbox.host.supervisor import Lane, LaneGone, Run, warm_for

Connect = Callable[[], socket.socket]
Reports = Generator[CaseReport | RunEnd, None, None]
_TRIES = 3


class Lanes:
    """Connections to guests of one kind. `connect` gives a new one; SandboxFailed if it can't.

    Each lane's children are warm for one kind of calls, so those for real and for fake tensors are kept apart.
    """

    def __init__(self, connect: Connect) -> None:
        self._connect = connect
        self._free: dict[str, list[Lane]] = {"real": [], "fake": []}
        self._closed = threading.Event()

    def run(self, job: Job) -> Reports:
        """See `grader.sandbox.base`."""
        free = self._free[warm_for(job)]
        lane, run = self._begun(job, free)
        whole = False
        try:
            yield from lane.follow(run)
            whole = True
        except GeneratorExit:
            whole = True
            raise
        finally:
            if whole and not self._closed.is_set():
                free.append(lane)
            else:
                lane.close()

    def close(self) -> None:
        """Lets go of all that are free; those in use are closed when their runs end."""
        self._closed.set()
        for free in self._free.values():
            with contextlib.suppress(IndexError):
                while True:
                    free.pop().close()

    def _begun(self, job: Job, free: list[Lane]) -> tuple[Lane, Run]:
        for number in range(_TRIES):
            lane = self._take(free)
            try:
                return lane, lane.begin(job)
            except LaneGone:
                lane.close()
                if number == _TRIES - 1:
                    raise
            except BaseException:
                lane.close()
                raise
        raise AssertionError

    def _take(self, free: list[Lane]) -> Lane:
        with contextlib.suppress(IndexError):
            while True:
                lane = free.pop()
                if lane.is_usable():
                    return lane
                lane.close()
        return Lane(self._connect())


class Gpus:
    """One guest for each GPU, each with one run at a time; who comes when all are busy waits."""

    def __init__(self, guests: Sequence[Callable[[Job], Reports]]) -> None:
        self._any = bool(guests)
        self._free: queue.LifoQueue[Callable[[Job], Reports]] = queue.LifoQueue()
        for guest in guests:
            self._free.put(guest)

    def run(self, job: Job) -> Reports:
        """See `grader.sandbox.base`."""
        if not self._any:
            raise SandboxUnavailable("this sandbox has no GPU: GRADER_GPUS names those that it may use")
        guest = self._free.get()
        try:
            yield from guest(job)
        finally:
            self._free.put(guest)


def needs_gpu(job: Job) -> bool:
    """Whether a job has to run where a GPU is: calls on tensors without values need none."""
    return job.device != "cpu" and warm_for(job) == "real"


def connect(path: str) -> socket.socket:
    """A connection to the guest that listens at `path`, of whatever length. OSError if none does."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        with short(path) as place:
            connection.connect(place)
    except BaseException:
        connection.close()
        raise
    return connection


@contextlib.contextmanager
def short(path: str) -> Iterator[str]:
    """The same place by a path that is short enough for a socket: those of 108 bytes and more are refused."""
    folder = os.open(Path(path).parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{Path(path).name}"
    finally:
        os.close(folder)


def connect_to_own(path: str) -> socket.socket:
    """The same for a guest that is ours and runs; SandboxFailed if it takes no connection."""
    try:
        return connect(path)
    except OSError as error:
        raise SandboxFailed(f"the guest takes no connection: {error}") from error
