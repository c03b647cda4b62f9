"""The rule set of children with a GPU, on a machine that has none: what it opens, and that it opens nothing else."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from grader.sandbox.guest import rehearsal
from grader.sandbox.guest.walls import confine, gpu

pytestmark = pytest.mark.skipif(bool(confine.missing()), reason=f"no confinement here: {confine.missing()}")
UID = 0x40000001


@pytest.fixture
def folder() -> Iterator[Path]:
    """A work folder that everybody can reach."""
    with tempfile.TemporaryDirectory() as made:
        Path(made).chmod(0o777)
        yield Path(made)


def confined(confinement: confine.Confinement, folder: Path) -> dict[str, str]:
    """What a confined process could do, by name: "worked" or the error."""
    confinement = replace(confinement, readable=())  # Python may lie where the process's own uid can't look
    reading, writing = os.pipe()
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    pid = os.fork()
    if pid == 0:
        try:
            uid = UID if os.geteuid() == 0 else os.geteuid()
            os.chdir(folder)
            confine.confine(confinement, folder=str(folder), uid=uid, handshake=theirs)
            os.write(writing, json.dumps({name: tried(action) for name, action in ATTEMPTS.items()}).encode())
        except BaseException as error:
            os.write(writing, json.dumps({"failed": repr(error)}).encode())
        finally:
            os._exit(0)
    os.close(writing)
    theirs.close()
    _, listeners, _, _ = socket.recv_fds(ours, 100, 1)
    with os.fdopen(reading, "rb") as stream:
        told: dict[str, Any] = json.loads(stream.read())
    os.waitpid(pid, 0)
    for descriptor in listeners:
        os.close(descriptor)
    ours.close()
    return told


def tried(action: Callable[[], object]) -> str:
    """What became of it."""
    try:
        action()
    except OSError as error:
        return type(error).__name__
    return "worked"


def listening(kind: int, name: str) -> socket.socket:
    """A unix socket that listens under this name."""
    made = socket.socket(socket.AF_UNIX, kind)
    made.bind(name)
    made.listen()
    return made


ATTEMPTS: dict[str, Callable[[], object]] = {
    "own name": lambda: os.write(os.open(f"/proc/self/task/{os.getpid()}/comm", os.O_RDWR), b"cuda"),
    "memory file": lambda: os.memfd_create("cuda"),
    "driver's ioctl": lambda: fcntl.ioctl(os.open("/dev/zero", os.O_RDWR), 0xC0384600, bytes(56)),
    "machine": lambda: Path("/proc/cpuinfo").read_text(),
    "parent": lambda: Path(f"/proc/{os.getppid()}/status").read_text(),
    "first": lambda: Path("/proc/1/status").read_text(),
    "users": lambda: Path("/etc/passwd").read_text(),
    "other devices": lambda: os.open("/dev/full", os.O_RDONLY),
    "driver's socket": lambda: listening(socket.SOCK_SEQPACKET, "\0cuda-uvmfd-test"),
    "stream": lambda: socket.socket(socket.AF_UNIX, socket.SOCK_STREAM),
    "datagrams": lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM),
    "network": lambda: socket.socket(socket.AF_INET),
    "pair": lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET),
    "socket with a name": lambda: listening(socket.SOCK_SEQPACKET, "named"),
    "connect": lambda: socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).connect("\0cuda-uvmfd-parent"),
    "accept": lambda: listening(socket.SOCK_SEQPACKET, "\0cuda-uvmfd-accept").accept(),
    "program": lambda: os.execv("/bin/true", ["true"]),
    "signal": lambda: os.kill(os.getppid(), 0),
}
SOCKETS = {"stream", "datagrams", "network", "pair", "socket with a name", "connect", "accept"}
REFUSED = {"parent", "first", "users", "other devices", "program", "signal"} | SOCKETS


def test_rules_with_a_gpu(folder: Path) -> None:
    """Own thread names, memory files, ioctls, the machine's description and a socket that nobody reaches are open."""
    told = confined(confine.prepare(gpu_calls=gpu.EXTRA_CALLS, gpu_rules=gpu.rules), folder)

    assert {name for name, what in told.items() if what == "PermissionError"} == REFUSED
    assert (told["own name"], told["memory file"], told["machine"], told["driver's socket"]) == ("worked",) * 4
    assert told["driver's ioctl"] == "OSError"  # that device knows no such ioctl: the call got to it


def test_rules_without_a_gpu(folder: Path) -> None:
    """None of that is open to a child on the CPU."""
    told = confined(confine.prepare(), folder)

    assert "worked" not in told.values()
    assert told["memory file"] == told["own name"] == told["machine"] == told["driver's socket"] == "PermissionError"


def test_a_parent_that_has_no_gpu_is_untouched() -> None:
    """Nothing in the zygote's preparation starts CUDA."""
    gpu.full_precision()

    assert gpu.untouched()


def test_check_finds_a_device_that_computes() -> None:
    """The check that comes before each submission on a GPU passes on a device that is well."""
    gpu.check("cpu")


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_a_rehearsal_that_fails_is_loud() -> None:
    """A child whose warm-up calls fail is no child: submissions' calls would fail alike, and be blamed on them."""
    with pytest.raises(RuntimeError, match="rehearsal of real calls failed"):
        rehearsal.rehearse("real", device="cuda:0")
