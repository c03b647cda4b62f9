"""The sandboxes that the suite is run against: a new implementation is one more line."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from grader.sandbox.base import Sandbox
from grader.sandbox.docker.sandbox import DockerSandbox
from grader.sandbox.local import Guest, LocalSandbox
from tests.containers.engines import served

NOBODY = 65534
REPOSITORY = str(Path(__file__).parents[2])


class NobodysGuest(Guest):
    """A guest that has no more rights than any person of this machine."""

    def _command(self, *arguments: int) -> list[str]:
        assert self.folder is not None
        os.chown(self.folder / "children", NOBODY, NOBODY)
        return [*as_nobody(), *super()._command(*arguments)]


class OrdinaryUser(LocalSandbox):
    """The local sandbox with such a guest."""

    guest_type = NobodysGuest


def as_nobody() -> list[str]:
    """What a command line starts with to run without root's rights."""
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]


def local() -> LocalSandbox:
    """The guest with this process's own rights."""
    return LocalSandbox()


def ordinary_user() -> LocalSandbox:
    """The guest as nobody, where this process is root."""
    if os.geteuid() != 0:
        pytest.skip("not root: the local sandbox already is an ordinary user's")
    if not shutil.which("setpriv"):
        pytest.skip("no setpriv to become an ordinary user with")
    if subprocess.run([*as_nobody(), sys.executable, "-c", ""], capture_output=True, check=False).returncode:
        pytest.skip("an ordinary user may not even start this Python")
    return OrdinaryUser()


SANDBOXES: dict[str, Callable[[], LocalSandbox]] = {
    "local": local,
    "ordinary_user": ordinary_user,
}
# `single` is the container of `shared`, but each run has to wait for one to start: it is only for what is marked so
# (values, a limit, a violation, what is refused, what must be dead or gone afterwards, tensors without values)
WAYS = (*SANDBOXES, "socket", "shared", "single")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """The same expectations for every way of starting a guest; the mark `ways` names those that will do."""
    if "box" in metafunc.fixturenames:
        mark = metafunc.definition.get_closest_marker("ways")
        metafunc.parametrize("box", mark.args if mark else WAYS, indirect=True, scope="session")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leaves out what would run in `single` and is not marked so."""
    items[:] = [item for item in items if way_of(item) != "single" or item.get_closest_marker("single")]


def way_of(item: pytest.Item) -> str | None:
    """The sandbox that a test is run with."""
    return item.callspec.params.get("box") if isinstance(item, pytest.Function) and hasattr(item, "callspec") else None


@pytest.fixture(scope="session")
def box(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """Each sandbox in turn, started."""
    if request.param == "socket":
        engine, options = request.getfixturevalue("engine"), request.getfixturevalue("options")
        with served(engine, options, tmp_path_factory.mktemp("socket") / "run") as service:
            yield service.sandbox
        return
    if request.param in SANDBOXES:
        sandbox: LocalSandbox | DockerSandbox = SANDBOXES[request.param]()
    else:
        sandbox = DockerSandbox(replace(request.getfixturevalue("options"), policy=request.param))
    sandbox.start()
    yield sandbox
    sandbox.close()
