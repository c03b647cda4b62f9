"""What a child gives up, in order, before it sees a submission.

Theory of operation. The lane forks a child while both have exactly one thread. The child then loses, in this order:
descriptors but its pipes, its session and terminal, its folder, resource limits, its uid (where the lane is root),
privileges for good, its view of the file system (Landlock), its system calls (seccomp). Last it tries a file, a
write, a socket, a program and a signal; if any works, it dies instead of waiting for work.

Non-goals: memory, time and counting processes (the lane does that from outside); hiding that files exist.
"""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import signal
import socket
import sys
import sysconfig
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from grader.sandbox.guest.walls import landlock, seccomp

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS, _PR_SET_CHILD_SUBREAPER = 1, 4, 38, 36
_READABLE = (
    "/usr/lib",
    "/usr/lib64",
    "/lib",
    "/lib64",
    "/usr/local/lib",
    "/usr/share/zoneinfo",
    "/dev/random",
    "/dev/urandom",
)
MAX_OPEN_FILES = 256
MAX_FILE_BYTES = 64 << 20

_libc = ctypes.CDLL(None, use_errno=True)


class NotConfined(Exception):
    """Something that must fail did not."""


@dataclass(frozen=True, kw_only=True)
class Confinement:
    """What is decided once for all children: folders to read, the two seccomp programs, whether children get a uid.

    gpu_calls, gpu_rules: what those with a GPU may call and reach besides.
    """

    readable: tuple[str, ...]
    notices: bytes
    filters: bytes | None
    separate_uid: bool
    gpu_calls: tuple[str, ...] = ()
    gpu_rules: Callable[[int], dict[str, int]] | None = None


def python_folders() -> tuple[str, ...]:
    """Where Python, torch and everything installed beside it lie."""
    paths = sysconfig.get_paths()
    found = [paths[key] for key in ("stdlib", "platstdlib", "purelib", "platlib")]
    found += [f"{sys.base_prefix}/lib", *(entry for entry in sys.path if entry.endswith("-packages"))]
    existing = {str(Path(path).resolve()) for path in found if Path(path).is_dir()}
    return tuple(sorted(p for p in existing if not any(p != q and Path(p).is_relative_to(q) for q in existing)))


def prepare(
    *, gpu_calls: tuple[str, ...] = (), gpu_rules: Callable[[int], dict[str, int]] | None = None
) -> Confinement:
    """What can be built once, before any child."""
    system = tuple(path for path in _READABLE if Path(path).exists())
    scoped = landlock.abi() >= landlock.SIGNAL_SCOPE_ABI
    return Confinement(
        readable=python_folders() + system,
        notices=seccomp.notices(),
        filters=seccomp.filters(None, gpu_calls=gpu_calls) if scoped else None,
        separate_uid=os.geteuid() == 0,
        gpu_calls=gpu_calls,
        gpu_rules=gpu_rules,
    )


def missing() -> list[str]:
    """What this kernel or machine lacks for confinement; empty if nothing."""
    lacks = []
    if os.uname().machine not in seccomp.MACHINES:
        lacks.append(f"seccomp rules for {os.uname().machine} (known: {', '.join(seccomp.MACHINES)})")
    version = landlock.abi()
    if version < landlock.MINIMUM_ABI:
        found = f"has ABI {version}" if version else "has none, or it is switched off"
        lacks.append(f"Landlock ABI {landlock.MINIMUM_ABI} (Linux 6.2 and newer; this kernel {found})")
    actions = Path("/proc/sys/kernel/seccomp/actions_avail")
    if not actions.exists() or "user_notif" not in actions.read_text():
        lacks.append("seccomp with user notification (Linux 5.0 and newer)")
    if not Path(f"/proc/self/task/{os.getpid()}/children").exists():
        lacks.append("lists of a process's children in /proc (CONFIG_PROC_CHILDREN)")
    return lacks


def undumpable() -> None:
    """Memory and /proc entries of this process are nobody's business but root's."""
    _prctl(_PR_SET_DUMPABLE, 0)


def adopt_orphans() -> None:
    """Processes whose parent died become children of this one, however often they forked."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def die_with(parent: int) -> None:
    """This process is killed when its parent dies."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def thread_count() -> int:
    """Threads of this process, as the kernel counts them."""
    return len(list(Path("/proc/self/task").iterdir()))


def confine(confinement: Confinement, *, folder: str, uid: int, handshake: socket.socket) -> None:
    """Gives up everything; the descriptor that hears of notices goes to the lane through `handshake`."""
    if thread_count() != 1:
        raise NotConfined(f"{thread_count()} threads are running; Landlock would bind only one")
    parent = os.getppid()
    _limit_resources()
    if confinement.separate_uid:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    _prctl(_PR_SET_DUMPABLE, int(bool(confinement.gpu_calls)))  # CUDA writes its threads' names below /proc/self
    die_with(parent)
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    landlock.restrict(_rules(confinement, folder))
    listener = seccomp.load(confinement.notices, listener=True)
    socket.send_fds(handshake, [b"listener"], [listener])
    os.close(listener)
    seccomp.load(confinement.filters or seccomp.filters(os.getpid(), gpu_calls=confinement.gpu_calls))


def _rules(confinement: Confinement, folder: str) -> dict[str, int]:
    rules = dict.fromkeys(confinement.readable, landlock.READ)
    rules |= {"/dev/null": landlock.READ_WRITE_FILE, folder: landlock.OWN}
    return rules | confinement.gpu_rules(os.getpid()) if confinement.gpu_rules else rules


def _limit_resources() -> None:
    limits = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: MAX_OPEN_FILES,
        resource.RLIMIT_FSIZE: MAX_FILE_BYTES,
        resource.RLIMIT_MSGQUEUE: 0,
        resource.RLIMIT_MEMLOCK: 0,
        resource.RLIMIT_RTPRIO: 0,
        resource.RLIMIT_NICE: 0,
    }
    for kind, value in limits.items():
        hard = resource.getrlimit(kind)[1]
        lower = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (lower, lower))


def self_test(parent: int) -> None:
    """Tries what must fail; NotConfined if anything works."""
    attempts: dict[str, Callable[[], object]] = {
        "read /etc/passwd": lambda: os.open("/etc/passwd", os.O_RDONLY),
        "list /": lambda: list(Path("/").iterdir()),
        "read /proc": lambda: os.open(f"/proc/{parent}/status", os.O_RDONLY),
        "write to /tmp": lambda: os.open(f"/tmp/.grader-self-test-{os.getpid()}", os.O_CREAT | os.O_WRONLY, 0o600),
        "open a socket": lambda: socket.socket(socket.AF_UNIX),
        "signal the parent": lambda: os.kill(parent, 0),
        "start a program": lambda: os.execv("/bin/true", ["true"]),
    }
    for what, attempt in attempts.items():
        try:
            attempt()
        except (PermissionError, FileNotFoundError):
            continue
        except OSError as error:
            if error.errno == errno.EROFS:
                continue
            raise
        raise NotConfined(f"a confined child could {what}")


def _prctl(option: int, value: int) -> None:
    if _libc.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl: {os.strerror(ctypes.get_errno())}")
