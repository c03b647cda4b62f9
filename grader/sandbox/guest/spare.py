"""Making the children that wait: forked from the lane, confined, tested, warm, and silent until they get a request.

A child's descriptors: 0 /dev/null, 1 and 2 pipes that the supervisor drains, 3 requests, 4 replies. The memory that it
shares with the supervisor is mapped before confinement and has no descriptor afterwards.
"""

from __future__ import annotations

import fcntl
import json
import mmap
import os
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from grader.sandbox.guest import fresh, runner
from grader.sandbox.guest.walls import confine, folders, mounts, proc
from grader.sandbox.guest.walls.confine import Confinement
from grader.sandbox.guest.wire import ARENA_BYTES

_SEALS = 1 | 2 | 4  # F_SEAL_SEAL, F_SEAL_SHRINK, F_SEAL_GROW
_F_ADD_SEALS = 1033
_ABOVE_ALL = 100  # where descriptors are parked while the low numbers are given out


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What the children of one guest have in common. confinement None: they run unconfined, with our own rights."""

    folder: Path
    confinement: Confinement | None
    mounted: bool
    spares: int
    device: str
    warm_up: Callable[[str], None]


@dataclass(kw_only=True)
class Spare:
    """A child that waits or works, our ends of its pipes, and what it had used before it got any work.

    pipes: requests, replies, stdout, stderr, arena. listener: where its notices are heard.
    """

    pid: int
    uid: int
    folder: Path
    pipes: tuple[int, ...]
    handshake: socket.socket
    listener: int | None = None
    ready: bool = False
    cpu_s: float = 0.0
    memory_bytes: int = 0

    def watched(self) -> tuple[int, ...]:
        """Where it is heard while it gets ready: its messages, and its notices."""
        return (self.handshake.fileno(),) if self.listener is None else (self.handshake.fileno(), self.listener)

    def hear(self) -> None:
        """Takes the child's next message: the listener first, then that it is ready. BrokenPipeError if it died."""
        message, descriptors, _flags, _address = socket.recv_fds(self.handshake, 4096, 1)
        if descriptors:
            self.listener = descriptors[0]
        elif message:
            self.cpu_s = json.loads(message)["cpu_s"]
            self.memory_bytes = proc.memory(self.pid)
            self.ready = True
        else:
            raise BrokenPipeError(f"a child died before it was ready: {self._last_words()}")

    def _last_words(self) -> str:
        os.set_blocking(self.pipes[3], False)
        with suppress(OSError):
            return os.read(self.pipes[3], 4096).decode(errors="replace").strip() or "no word from it"
        return "no word from it"

    def deafen(self) -> None:
        """Stops hearing notices: from now on no process of the tree can start another."""
        if self.listener is not None:
            os.close(self.listener)
        self.listener = None

    def discard(self, settings: Settings) -> None:
        """Closes what is ours and removes the folder; the processes must be dead."""
        self.deafen()
        self.handshake.close()
        for descriptor in self.pipes:
            os.close(descriptor)
        self.pipes = ()
        if settings.mounted:
            mounts.unmount(str(self.folder))
        folders.remove(self.folder, self.uid)


def fork(settings: Settings, number: int, mode: str) -> Spare:
    """Starts a child that is warm for calls of one mode; it will say when it is ready."""
    uid = _uid(settings, number)
    folder = _make_folder(settings, uid, number)
    requests, replies, stdout, stderr = (os.pipe() for _ in range(4))
    arena = _arena()
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    childs = (requests[0], replies[1], stdout[1], stderr[1])
    pid = os.fork()
    if pid == 0:
        _be_child(settings, folder, mode, (*childs, arena, theirs.fileno()), uid=uid)
    theirs.close()
    for descriptor in childs:
        os.close(descriptor)
    mine = (requests[1], replies[0], stdout[0], stderr[0], arena)
    return Spare(pid=pid, uid=uid, folder=folder, pipes=mine, handshake=ours)


def _uid(settings: Settings, number: int) -> int:
    if settings.confinement and settings.confinement.separate_uid:
        return proc.spare_uid(os.getpid(), number)
    return os.geteuid()


def _make_folder(settings: Settings, uid: int, number: int) -> Path:
    folder = settings.folder / f"{os.getpid()}-{number}"
    folder.mkdir(mode=0o700)
    if settings.mounted:
        mounts.mount_work_folder(str(folder), uid=uid, size_bytes=confine.MAX_FILE_BYTES)
    elif uid != os.geteuid():
        folder.chmod(0o777)
    return folder


def _arena() -> int:
    """Memory to share with the supervisor: sparse, and of a size that nobody can change."""
    descriptor = os.memfd_create("arena", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, ARENA_BYTES)
    fcntl.fcntl(descriptor, _F_ADD_SEALS, _SEALS)
    return descriptor


def _be_child(settings: Settings, folder: Path, mode: str, descriptors: tuple[int, ...], *, uid: int) -> NoReturn:
    """The child's whole life. Whatever goes wrong here is ours: it is said on stderr, and the child is no spare."""
    try:
        _place(descriptors)
        os.setsid()
        os.chdir(folder)
        arena = mmap.mmap(5, ARENA_BYTES)
        os.close(5)
        os.closerange(7, (1 << 31) - 1)  # Python keeps a copy of a mapping's descriptor
        fresh.start(str(folder))
        _settle(settings, folder, mode, uid=uid)
        runner.serve(runner.Child(requests=3, replies=4, arena=arena, device=settings.device))
    except BaseException as error:
        with suppress(OSError):
            os.write(2, f"{type(error).__name__}: {error}".encode())
        os._exit(70)
    os._exit(0)


def _place(descriptors: tuple[int, ...]) -> None:
    """Puts requests, replies, stdout, stderr, arena and handshake to 3, 4, 1, 2, 5 and 6; closes all others."""
    null = os.open(os.devnull, os.O_RDONLY)
    parked = [fcntl.fcntl(descriptor, fcntl.F_DUPFD, _ABOVE_ALL) for descriptor in (null, *descriptors)]
    for descriptor, number in zip(parked, (0, 3, 4, 1, 2, 5, 6), strict=True):
        os.dup2(descriptor, number)
    os.closerange(7, (1 << 31) - 1)


def _settle(settings: Settings, folder: Path, mode: str, *, uid: int) -> None:
    """Confined, tested, warm; then the word that it is ready, with the CPU seconds that it took."""
    handshake = socket.socket(fileno=6)
    proc.volunteer_for_the_killer()
    if settings.confinement:
        lane = os.getppid()
        confine.confine(settings.confinement, folder=str(folder), uid=uid, handshake=handshake)
        confine.self_test(lane)
    settings.warm_up(mode)
    os.write(6, json.dumps({"cpu_s": time.process_time()}).encode())
    handshake.close()
