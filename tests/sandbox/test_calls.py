"""System calls: those that end a run, and those that answer with an error."""

from __future__ import annotations

import pytest

from grader.records import Outcome
from grader.sandbox.base import Sandbox
from grader.sandbox.guest.walls import seccomp
from grader.sandbox.local import LocalSandbox
from tests.sandbox.running import DOUBLE, PRELUDE, alone, run

NUMBERS = seccomp.machine()[1]
BODY = PRELUDE + "def f(x):\n    "


@pytest.mark.parametrize("call", [alone("ptrace"), *sorted({*seccomp.VIOLATIONS} & {*NUMBERS} - {"ptrace"})])
def test_violation(box: Sandbox, call: str) -> None:
    """A system call that no solution needs ends the run, by name where no container's profile is there before us."""
    seen = run(box, BODY + f"syscall({NUMBERS[call]})\n    return x", 2)

    assert seen.outcomes == [Outcome.RETURNED, Outcome.VIOLATION]
    assert call in seen.last.reason or not isinstance(box, LocalSandbox)


@pytest.mark.parametrize("flag", [0x20000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000])
def test_violation_by_namespace(box: Sandbox, flag: int) -> None:
    """A clone with any flag for a new namespace ends the run; clone3 is unknown, as on an older kernel."""
    assert run(box, BODY + f"syscall({NUMBERS['clone']}, {flag | 17})").last.outcome is Outcome.VIOLATION
    assert run(box, PRELUDE + f"print(syscall({NUMBERS['clone3']}, 0, 88))\n{DOUBLE}").end.stdout == "ENOSYS\n"


@pytest.mark.skipif("x86_64" not in seccomp.platform.machine(), reason="machine code for x86_64")
@pytest.mark.parametrize("code", ["b814000000cd80c3", "b8270000400f05c3"], ids=["int80", "x32"])
@pytest.mark.parametrize("place", ["{}", "threading.Thread(target=lambda: {}).start(); time.sleep(5)"])
def test_foreign_abi(box: Sandbox, code: str, place: str) -> None:
    """A system call by the 32-bit or x32 way ends the run, from any thread."""
    foreign = f"""
page = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=7)
page.write(bytes.fromhex('{code}'))
enter = ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
def f(x):
    {place.format("enter()")}
    return x
"""
    seen = run(box, PRELUDE + foreign)

    assert seen.last.outcome is Outcome.VIOLATION, seen


