"""Processes and threads of a submission's own: allowed within the limit, dead before the verdict, without a say."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from grader.errors import SandboxFailed
from grader.records import Job, Limits, Outcome, RunEnd
from grader.sandbox.base import Sandbox
from grader.sandbox.guest import seccomp
from grader.sandbox.local import LocalSandbox
from tests.sandbox.conftest import SANDBOXES
from tests.sandbox.running import DOUBLE, LIMITS, PRELUDE, calls, run, values

NUMBERS = seccomp.machine()[1]
CANARY = "grader-canary"
# a stubborn orphan: sessions and parents left behind, all signals ignored, stopped on top
DAEMON = f"""{PRELUDE}
def daemon(stop):
    if os.fork():
        return
    os.setsid()
    for number in range(1, 65):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            pass
    if os.fork():
        os._exit(0)
    ctypes.CDLL(None).prctl(15, b'{CANARY[:15]}', 0, 0, 0)
    if stop:
        os.kill(os.getpid(), signal.SIGSTOP)
    while True:
        time.sleep(1000)
for number in range(6):
    daemon(number % 2)
time.sleep(0.3)
"""


def canaries() -> list[int]:
    """Processes that a test's daemons left, on this whole machine."""
    found = []
    for process in psutil.process_iter(["name"]):
        if process.info["name"] == CANARY[:15]:
            found.append(process.pid)
    return found


def wait_until(holds: Callable[[], bool], seconds: float = 30.0) -> bool:
    """Whether it came true in good time."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


# ---------------------------------------------------------------- the tree is dead


@pytest.mark.parametrize("body", ["return x", "raise ValueError", "os._exit(0)", f"syscall({NUMBERS['ptrace']})"])
def test_orphans_are_dead_before_the_end(box: Sandbox, body: str) -> None:
    """Double forks with sessions, ignored signals and SIGSTOP are dead when the run says that it has ended."""
    seen = run(box, f"{DAEMON}def f(x):\n    {body}\n")

    assert canaries() == []
    assert len(seen.reports) == 2


def test_orphans_are_dead_when_the_run_is_left(box: Sandbox) -> None:
    """Closing the generator early kills everything, too."""
    running = box.run(Job(source=f"{DAEMON}def f(x):\n    time.sleep(60)\n", name="f", calls=calls(2), limits=LIMITS))
    next(running)
    running.close()

    assert canaries() == []


def test_siblings(box: Sandbox) -> None:
    """A child that makes itself the lane's own child (CLONE_PARENT) dies with the others."""
    source = f"""{PRELUDE}
libc.syscall.restype = ctypes.c_long
if libc.syscall({NUMBERS["clone"]}, ctypes.c_long(0x8000 | 17), 0, 0, 0, 0) == 0:
    libc.prctl(15, b'{CANARY[:15]}', 0, 0, 0)
    time.sleep(1000)
time.sleep(0.1)
{DOUBLE}"""
    seen = run(box, source)

    assert seen.last.outcome is Outcome.RETURNED
    assert canaries() == []


# ---------------------------------------------------------------- no say in the verdict


@pytest.mark.parametrize(
    "body",
    [
        "os.fork()",
        "os.fork() or os._exit(3)",
        "os.fork() or os.kill(os.getpid(), 9)",
        "os.fork() or time.sleep(60)",
        "os.wait() if os.fork() else os._exit(0)",
        "threading.Thread(target=time.sleep, args=(60,)).start()",
        "threading.Thread(target=lambda: 1 / 0).start()",
    ],
)
def test_own_processes_change_no_verdict(box: Sandbox, body: str) -> None:
    """A fork or thread that returns, dies, sleeps or fails leaves the main process's results as they are."""
    seen = run(box, f"{PRELUDE}def f(x):\n    {body}\n    return x * 2", 3)

    assert set(seen.outcomes) == {Outcome.RETURNED}, seen
    assert [values(report)[0] for report in seen.reports[1:]] == [2.0, 4.0, 6.0]


