"""The Docker Engine, as far as sandboxes need it: start, look, remove, clean up; its troubles as our errors.

Theory of operation. Every container carries the mark of its sandbox, and the sandbox knows which of its containers it
uses. Whatever else has the mark is to go: if it can't be removed now, because the engine is away or hangs, it is looked
for every few seconds until it is gone, and for a minute longer, since an engine that hung may still do what it was
asked for before. So nothing has to be undone by whoever meets trouble. At the end all that have the mark are removed;
where even that fails, it is done when the next sandbox of this host starts.

No call takes longer than `_TIMEOUT_S`. In a run an engine in trouble is waited for, `_PATIENCE_S` at most.
"""

from __future__ import annotations

import contextlib
import logging
import secrets
import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from docker.errors import NotFound  # type: ignore[import-untyped]

from grader.errors import SandboxFailed
from grader.sandbox.docker import leftovers
from grader.sandbox.docker.api import EngineApi, EngineAway
from grader.sandbox.docker.options import Options, creation
from grader.sandbox.docker.remapping import Remapping, found

Result = TypeVar("Result")
_TIMEOUT_S, _CLOSING_S = 60.0, 10.0
_PATIENCE_S, _PAUSE_S = 60.0, 1.0
_AT_ONCE = 4  # containers that are started side by side, and as many that are removed
_LAST_RUNS_S, _LOOK_EVERY_S = 300.0, 1.0
_TIDY_EVERY_S, _SURE_S = 5.0, 60.0
_PREFIX = "grader-docker-"
_open: set[str] = set()  # marks of this process's sandboxes

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Started:
    """A container, where its guest's socket appears, and the folder to remove with it (None in a shared volume)."""

    id: str
    socket: Path
    folder: Path | None


