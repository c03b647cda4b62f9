"""A Docker Engine for these tests: the one that runs, or one that is started for them; else they are skipped."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import docker
import pytest
from docker.errors import DockerException, ImageNotFound

from grader.sandbox.docker import leftovers
from grader.sandbox.docker.options import Options, creation
from grader.sandbox.socket import SocketSandbox

IMAGE = os.environ.get("GRADER_DOCKER_IMAGE") or "grader-sandbox"
REPOSITORY = Path(__file__).resolve().parents[2]
_START_S = 30
Ours = Callable[[], list[str]]


@dataclass(frozen=True, kw_only=True)
class Service:
    """A guest that runs as a service, and the way to it."""

    container: Any
    sandbox: SocketSandbox


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[docker.DockerClient]:
    """A client of a Docker Engine; one that is started here is stopped afterwards. No container of ours may be left."""
    client, daemon = _client(), None
    if client is None:
        daemon = _start(tmp_path_factory.mktemp("engine"))
        client = _wait(daemon)
    try:
        yield client
        assert client.containers.list(all=True, filters={"label": leftovers.KIND}) == []
    finally:
        client.close()
        if daemon is not None:
            daemon.terminate()
            daemon.wait(60)


def _client() -> docker.DockerClient | None:
    try:
        return docker.from_env(timeout=60)
    except DockerException:
        return None


def _start(folder: Path) -> subprocess.Popen[bytes]:
    if shutil.which("dockerd") is None:
        pytest.skip("no Docker Engine answers, and dockerd is not installed")
    if os.geteuid() != 0:
        pytest.skip("no Docker Engine answers, and only root may start one")
    with (folder / "log").open("wb") as log:
        return subprocess.Popen(["dockerd"], stdout=log, stderr=log, start_new_session=True)


def _wait(daemon: subprocess.Popen[bytes]) -> docker.DockerClient:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline and daemon.poll() is None:
        client = _client()
        if client is not None:
            return client
        time.sleep(0.2)
    daemon.terminate()
    pytest.skip(f"no Docker Engine answers, and dockerd did not start within {_START_S} s")


@pytest.fixture(scope="session")
def image(engine: docker.DockerClient) -> str:
    """The sandbox image; `make images` builds it."""
    try:
        engine.images.get(IMAGE)
    except ImageNotFound:
        pytest.skip(f"no image {IMAGE}: `make images` builds it")
    return IMAGE


@pytest.fixture(scope="session")
def options(image: str) -> Options:
    """Containers as small as the tests allow."""
    return Options(image=image, memory_bytes=2 << 30, spares=2, pool=2)


@contextlib.contextmanager
def served(engine: docker.DockerClient, options: Options, folder: Path) -> Iterator[Service]:
    """The sandbox as compose starts it: a container of its own with a restart policy, its socket in a folder."""
    folder.mkdir(mode=0o770)
    name = f"grader-test-{secrets.token_hex(4)}"
    body = creation(options, gpu=None, name=name, labels={leftovers.KIND: "test"}, source=str(folder))
    body["HostConfig"]["RestartPolicy"] = {"Name": "always"}
    engine.api.create_container_from_config(body, name)
    container = engine.containers.get(name)
    try:
        container.start()
        with contextlib.closing(SocketSandbox(folder)) as sandbox:
            sandbox.start()
            yield Service(container=container, sandbox=sandbox)
    finally:
        container.remove(force=True)


@pytest.fixture
def service(engine: docker.DockerClient, options: Options, tmp_path: Path) -> Iterator[Service]:
    """One that makes room soon."""
    with served(engine, replace(options, submissions=40), tmp_path / "run") as one:
        yield one


@pytest.fixture
def ours(engine: docker.DockerClient) -> Ours:
    """Ids of the sandbox containers that came since the test began."""

    def found() -> list[str]:
        return [one.id for one in engine.containers.list(all=True, filters={"label": leftovers.KIND})]

    before = found()
    return lambda: [one for one in found() if one not in before]


def wait_until(true: Callable[[], object], seconds: float = 30.0) -> None:
    """Fails if it does not become true."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.1)
