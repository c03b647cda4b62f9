"""What `grader.sandbox.base` promises of every sandbox: outcomes, order of reports, what is refused and stopped."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from grader.records import Call, Job, Limits, Mode, Outcome
from grader.sandbox.base import Sandbox
from grader.sandbox.guest import seccomp
from tests.sandbox.running import DOUBLE, LIMITS, PRELUDE, calls, run, tensor, values

NUMBERS = seccomp.machine()[1]
BODY = PRELUDE + "def f(x):\n    "


# ---------------------------------------------------------------- outcomes


def test_reports_in_order(box: Sandbox) -> None:
    """Loading is call -1, then one report for each call, in order, with the values that the function returned."""
    seen = run(box, DOUBLE, 3)

    assert [report.call for report in seen.reports] == [-1, 0, 1, 2]
    assert set(seen.outcomes) == {Outcome.RETURNED}
    assert [values(report)[0] for report in seen.reports[1:]] == [2.0, 4.0, 6.0]


def test_usage(box: Sandbox) -> None:
    """Time and memory are the run's own."""
    usage = run(box, DOUBLE + "y = bytearray(200 << 20)\nimport time\ntime.sleep(0.1)\n").end.usage

    assert 0.1 < usage.wall_s < LIMITS.wall_s
    assert 0 < usage.cpu_s < LIMITS.cpu_s
    assert 200 << 20 < usage.peak_memory_bytes < 2 << 30


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("raise ValueError('no')", ("ValueError", "builtins", "no")),
        ("sys.exit(0)", ("SystemExit", "builtins", "0")),
        ("raise KeyboardInterrupt", ("KeyboardInterrupt", "builtins", "")),
        ("raise type('Own', (BaseException,), {})('x')", ("Own", "submission", "x")),
        ("return torch.ones(2) @ torch.ones(3)", ("RuntimeError", "builtins", None)),
    ],
)
def test_an_exception_ends_its_call_only(box: Sandbox, body: str, told: tuple[str, str, str | None]) -> None:
    """Whatever is raised is told by type, module and text, with its line, and the next call is made."""
    seen = run(box, BODY + body, 2)

    assert seen.outcomes == [Outcome.RETURNED, Outcome.RAISED, Outcome.RAISED]
    raised = seen.reports[1].raised
    assert raised is not None
    assert (raised.type, raised.module, raised.message if told[2] is not None else None) == told
    assert raised.line == BODY.count("\n") + 1
    assert raised.frames == ((raised.line, "f"),)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("os._exit(0)", "exit status 0"),
        ("os._exit(9)", "exit status 9"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "SIGKILL"),
        ("os.kill(os.getpid(), signal.SIGTERM)", "SIGTERM"),
        ("os.abort()", "SIGABRT"),
        ("ctypes.string_at(8)", "SIGSEGV"),
    ],
)
def test_death(box: Sandbox, body: str, reason: str) -> None:
    """An exit or a deadly signal ends the run, names itself, and is no answer."""
    seen = run(box, BODY + body, 2)

    assert seen.outcomes == [Outcome.RETURNED, Outcome.DIED]
    assert reason in seen.last.reason


def test_sigsys_cant_be_sent(box: Sandbox) -> None:
    """No way to send SIGSYS to oneself works, so that it always means a violation."""
    ways = f"""
    told = []
    for way in (lambda: os.kill(os.getpid(), signal.SIGSYS), lambda: os.kill(0, signal.SIGSYS),
                lambda: signal.raise_signal(signal.SIGSYS), lambda: os.killpg(0, signal.SIGSYS),
                lambda: signal.pthread_kill(threading.get_ident(), signal.SIGSYS)):
        try:
            way()
            told.append('worked')
        except PermissionError:
            told.append('refused')
    print(told, syscall({NUMBERS["timer_create"]}, 0, 0, 0), syscall({NUMBERS["rt_sigqueueinfo"]}, os.getpid(), 31, 0))
    print(syscall({NUMBERS["fcntl"]}, 1, 10, 31))
    return x
"""
    seen = run(box, PRELUDE + "def f(x):" + ways)

    assert seen.last.outcome is Outcome.RETURNED, seen
    assert seen.end.stdout == f"{['refused'] * 5} EPERM EPERM\nEPERM\n"


def test_sigsys_of_a_child_that_ends(box: Sandbox) -> None:
    """A child whose end would be told by SIGSYS can't be made either."""
    seen = run(
        box,
        BODY
        + f"""
    if libc.syscall({NUMBERS["clone"]}, ctypes.c_long(31), 0, 0, 0, 0) == 0:
        os._exit(0)
    time.sleep(0.2)
    return x
""",
    )

    assert "foreign kind" not in seen.last.reason