class Engine:
    """The containers of one sandbox."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._owner, self._mark = leftovers.owner(), secrets.token_hex(8)
        self._lock = threading.Lock()
        self._api = EngineApi(options.image, _TIMEOUT_S)
        self._remapping: Remapping | None = None
        self._used: set[str] = set()
        self._started_any = False
        self._closing = threading.Event()
        self._starts = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="start")
        self._removals = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="remove")
        self._tidying, self._trouble_at = False, 0.0
        _open.add(self._mark)

    @property
    def closing(self) -> bool:
        """Whether no more containers are started."""
        return self._closing.is_set()

    # ------------------------------------------------------------ starting

    def in_background(self, make: Callable[[], Result]) -> Future[Result]:
        """Starts something beside what is under way. SandboxFailed after the end."""
        with self._lock:
            self._refuse_when_closing()
            return self._starts.submit(make)

    def patiently(self, work: Callable[[], Result]) -> Result:
        """Tries again while the engine is in trouble, for some time."""
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            try:
                return work()
            except SandboxFailed as error:
                if time.monotonic() > deadline or self._closing.wait(_PAUSE_S):
                    raise
                log.warning("trying again: %s", error)

    def describe(self) -> str:
        """Its version, and whether it has the image. SandboxFailed if it does not answer, or has no such image."""
        with self._api.to("tell its version") as api:
            version = api.version()["Version"]
            api.inspect_image(self._options.image)
            return f"{version}, has the image {self._options.image}"

    def start(self, gpu: str | None) -> Started:
        """Creates and starts a container; it is removed again if the second fails."""
        self._refuse_when_closing()
        remapping = self._remapped()
        name = f"grader-{secrets.token_hex(6)}"
        place, source, own = self._place(name, remapping)
        started = Started(id=name, socket=place / f"{name}.{'cpu' if gpu is None else 'cuda'}.sock", folder=own)
        labels = {leftovers.KIND: self._mark, leftovers.OWNER: self._owner, leftovers.FOLDER: str(own or "")}
        body = creation(self._options, gpu=gpu, name=name, labels=labels, source=source, peer_uid=remapping.peer_uid)
        self._used.add(name)
        self._started_any = True
        try:
            with self._api.to("start a container") as api:
                api.create_container_from_config(body, name)
                api.start(name)
        except EngineAway:
            self._give_up(started)
            raise
        except BaseException:
            self.remove(started)
            raise
        return started

    def _refuse_when_closing(self) -> None:
        if self.closing:
            raise SandboxFailed("the sandbox is closed")

    def _remapped(self) -> Remapping:
        if self._remapping is None:
            with self._api.to("say how it is set up") as api:
                self._remapping = found(api.info(), self._options.userns)
        return self._remapping

    def _place(self, name: str, remapping: Remapping) -> tuple[Path, str, Path | None]:
        """Where the socket will be seen here, what is mounted for it, and the folder that is only for this one."""
        if self._options.volume:
            return self._options.folder or Path("/run/grader"), self._options.volume, None
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
        folder.chmod(0o770)
        try:
            remapping.own(folder)
        except OSError as error:
            folder.rmdir()
            raise SandboxFailed(
                f"the engine remaps users, and only root may make a folder for them ({error.strerror}): "
                "GRADER_DOCKER_USERNS=host leaves its remapping"
            ) from error
        return folder, str(folder), folder

    def look(self, started: Started) -> None:
        """SandboxFailed, with its last words, if it does not run."""
        with self._api.to("look at a container") as api:
            state = api.inspect_container(started.id)["State"]
            if state["Status"] not in {"created", "running"}:
                words = api.logs(started.id, tail=5).decode(errors="replace").strip().replace("\n", "; ")
                words = words or state.get("Error") or f"exit status {state['ExitCode']}"
                raise SandboxFailed(f"the sandbox's container ended at once: {words}")

    # ------------------------------------------------------------ removing

    def remove(self, started: Started) -> None:
        """Ends and removes it. If that fails it is tried again later."""
        if self.closing:  # all go at once
            _remove_folder(started)
            return
        try:
            self._remove(started)
            self._used.discard(started.id)
        except SandboxFailed as error:
            log.warning("a container is removed later: %s", error)
            self._give_up(started)

    def remove_soon(self, started: Started) -> None:
        """The same, beside what is under way."""
        self._in_time(lambda: self.remove(started))

    def remove_when_it_ends(self, started: Started) -> None:
        """Its last runs may end first."""

        def wait_and_remove() -> None:
            deadline = time.monotonic() + _LAST_RUNS_S
            with contextlib.suppress(SandboxFailed):
                while time.monotonic() < deadline and self._runs(started.id):
                    if self._closing.wait(_LOOK_EVERY_S):
                        return
            self.remove(started)

        self._in_time(wait_and_remove)

    def _in_time(self, work: Callable[[], None]) -> None:
        with self._lock:
            if not self.closing:
                self._removals.submit(work)

    def _remove(self, started: Started) -> None:
        with self._api.to("remove a container") as api, contextlib.suppress(NotFound):
            api.remove_container(started.id, force=True, v=True)
        _remove_folder(started)

    def _give_up(self, started: Started) -> None:
        """It may be there, now or later: it is looked for until that is sure."""
        self._used.discard(started.id)
        _remove_folder(started)
        with self._lock:
            self._trouble_at = time.monotonic()
            if not self._tidying and not self.closing:
                self._tidying = True
                self._removals.submit(self._tidy)

    def _tidy(self) -> None:
        while not self._closing.wait(_TIDY_EVERY_S):
            began = time.monotonic()
            with contextlib.suppress(SandboxFailed):
                if self.clean_up() and self._is_sure(began):
                    return

    def _is_sure(self, now: float) -> bool:
        with self._lock:
            self._tidying = now - self._trouble_at < _SURE_S
            return not self._tidying

    def clean_up(self) -> bool:
        """Removes what nobody uses: of dead workers, of closed sandboxes, of ours what was given up. Whether all went.

        EngineAway if the engine does not answer.
        """
        with self._api.to("list containers") as api:
            found = api.containers(all=True, filters={"label": leftovers.KIND})
        left = [one for one in found if self._is_left(one)]
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            return all(list(pool.map(self._is_removed, left)))

    def _is_left(self, one: dict[str, Any]) -> bool:
        owner, mark = one["Labels"].get(leftovers.OWNER, ""), one["Labels"][leftovers.KIND]
        if mark == self._mark:
            return not {name.removeprefix("/") for name in one["Names"]} & self._used
        return mark not in _open if owner == self._owner else leftovers.is_dead(owner, self._runs)

    def _is_removed(self, one: dict[str, Any]) -> bool:
        folder = one["Labels"].get(leftovers.FOLDER) or None
        own = Path(folder) if folder and Path(folder).name.startswith(_PREFIX) else None
        if not self.closing:
            log.warning("removing a container that was left: %s", one["Id"][:12])
        try:
            self._remove(Started(id=one["Id"], socket=Path(), folder=own))
        except SandboxFailed as error:
            log.warning("it stays for now: %s", error)
            return False
        return True

    def _runs(self, container: str) -> bool:
        with self._api.to("look at a container") as api:
            try:
                return bool(api.inspect_container(container)["State"]["Running"])
            except NotFound:
                return False

    def close(self) -> None:
        """Removes all containers of this sandbox, when what is under way in the background has ended."""
        with self._lock:
            self._closing.set()
        for pool in (self._starts, self._removals):
            pool.shutdown(wait=True)
        self._api.forget()
        self._api.timeout_s = _CLOSING_S
        self._used.clear()
        if self._started_any:
            self._remove_all()
        _open.discard(self._mark)
        self._api.forget()

    def _remove_all(self) -> None:
        try:
            self.clean_up()
        except SandboxFailed as error:
            log.warning("containers may be left for the next start of a sandbox: %s", error)


def _remove_folder(started: Started) -> None:
    if started.folder is not None:
        shutil.rmtree(started.folder, ignore_errors=True)
