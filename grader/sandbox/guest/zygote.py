"""The guest's main process: imports torch once, and forks a lane for each supervisor that connects.

It never runs a submission, never touches CUDA (a parent that has poisons every fork), never starts a thread, and holds
nothing worth reading. `python -m grader.sandbox.guest --help` says how it is started.
"""

from __future__ import annotations

import argparse
import os
import resource
import select
import shutil
import signal
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import torch

from grader.sandbox.guest import fresh, huge_pages, rehearsal, runner, scratch, service
from grader.sandbox.guest.lane import Lane
from grader.sandbox.guest.spare import Settings
from grader.sandbox.guest.walls import cgroup, confine, folders, gpu, mounts, proc

_UNCONFINED = "none"
_WIND_UP_S = 8.0


def main() -> None:
    """Serves on the listening socket given as a descriptor until it is told to stop."""
    options, environment = _options(), set(os.environ)
    _follow_links()
    confine.undumpable()
    confine.adopt_orphans()
    os.umask(0o077)
    _heal_descriptor_limit()
    alive = options.folder / "alive" if options.socket else None
    if options.socket:
        options.folder = service.children_folder(options.folder)
    if options.scratch:
        scratch.sweep(options.scratch)
    settings = _settings(options)
    cgroup.sweep()
    _prepare_torch(on_gpu=options.device != "cpu")
    fresh.forget(environment)
    huge_pages.gather()
    endings = [_told_to_end(), *([] if options.lifeline is None else [options.lifeline])]
    if options.socket:
        listening, path = service.listen(options.socket, options.device)
    else:
        listening, path = socket.socket(fileno=options.listen), None
    retirement = service.Retirement(submissions=options.submissions if path else None, alive=alive)
    door = _Door(listening, path, endings, retirement)
    door.peers |= set(options.peer_uid or ())
    try:
        door.keep(settings)
    finally:
        _wind_up(door.lanes, settings)
        if options.scratch:
            shutil.rmtree(options.scratch, ignore_errors=True)


def _follow_links() -> None:
    """Imports look where things really lie: a link to Python may be out of a child's sight."""
    sys.path[:] = dict.fromkeys(str(Path(entry).resolve()) for entry in sys.path)
    for module in list(sys.modules.values()):
        folders_of_package = getattr(module, "__path__", None)
        if isinstance(folders_of_package, list):
            folders_of_package[:] = [str(Path(folder).resolve()) for folder in folders_of_package]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="grader.sandbox.guest", description=__doc__)
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--listen", type=int, help="descriptor of a listening SOCK_SEQPACKET socket")
    where.add_argument("--socket", type=Path, help="as a service: the folder in which a socket is made")
    parser.add_argument("--submissions", type=int, default=1000, help="as a service: ends itself after so many runs")
    parser.add_argument("--peer-uid", type=int, action="append", help="as a service: who may connect (default: anyone)")
    parser.add_argument("--lifeline", type=int, help="descriptor of a pipe; when its other end closes, all ends")
    parser.add_argument("--folder", type=Path, required=True, help="where work folders are made")
    parser.add_argument("--scratch", type=Path, help="a folder to remove in the end, with all that is in it")
    parser.add_argument("--spares", type=int, default=2, help="children kept waiting for each connection")
    parser.add_argument("--device", default="cpu", help="cpu or cuda:0")
    parser.add_argument("--confinement", choices=("full", _UNCONFINED), default="full")
    return parser.parse_args()


def _settings(options: argparse.Namespace) -> Settings:
    confined = options.confinement != _UNCONFINED
    mounted = confined and mounts.separate()
    if mounted:
        mounts.make_reachable((*confine.python_folders(), str(options.folder)))
    return Settings(
        folder=options.folder.resolve(),
        confinement=_confinement(on_gpu=options.device != "cpu") if confined else None,
        mounted=mounted,
        spares=options.spares,
        device=options.device,
        warm_up=_warm_up(options.device),
    )


def _confinement(*, on_gpu: bool) -> confine.Confinement:
    return confine.prepare(gpu_calls=gpu.EXTRA_CALLS, gpu_rules=gpu.rules) if on_gpu else confine.prepare()


def _warm_up(device: str) -> Callable[[str], None]:
    """What a child does before it waits: on a GPU it also finds out whether that computes."""

    def on_gpu(mode: str) -> None:
        gpu.check(device)
        rehearsal.rehearse(mode, device=device)

    return rehearsal.rehearse if device == "cpu" else on_gpu


