"""Many submissions in a row leave nothing behind: no process, no descriptor, no folder, no memory.

GRADER_SOAK says how many; `make soak` takes 2,000.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from grader import engine
from grader.cases.case import CaseSet
from grader.problem.schema import Problem
from grader.sandbox.local import LocalSandbox
from tests.feedback.test_message import HEAD, RIGHT

COUNT = int(os.environ.get("GRADER_SOAK", "60"))
WARM_UP = 20
MEGABYTES = 40  # that an allocator may keep; 2,000 leaks of 100 KB would be 200
SOURCES = (
    RIGHT,
    f"import os\nopen('left', 'w').write('x')\n{RIGHT}",
    f"{HEAD}    raise ValueError('x' * 100_000)\n",
    f"import os\n{HEAD}    os._exit(3)\n",
    "def situ_glu(",
    f"import os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(1000)\n{RIGHT}",
)


def left_over() -> tuple[int, int, int]:
    """Processes below this one, descriptors of all of them, temporary folders."""
    own = psutil.Process()
    family = [own, *own.children(recursive=True)]
    return (
        len(family),
        sum(one.num_fds() for one in family),
        len(list(Path(tempfile.gettempdir()).rglob("*"))),
    )


def memory() -> int:
    """Proportional memory of this process and all below it, in bytes."""
    own = psutil.Process()
    return sum(one.memory_full_info().pss for one in (own, *own.children(recursive=True)))


@pytest.fixture
def own_temporary_folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Temporary files of this test alone, below a short path that everybody may enter."""
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        Path(folder).chmod(0o755)
        monkeypatch.setattr(tempfile, "tempdir", folder)
        yield


@pytest.mark.usefixtures("own_temporary_folder")
def test_soak(situ_glu: Problem, case_set: CaseSet) -> None:
    """After many submissions of all kinds there are as many processes, descriptors and folders as before."""
    sandbox = LocalSandbox()
    sandbox.start()
    try:
        for number in range(WARM_UP):
            engine.grade(situ_glu, case_set, SOURCES[number % len(SOURCES)], sandbox)
        before, memory_before = settled(), memory()
        verdicts = [engine.grade(situ_glu, case_set, SOURCES[n % len(SOURCES)], sandbox).verdict for n in range(COUNT)]
        after, memory_after = settled(), memory()
    finally:
        sandbox.close()

    assert "internal_error" not in verdicts
    assert verdicts.count("accepted") >= COUNT // 3
    assert after == before
    assert memory_after - memory_before < MEGABYTES << 20


def settled() -> tuple[int, int, int]:
    """What is left over once the spares have been replaced: the same twice in a row."""
    last, seen = None, left_over()
    while last != seen:
        psutil.Process().cpu_percent(interval=0.5)
        last, seen = seen, left_over()
    return seen