@pytest.mark.parametrize(
    ("limits", "body", "outcome", "reason"),
    [
        (Limits(wall_s=0.5), "time.sleep(60)", Outcome.TIME_LIMIT, "0.5 s are allowed"),
        (Limits(wall_s=20, cpu_s=0.3), "\n    while True: pass", Outcome.TIME_LIMIT, "0.3 s are allowed"),
        (Limits(wall_s=0.5), "os.kill(os.getpid(), signal.SIGSTOP)", Outcome.TIME_LIMIT, "0.5 s are allowed"),
        (LIMITS, "a = [bytearray(64 << 20) for _ in range(99)]", Outcome.MEMORY_LIMIT, "512 MiB"),
        (LIMITS, "return torch.ones(1 << 40)", Outcome.MEMORY_LIMIT, "512 MiB"),
        (LIMITS, "\n    while True: print('x' * 1000)", Outcome.OUTPUT_LIMIT, "1024 KiB"),
        (LIMITS, "\n    while True: os.write(2, bytes(9999))", Outcome.OUTPUT_LIMIT, "1024 KiB"),
    ],
)
def test_limits(box: Sandbox, limits: Limits, body: str, outcome: Outcome, reason: str) -> None:
    """A limit ends the run and is named with its value."""
    seen = run(box, BODY + body, 2, limits=limits)

    assert seen.outcomes[-1] is outcome, seen
    assert len(seen.reports) == 2
    assert reason in seen.last.reason


@pytest.mark.parametrize(
    ("source", "outcome"),
    [
        ("raise ValueError", Outcome.RAISED),
        ("import sys; sys.exit(0)", Outcome.RAISED),
        ("def f(", Outcome.RAISED),
        ("def g(x): return x", Outcome.RAISED),
        ("f = 3", Outcome.RAISED),
        ("def f(): pass", Outcome.RAISED),
        ("import os; os._exit(0)", Outcome.DIED),
        ("while True: pass", Outcome.TIME_LIMIT),
        ("a = bytearray(4 << 30)", Outcome.RAISED),
        ("while True: print('x' * 999)", Outcome.OUTPUT_LIMIT),
        (f"import ctypes; ctypes.CDLL(None).syscall({NUMBERS['ptrace']}, 0, 0, 0, 0)", Outcome.VIOLATION),
    ],
)
def test_trouble_while_loading(box: Sandbox, source: str, outcome: Outcome) -> None:
    """What goes wrong while importing is reported of call -1, and no call is made."""
    seen = run(box, source, 2, limits=replace(LIMITS, cpu_s=0.5))

    assert [(report.call, report.outcome) for report in seen.reports] == [(-1, outcome)]


@pytest.mark.parametrize(
    "source",
    [
        "x = ('" + "a" * 20_000,
        "if True:\nreturn " + "1 + " * 10_000,
        f"def {'long' * 100}(x): return x",
        "class f(metaclass=type('M', (type,), {'__call__': None})): pass",
        "raise SyntaxError('m', ('f', -3, -4, 'text' * 9999))",
        "raise SyntaxError('m', ('f', 1 << 80, 1 << 80, 7))",
        "raise SyntaxError(['m'] * 9999)",
        "globals()[1] = print",
        "globals()['\\ud800'] = print",
        "raise type('N' * 5000, (Exception,), {'__module__': 'm' * 5000})('\\ud800\\x00' * 5000)",
        "f = type('t' * 5000, (), {})()",
    ],
)
def test_an_odd_source_is_no_violation(box: Sandbox, source: str) -> None:
    """Long lines, long names and odd exceptions are told as what they are: the source raised, nobody forged."""
    seen = run(box, source, 1)

    assert seen.outcomes == [Outcome.RAISED], seen


# ---------------------------------------------------------------- system calls


@pytest.mark.parametrize("call", sorted(call for call in seccomp.VIOLATIONS if call in NUMBERS))
def test_violation(box: Sandbox, call: str) -> None:
    """A system call that no solution needs ends the run, by name."""
    seen = run(box, BODY + f"syscall({NUMBERS[call]})\n    return x", 2)

    assert seen.outcomes == [Outcome.RETURNED, Outcome.VIOLATION]
    assert call in seen.last.reason


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