def _heal_descriptor_limit() -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 1 << 16), hard))


def _prepare_torch(*, on_gpu: bool) -> None:
    """What every child would otherwise do again: first calls, imports that torch puts off, an eager `torch.compile`."""
    torch.set_num_threads(1)
    torch.compile = runner.eager_compile
    torch.nn.Module.compile = runner.eager_module_compile  # type: ignore[method-assign, assignment]
    gpu.full_precision()
    for mode in ("real",) if on_gpu else ("real", "fake", "meta"):  # fake tensors look for a GPU where one could be
        rehearsal.rehearse(mode, rows=2)
    if not gpu.untouched():
        raise SystemExit("torch touched the GPU in the zygote; children could not use it")
    if confine.thread_count() != 1:
        raise SystemExit("torch started threads in the zygote; children could not be confined")


def _told_to_end() -> int:
    """A descriptor that can be read once SIGTERM has come. No exception: it could come anywhere, and get lost there."""
    told, telling = os.pipe()
    os.set_blocking(telling, False)
    signal.set_wakeup_fd(telling)
    signal.signal(signal.SIGTERM, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return told


class _Door:
    """Takes connections, and forks a lane for each, until it is told to stop or has done enough."""

    def __init__(
        self, listening: socket.socket, path: Path | None, endings: list[int], retirement: service.Retirement
    ) -> None:
        self._listening, self._path, self._endings = listening, path, endings
        self._reports, self._retirement = service.Reports(), retirement
        self.peers: set[int] = set()
        self.lanes: set[int] = set()

    def keep(self, settings: Settings) -> None:
        """Serves; a service that makes room waits for its lanes."""
        watched = [self._listening.fileno(), self._reports.news[0], *self._endings]
        while not self._retirement.is_due():
            ready = select.select(watched, [], [], 1)[0]
            if not set(self._endings).isdisjoint(ready):
                return
            if self._reports.news[0] in ready:
                self._retirement.hear(os.read(self._reports.news[0], 1 << 12))
            if self._listening.fileno() in ready:
                self._admit(settings)
            self._retirement.beat()
            _bury(self.lanes, settings)
        self._make_room(settings)

    def _admit(self, settings: Settings) -> None:
        with self._listening.accept()[0] as connection:
            if not self.peers or service.peer_uid(connection) in self.peers:
                self.lanes.add(_fork_lane(connection, self._listening, settings, self._reports))

    def _make_room(self, settings: Settings) -> None:
        if self._path is not None:
            self._path.unlink(missing_ok=True)
        self._listening.close()
        os.close(self._reports.drain[1])
        while self.lanes and not select.select(self._endings, [], [], 0.01)[0]:
            self._retirement.beat()
            _bury(self.lanes, settings)


def _fork_lane(
    connection: socket.socket, listening: socket.socket, settings: Settings, reports: service.Reports
) -> int:
    zygote = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    try:
        listening.close()
        reports.for_lane()
        connection.setblocking(True)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        confine.die_with(zygote)
        confine.adopt_orphans()
        Lane(connection, settings, reports).serve()
    finally:
        os._exit(0)


def _wind_up(lanes: set[int], settings: Settings) -> None:
    """Kills the lanes, then all that comes to us from them, until nobody and nothing is left."""
    lanes.clear()
    deadline = time.monotonic() + _WIND_UP_S
    while proc.children(os.getpid()) and time.monotonic() < deadline:
        _bury(lanes, settings)
        time.sleep(0.002)
    _sweep(lanes, settings)


def _bury(lanes: set[int], settings: Settings) -> None:
    """Forgets lanes that ended; whatever a dead lane left behind came to us, and is killed and removed."""
    with suppress(ChildProcessError):
        while pid := os.waitpid(-1, os.WNOHANG)[0]:
            lanes.discard(pid)
            cgroup.sweep()
    strangers = [pid for pid in proc.children(os.getpid()) if pid not in lanes]
    for pid in strangers:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    if not strangers:
        _sweep(lanes, settings)


def _sweep(lanes: set[int], settings: Settings) -> None:
    """Removes the work folders of lanes that are gone; one that can't be removed now is tried again."""
    for folder in settings.folder.iterdir():
        if int(folder.name.partition("-")[0]) not in lanes:
            with suppress(OSError):
                if folder.is_mount():
                    mounts.unmount(str(folder))
                folders.remove_abandoned(folder)
