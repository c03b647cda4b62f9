"""What breaks, heals; and many runs leave nothing behind."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from grader.errors import SandboxFailed
from grader.records import Job, Outcome, RunEnd
from grader.sandbox.base import Sandbox
from grader.sandbox.guest import scratch
from grader.sandbox.guest.walls import seccomp
from grader.sandbox.local import LocalSandbox
from tests.sandbox.conftest import NOBODY, SANDBOXES
from tests.sandbox.daemons import DAEMON, canaries, wait_until
from tests.sandbox.running import DOUBLE, LIMITS, PRELUDE, calls, run

NUMBERS = seccomp.machine()[1]


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


@dataclass(frozen=True, kw_only=True)
class Supervisor:
    """A process of its own with a sandbox in which a run is under way."""

    process: subprocess.Popen[bytes]
    guest: psutil.Process
    folder: Path


def started_supervisor(source: str) -> Supervisor:
    """Starts one, for this submission."""
    process = subprocess.Popen(
        [sys.executable, "-c", SUPERVISOR], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(source.encode())
    process.stdin.close()
    pid, folder = process.stdout.readline().decode().split()
    process.stdout.close()
    return Supervisor(process=process, guest=psutil.Process(int(pid)), folder=Path(folder))


def test_a_killed_supervisor_leaves_nothing() -> None:
    """When the supervisor is killed in the middle of a run, guest, children, orphans and folders go by themselves."""
    killed = started_supervisor(f"{DAEMON}def f(x):\n    time.sleep(60)\n")
    family = killed.guest.children(recursive=True)
    before = len(canaries())
    killed.process.kill()
    killed.process.wait()

    assert before == 6
    assert len(family) > before
    assert wait_until(lambda: not killed.guest.is_running() and not any(one.is_running() for one in family))
    assert canaries() == []
    assert wait_until(lambda: not killed.folder.exists())


def test_what_the_dead_leave_is_removed_by_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Zygote and supervisor killed at once leave a folder; the next start removes it."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    killed = started_supervisor("import os\nos.mkdir('a', 0o300)\ndef f(x):\n    while True: pass\n")
    family = [killed.guest, *killed.guest.children(recursive=True)]
    killed.guest.kill()
    killed.process.kill()
    killed.process.wait()
    assert wait_until(lambda: not any(one.is_running() for one in family))
    assert killed.folder.exists()

    sandbox = LocalSandbox()
    try:
        run(sandbox, DOUBLE)
        assert not killed.folder.exists()
    finally:
        sandbox.close()
    assert list(tmp_path.iterdir()) == []


def test_folders_that_nobody_holds(tmp_path: Path) -> None:
    """Whatever lies in them goes; what is held, is another person's or none of ours stays."""
    held, left, strangers, other = (tmp_path / f"grader-{name}" for name in ("held", "left", "strangers", "other"))
    ours = [held, left, *([strangers] if os.geteuid() == 0 else [])]
    for folder in ours:
        (folder / "children" / "1-1" / "locked").mkdir(parents=True)
        (folder / "children" / "1-1" / "locked").chmod(0)
    other.mkdir()
    claims = [scratch.claim(folder) for folder in ours]
    for claim in claims[1:]:
        os.close(claim)
    if strangers in ours:
        os.chown(strangers, NOBODY, NOBODY)
    scratch.sweep(tmp_path / "grader-own")

    assert set(tmp_path.iterdir()) == {*ours, other} - {left}
    os.close(claims[0])
    scratch.sweep(tmp_path / "grader-own")
    assert not held.exists()


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
    """Processes and descriptors of this process and all below it; folders and mounts in the sandbox's folder."""
    family = [psutil.Process(), *psutil.Process().children(recursive=True)]
    assert sandbox._guest.folder is not None
    mounts = Path(f"/proc/{guest(sandbox).pid}/mounts").read_text(encoding="utf-8").count(f" {sandbox._guest.folder}/")
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