def test_refused_and_goes_on(box: Sandbox) -> None:
    """Sockets, programs, files, IPC, locks and signals outside answer with an error, and the run goes on."""
    numbers = {name: NUMBERS[name] for name in seccomp.REFUSED if name in NUMBERS}
    seen = run(box, f"{PRELUDE}NUMBERS = {numbers}\n{REFUSALS}\n{DOUBLE}")

    assert seen.last.outcome is Outcome.RETURNED, seen
    assert seen.end.stdout == "[]\n"


# ---------------------------------------------------------------- what is there


def test_late_imports(box: Sandbox) -> None:
    """All of Python, numpy and torch can be imported while the function runs."""
    source = """
def f(x):
    import sqlite3, decimal, torch.fft, numpy.linalg, numpy.random, fractions, statistics, json, xml.dom.minidom
    import torch.nn.utils.parametrize, torch.func, torch.distributions, concurrent.futures, multiprocessing, unittest
    sqlite3.connect(':memory:').execute('select 1')
    return torch.fft.irfft(torch.fft.rfft(x), n=3) * 2
"""
    seen = run(box, source)

    assert seen.last.outcome is Outcome.RETURNED, seen
    assert values(seen.last) == pytest.approx((2, 4, 6))


def test_descriptors_and_environment(box: Sandbox) -> None:
    """A child has descriptors 0 to 4 and an environment that says nothing of this machine or its user."""
    source = f"""{PRELUDE}
def is_open(descriptor):
    try:
        return bool(os.fstat(descriptor))
    except OSError:
        return False
print([descriptor for descriptor in range(256) if is_open(descriptor)])
print(os.read(0, 1))
print(sorted(os.environ))
print(os.environ['HOME'] == os.environ['TMPDIR'] == os.getcwd(), os.listdir())
print([name for name, value in os.environ.items() if 'root' in value or 'GRADER' in name])
print(os.getgroups(), os.getuid() != 0, os.getpid() == os.getsid(0))
{DOUBLE}"""
    lines = run(box, source).end.stdout.splitlines()

    assert lines[0] == "[0, 1, 2, 3, 4]"
    assert lines[1] == "b''"
    assert set(eval(lines[2])) <= {
        *("PATH", "LANG", "HOME", "TMPDIR", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"),
        *("TORCHDYNAMO_DISABLE", "PYTORCH_NVML_BASED_CUDA_CHECK", "LC_CTYPE", "TORCHINDUCTOR_CACHE_DIR"),
        *("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"),
    }
    assert lines[3:] == ["True []", "[]", "[] True True"]


def test_working_folder(box: Sandbox) -> None:
    """Files can be made and read back in the working folder; the next submission finds none of them."""
    told = run(box, f"open('a', 'w').write('x' * 99)\nprint(len(open('a').read()))\n{DOUBLE}").end.stdout
    after = run(box, f"import os\nprint(os.listdir(), os.listdir(os.environ['TMPDIR']))\n{DOUBLE}").end.stdout

    assert told == "99\n"
    assert after == "[] []\n"


def test_working_folder_is_limited(box: Sandbox) -> None:
    """More than the limit can't be written, in one file or in many."""
    limits = replace(LIMITS, file_bytes=1 << 20)
    one = run(box, f"open('a', 'wb').write(bytes(2 << 20))\n{DOUBLE}", limits=limits)
    many = run(
        box,
        f"import time\nfor i in range(99):\n    open(str(i), 'wb').write(bytes(1 << 16))\ntime.sleep(1)\n{DOUBLE}",
        limits=limits,
    )

    assert one.last.outcome is Outcome.RAISED
    assert many.last.outcome in {Outcome.RAISED, Outcome.OUTPUT_LIMIT}


# ---------------------------------------------------------------- what is shown


def test_output_is_shown_until_the_first_hidden_call(box: Sandbox) -> None:
    """What is printed while loading and in public calls is kept, what comes in hidden ones is not."""
    source = "print('load')\ndef f(x):\n    print('call', int(x[0]))\n    return x"
    seen = run(box, source, 4, hidden_from=2)

    assert seen.end.stdout == "load\ncall 1\ncall 2\n"


def test_long_output_says_that_it_was_cut(box: Sandbox) -> None:
    """Of long output the beginning is kept, with a flag; invalid UTF-8 is replaced."""
    seen = run(box, f"import os\nos.write(1, b'a\\xff' * 50_000)\n{DOUBLE}")

    assert seen.last.outcome is Outcome.RETURNED
    assert seen.end.output_truncated
    assert seen.end.stdout.startswith("a\ufffda")


def test_closed_output(box: Sandbox) -> None:
    """A submission that closes its stdout and stderr can still be right."""
    seen = run(box, f"import sys, os\nsys.stdout.close()\nsys.stderr = None\nos.close(2)\n{DOUBLE}", 2)

    assert set(seen.outcomes) == {Outcome.RETURNED}


def test_no_later_input_is_in_memory(box: Sandbox) -> None:
    """While a call runs, nothing of a later call lies in the memory that is shared with the supervisor."""
    source = """
import gc, mmap
arena = max((o for o in gc.get_objects() if isinstance(o, mmap.mmap)), key=len, default=None)
def f(x):
    found = [i for i in range(0, 1 << 16, 4) if arena[i:i + 4] != bytes(4)] if arena else []
    print(len(found))
    return x
"""
    assert run(box, source, 3).end.stdout == "3\n6\n9\n"


def test_several_at_once(box: Sandbox) -> None:
    """Runs in several threads don't meet."""
    results: list[float] = []

    def one(number: float) -> None:
        call = Call(args=(tensor(number),))
        results.extend(values(run(box, DOUBLE, [call]).last))

    threads = [threading.Thread(target=one, args=(float(number),)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(results) == [0.0, 2.0, 4.0, 6.0]


# ---------------------------------------------------------------- inputs


def test_same_memory(box: Sandbox) -> None:
    """A call in the same memory gets the same tensors with other values; others get addresses never seen before."""
    made = [
        *calls(2),
        Call(args=(tensor(7, 8, 9),), same_memory=True),
        Call(args=(tensor(1, 1, 1),)),
    ]
    seen = run(box, "def f(x):\n    print(x.data_ptr(), id(x))\n    return x.clone()", made)
    first, second, third, fourth = seen.end.stdout.splitlines()

    assert second == third
    assert len({line.split()[0] for line in (first, second, fourth)}) == 3
    assert values(seen.reports[3]) == (7, 8, 9)


def test_inputs_as_described(box: Sandbox) -> None:
    """Strides, expanded dimensions, empty shapes and `requires_grad` arrive as told; numbers too."""
    made = [
        Call(args=(tensor(1, 2, 3, 4, 5, 6, shape=(2, 3), strides=(1, 2)), 4), kwargs={"cap": 2.5}),
        Call(args=(tensor(1, 2, shape=(3, 2), strides=(0, 1)), 4), kwargs={"cap": 2}),
        Call(args=(tensor(shape=(0, 3), strides=(3, 1)), 4), kwargs={"cap": 2}),
        Call(args=(tensor(5, shape=(), strides=()), 4), kwargs={"cap": 2}),
        Call(args=(tensor(5, requires_grad=True), 4), kwargs={"cap": None}),
    ]
    told = "list(x.shape), x.stride(), x.tolist(), x.requires_grad, n, cap"
    seen = run(box, f"def f(x, n, cap):\n    print({told})\n    return x", made)

    assert seen.end.stdout.splitlines() == [
        "[2, 3] (1, 2) [[1.0, 3.0, 5.0], [2.0, 4.0, 6.0]] False 4 2.5",
        "[3, 2] (0, 1) [[1.0, 2.0], [1.0, 2.0], [1.0, 2.0]] False 4 2",
        "[0, 3] (3, 1) [] False 4 2",
        "[] () 5.0 False 4 2",
        "[1] (1,) [5.0] True 4 None",
    ]


@pytest.mark.parametrize(("mode", "device"), [(Mode.FAKE, "cuda"), (Mode.META, "meta")])
def test_tensors_without_values(box: Sandbox, mode: Mode, device: str) -> None:
    """Fake tensors claim to be on a GPU, meta tensors have no values; what comes of them is described."""
    seen = run(box, DOUBLE, [Call(args=(tensor(1, 2, 3),), mode=mode)])

    assert seen.last.returned is not None
    assert seen.last.returned.plain
    assert seen.last.returned.device.partition(":")[0] == device
    assert seen.last.returned.shape == (3,)


# ---------------------------------------------------------------- an early end


def test_left_early(box: Sandbox) -> None:
    """Whoever leaves a run early finds the sandbox as good as before."""
    for taken in range(3):
        running = box.run(Job(source=BODY + "time.sleep(0.01); return x", name="f", calls=calls(3), limits=LIMITS))
        for _ in range(taken):
            next(running)
        running.close()

    assert set(run(box, DOUBLE, 2).outcomes) == {Outcome.RETURNED}