@pytest.mark.parametrize("name", ["²", ") R 1 1 1", "Threads:\t9", "a\nThreads: 99", "\xff\x00", "٣", "%s\x1b[2J"])
def test_evil_process_names(box: Sandbox, name: str) -> None:
    """No name of a process confuses whoever reads /proc."""
    source = (
        f"{PRELUDE}libc.prctl(15, {name!r}.encode(), 0, 0, 0)\nos.fork() or time.sleep(60)\ntime.sleep(0.1)\n{DOUBLE}"
    )
    seen = run(box, source)

    assert set(seen.outcomes) == {Outcome.RETURNED}
    assert seen.end.reached == ()


def test_pool_of_threads(box: Sandbox) -> None:
    """An honest pool of threads works."""
    source = """
from concurrent.futures import ThreadPoolExecutor
def f(x):
    with ThreadPoolExecutor(4) as pool:
        return sum(pool.map(lambda n: x, range(8)))
"""
    assert values(run(box, source).last) == (8, 16, 24)


# ---------------------------------------------------------------- limits


@pytest.mark.parametrize(
    "bomb",
    [
        "\n    while True:\n        try: os.fork()\n        except OSError: time.sleep(0.01)",
        "\n    while True:\n        try: threading.Thread(target=wait).start()\n        except RuntimeError: pass",
        "\n    while True:\n        try: os.fork() or os.setsid()\n        except OSError: pass",
        "\n    while True:\n        if libc.vfork() == 0: libc._exit(0)",
    ],
    ids=["forks", "threads", "sessions", "vforks"],
)
def test_bombs(box: Sandbox, bomb: str) -> None:
    """A bomb goes off within the limit, is named, and the next submission finds everything as it was."""
    limits = Limits(wall_s=1.0, cpu_s=10.0, processes=24)
    seen = run(box, f"{PRELUDE}def wait(): time.sleep(60)\ndef f(x):{bomb}", limits=limits)
    after = run(box, DOUBLE)

    assert seen.last.outcome in {Outcome.TIME_LIMIT, Outcome.DIED}, seen
    assert seen.end.usage.wall_s < 8
    assert "vfork" in bomb or any("24 are allowed" in text for text in seen.end.reached)
    assert set(after.outcomes) == {Outcome.RETURNED}


@pytest.mark.parametrize(
    "kind", ["os.fork() or time.sleep(60)", "threading.Thread(target=time.sleep, args=(60,)).start()"]
)
def test_processes_and_threads_count_together(box: Sandbox, kind: str) -> None:
    """The call that would be one too many fails with its error, the note says so, and the code may go on."""
    source = f"""{PRELUDE}
made = 1
def f(x):
    global made
    try:
        while made < 100:
            {kind}
            made += 1
    except (OSError, RuntimeError):
        return torch.tensor(float(made))
"""
    seen = run(box, source, limits=replace(LIMITS, processes=12))

    assert seen.last.outcome is Outcome.RETURNED, seen
    assert values(seen.last) == (12.0,)
    assert seen.end.reached == ("processes and threads: 12 are allowed, 12 were running",)


def test_many_at_once_ask(box: Sandbox) -> None:
    """Processes that all ask for another one at the same moment don't get beyond the limit together."""
    source = f"""{PRELUDE}
seen, asked = os.pipe()
os.set_blocking(seen, False)
start = time.monotonic() + 0.5
for _ in range(10):
    if os.fork() == 0:
        break
time.sleep(max(0, start - time.monotonic()))
for _ in range(4):
    try:
        if os.fork() == 0:
            break
    except OSError:
        pass
os.write(asked, b'x')
time.sleep(1.5)
if os.getpid() != os.getsid(0):
    time.sleep(60)
print(len(os.read(seen, 4096)))
{DOUBLE}"""
    seen = run(box, source, limits=replace(LIMITS, processes=16))

    assert 10 <= int(seen.end.stdout) <= 16


