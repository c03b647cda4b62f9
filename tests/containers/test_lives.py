"""When containers end, are replaced, are left behind and found, and what happens while the engine is in trouble."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import docker
import pytest

from grader.errors import SandboxUnavailable, UsageError
from grader.records import Call, Job, Outcome
from grader.sandbox import choose
from grader.sandbox.docker import leftovers
from grader.sandbox.docker.options import Options, command, creation
from grader.sandbox.docker.remapping import found
from grader.sandbox.docker.sandbox import DockerSandbox
from grader.sandbox.host.pool import Gpus, connect, short
from grader.sandbox.socket import SocketSandbox
from tests.containers.engines import Ours, Service, wait_until
from tests.sandbox.running import DOUBLE, run

VIOLATES = "import ctypes\ndef f(x): ctypes.CDLL(None).ptrace(0, 0, 0, 0)\n"


def test_service_makes_room_after_enough_submissions(service: Service) -> None:
    """After as many runs as were asked for the container is another one's beginning, and no run fails meanwhile."""
    before = started_at(service)
    outcomes = [run(service.sandbox, DOUBLE).last.outcome for _ in range(50)]

    assert set(outcomes) == {Outcome.RETURNED}
    assert started_at(service) != before


def test_service_ends_itself_after_a_violation(service: Service) -> None:
    """A violation is the end of the container, and the next submission is graded in a fresh one."""
    before = started_at(service)
    seen = run(service.sandbox, VIOLATES)

    assert seen.last.outcome is Outcome.VIOLATION
    wait_until(lambda: started_at(service) != before)
    assert run(service.sandbox, DOUBLE).last.outcome is Outcome.RETURNED


def test_service_comes_back_after_its_zygote_was_killed(service: Service) -> None:
    """The death of the zygote ends the container; its restart is waited for."""
    before = started_at(service)
    service.container.exec_run(["/bin/sh", "-c", "kill -9 $(cat /proc/1/task/1/children)"])

    wait_until(lambda: started_at(service) != before)
    assert run(service.sandbox, DOUBLE).last.outcome is Outcome.RETURNED


def test_service_is_healthy(service: Service) -> None:
    """The image's health check says so, and looks at the zygote's sign of life."""

    def health() -> str:
        service.container.reload()
        return str(service.container.attrs["State"]["Health"]["Status"])

    wait_until(lambda: health() == "healthy")


def started_at(service: Service) -> str:
    """When the container was started last."""
    service.container.reload()
    return str(service.container.attrs["State"]["StartedAt"])


def test_only_the_workers_uid_may_connect(service: Service) -> None:
    """A stranger that reaches the socket gets no lane."""
    (path,) = service.sandbox._folder.glob("*.cpu.sock")
    path.chmod(0o666)
    folder = os.open(path.parent, os.O_PATH)
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            path.parent.chmod(0o777)
            os.chdir(folder)
            os.setresuid(65534, 65534, 65534)
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
                connection.settimeout(20)
                connection.connect(path.name)
                os.write(writing, repr(connection.recv(10)).encode())
        except BaseException as error:
            os.write(writing, repr(error).encode())
        finally:
            os._exit(0)
    os.close(writing)
    os.waitpid(pid, 0)
    os.close(folder)
    with os.fdopen(reading) as told:
        assert told.read() == "b''"


@pytest.mark.parametrize("policy", ["shared", "single"])
def test_containers_are_gone_after_close(
    engine: docker.DockerClient, ours: Ours, options: Options, policy: str
) -> None:
    """Closing removes every container and every folder."""
    sandbox = DockerSandbox(replace(options, policy=policy))
    sandbox.start()
    run(sandbox, DOUBLE)
    during = ours()
    sandbox.close()

    assert during
    assert ours() == []


def test_single_gives_each_run_a_container_of_its_own(engine: docker.DockerClient, options: Options) -> None:
    """Two runs have two containers, whose names the runs themselves can tell."""
    source = "import os\ndef f(x): raise KeyError(os.uname().nodename)\n"
    sandbox = DockerSandbox(replace(options, policy="single"))
    sandbox.start()
    raised = [run(sandbox, source).last.raised for _ in range(3)]
    sandbox.close()

    assert len({one.message for one in raised if one is not None}) == 3


def test_shared_is_replaced_after_a_violation(engine: docker.DockerClient, ours: Ours, options: Options) -> None:
    """The container in which something was stopped takes no more submissions, and goes."""
    sandbox = DockerSandbox(options)
    sandbox.start()
    first = ours()
    run(sandbox, VIOLATES)
    wait_until(lambda: run(sandbox, DOUBLE) and ours() and not set(ours()) & set(first), 60)
    sandbox.close()


def test_containers_of_a_dead_worker_are_removed(engine: docker.DockerClient, ours: Ours, options: Options) -> None:
    """What a killed worker left is found by its labels at the next start; a living worker's is left alone."""
    program = (
        "import time; from grader.sandbox.docker.options import Options;"
        "from grader.sandbox.docker.sandbox import DockerSandbox;"
        f"s = DockerSandbox(Options(image={options.image!r})); s.start(); print('ready', flush=True); time.sleep(600)"
    )
    worker = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    assert worker.stdout is not None
    worker.stdout.readline()
    (left,) = ours()
    folder = Path(engine.containers.get(left).labels[leftovers.FOLDER])

    other = DockerSandbox(options)
    other.start()
    assert left in ours()
    worker.kill()
    worker.wait()
    worker.stdout.close()
    other.close()
    other = DockerSandbox(options)
    other.start()
    other.close()

    assert ours() == []
    assert not folder.exists()


