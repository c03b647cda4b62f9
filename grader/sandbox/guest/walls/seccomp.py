"""Which system calls a confined child may make, as two seccomp programs.

Theory of operation. The kernel runs both programs on each call and takes the stricter answer. The first, `notices`,
asks the lane (our keeper outside the child) about calls that make a process or a thread, so that it can count them,
and about calls that no solution needs, so that it can end the run and name them. The second one, `filters`, is the
allow-list: what stands in no list below answers ENOSYS, as on an older kernel, so that libraries fall back.

Non-goals: paths (Landlock guards them), memory and time (the lane does).
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import platform
import signal
import socket
import struct
from collections.abc import Iterable
from dataclasses import dataclass

from grader.sandbox.guest.walls.syscalls import numbers

MACHINES = {"x86_64": (0xC000003E, 1), "aarch64": (0xC00000B7, 2)}
NEW_NAMESPACE = 0x7E020080  # every CLONE_NEW* flag of clone(2)


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


ALLOWED = _words("""
read write readv writev pread64 pwrite64 preadv pwritev preadv2 pwritev2 open openat creat close close_range stat fstat
lstat newfstatat statx statfs fstatfs access faccessat faccessat2 readlink readlinkat getdents getdents64 lseek dup dup2
dup3 pipe pipe2 ftruncate truncate fsync fdatasync mkdir mkdirat rmdir unlink unlinkat rename renameat
renameat2 link linkat symlink symlinkat umask getcwd chdir fchdir mmap munmap mprotect mremap madvise msync mincore brk
membarrier futex futex_waitv set_robust_list get_robust_list rseq set_tid_address clone fork vfork exit exit_group wait4
waitid getpid getppid gettid getpgid getpgrp getsid setsid setpgid getuid geteuid getgid getegid getresuid getresgid
getgroups capget getrusage getrlimit setrlimit times sysinfo uname getrandom clock_gettime clock_getres clock_nanosleep
nanosleep gettimeofday time alarm getitimer setitimer pause poll ppoll select pselect6 epoll_create epoll_create1
epoll_ctl epoll_wait epoll_pwait epoll_pwait2 eventfd eventfd2 rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending
rt_sigsuspend rt_sigtimedwait sigaltstack restart_syscall sched_yield sched_getaffinity sched_getparam
sched_getscheduler sched_get_priority_max sched_get_priority_min getpriority arch_prctl copy_file_range sendfile getcpu
readahead fadvise64
""")

# No solution needs these: asking for one ends the run.
VIOLATIONS = _words("""
ptrace process_vm_readv process_vm_writev process_madvise unshare setns mount umount2 pivot_root chroot open_tree
move_mount fsopen fsconfig fsmount fspick mount_setattr bpf perf_event_open io_uring_setup io_uring_enter
io_uring_register add_key request_key keyctl userfaultfd kexec_load kexec_file_load init_module finit_module
delete_module reboot swapon swapoff acct settimeofday clock_settime adjtimex clock_adjtime iopl ioperm modify_ldt kcmp
pidfd_getfd open_by_handle_at lookup_dcookie quotactl quotactl_fd vhangup sethostname setdomainname fanotify_init
""")

# Honest code may try these by the way (a library looks for a network, a file's mode is copied): "not permitted".
REFUSED = _words("""
socket socketpair connect bind listen accept accept4 sendto recvfrom sendmsg recvmsg sendmmsg recvmmsg shutdown
getsockname getpeername setsockopt getsockopt execve execveat shmget shmat shmctl shmdt semget semop semctl semtimedop
msgget msgsnd msgrcv msgctl mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr memfd_create
memfd_secret chmod fchmod fchmodat chown fchown lchown fchownat utime utimes utimensat futimesat setxattr lsetxattr
fsetxattr removexattr lremovexattr fremovexattr mknod mknodat flock inotify_init inotify_init1 inotify_add_watch
setpriority sched_setscheduler sched_setparam sched_setattr ioprio_set setuid setgid setreuid setregid setresuid
setresgid setgroups setfsuid setfsgid capset personality syslog seccomp pidfd_open pidfd_send_signal timer_create mlock
mlock2 mlockall splice tee vmsplice landlock_create_ruleset landlock_add_rule landlock_restrict_self name_to_handle_at
""")

SPAWNING = ("clone", "fork", "vfork")
_THREAD_NAMES_AND_QUERIES = (2, 3, 15, 16, 21, 38, 39, 0x53564D41)  # prctl(2): PR_GET_PDEATHSIG .. PR_SET_VMA
_TERMINAL_QUERIES = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)  # ioctl(2): TCGETS .. FIOCLEX
_LISTENING_SOCKETS = tuple(socket.SOCK_SEQPACKET | flags for flags in (0, 0o4000, 0o2000000, 0o2004000))
_LOCKS_AND_SIGNALS = (6, 7, 8, 10, 15, 37, 38, 1024, 1026)  # fcntl(2): file locks, leases, F_SETOWN, F_SETSIG

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERRNO, _NOTIFY, _KILL = 0x7FFF0000, 0x00050000, 0x7FC00000, 0x80000000
_NR, _ARCH = 0, 4
_X32 = 0x40000000

_MAP_SHARED, _MAP_ANONYMOUS = 0x01, 0x20

Code = list[tuple[int, int, int, int]]


@dataclass(frozen=True, kw_only=True)
class ArgumentRule:
    """A call whose argument number `argument` decides: one of `values` is allowed (or, with `deny`, refused)."""

    calls: tuple[str, ...]
    argument: int
    values: tuple[int, ...]
    deny: bool = False
    error: int = errno.EPERM


_IOCTL_RULE = ArgumentRule(calls=("ioctl",), argument=1, values=_TERMINAL_QUERIES, error=errno.ENOTTY)
_GPU_RULES = (
    ArgumentRule(calls=("socket",), argument=0, values=(socket.AF_UNIX,)),
    ArgumentRule(calls=("socket",), argument=1, values=_LISTENING_SOCKETS),
)


def argument_rules(own_pid: int | None, *, gpu: bool = False) -> tuple[ArgumentRule, ...]:
    """The calls that depend on an argument.

    own_pid: where the kernel can't scope signals, they go only to oneself. gpu: the driver has ioctls of all numbers,
    so that only Landlock keeps them to its devices; and it listens on a unix socket.
    """
    no_sigsys = tuple(
        ArgumentRule(calls=(call,), argument=position, values=(signal.SIGSYS,), deny=True)
        for call, position in (
            ("kill", 1),
            ("tkill", 1),
            ("tgkill", 2),
            ("rt_sigqueueinfo", 1),
            ("rt_tgsigqueueinfo", 2),
        )
    )
    to_itself = ArgumentRule(
        calls=("kill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo"), argument=0, values=(own_pid or 0,)
    )
    return (
        *no_sigsys,
        *((to_itself, ArgumentRule(calls=("tkill",), argument=0, values=())) if own_pid else ()),
        ArgumentRule(calls=("prctl",), argument=0, values=_THREAD_NAMES_AND_QUERIES),
        *(_GPU_RULES if gpu else (_IOCTL_RULE,)),
        ArgumentRule(calls=("fcntl",), argument=1, values=_LOCKS_AND_SIGNALS, deny=True),
        ArgumentRule(calls=("prlimit64", "sched_setaffinity"), argument=0, values=(0,)),
        # beyond a file's size it takes space that no limit counts
        ArgumentRule(calls=("fallocate",), argument=1, values=(0,), error=errno.EOPNOTSUPP),
    )


def machine() -> tuple[int, dict[str, int]]:
    """The audit architecture and the system call numbers of this machine; KeyError where we know none."""
    arch, column = MACHINES[platform.machine()]
    return arch, numbers(column)


def notices() -> bytes:
    """The first program: spawning and violating calls are told to the lane, all else passes."""
    arch, table = machine()
    code: Code = [(_LOAD, 0, 0, _ARCH), (_EQUAL, 1, 0, arch), (_RETURN, 0, 0, _ALLOW), (_LOAD, 0, 0, _NR)]
    code += _answers(table, (*SPAWNING, *VIOLATIONS), _NOTIFY)
    return _pack([*code, (_RETURN, 0, 0, _ALLOW)])


def filters(own_pid: int | None, *, gpu_calls: Iterable[str] = ()) -> bytes:
    """The second program: the allow-list. Foreign ABIs (32-bit, x32) kill the process.

    gpu_calls: what a child with a GPU may call besides, ioctl and shared memory included.
    """
    gpu = bool(gpu_calls)
    arch, table = machine()
    code: Code = [(_LOAD, 0, 0, _ARCH), (_EQUAL, 1, 0, arch), (_RETURN, 0, 0, _KILL), (_LOAD, 0, 0, _NR)]
    code += [(_AT_LEAST, 0, 1, _X32), (_RETURN, 0, 0, _KILL)]
    conditional: set[str] = set()
    for rule in argument_rules(own_pid, gpu=gpu):
        conditional |= set(rule.calls)
        code += _rule(table, rule)
    code += [] if gpu else _no_hidden_memory(table)
    extra = (*gpu_calls, "ioctl") if gpu else ()
    code += _answers(table, (*ALLOWED, *VIOLATIONS, *sorted(conditional), *extra), _ALLOW)
    code += _answers(table, REFUSED, _ERRNO | errno.EPERM)
    return _pack([*code, (_RETURN, 0, 0, _ERRNO | errno.ENOSYS)])


def _answers(table: dict[str, int], calls: Iterable[str], action: int) -> Code:
    known = (table[call] for call in calls if call in table)
    return [step for number in known for step in ((_EQUAL, 0, 1, number), (_RETURN, 0, 0, action))]


def _rule(table: dict[str, int], rule: ArgumentRule) -> Code:
    """Refuses a call by the low half of one argument; falls through, with the number loaded again, if it passes."""
    refuse = (_RETURN, 0, 0, _ERRNO | rule.error)
    count = len(rule.values)
    if rule.deny:
        tests: Code = [(_EQUAL, count - i - 1, 0 if i < count - 1 else 1, v) for i, v in enumerate(rule.values)]
    else:
        tests = [(_EQUAL, count - i, 0, v) for i, v in enumerate(rule.values)]
    body: Code = [(_LOAD, 0, 0, 16 + 8 * rule.argument), *tests, refuse, (_LOAD, 0, 0, _NR)]
    known = [table[call] for call in rule.calls if call in table]
    return [step for number in known for step in ((_EQUAL, 0, len(body), number), *body)]


def _no_hidden_memory(table: dict[str, int]) -> Code:
    """Refuses shared memory without a file: it stays when its pages leave a process, where no limit counts it."""
    tests: Code = [(_ANY_BIT, 0, 2, _MAP_SHARED), (_ANY_BIT, 0, 1, _MAP_ANONYMOUS)]
    body: Code = [(_LOAD, 0, 0, 16 + 8 * 3), *tests, (_RETURN, 0, 0, _ERRNO | errno.EPERM), (_LOAD, 0, 0, _NR)]
    return [(_EQUAL, 0, len(body), table["mmap"]), *body]


def _pack(code: Code) -> bytes:
    return b"".join(struct.pack("<HBBI", *step) for step in code)


# ---------------------------------------------------------------- loading, and hearing of notices

_libc = ctypes.CDLL(None, use_errno=True)
_SET_FILTER, _ALL_THREADS, _LISTENER = 1, 1, 8
_SECCOMP = {"x86_64": 317, "aarch64": 277}
_RECEIVE, _SEND = 0xC0502100, 0xC0182101
_CONTINUE = 1
_NOTICE = struct.Struct("<QIIiIQ6Q")  # struct seccomp_notif: id, pid, flags, nr, arch, ip, args


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_char_p))


@dataclass(frozen=True, kw_only=True)
class Notice:
    """A call that the child asks for; it waits until it is answered. caller: the thread, by its number."""

    id: int
    caller: int
    call: str
    new_namespace: bool = False
    ends_with_sigsys: bool = False

    @property
    def is_violation(self) -> bool:
        return self.new_namespace or self.call not in SPAWNING

    @property
    def told(self) -> str:
        """The call, for a sentence."""
        return "clone with new namespaces" if self.new_namespace else self.call


def load(program: bytes, *, listener: bool = False) -> int:
    """Loads a program for all threads; with `listener` for the calling one, and returns where to hear its notices."""
    flags = _LISTENER if listener else _ALL_THREADS
    holder = _Program(len(program) // 8, program)
    result: int = _libc.syscall(_SECCOMP[platform.machine()], _SET_FILTER, flags, ctypes.byref(holder))
    if result < 0 or (result > 0 and not listener):
        raise OSError(ctypes.get_errno(), f"seccomp: {os.strerror(ctypes.get_errno())}")
    return result


def receive(listener: int, names: dict[int, str]) -> Notice | None:
    """The next notice, or None if its caller is gone."""
    buffer = bytearray(_NOTICE.size)
    try:
        fcntl.ioctl(listener, _RECEIVE, buffer)
    except OSError:
        return None
    id_, caller, _flags, number, _arch, _ip, *arguments = _NOTICE.unpack(buffer)
    call = names.get(number, str(number))
    if call != "clone":
        return Notice(id=id_, caller=caller, call=call)
    flags = arguments[0]  # the low byte is the signal that tells the parent of the child's end
    sigsys = flags & 0xFF == signal.SIGSYS
    return Notice(id=id_, caller=caller, call=call, new_namespace=bool(flags & NEW_NAMESPACE), ends_with_sigsys=sigsys)


def answer(listener: int, notice: Notice, error: int = 0) -> None:
    """Lets the call go on, or makes it fail with `error`."""
    reply = struct.pack("<QqiI", notice.id, 0, -error, 0 if error else _CONTINUE)
    try:
        fcntl.ioctl(listener, _SEND, reply)
    except OSError as failure:
        if failure.errno != errno.ENOENT:
            raise
