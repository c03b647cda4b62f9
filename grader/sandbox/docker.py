"""Guests in hardened containers, started through a Docker Engine by this process.

Theory of operation. A container holds the same guest as everywhere, its socket in a folder that both sides see. Policy
`shared`: one warm container, whose guest makes room after enough submissions or a violation; then the next one is
started. Policy `single`: each run gets a container that nobody had before, out of a pool started ahead; it is its last.
Containers carry labels that say whose they are; those of workers that are dead are removed at the next start.

An engine that is away, slow or out of disk is SandboxUnavailable at the start and SandboxFailed in a run, so that the
next try finds out whether it is back. Starting a container takes seconds, and none of a learner's.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections import deque
from concurrent.futures import Future

from grader.errors import SandboxError, SandboxFailed, SandboxUnavailable
from grader.records import Job
from grader.sandbox.container import Options
from grader.sandbox.engine import Engine, Started
from grader.sandbox.lanes import Gpus, Lanes, Reports, connect, needs_gpu
from grader.sandbox.supervisor import Lane, LaneGone

_READY_S = 90.0
_PAUSE_S = 0.01
_LOOK_EVERY_S = 0.5
_TRIES = 3


class DockerSandbox:
    """Containers of one worker."""

    def __init__(self, options: Options | None = None) -> None:
        options = options or Options()
        self._engine = Engine(options)
        make = Pool if options.policy == "single" else Warm
        self._cpu = make(self._engine, None, options.pool)
        self._each_gpu = [make(self._engine, gpu, 1) for gpu in options.gpus]
        self._gpus = Gpus([guest.run for guest in self._each_gpu])
        self.devices: tuple[str, ...] = ("cpu", "cuda") if options.gpus else ("cpu",)

    def start(self) -> None:
        """Removes what dead workers left, and gets containers ready. SandboxUnavailable where that fails."""
        try:
            self._engine.clean_up()
            for guest in (self._cpu, *self._each_gpu):
                guest.start()
        except SandboxError as error:
            self.close()
            raise SandboxUnavailable(str(error)) from error

    def is_full(self) -> bool:
        """Whether every container that should wait is ready."""
        return all(guest.is_full() for guest in (self._cpu, *self._each_gpu))

    def run(self, job: Job) -> Reports:
        """See `grader.sandbox.base`."""
        return self._gpus.run(job) if needs_gpu(job) else self._cpu.run(job)

    def close(self) -> None:
        """Removes all containers of this sandbox."""
        for guest in (self._cpu, *self._each_gpu):
            guest.close()
        self._engine.close()


class Warm:
    """Policy `shared`: one container until it makes room, then the next."""

    def __init__(self, engine: Engine, gpu: str | None, _size: int) -> None:
        self._engine, self._gpu = engine, gpu
        self._lock = threading.Lock()
        self._current: Started | None = None
        self._lanes = Lanes(self._connect)

    def start(self) -> None:
        """Waits until its guest answers."""
        self._connect().close()

    def run(self, job: Job) -> Reports:
        """In a child of the container that is there."""
        return self._lanes.run(job)

    def is_full(self) -> bool:
        """Whether it is there."""
        return self._current is not None

    def close(self) -> None:
        """Removes it."""
        self._lanes.close()
        with self._lock:
            if self._current is not None:
                self._engine.remove(self._current)
            self._current = None

    def _connect(self) -> socket.socket:
        """To the current container; one that has ended, or lets its last runs end, is replaced."""
        with self._lock:
            if self._current is not None:
                with contextlib.suppress(OSError):
                    return connect(str(self._current.socket))
                self._engine.remove_when_it_ends(self._current)
                self._current = None
            started = self._engine.start(self._gpu)
            connection = ready(self._engine, started)
            self._current = started
            return connection


class Pool:
    """Policy `single`: containers that wait, each for one run, which is its last."""

    def __init__(self, engine: Engine, gpu: str | None, size: int) -> None:
        self._engine, self._gpu, self._size = engine, gpu, size
        self._waiting: deque[Future[tuple[Started, Lane]]] = deque()
        self._closed = False

    def start(self) -> None:
        """Starts all, and waits for the first."""
        for _ in range(self._size):
            self._add()
        self._waiting[0].result()

    def is_full(self) -> bool:
        """Whether all that should wait are ready."""
        waiting = tuple(self._waiting)
        return len(waiting) >= self._size and all(one.done() for one in waiting)

    def run(self, job: Job) -> Reports:
        """In the container that has waited longest; another one is started when the run is over."""
        for number in range(_TRIES):
            started, lane = self._next()
            try:
                with contextlib.closing(lane):
                    yield from lane.follow(lane.begin(job))
                return
            except LaneGone:
                if number == _TRIES - 1:
                    raise
            finally:
                self._let_go(started)

    def close(self) -> None:
        """Removes all that wait."""
        self._closed = True
        while self._waiting:
            with contextlib.suppress(SandboxError):
                started, lane = self._waiting.popleft().result()
                lane.close()
                self._engine.remove(started)

    def _next(self) -> tuple[Started, Lane]:
        """A start that failed is told, and tried anew by whoever comes next."""
        try:
            future = self._waiting.popleft()
        except IndexError:
            future = self._engine.in_background(self._make)
        try:
            return future.result()
        except SandboxError:
            self._fill()
            raise

    def _let_go(self, started: Started) -> None:
        if self._closed:
            self._engine.remove(started)
        else:
            self._engine.in_background(self._engine.remove, started)
            self._fill()

    def _fill(self) -> None:
        while len(self._waiting) < self._size and not self._closed:
            self._add()

    def _add(self) -> None:
        self._waiting.append(self._engine.in_background(self._make))

    def _make(self) -> tuple[Started, Lane]:
        started = self._engine.start(self._gpu)
        return started, Lane(ready(self._engine, started))


def ready(engine: Engine, started: Started) -> socket.socket:
    """The first connection to a container's guest, once it answers. If it never does, the container is removed."""
    deadline, next_look = time.monotonic() + _READY_S, time.monotonic() + _LOOK_EVERY_S
    try:
        while True:
            with contextlib.suppress(OSError):
                return connect(str(started.socket))
            if time.monotonic() > next_look:
                engine.look(started)
                next_look = time.monotonic() + _LOOK_EVERY_S
            if time.monotonic() > deadline:
                raise SandboxFailed(f"the container's guest took no connection within {_READY_S:.0f} s")
            time.sleep(_PAUSE_S)
    except BaseException:
        engine.remove(started)
        raise
