"""Guests in hardened containers, started through a Docker Engine by this process.

Theory of operation. A container holds the same guest as everywhere, its socket in a folder that both sides see. Policy
`shared`: one warm container, whose guest makes room after enough submissions or a violation; then the next one is
started. Policy `single`: each run gets a container that nobody had before, out of a pool started ahead; it is its last.
Containers carry labels that say whose they are; those of workers that are dead are removed at the next start.

An engine that is away, slow or out of disk is SandboxUnavailable at the start. In a run it is waited for (`engine.py`
says how long), then it is SandboxFailed. Containers that ended while they waited, with their engine or without, are
passed over and replaced. Starting a container takes seconds, and none of a learner's.
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
from grader.sandbox.docker.api import EngineAway
from grader.sandbox.docker.containers import Engine, Started
from grader.sandbox.docker.options import Options
from grader.sandbox.host.pool import Gpus, Lanes, Reports, connect, needs_gpu
from grader.sandbox.host.supervisor import Lane, LaneGone

_READY_S = 90.0
_PAUSE_S = 0.01
_LOOK_EVERY_S = 0.5
_TRIES = 3


class DockerSandbox:
    """Containers of one worker."""

    def __init__(self, options: Options | None = None) -> None:
        self._options = options or Options()
        self.devices: tuple[str, ...] = ("cpu", "cuda") if self._options.gpus else ("cpu",)
        self._make()

    def _make(self) -> None:
        options = self._options
        self._engine = Engine(options)
        make = Pool if options.policy == "single" else Warm
        self._cpu = make(self._engine, None, options.pool)
        self._each_gpu = [make(self._engine, gpu, 1) for gpu in options.gpus]
        self._gpus = Gpus([guest.run for guest in self._each_gpu])

    def start(self) -> None:
        """Removes what dead workers left, and gets containers ready. SandboxUnavailable where that fails."""
        if self._engine.closing:
            self._make()
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
        self._engine.close()
        for guest in (self._cpu, *self._each_gpu):
            guest.close()


class Warm:
    """Policy `shared`: one container until it makes room, then the next."""

    def __init__(self, engine: Engine, gpu: str | None, _size: int) -> None:
        self._engine, self._gpu = engine, gpu
        self._lock = threading.Lock()
        self._current: Future[Started] | None = None
        self._lanes = Lanes(lambda: engine.patiently(self._connect))

    def start(self) -> None:
        """Waits until its guest answers."""
        self._connect().close()

    def run(self, job: Job) -> Reports:
        """In a child of the container that is there."""
        return self._lanes.run(job)

    def is_full(self) -> bool:
        """Whether it is there."""
        current = self._current
        return current is not None and current.done()

    def close(self) -> None:
        """Lets go of it."""
        self._lanes.close()

    def _connect(self) -> socket.socket:
        """To the current container; one that has ended, or lets its last runs end, is replaced."""
        for _ in range(_TRIES):
            current = self._there()
            try:
                started = current.result()
            except SandboxFailed:
                self._drop(current)
                raise
            with contextlib.suppress(OSError):
                return connect(str(started.socket))
            if self._drop(current):
                self._engine.remove_when_it_ends(started)
        raise SandboxFailed(f"{_TRIES} containers in a row took no connection")

    def _there(self) -> Future[Started]:
        """The container, there or coming: whoever needs one waits for the same, and hears if it failed."""
        with self._lock:
            if self._current is None:
                self._current = self._engine.in_background(self._make)
            return self._current

    def _drop(self, current: Future[Started]) -> bool:
        """Whether it still was the current one."""
        with self._lock:
            if self._current is not current:
                return False
            self._current = None
            return True

    def _make(self) -> Started:
        started = self._engine.start(self._gpu)
        ready(self._engine, started).close()
        return started


class Pool:
    """Policy `single`: containers that wait, each for one run, which is its last."""

    def __init__(self, engine: Engine, gpu: str | None, size: int) -> None:
        self._engine, self._gpu, self._size = engine, gpu, size
        self._waiting: deque[Future[tuple[Started, Lane]]] = deque()

    def start(self) -> None:
        """Starts all, and waits for the first."""
        self._fill()
        self._waiting[0].result()

    def is_full(self) -> bool:
        """Whether all that should wait are ready."""
        waiting = tuple(self._waiting)
        return len(waiting) >= self._size and all(one.done() for one in waiting)

    def run(self, job: Job) -> Reports:
        """In the container that has waited longest; another one is started when the run is over."""
        for number in range(_TRIES):
            started, lane = self._engine.patiently(self._next)
            try:
                with contextlib.closing(lane):
                    yield from lane.follow(lane.begin(job))
                return
            except LaneGone:
                if number == _TRIES - 1:
                    raise
            finally:
                self._engine.remove_soon(started)
                self._fill()

    def close(self) -> None:
        """Lets go of all that wait; the engine has removed them, and starts no more."""
        while self._waiting:
            with contextlib.suppress(SandboxError):
                self._waiting.popleft().result()[1].close()

    def _next(self) -> tuple[Started, Lane]:
        """The one that has waited longest. What failed, or ended since, is passed over."""
        while True:
            future, waited = self._longest()
            try:
                started, lane = future.result()
            except SandboxFailed:
                if waited:
                    continue
                raise
            if lane.is_usable():
                return started, lane
            lane.close()
            self._engine.remove_soon(started)

    def _longest(self) -> tuple[Future[tuple[Started, Lane]], bool]:
        """And whether it was ready; a new one if none waits."""
        try:
            future = self._waiting.popleft()
        except IndexError:
            future = self._engine.in_background(self._make)
        return future, future.done()

    def _fill(self) -> None:
        with contextlib.suppress(SandboxFailed):  # closed
            while len(self._waiting) < self._size:
                self._waiting.append(self._engine.in_background(self._make))

    def _make(self) -> tuple[Started, Lane]:
        started = self._engine.start(self._gpu)
        return started, Lane(ready(self._engine, started))


def ready(engine: Engine, started: Started) -> socket.socket:
    """The first connection to a container's guest, once it answers. If it never does, the container is removed."""
    deadline, next_look = time.monotonic() + _READY_S, time.monotonic() + _LOOK_EVERY_S
    try:
        while not engine.closing:
            with contextlib.suppress(OSError):
                return connect(str(started.socket))
            if time.monotonic() > next_look:
                with contextlib.suppress(EngineAway):  # the guest may answer all the same
                    engine.look(started)
                next_look = time.monotonic() + _LOOK_EVERY_S
            if time.monotonic() > deadline:
                raise SandboxFailed(f"the container's guest took no connection within {_READY_S:.0f} s")
            time.sleep(_PAUSE_S)
        raise SandboxFailed("the sandbox is closed")
    except BaseException:
        engine.remove(started)
        raise
