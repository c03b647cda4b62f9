"""Processes and threads of a submission's own: allowed within the limit, dead before the verdict, without a say."""

from __future__ import annotations

from dataclasses import replace

import pytest

from grader.records import Job, Limits, Outcome
from grader.sandbox.base import Sandbox
from grader.sandbox.guest.walls import seccomp
from tests.sandbox.daemons import CANARY, DAEMON, canaries
from tests.sandbox.running import DOUBLE, LIMITS, PRELUDE, alone, calls, run, values

NUMBERS = seccomp.machine()[1]


# ---------------------------------------------------------------- the tree is dead


@pytest.mark.parametrize(
    "body",
    [
        alone("return x"),
        "raise ValueError",
        "os._exit(0)",
        f"syscall({NUMBERS['ptrace']})",
    ],
)
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
    libc.prctl(15, b'{CANARY}', 0, 0, 0)
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


@pytest.mark.ways("local", "ordinary_user", "shared")  # `socket` is the container of `shared`
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


@pytest.mark.ways("local", "ordinary_user", "shared")  # `socket` is the container of `shared`
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
