"""The sandboxes that the suite is run against: a new implementation is one more line."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from grader.sandbox.base import Sandbox
from grader.sandbox.local import Guest, LocalSandbox

NOBODY = 65534


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


SANDBOXES: dict[str, Callable[[], Sandbox]] = {
    "local": local,
    "ordinary_user": ordinary_user,
}


@pytest.fixture(scope="session", params=SANDBOXES)
def box(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    """Each sandbox in turn, started."""
    sandbox = SANDBOXES[request.param]()
    sandbox.start()
    yield sandbox
    sandbox.close()
