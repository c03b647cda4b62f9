"""Starts and stops the service's real processes for tests."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import httpx

ROOT = Path(__file__).parents[2]


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until(is_so: Callable[[], bool], what: str, within_s: float = 60.0) -> None:
    """Waits for something; fails, saying what, when it takes too long."""
    until = time.monotonic() + within_s
    while not is_so():
        assert time.monotonic() < until, f"not within {within_s:.0f} s: {what}"
        time.sleep(0.05)


@dataclass
class Running:
    """The API and workers of one database, as processes of their own."""

    url: str
    data_dir: Path
    extra: dict[str, str] = field(default_factory=dict)
    port: int = field(default_factory=free_port)
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def address(self) -> str:
        """Where the API listens."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def environ(self) -> dict[str, str]:
        """What the processes are told."""
        own = {
            "GRADER_DATABASE_URL": self.url,
            "GRADER_DATA_DIR": str(self.data_dir),
            "GRADER_PORT": str(self.port),
            "PYTHONPATH": str(ROOT),
            "OMP_NUM_THREADS": "1",
        }
        return {**os.environ, **own, **self.extra}

    def start(self, name: str, module: str) -> subprocess.Popen[bytes]:
        """Starts a process; its words go to <data_dir>/<name>.log."""
        with (self.data_dir / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                [sys.executable, "-m", module],
                cwd=ROOT,
                env=self.environ,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        return self.processes[name]

    def start_api(self, name: str = "api") -> None:
        """Starts an API process and waits until it answers."""
        self.start(name, "app.api.main")
        wait_until(lambda: self.answers("/healthz"), "the API answers")

    def start_worker(self, name: str = "worker") -> subprocess.Popen[bytes]:
        """Starts a worker; `wait_ready` waits for one."""
        return self.start(name, "app.worker.process")

    def restart_worker(self, before: Callable[[], object] = lambda: None) -> None:
        """Ends the worker, does something while there is none, and starts another."""
        self.processes["worker"].terminate()
        self.processes.pop("worker").wait(60)
        before()
        self.start_worker()

    def wait_ready(self) -> None:
        """Until a live worker has graded its canaries."""
        wait_until(lambda: self.answers("/readyz"), "the service is ready", 120)

    def answers(self, path: str) -> bool:
        """Whether the API answers 200 there."""
        try:
            return httpx.get(self.address + path, timeout=5).status_code == 200
        except httpx.HTTPError:
            return False

    def log(self, name: str) -> str:
        """What a process said."""
        return (self.data_dir / f"{name}.log").read_text(errors="replace")

    def stop(self) -> None:
        """Ends all processes."""
        for process in self.processes.values():
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in self.processes.values():
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
