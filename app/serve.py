"""`grader serve`: database, API and worker, started, supervised and stopped together."""

from __future__ import annotations

import ctypes
import fcntl
import logging
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from types import FrameType
from urllib.parse import urlsplit

from app.db import embedded as postgres
from app.settings import Settings
from grader.errors import GraderError, UsageError

log = logging.getLogger(__name__)

PATIENCE_S = 3.0
TRIES = 5
PR_SET_PDEATHSIG = 1


class Stopped(Exception):
    """Somebody asked the service to stop."""


@dataclass
class Child:
    """A process that is started again when it dies. Its own session: a terminal's Ctrl-C reaches us alone."""

    name: str
    module: str
    environ: dict[str, str] = field(repr=False)
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    quick_deaths: int = 0

    def start(self) -> None:
        """Starts it."""
        self.started_at = time.monotonic()
        self.process = subprocess.Popen(
            [sys.executable, "-m", self.module],
            env=self.environ,
            start_new_session=True,
            preexec_fn=_die_with_parent,  # noqa: PLW1509  (there are no threads here)
        )

    def watch(self) -> None:
        """Starts it again when it died. Raises GraderError when it dies at once again and again."""
        assert self.process is not None
        code = self.process.poll()
        if code is None:
            return
        self.quick_deaths = self.quick_deaths + 1 if time.monotonic() - self.started_at < PATIENCE_S else 0
        if code == 2 or self.quick_deaths >= TRIES:
            raise GraderError(f"the {self.name} can't run (exit code {code}); its own words are above")
        log.warning("the %s ended with %s and is started again", self.name, code)
        self.start()

    def stop(self, wait_s: float) -> None:
        """Asks it to end, and ends it when it does not."""
        if self.process is None:
            return
        self.process.terminate()
        try:
            self.process.wait(wait_s)
        except subprocess.TimeoutExpired:
            log.warning("the %s did not end in %.0f s and is killed", self.name, wait_s)
            self.process.kill()
            self.process.wait()


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def serve(settings: Settings) -> None:
    """Runs the whole service until SIGINT or SIGTERM."""
    began = time.monotonic()
    port = _free_port(settings)
    settings = settings.model_copy(update={"port": port})
    print(f"grader: starting; data in {settings.data_dir}", flush=True)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop)
    try:
        with _alone(settings.data_dir), _started(settings) as children:
            _wait_until_ready(settings, children)
            print(f"grader: ready after {time.monotonic() - began:.1f} s: {settings.address} (/docs)", flush=True)
            _supervise(settings, children)
    except Stopped:
        print("grader: stopped", flush=True)


def _stop(_number: int, _frame: FrameType | None) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # stopping is not to be stopped half-way
    raise Stopped


def _free_port(settings: Settings) -> int:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.host, settings.port))
        except OSError as error:
            raise UsageError(
                f"can't listen on {settings.host}:{settings.port}: {error.strerror}; GRADER_PORT sets another port"
            ) from None
        return int(probe.getsockname()[1])


@contextmanager
def _alone(data_dir: Path) -> Iterator[None]:
    """One `grader serve` for each data directory."""
    data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (data_dir / "serve.lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(f"another `grader serve` uses {data_dir}; GRADER_DATA_DIR sets another folder") from None
        yield


@contextmanager
def _started(settings: Settings) -> Iterator[list[Child]]:
    """Worker, API and database; the first two import their libraries while the database starts, and stop before it."""
    environ = {**os.environ, "GRADER_PORT": str(settings.port)}
    children = [Child("worker", "app.worker.process", environ), Child("API", "app.api.main", environ)]
    try:
        for child in children:
            child.start()
        from app.db import connect as database  # noqa: PLC0415  (while the children import theirs)

        with postgres.own_database(settings) as url:
            try:
                database.migrate(url)
                yield children
            finally:
                _stop_all(children, settings)
    finally:
        _stop_all(children, settings)


def _stop_all(children: list[Child], settings: Settings) -> None:
    """The API first: what it took is in the queue."""
    for child in reversed(children):
        child.stop(settings.shutdown_s + 5.0)


def _wait_until_ready(settings: Settings, children: list[Child]) -> None:
    """Until a submission would be graded; the first start makes the hidden cases, which takes a while."""
    told, began = False, time.monotonic()
    while not _is_ready(settings):
        if not told and time.monotonic() - began > 10.0:
            print("grader: still getting ready (a first start makes the hidden cases)", flush=True)
            told = True
        for child in children:
            child.watch()
        time.sleep(0.1)


def _is_ready(settings: Settings) -> bool:
    with closing(HTTPConnection(urlsplit(settings.address).netloc, timeout=2.0)) as connection:
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except (OSError, HTTPException):
            return False


def _supervise(settings: Settings, children: list[Child]) -> None:
    embedded = None if settings.database_url else postgres.cluster(settings)
    while True:
        time.sleep(0.5)
        if embedded and not embedded.alive():
            _revive(embedded)  # before the children are looked at: they give up where there is no database
        for child in children:
            child.watch()


def _revive(embedded: postgres.Cluster) -> None:
    """Starts a PostgreSQL that ended. Processes that a killed one left may hold its memory for a moment."""
    log.warning("PostgreSQL ended and is started again")
    for _ in range(TRIES):
        try:
            embedded.start()
        except postgres.PostgresError as error:
            log.warning("%s", error)
            time.sleep(1.0)
        else:
            return
    embedded.start()