def test_cpu_time_of_all(box: Sandbox) -> None:
    """CPU time of processes that nobody waited for counts."""
    source = f"""{PRELUDE}
def f(x):
    while True:
        if os.fork() == 0:
            if os.fork() == 0:
                end = time.process_time() + 0.05
                while time.process_time() < end: pass
            os._exit(0)
        os.wait()
        time.sleep(0.05)
"""
    seen = run(box, source, limits=Limits(wall_s=20, cpu_s=0.5))

    assert seen.last.outcome is Outcome.TIME_LIMIT
    assert "CPU time" in seen.last.reason


# ---------------------------------------------------------------- memory of many


@pytest.mark.parametrize(
    "hog",
    [
        "kept = [bytearray(64 << 20)]",
        "block = bytearray(48 << 20)",
        "threading.Thread(target=lambda: (time.sleep(0.2), kept.append(bytearray(64 << 20)), time.sleep(60))).start(); "
        f"libc.syscall({NUMBERS['exit']}, 0)",
    ],
    ids=["own", "copied on writing", "first thread gone"],
)
def test_memory_of_many(box: Sandbox, hog: str) -> None:
    """What several processes hold together is limited, shared pages counted once and hidden ones too."""
    source = f"""{PRELUDE}
kept, big = [], bytearray(64 << 20)
def f(x):
    for _ in range(16):
        if os.fork() == 0:
            big[::4096] = bytes(len(big) // 4096)
            {hog}
            time.sleep(60)
    time.sleep(60)
"""
    seen = run(box, source, limits=Limits(wall_s=20, memory_bytes=256 << 20))

    assert seen.last.outcome is Outcome.MEMORY_LIMIT, seen


# ---------------------------------------------------------------- what breaks, heals


@pytest.fixture(params=SANDBOXES)
def breakable(request: pytest.FixtureRequest) -> Iterator[LocalSandbox]:
    """A local sandbox of its own, to be broken."""
    sandbox = SANDBOXES[request.param]()
    if not isinstance(sandbox, LocalSandbox):
        pytest.skip("its processes are not ours to kill")
    run(sandbox, DOUBLE)
    yield sandbox
    sandbox.close()


def guest(sandbox: LocalSandbox) -> psutil.Process:
    """The guest's main process."""
    assert sandbox._guest.process is not None
    return psutil.Process(sandbox._guest.process.pid)


def test_a_broken_sandbox_fails_and_heals(breakable: LocalSandbox) -> None:
    """Who loses lane or zygote in the middle of a run hears SandboxFailed; the next run works; nothing stays."""
    source = f"{DAEMON}def f(x):\n    time.sleep(60)\n"
    running = breakable.run(Job(source=source, name="f", calls=calls(), limits=LIMITS))
    next(running)
    for lane in guest(breakable).children():
        lane.kill()
    with pytest.raises(SandboxFailed):
        list(running)
    assert wait_until(lambda: canaries() == [])
    assert set(run(breakable, DOUBLE).outcomes) == {Outcome.RETURNED}

    assert breakable._guest.folder is not None
    lanes = {str(lane.pid) for lane in guest(breakable).children()}
    folder = breakable._guest.folder / "children"
    assert wait_until(lambda: {path.name.partition("-")[0] for path in folder.iterdir()} <= lanes)

    guest(breakable).kill()
    assert wait_until(lambda: guest_is_gone(breakable))
    assert set(run(breakable, DOUBLE).outcomes) == {Outcome.RETURNED}


def guest_is_gone(sandbox: LocalSandbox) -> bool:
    """Whether the guest's main process has ended."""
    assert sandbox._guest.process is not None
    return sandbox._guest.process.poll() is not None


SUPERVISOR = """
import sys
from grader.records import Job, Limits
from grader.sandbox.local import LocalSandbox
from tests.sandbox.running import calls
sandbox = LocalSandbox()
running = sandbox.run(Job(source=sys.stdin.read(), name='f', calls=calls(), limits=Limits()))
next(running)
print(sandbox._guest.process.pid, sandbox._guest.folder, flush=True)
next(running)
"""


