"""Starts the guest as a child of this process, on this machine."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

from grader.errors import SandboxError, SandboxFailed, SandboxUnavailable
from grader.records import Call, CaseReport, Job, RunEnd
from grader.sandbox.guest import confine, landlock
from grader.sandbox.supervisor import Lane, warm_for

_STOP_S = 10.0


class LocalSandbox:
    """The guest as a process of this machine. confined False: no sandbox at all, for those who insist.

    spares: confined children kept waiting for each run that may be under way at once; each costs about 4 MB.
    """

    devices: tuple[str, ...] = ("cpu",)

    def __init__(self, *, confined: bool = True, spares: int = 2) -> None:
        self._confined, self._spares = confined, spares
        self._lock = threading.Lock()
        self._guest: subprocess.Popen[bytes] | None = None
        self._folder: Path | None = None
        self._lanes: dict[str, list[Lane]] = {}

    def start(self) -> None:
        """Starts the guest if none runs. SandboxUnavailable where this machine can't confine."""
        with self._lock:
            self._ensure_guest()

    def run(self, job: Job) -> Generator[CaseReport | RunEnd, None, None]:
        """See `grader.sandbox.base`."""
        waiting = self._lanes.setdefault(warm_for(job), [])
        lane = self._lane(waiting)
        whole = False
        try:
            yield from lane.run(job)
            whole = True
        except GeneratorExit:
            whole = True
            raise
        finally:
            if whole:
                waiting.append(lane)
            else:
                lane.close()

    def close(self) -> None:
        """Ends the guest and all its children; removes its folder."""
        with self._lock:
            for lane in [lane for lanes in self._lanes.values() for lane in lanes]:
                lane.close()
            self._lanes.clear()
            self._end_guest()

    # ------------------------------------------------------------ the guest

    def _lane(self, waiting: list[Lane]) -> Lane:
        with contextlib.suppress(IndexError):
            return waiting.pop()
        with self._lock:
            self._ensure_guest()
            return Lane(self._connect())

    def _connect(self) -> socket.socket:
        assert self._folder is not None
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            connection.connect(str(self._folder / "guest.sock"))
        except OSError as error:
            connection.close()
            raise SandboxFailed(f"the guest takes no connection: {error}") from error
        return connection

    def _ensure_guest(self) -> None:
        if self._guest is not None and self._guest.poll() is None:
            return
        if self._confined and (lacks := confine.missing()):
            raise SandboxUnavailable(
                f"no sandbox: this machine lacks {'; '.join(lacks)}. `grader doctor` tells more; "
                "`--sandbox none` runs submissions unconfined, with all your rights"
            )
        self._end_guest()
        self._start_guest()

    def _start_guest(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="grader-"))
        self._folder.chmod(0o711)
        (self._folder / "children").mkdir()
        (self._folder / "children").chmod(0o711)
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
            listening.bind(str(self._folder / "guest.sock"))
            listening.listen(64)
            self._guest = subprocess.Popen(
                self._command(listening.fileno()),
                pass_fds=[listening.fileno()],
                env=_environment(),
                cwd="/",
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                start_new_session=True,
            )

    def _command(self, listening: int) -> list[str]:
        return [
            sys.executable,
            "-I",
            "-B",
            "-X",
            "utf8",
            "-m",
            "grader.sandbox.guest",
            f"--listen={listening}",
            "--lifeline=0",
            f"--folder={self._folder}/children",
            f"--spares={self._spares}",
            f"--confinement={'full' if self._confined else 'none'}",
        ]

    def _end_guest(self) -> None:
        guest, folder = self._guest, self._folder
        self._guest = self._folder = None
        if guest is not None:
            guest.terminate()
            assert guest.stdin is not None
            guest.stdin.close()
            try:
                guest.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                os.killpg(guest.pid, signal.SIGKILL)
                guest.wait()
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


def _environment() -> dict[str, str]:
    """The guest's whole environment: nothing of ours."""
    return {
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "TORCHDYNAMO_DISABLE": "1",
        "PYTORCH_NVML_BASED_CUDA_CHECK": "1",
    }


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that `grader doctor` looked for. needed: without it no sandbox can run here."""

    what: str
    found: bool
    text: str
    needed: bool = False


def doctor() -> tuple[Finding, ...]:
    """What this machine has for confining submissions, and whether a confined child really starts."""
    lacks = confine.missing()
    findings = [Finding(what="confinement", found=not lacks, needed=True, text="; ".join(lacks) or _mechanisms())]
    if not lacks:
        findings.append(_trial())
    return tuple(findings)


def _mechanisms() -> str:
    own_uid = "an own uid for each child" if os.geteuid() == 0 else "one uid for all children (only root has more)"
    return f"Landlock ABI {landlock.abi()}, seccomp with notices, {own_uid}"


def _trial() -> Finding:
    """Starts a sandbox and runs a submission of one line in it."""
    sandbox = LocalSandbox(spares=1)
    try:
        *_, end = sandbox.run(Job(source="def f(): return 1", name="f", calls=(Call(),)))
        text = f"a confined child ran and is gone, {1000 * end.usage.wall_s:.0f} ms" if isinstance(end, RunEnd) else "?"
        return Finding(what="sandbox", found=True, needed=True, text=text)
    except SandboxError as error:
        return Finding(what="sandbox", found=False, needed=True, text=str(error))
    finally:
        sandbox.close()
