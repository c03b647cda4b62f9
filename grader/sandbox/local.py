"""Starts the guest as a child of this process, on this machine."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

from grader.errors import SandboxUnavailable
from grader.records import Job
from grader.sandbox.guest import scratch
from grader.sandbox.guest.walls import confine
from grader.sandbox.host.pool import Gpus, Lanes, Reports, connect_to_own, needs_gpu, short

_STOP_S = 10.0


class Guest:
    """One guest process and its folder; started anew when it is found dead."""

    def __init__(self, *, confined: bool, spares: int, gpu: str | None = None) -> None:
        self._confined, self._spares, self._gpu = confined, spares, gpu
        self._lock = threading.Lock()
        self.process: subprocess.Popen[bytes] | None = None
        self.starts = 0
        self.folder: Path | None = None
        self._claim: int | None = None

    def start(self) -> None:
        """Starts it unless it runs."""
        with self._lock:
            self._ensure_guest()

    def connect(self) -> socket.socket:
        """A new connection, for a lane."""
        with self._lock:
            self._ensure_guest()
            return connect_to_own(f"{self.folder}/guest.sock")

    def close(self) -> None:
        """Ends it, and removes its folder."""
        with self._lock:
            self._end_guest()

    def _runs(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def _ensure_guest(self) -> None:
        if self._runs():
            return
        if self._confined and (lacks := confine.missing()):
            raise SandboxUnavailable(
                f"no sandbox: this machine lacks {'; '.join(lacks)}. `grader doctor` tells more; "
                "`--sandbox none` runs submissions unconfined, with all your rights"
            )
        self._end_guest()
        self._start_guest()

    def _start_guest(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix=scratch.PREFIX))
        self._claim = scratch.claim(self.folder)
        self.folder.chmod(0o711)
        (self.folder / "children").mkdir()
        (self.folder / "children").chmod(0o711)
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
            with short(f"{self.folder}/guest.sock") as place:
                listening.bind(place)
            listening.listen(64)
            self.starts += 1
            self.process = subprocess.Popen(
                self._command(listening.fileno()),
                pass_fds=[listening.fileno(), self._claim],
                env=_environment(self._gpu),
                cwd="/",
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                start_new_session=True,
            )

    def _command(self, listening: int) -> list[str]:
        return [
            sys.executable,
            "-P",
            "-s",
            "-B",
            "-X",
            "utf8",
            "-m",
            "grader.sandbox.guest",
            f"--listen={listening}",
            "--lifeline=0",
            f"--folder={self.folder}/children",
            f"--scratch={self.folder}",
            f"--spares={self._spares}",
            f"--device={'cpu' if self._gpu is None else 'cuda:0'}",
            f"--confinement={'full' if self._confined else 'none'}",
        ]

    def _end_guest(self) -> None:
        guest, folder, claim = self.process, self.folder, self._claim
        self.process = self.folder = self._claim = None
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
        if claim is not None:
            os.close(claim)


class LocalSandbox:
    """Guests as processes of this machine. confined False: no sandbox at all, for those who insist.

    spares: confined children kept waiting for each run that may be under way at once; each costs about 4 MB.
    gpus: what CUDA_VISIBLE_DEVICES calls the GPUs that may be used, each by a guest of its own.
    """

    guest_type: type[Guest] = Guest

    def __init__(self, *, confined: bool = True, spares: int = 2, gpus: Sequence[str] = ()) -> None:
        self._guest = self.guest_type(confined=confined, spares=spares)
        self._gpu_guests = [self.guest_type(confined=confined, spares=1, gpu=gpu) for gpu in gpus]
        self._lanes = Lanes(self._guest.connect)
        self._gpu_lanes = [Lanes(guest.connect) for guest in self._gpu_guests]
        self._gpus = Gpus([lanes.run for lanes in self._gpu_lanes])
        self.devices: tuple[str, ...] = ("cpu", "cuda") if gpus else ("cpu",)

    def start(self) -> None:
        """Starts the guests if none run. SandboxUnavailable where this machine can't confine."""
        for guest in (self._guest, *self._gpu_guests):
            guest.start()

    @property
    def restarts(self) -> int:
        """How often a guest had to be started again."""
        return sum(max(0, guest.starts - 1) for guest in (self._guest, *self._gpu_guests))

    def run(self, job: Job) -> Reports:
        """See `grader.sandbox.base`."""
        return (self._gpus if needs_gpu(job) else self._lanes).run(job)

    def close(self) -> None:
        """Ends the guests and all their children; removes their folders."""
        for lanes in (self._lanes, *self._gpu_lanes):
            lanes.close()
        for guest in (self._guest, *self._gpu_guests):
            guest.close()


def _environment(gpu: str | None) -> dict[str, str]:
    """The guest's whole environment: nothing of ours, and no GPU but the one that it is given."""
    return {
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "PYTHONHASHSEED": "0",  # see guest/fresh.py
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "TORCHDYNAMO_DISABLE": "1",
        "PYTORCH_NVML_BASED_CUDA_CHECK": "1",
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",  # as nvidia-smi counts
        "CUDA_VISIBLE_DEVICES": gpu or "",
    }