REFUSALS = r"""
import socket, subprocess, fcntl, resource, _posixshmem, _multiprocessing
told = {}
def attempt(what, action):
    try:
        action()
        told[what] = 'worked'
    except Exception as error:
        told[what] = 'refused'
for family in range(46):
    attempt(f'socket {family}', lambda: socket.socket(family, socket.SOCK_DGRAM))
    attempt(f'stream {family}', lambda: socket.socket(family, socket.SOCK_STREAM))
attempt('socketpair', socket.socketpair)
attempt('exec', lambda: os.execv('/bin/true', ['true']))
attempt('system', lambda: 1 / (os.system('true') == 0))
attempt('popen', lambda: subprocess.run(['/bin/true']))
attempt('spawn', lambda: os.posix_spawn('/bin/true', ['true'], {}))
attempt('own program', lambda: os.execv(sys.executable, ['python', '-c', '']))
for path in ('/etc/passwd', '/proc/self/environ', '/proc/self/mem', '/proc/self/maps', '/proc/1/status', '/sys/kernel',
             '/dev/shm/x', '/proc/self/oom_score_adj', '/dev/tty', '/dev/fuse', '/dev/mem', '/proc/sys/x'):
    attempt(f'read {path}', lambda: os.open(path, os.O_RDONLY))
    attempt(f'write {path}', lambda: os.open(path, os.O_WRONLY | os.O_CREAT))
parent = os.path.dirname(os.getcwd())
for path in ('/', '/tmp', '/proc', '/proc/self/fd', '/dev', '/home', '/root', '/run', '/var/tmp', parent):
    attempt(f'list {path}', lambda: os.listdir(path))
for path in ('/tmp', '/var/tmp', '/dev/shm', '/run/lock', '/root', parent, os.path.dirname(torch.__file__)):
    attempt(f'write to {path}', lambda: open(path + '/planted', 'w'))
    attempt(f'mkdir in {path}', lambda: os.mkdir(path + '/planted'))
    attempt(f'link in {path}', lambda: os.symlink('x', path + '/planted'))
ours = torch.__file__
attempt('chmod', lambda: os.chmod(ours, 0o777))
attempt('utime', lambda: os.utime(ours))
attempt('truncate', lambda: os.truncate(ours, 0))
attempt('unlink', lambda: os.unlink(ours))
attempt('rename', lambda: os.rename(ours, 'taken'))
attempt('hard link', lambda: os.link(ours, 'taken'))
attempt('open to write', lambda: open(ours, 'a'))
attempt('open file without name', lambda: os.open(os.path.dirname(ours), os.O_TMPFILE | os.O_WRONLY))
attempt('flock', lambda: fcntl.flock(os.open(ours, os.O_RDONLY), fcntl.LOCK_EX))
attempt('lockf', lambda: fcntl.lockf(open('own', 'w'), fcntl.LOCK_EX))
attempt('lease', lambda: fcntl.fcntl(os.open(ours, os.O_RDONLY), fcntl.F_SETLEASE, fcntl.F_RDLCK))
attempt('open file lock', lambda: fcntl.fcntl(open('own', 'w'), 37, bytes(32)))
attempt('F_SETOWN', lambda: fcntl.fcntl(1, fcntl.F_SETOWN, os.getppid()))
attempt('F_SETSIG', lambda: fcntl.fcntl(1, fcntl.F_SETSIG, 9))
attempt('F_NOTIFY', lambda: fcntl.fcntl(1, fcntl.F_NOTIFY, 1))
attempt('fifo', lambda: os.mkfifo('fifo'))
attempt('device', lambda: os.mknod('device', 0o60600, os.makedev(8, 0)))
attempt('shm_open', lambda: _posixshmem.shm_open('/x', os.O_CREAT | os.O_RDWR, 0o600))
attempt('semaphore', lambda: _multiprocessing.SemLock(1, 1, 1, '/x', False))
attempt('memfd', lambda: os.memfd_create('x'))
attempt('pidfd', lambda: os.pidfd_open(os.getppid()))
attempt('kill parent', lambda: os.kill(os.getppid(), 0))
attempt('stop parent', lambda: os.kill(os.getppid(), signal.SIGSTOP))
attempt('kill init', lambda: os.kill(1, 0))
attempt('limits of the parent', lambda: resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE))
attempt('affinity of the parent', lambda: os.sched_setaffinity(os.getppid(), {0}))
attempt('priority', lambda: os.setpriority(os.PRIO_PROCESS, 0, -5))
attempt('more files', lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (99999, 99999)))
attempt('more memory', lambda: resource.setrlimit(resource.RLIMIT_DATA, (-1, -1)))
attempt('setuid', lambda: os.setuid(0))
attempt('setgroups', lambda: os.setgroups([0]))
attempt('chown', lambda: os.chown('own', 0, 0))
attempt('dumpable', lambda: 1 / (libc.prctl(4, 1, 0, 0, 0) == 0))
attempt('subreaper', lambda: 1 / (libc.prctl(36, 1, 0, 0, 0) == 0))
attempt('outlive the parent', lambda: 1 / (libc.prctl(1, 0, 0, 0, 0) == 0))
attempt('own filter', lambda: 1 / (libc.prctl(22, 1, 0, 0, 0) == 0))
attempt('user dispatch', lambda: 1 / (libc.prctl(59, 1, 0, 0, 0) == 0))
attempt('tsc', lambda: 1 / (libc.prctl(26, 2, 0, 0, 0) == 0))
for name, number in NUMBERS.items():
    attempt(name, lambda: 1 / (syscall(number) == 'worked'))
print([what for what, how in told.items() if how != 'refused'])
"""


@pytest.mark.single
def test_refused_and_goes_on(box: Sandbox) -> None:
    """Sockets, programs, files, IPC, locks and signals outside answer with an error, and the run goes on."""
    numbers = {name: NUMBERS[name] for name in seccomp.REFUSED if name in NUMBERS}
    seen = run(box, f"{PRELUDE}NUMBERS = {numbers}\n{REFUSALS}\n{DOUBLE}")

    assert seen.last.outcome is Outcome.RETURNED, seen
    assert seen.end.stdout == "[]\n"