def test_a_killed_supervisor_leaves_nothing() -> None:
    """When the supervisor is killed in the middle of a run, guest, children, orphans and folders go by themselves."""
    process = subprocess.Popen(
        [sys.executable, "-c", SUPERVISOR], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{DAEMON}def f(x):\n    time.sleep(60)\n".encode())
    process.stdin.close()
    pid, folder = process.stdout.readline().decode().split()
    family = psutil.Process(int(pid)).children(recursive=True)
    before = len(canaries())
    process.kill()
    process.wait()
    process.stdout.close()

    assert before == 6
    assert len(family) > before
    assert wait_until(lambda: not psutil.pid_exists(int(pid)) and not any(one.is_running() for one in family))
    assert canaries() == []
    assert wait_until(lambda: not Path(folder).exists())


def test_close_leaves_nothing() -> None:
    """Closing in the middle of a run ends every process and removes every folder."""
    sandbox = LocalSandbox()
    running = sandbox.run(Job(source=f"{DAEMON}{DOUBLE}", name="f", calls=calls(2), limits=LIMITS))
    next(running)
    family = guest(sandbox).children(recursive=True)
    folder = sandbox._guest.folder
    sandbox.close()

    assert folder is not None
    assert not any(one.is_running() and one.status() != psutil.STATUS_ZOMBIE for one in family)
    assert canaries() == []
    assert not folder.exists()
    with pytest.raises(SandboxFailed):
        list(running)


# ---------------------------------------------------------------- many in a row

SOAK = int(os.environ.get("GRADER_SANDBOX_SOAK", "40"))
MIXED = (
    (DOUBLE, Outcome.RETURNED),
    (f"open('left', 'w').write('x')\n{DOUBLE}", Outcome.RETURNED),
    ("def f(x):\n    raise ValueError('x' * 100_000)\n", Outcome.RAISED),
    ("import os\ndef f(x):\n    os._exit(3)\n", Outcome.DIED),
    (f"{PRELUDE}def f(x):\n    syscall({NUMBERS['keyctl']})\n", Outcome.VIOLATION),
    ("import os\ndef f(x):\n    os.write(4, b'x' * 99)\n    return x", Outcome.MALFORMED),
    (f"import os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(1000)\n{DOUBLE}", Outcome.RETURNED),
    ("def f(x):\n    while True: print('x' * 9999)", Outcome.OUTPUT_LIMIT),
)


def left_over(sandbox: LocalSandbox) -> tuple[int, int, int, int]:
    """Processes, descriptors, temporary folders and mounts of this process and all below it."""
    family = [psutil.Process(), *psutil.Process().children(recursive=True)]
    mounts = Path(f"/proc/{guest(sandbox).pid}/mounts").read_text(encoding="utf-8").count("\n")
    assert sandbox._guest.folder is not None
    folders = len(list(sandbox._guest.folder.glob("**/*")))
    return len(family), sum(one.num_fds() for one in family), folders, mounts


def settled(sandbox: LocalSandbox) -> tuple[int, int, int, int]:
    """What is left over once the waiting children have been replaced."""
    seen = [left_over(sandbox)]
    while len(seen) < 4 or len(set(seen[-3:])) > 1:
        time.sleep(0.2)
        seen.append(left_over(sandbox))
    return seen[-1]


def test_soak() -> None:
    """Many mixed runs leave no process, descriptor, folder, mount or memory. GRADER_SANDBOX_SOAK says how many."""
    sandbox = LocalSandbox()
    try:
        for source, _outcome in MIXED:
            run(sandbox, source)
        before, memory = settled(sandbox), guest(sandbox).memory_info().rss
        for number in range(SOAK):
            source, outcome = MIXED[number % len(MIXED)]
            assert run(sandbox, source).last.outcome is outcome
        after, grown = settled(sandbox), guest(sandbox).memory_info().rss - memory
    finally:
        sandbox.close()

    assert after == before
    assert grown < 16 << 20


def test_the_end_comes_last(box: Sandbox) -> None:
    """A run's last word is its end, whatever happened."""
    for source, _outcome in MIXED:
        *reports, end = box.run(Job(source=source, name="f", calls=calls(), limits=LIMITS))
        assert isinstance(end, RunEnd)
        assert not any(isinstance(report, RunEnd) for report in reports)