def test_owner_that_started_anew_under_the_same_pid_is_dead() -> None:
    """The label names the process's start too, so another process of that pid is not taken for the owner."""
    host, boot, pid, started, namespace = leftovers.owner().split()

    assert not leftovers.is_dead(leftovers.owner(), lambda _: False)
    assert leftovers.is_dead(f"{host} {boot} {pid} {int(started) - 1} {namespace}", lambda _: True)
    assert leftovers.is_dead(f"{host} another-boot {pid} {started} {namespace}", lambda _: True)
    assert not leftovers.is_dead(f"{host} {boot} {pid} {int(started) - 1} 1", lambda _: False)  # seen from another one
    assert leftovers.is_dead("0123456789ab boot 1 2", lambda _: False)
    assert not leftovers.is_dead("0123456789ab boot 1 2", lambda _: True)
    assert not leftovers.is_dead("another-machine boot 1 2", lambda _: False)


def test_a_dead_owner_that_nobody_waited_for_is_dead() -> None:
    """A process of which only the exit status is left owns nothing any more."""
    program = "from grader.sandbox.docker import leftovers; print(leftovers.owner(), flush=True); input()"
    worker = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert worker.stdout is not None
    owner = worker.stdout.readline()
    lived = not leftovers.is_dead(owner, lambda _: False)
    worker.kill()
    os.waitid(os.P_PID, worker.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and stays as it is
    died = leftovers.is_dead(owner, lambda _: True)
    worker.communicate()

    assert (lived, died) == (True, True)


def test_remapped_engine_is_recognised(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the engine remaps users, a container's root is another one here, and this worker is nobody there."""
    info = {"SecurityOptions": ["name=seccomp", "name=userns"], "DockerRootDir": "/var/lib/docker/100000.100000"}
    monkeypatch.setattr(os, "geteuid", lambda: 1000)

    assert (found(info, None).uid, found(info, None).peer_uid) == (100000, 65534)
    assert (found(info, "host").uid, found(info, "host").peer_uid) == (0, 1000)
    assert found({"SecurityOptions": None, "DockerRootDir": "/var/lib/docker"}, None).peer_uid == 1000


def test_long_paths_to_sockets(tmp_path: Path) -> None:
    """A folder of any length will do: the way to a socket is not bound by the 107 bytes of its address."""
    folder = tmp_path / ("long" * 40)
    folder.mkdir()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
        with short(f"{folder}/guest.sock") as place:
            listening.bind(place)
        listening.listen()
        connect(f"{folder}/guest.sock").close()


def test_missing_image_is_said(engine: docker.DockerClient) -> None:
    """An image that nobody built is named, with what builds it."""
    sandbox = DockerSandbox(Options(image="grader-no-such-image"))
    with pytest.raises(SandboxUnavailable, match="grader-no-such-image here: `make images`"):
        sandbox.start()


def test_container_that_ends_at_once_tells_why(engine: docker.DockerClient, ours: Ours, options: Options) -> None:
    """A container whose guest can't start is removed, and its last words are in the error."""
    sandbox = DockerSandbox(replace(options, submissions=-1, spares="many"))  # type: ignore[arg-type]
    with pytest.raises(SandboxUnavailable, match="invalid int value: 'many'"):
        sandbox.start()

    assert ours() == []


def test_socket_sandbox_without_a_guest_says_so(tmp_path: Path) -> None:
    """Nobody listening is SandboxUnavailable, naming the folder and the service."""
    with pytest.raises(SandboxUnavailable, match="is the `sandbox` service running"):
        SocketSandbox(tmp_path, patience_s=0.2).start()


def test_sockets_of_dead_guests_are_passed_over(service: Service) -> None:
    """A socket file at which nobody listens does no harm."""
    stale = service.sandbox._folder / "gone.cpu.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as dead:
        dead.bind(str(stale))

    assert {run(service.sandbox, DOUBLE).last.outcome for _ in range(4)} == {Outcome.RETURNED}


def test_gpus_are_asked_for_one_a_container(monkeypatch: pytest.MonkeyPatch) -> None:
    """GRADER_GPUS gives a device request each, a guest on cuda:0, and one child kept waiting."""
    monkeypatch.setenv("GRADER_GPUS", "0, MIG-7f")
    options = Options.from_environment(spares=4, gpus=choose.gpus())
    bodies = [creation(options, gpu=gpu, name="n", labels={}, source="/s") for gpu in options.gpus]

    assert [body["HostConfig"]["DeviceRequests"][0]["DeviceIDs"] for body in bodies] == [["0"], ["MIG-7f"]]
    assert {"--device=cuda:0", "--spares=1"} <= set(command(options, "0"))
    assert "DeviceRequests" not in creation(options, gpu=None, name="n", labels={}, source="/s")["HostConfig"]


def test_a_gpu_that_is_not_there_is_refused(engine: docker.DockerClient, ours: Ours, options: Options) -> None:
    """On an engine without GPUs the start fails, and says so; no container is left."""
    if Path("/dev/nvidiactl").exists():
        pytest.skip("this machine has a GPU")
    sandbox = DockerSandbox(replace(options, gpus=("0",)))
    with pytest.raises(SandboxUnavailable, match="could not select device driver"):
        sandbox.start()

    assert ours() == []


def test_cuda_without_gpus_is_refused() -> None:
    """A job for a GPU in a sandbox that has none is SandboxUnavailable, never run elsewhere."""
    asked = Job(source=DOUBLE, name="f", calls=(Call(),), device="cuda")
    with pytest.raises(SandboxUnavailable, match="GRADER_GPUS"):
        list(Gpus([]).run(asked))


def test_unknown_policy_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A policy that there is not is a usage error."""
    monkeypatch.setenv("GRADER_DOCKER_POLICY", "both")
    with pytest.raises(UsageError, match="shared or single"):
        Options.from_environment(spares=1, gpus=())
