"""The engine is away, hangs or was started anew: said in a sentence or waited for, never anybody's fault, healed."""

from __future__ import annotations

import contextlib
import gc
import os
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import docker
import pytest

from grader.errors import SandboxFailed, SandboxUnavailable
from grader.records import Job, Outcome
from grader.sandbox.docker import containers as engines
from grader.sandbox.docker import sandbox as sandboxes
from grader.sandbox.docker.options import Options
from grader.sandbox.docker.sandbox import DockerSandbox
from tests.containers.doors import Door
from tests.containers.engines import Ours, wait_until
from tests.sandbox.running import DOUBLE, calls, run

pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")  # the SDK's, if nobody answers


@pytest.fixture
def door(engine: docker.DockerClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Door]:
    """The way to the engine for sandboxes of these tests; they look for what is left more often than others."""
    address = os.environ.get("DOCKER_HOST") or "unix:///var/run/docker.sock"
    if not address.startswith("unix://"):
        pytest.skip("the engine is not reached by a unix socket")
    monkeypatch.setattr(engines, "_TIDY_EVERY_S", 0.2)
    monkeypatch.setattr(engines, "_SURE_S", 2.0)
    monkeypatch.setattr(engines, "_PAUSE_S", 0.1)
    made = Door(tmp_path / "door.sock", address.removeprefix("unix://"))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/door.sock")
    yield made
    made.go_on()
    made.away()
    gc.collect()


@pytest.fixture(params=["shared", "single"])
def sandbox(request: pytest.FixtureRequest, door: Door, ours: Ours, options: Options) -> Iterator[DockerSandbox]:
    """One that was started; nothing of it may be left in the end."""
    made = DockerSandbox(replace(options, policy=request.param, pool=2))
    made.start()
    wait_until(made.is_full, 60)
    yield made
    made.close()
    assert ours() == []


def works(sandbox: DockerSandbox) -> bool:
    """Whether a right submission gets its values."""
    return run(sandbox, DOUBLE).last.outcome is Outcome.RETURNED


def kill_all(engine: docker.DockerClient, ours: Ours) -> None:
    """What an engine does to containers when it is started anew."""
    for one in ours():
        engine.containers.get(one).kill()


def test_an_engine_that_is_started_anew_is_waited_for(
    engine: docker.DockerClient, door: Door, ours: Ours, sandbox: DockerSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run that lost its container fails, the next one waits until the engine is back; dead containers go.

    One that died while it waited for a run is passed over, and costs that run no try.
    """
    monkeypatch.setattr(sandboxes, "_TRIES", 1)
    sleeping = sandbox.run(Job(source="import time\ndef f(x): time.sleep(9)\n", name="f", calls=calls()))
    next(sleeping)
    dead = ours()
    door.away()
    kill_all(engine, ours)
    with pytest.raises(SandboxFailed, match="the sandbox"):
        list(sleeping)
    threading.Timer(1.0, door.back).start()

    assert works(sandbox)
    wait_until(lambda: not [one for one in ours() if one in dead])


@pytest.mark.parametrize("sandbox", ["shared"], indirect=True)
def test_an_engine_that_hangs_is_given_up(
    engine: docker.DockerClient, door: Door, ours: Ours, sandbox: DockerSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After its time it is said in a sentence that nobody answered; what the engine does belatedly is undone."""
    kill_all(engine, ours)
    sandbox._engine._api.timeout_s = 1.0
    sandbox._engine._api.forget()
    monkeypatch.setattr(engines, "_PATIENCE_S", 0.0)
    assert sandbox._engine.clean_up()  # connected
    door.hang()
    with pytest.raises(SandboxFailed, match=r"no Docker Engine answered, to start a container: .*timed out"):
        run(sandbox, DOUBLE)
    door.go_on()
    sandbox._engine._api.timeout_s = 60.0
    sandbox._engine._api.forget()

    assert works(sandbox)
    wait_until(lambda: len(ours()) == 1)


@pytest.mark.parametrize("sandbox", ["single"], indirect=True)
def test_a_closed_sandbox_starts_nothing(engine: docker.DockerClient, ours: Ours, sandbox: DockerSandbox) -> None:
    """A run after the end is refused, and so is what was under way; no container comes of it."""
    sleeping = sandbox.run(Job(source="import time\ndef f(x): time.sleep(9)\n", name="f", calls=calls()))
    next(sleeping)
    sandbox.close()
    with pytest.raises(SandboxFailed):
        list(sleeping)
    with pytest.raises(SandboxFailed, match="is closed"):
        run(sandbox, DOUBLE)
    assert ours() == []


def test_an_engine_away_at_the_start_is_said_once(
    door: Door, options: Options, ours: Ours, caplog: pytest.LogCaptureFixture
) -> None:
    """Without an engine the start fails in one sentence; with one again, the same sandbox works."""
    door.away()
    with contextlib.closing(DockerSandbox(replace(options, policy="single", pool=1))) as sandbox:
        with pytest.raises(SandboxUnavailable, match=r"^no Docker Engine answered, to list containers: [^\n]*$"):
            sandbox.start()
        assert caplog.records == []
        door.back()
        sandbox.start()
        assert works(sandbox)
    assert ours() == []
