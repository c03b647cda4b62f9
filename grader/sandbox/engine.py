"""The Docker Engine, as far as sandboxes need it: start, look, remove, clean up; its troubles as our errors."""

from __future__ import annotations

import contextlib
import logging
import secrets
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import docker  # type: ignore[import-untyped]
from docker.errors import APIError, DockerException, ImageNotFound, NotFound  # type: ignore[import-untyped]
from requests.exceptions import RequestException

from grader.errors import SandboxError, SandboxFailed
from grader.sandbox import leftovers
from grader.sandbox.container import Options, creation

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
_TIMEOUT_S = 60
_AT_ONCE = 4  # containers that are started or removed side by side
_LAST_RUNS_S = 300
_PREFIX = "grader-docker-"

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Started:
    """A container, where its guest's socket appears, and the folder to remove with it (None in a shared volume)."""

    id: str
    socket: Path
    folder: Path | None


class Engine:
    """A client that connects when it is first needed, and again after trouble."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._owner = leftovers.owner()
        self._lock = threading.Lock()
        self._client: Any = None
        self._background = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="container")

    def in_background(
        self, work: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Future[Result]:
        """Does something beside what is under way."""
        return self._background.submit(work, *args, **kwargs)

    def describe(self) -> str:
        """Its version, and whether it has the image. SandboxFailed if it does not answer, or has no such image."""
        with self._trouble("tell its version") as api:
            version = api.version()["Version"]
            api.inspect_image(self._options.image)
            return f"{version}, has the image {self._options.image}"

    def start(self, gpu: str | None) -> Started:
        """Creates and starts a container; it is removed again if the second fails."""
        name = f"grader-{secrets.token_hex(6)}"
        place, source, own = self._place(name)
        started = Started(id=name, socket=place / f"{name}.{'cpu' if gpu is None else 'cuda'}.sock", folder=own)
        labels = {leftovers.KIND: "1", leftovers.OWNER: self._owner, leftovers.FOLDER: str(own or "")}
        body = creation(self._options, gpu=gpu, name=name, labels=labels, source=source)
        try:
            with self._trouble("start a container") as api:
                api.create_container_from_config(body, name)
                api.start(name)
        except BaseException:
            self.remove(started)
            raise
        return started

    def _place(self, name: str) -> tuple[Path, str, Path | None]:
        """Where the socket will be seen here, what is mounted for it, and the folder that is only for this one."""
        if self._options.volume:
            return self._options.folder or Path("/run/grader"), self._options.volume, None
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
        folder.chmod(0o770)
        return folder, str(folder), folder

    def look(self, started: Started) -> None:
        """SandboxFailed, with its last words, if it does not run."""
        with self._trouble("look at a container") as api:
            state = api.inspect_container(started.id)["State"]
            if state["Status"] not in {"created", "running"}:
                words = api.logs(started.id, tail=5).decode(errors="replace").strip().replace("\n", "; ")
                raise SandboxFailed(f"the sandbox's container ended at once: {words or state.get('Error') or state}")

    def remove(self, started: Started) -> None:
        """Ends and removes it. An engine that is in trouble is only noted: its labels tell on the container later."""
        try:
            with self._trouble("remove a container") as api, contextlib.suppress(NotFound):
                api.remove_container(started.id, force=True, v=True)
        except SandboxError as error:
            log.warning("a container is left for the next clean-up: %s", error)
        if started.folder is not None:
            shutil.rmtree(started.folder, ignore_errors=True)

    def remove_when_it_ends(self, started: Started) -> None:
        """Its last runs may end first."""

        def wait_and_remove() -> None:
            with contextlib.suppress(SandboxError), self._trouble("wait for a container") as api:
                api.wait(started.id, timeout=_LAST_RUNS_S)
            self.remove(started)

        self.in_background(wait_and_remove)

    def clean_up(self) -> None:
        """Removes containers and folders of workers that are dead. SandboxFailed if the engine does not answer."""
        with self._trouble("list containers") as api:
            found = api.containers(all=True, filters={"label": leftovers.KIND})
            dead = [one for one in found if leftovers.is_dead(one["Labels"].get(leftovers.OWNER, ""), self._runs)]
        for one in dead:
            folder = one["Labels"].get(leftovers.FOLDER) or None
            own = Path(folder) if folder and Path(folder).name.startswith(_PREFIX) else None
            log.warning("removing a container that a dead worker left: %s", one["Id"][:12])
            self.remove(Started(id=one["Id"], socket=Path(), folder=own))

    def _runs(self, container: str) -> bool:
        with self._trouble("look at a container") as api:
            try:
                return bool(api.inspect_container(container)["State"]["Running"])
            except NotFound:
                return False

    def close(self) -> None:
        """Waits for what is under way in the background."""
        self._background.shutdown(wait=True)
        with self._lock:
            if self._client is not None:
                self._client.close()
            self._client = None

    @contextlib.contextmanager
    def _trouble(self, what: str) -> Iterator[Any]:
        """The engine's low-level client; every way in which it can fail is SandboxFailed, in one sentence."""
        try:
            yield self._api()
        except ImageNotFound as error:
            raise SandboxFailed(f"no image {self._options.image} here: `make images` builds it") from error
        except NotFound:
            raise
        except APIError as error:
            raise SandboxFailed(f"the Docker Engine could not {what}: {error.explanation or error}") from error
        except (DockerException, RequestException, OSError) as error:
            self._forget()
            raise SandboxFailed(f"no Docker Engine answered, to {what}: {_reason(error)}") from error

    def _api(self) -> Any:
        with self._lock:
            if self._client is None:
                self._client = docker.from_env(timeout=_TIMEOUT_S).api
            return self._client

    def _forget(self) -> None:
        with self._lock:
            self._client = None


def _reason(error: BaseException) -> str:
    """The innermost words: the SDK wraps a refused connection four times."""
    while error.__context__ is not None or (error.args and isinstance(error.args[0], BaseException)):
        inner = error.args[0] if error.args and isinstance(error.args[0], BaseException) else error.__context__
        assert inner is not None
        error = inner
    return str(error)[:300]
