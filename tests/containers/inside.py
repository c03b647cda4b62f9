"""Runs in a sandbox container, with the rights of its first process: tries what must fail and prints what it saw."""

import ctypes
import json
import os
import resource
import shutil
import socket
from collections.abc import Callable
from pathlib import Path

import grader

libc = ctypes.CDLL(None)


def tried(action: Callable[[], object]) -> str:
    """What became of a process that did it."""
    pid = os.fork()
    if pid == 0:
        try:
            os._exit(1 if action() == -1 else 0)
        except OSError:
            os._exit(1)
    status = os.waitpid(pid, 0)[1]
    return "killed" if os.WIFSIGNALED(status) else "refused" if status else "worked"


def guest() -> str:
    """The zygote's pid: the first child of the first process."""
    return Path("/proc/1/task/1/children").read_text().split()[0]


first = dict(line.split(":\t", 1) for line in Path("/proc/1/status").read_text().splitlines() if ":\t" in line)
work = os.statvfs("/scratch")
seen = {
    "capabilities": first["CapEff"],
    "no_new_privileges": first["NoNewPrivs"],
    "seccomp": first["Seccomp"],
    "first": Path("/proc/1/comm").read_text().strip(),
    "interfaces": [path.name for path in Path("/sys/class/net").iterdir()],
    "write": tried(lambda: os.open("/srv/x", os.O_CREAT | os.O_WRONLY)),
    "af_alg": tried(lambda: socket.socket(38, 5)),
    "inet": tried(socket.socket),
    "unshare": tried(lambda: libc.unshare(0x10000000)),
    "mount": tried(lambda: libc.mount(b"a", b"/scratch", b"tmpfs", 0, None)),
    "keyctl": tried(lambda: libc.syscall(250, 0, 0, 0, 0)),
    "io_uring": tried(lambda: libc.syscall(425, 1, 0)),
    "guest_memory": tried(lambda: os.open(f"/proc/{guest()}/mem", os.O_RDONLY)),
    "work_bytes": work.f_blocks * work.f_frsize,
    "descriptors": resource.getrlimit(resource.RLIMIT_NOFILE)[1],
    "there": [path for path in ("/dev/shm", "/var/run/docker.sock", "/srv/grader", "/src") if Path(path).exists()],
    "tools": [tool for tool in ("gcc", "cc", "make", "pip") if shutil.which(tool)],
    "modules": sorted(path.name for path in Path(grader.__file__).parent.rglob("*.py") if "guest" not in path.parts),
}
print(json.dumps(seen))
