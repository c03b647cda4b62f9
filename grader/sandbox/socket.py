"""Reaches guests that run as services of their own: compose's `sandbox`, over unix sockets in a shared folder.

Each guest has one socket in the folder, named by its container and device, `NAME.cpu.sock`. New connections are shared
among the guests that are there; one that is restarting is waited for, and the time is nobody's.
"""

from __future__ import annotations

import random
import socket
import stat
import time
from pathlib import Path

from grader.errors import SandboxFailed, SandboxUnavailable
from grader.records import Job
from grader.sandbox.host.pool import Lanes, Reports, connect, needs_gpu

DEFAULT_FOLDER = Path("/run/grader")
_PATIENCE_S = 60.0
_PAUSE_S = 0.05


class SocketSandbox:
    """All guests of one folder. `patience_s`: how long a guest is waited for that is not there or still starting."""

    def __init__(self, folder: Path = DEFAULT_FOLDER, *, patience_s: float = _PATIENCE_S) -> None:
        self._folder, self._patience_s = folder, patience_s
        self._cpu = Lanes(lambda: self._connect("cpu"))
        self._cuda = Lanes(lambda: self._connect("cuda"))
        self._seen = {"cpu"}

    @property
    def devices(self) -> tuple[str, ...]:
        """What guests have, or had since we started: one that is restarting still counts."""
        self._seen |= {device for device in ("cpu", "cuda") if self._guests(device)}
        return tuple(sorted(self._seen))

    def start(self) -> None:
        """Waits until a guest answers. SandboxUnavailable if none does."""
        try:
            self._connect("cpu").close()
        except SandboxFailed as error:
            raise SandboxUnavailable(
                f"{error}; is the `sandbox` service running? GRADER_SOCKET names its folder"
            ) from error

    def run(self, job: Job) -> Reports:
        """See `grader.sandbox.base`."""
        return (self._cuda if needs_gpu(job) else self._cpu).run(job)

    def close(self) -> None:
        """Lets go of all guests; they run on."""
        self._cpu.close()
        self._cuda.close()

    def _guests(self, device: str) -> list[Path]:
        return sorted(path for path in self._folder.glob(f"*.{device}.sock") if stat.S_ISSOCK(_mode(path)))

    def _connect(self, device: str) -> socket.socket:
        """A connection to any guest that has the device."""
        deadline = time.monotonic() + self._patience_s
        problem: OSError | None = None
        while True:
            found = self._guests(device)
            for path in random.sample(found, len(found)):
                try:
                    return connect(str(path))
                except OSError as error:
                    problem = error
            if time.monotonic() > deadline:
                raise SandboxFailed(
                    f"no sandbox for {device} answered in {self._folder} within {self._patience_s:.0f} s"
                    + (f": {problem.strerror}" if problem else "")
                )
            time.sleep(_PAUSE_S)


def _mode(path: Path) -> int:
    try:
        return path.lstat().st_mode
    except OSError:
        return 0
