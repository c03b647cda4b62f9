"""The service as compose starts it: up, a verdict, an author's commands, more of everything, down, nothing left."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker
import httpx
import pytest
from docker.errors import ImageNotFound

from tests.containers.engines import REPOSITORY

_READY_S = 120


@dataclass(frozen=True, kw_only=True)
class Compose:
    """A project under a name of its own."""

    command: list[str]
    environment: dict[str, str]
    name: str
    address: str

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """One command of compose."""
        return subprocess.run(
            [*self.command, "-p", self.name, *arguments],
            cwd=REPOSITORY,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def grade(self, source: str, problem: str = "situ_glu") -> dict[str, Any]:
        """A submission's finished record."""
        answer = httpx.post(
            f"{self.address}/api/v1/submissions",
            json={"problem": problem, "source": source},
            headers={"Prefer": "wait=60"},
            timeout=90,
            trust_env=False,
        )
        record: dict[str, Any] = answer.json()
        return record

    def wait_until_ready(self) -> None:
        """Until a submission would be graded."""
        deadline = time.monotonic() + _READY_S
        while time.monotonic() < deadline:
            try:
                if httpx.get(f"{self.address}/readyz", timeout=5, trust_env=False).status_code == 200:
                    return
            except httpx.HTTPError:
                pass
            time.sleep(0.5)
        pytest.fail(self.run("logs", "--tail", "30").stdout)


@pytest.fixture(scope="module")
def compose(engine: docker.DockerClient) -> Iterator[Compose]:
    """The service, up; taken down with its volumes afterwards, after which nothing may be left."""
    for image in ("grader-service", "grader-sandbox"):
        try:
            engine.images.get(image)
        except ImageNotFound:
            pytest.skip(f"no image {image}: `make images` builds it")
    name, port = f"gradertest{secrets.token_hex(4)}", free_port()
    environment = {**os.environ, "GRADER_PORT": str(port)}
    project = Compose(command=which(), environment=environment, name=name, address=f"http://127.0.0.1:{port}")
    try:
        started = project.run("up", "-d")
        assert started.returncode == 0, started.stderr
        project.wait_until_ready()
        yield project
    finally:
        project.run("down", "-v", "-t", "20")
    assert engine.containers.list(all=True, filters={"name": name}) == []
    assert [volume for volume in engine.volumes.list() if volume.name.startswith(name)] == []
    assert [network for network in engine.networks.list() if network.name.startswith(name)] == []


def which() -> list[str]:
    """Compose, of whichever generation."""
    if subprocess.run(["docker", "compose", "version"], capture_output=True, check=False).returncode == 0:
        return ["docker", "compose"]
    if shutil.which("docker-compose"):
        return ["docker-compose"]
    pytest.skip("neither `docker compose` nor docker-compose is here")


def free_port() -> int:
    """A port of this machine at which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def example(folder: str, name: str, problem: str = "situ_glu") -> str:
    """The source of an example submission of the problem."""
    path: Path = REPOSITORY / "problems" / problem / "submissions" / folder / name
    return path.read_text(encoding="utf-8")


def test_the_page(compose: Compose) -> None:
    """The image holds the built bundle."""
    page = httpx.get(compose.address, timeout=10, trust_env=False)
    assert 'src="./assets/index-' in page.text


def test_verdicts(compose: Compose) -> None:
    """A right and a hostile submission get their verdicts."""
    right = example("accepted", "textbook.py")
    hostile = "import ctypes\nctypes.CDLL(None).unshare(0x10000000)\n"

    assert compose.grade(right)["verdict"] == "accepted"
    assert compose.grade(hostile + right)["verdict"] == "security_violation"
    assert compose.grade(right + "\n")["verdict"] == "accepted"


def test_an_authors_commands(compose: Compose) -> None:
    """Cases are made anew from the worker's container, checked in the sandbox's, and active at once for everybody."""
    right = example("accepted", "textbook.py", "soft_cap")
    before = compose.grade(right, "soft_cap")["cases_version"]
    made = compose.run("run", "--rm", "-T", "worker", "grader", "cases", "regenerate", "soft_cap")
    listed = compose.run("run", "--rm", "-T", "worker", "grader", "cases", "list", "soft_cap", "--json")
    active = [record["version"] for record in map(json.loads, listed.stdout.splitlines()) if record["active"]]

    assert made.returncode == 0, made.stderr
    assert active != [before]
    assert compose.grade(right + "\n# again\n", "soft_cap")["cases_version"] == active[0]


def test_an_edit_is_seen_at_once(compose: Compose) -> None:
    """The problem's folder is that of the person, not a copy."""
    seen = compose.run("exec", "-T", "api", "cat", "/srv/grader/problems/situ_glu/statement.md").stdout

    assert seen == (REPOSITORY / "problems" / "situ_glu" / "statement.md").read_text(encoding="utf-8")


def test_more_of_everything(compose: Compose, engine: docker.DockerClient) -> None:
    """Three workers and three sandboxes, each with a socket of its own."""
    scaled = compose.run("up", "-d", "--scale", "worker=3", "--scale", "sandbox=3", "--no-recreate")
    assert scaled.returncode == 0, scaled.stderr

    deadline = time.monotonic() + _READY_S
    while compose.run("exec", "-T", "worker", "ls", "/run/grader").stdout.count(".cpu.sock") != 3:
        assert time.monotonic() < deadline
        time.sleep(0.5)
    assert len(engine.containers.list(filters={"name": compose.name})) == 8
    assert compose.grade(example("accepted", "textbook.py") + "\n# more\n")["verdict"] == "accepted"
