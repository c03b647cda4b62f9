"""What every sandbox owes the engine, as a list of jobs with what must come of them: one suite for all ways."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, replace

from grader.records import Call, CaseReport, Job, Limits, Mode, Outcome, RunEnd, TensorValue
from grader.sandbox.base import Sandbox

QUICK = Limits(wall_s=3.0, cpu_s=2.0, memory_bytes=256 << 20, processes=16, output_bytes=64 << 10, file_bytes=4 << 20)
ONE = TensorValue(dtype="float32", shape=(2,), strides=(1,), data=struct.pack("<2f", 1.0, 2.0))


@dataclass(frozen=True, kw_only=True)
class Expectation:
    """A source, and what the last report of its run must be."""

    name: str
    source: str
    outcome: Outcome | tuple[Outcome, ...]
    limits: Limits = QUICK
    check: Callable[[CaseReport, RunEnd], bool] = lambda _report, _end: True


def job(source: str, limits: Limits = QUICK, calls: int = 1) -> Job:
    """A job that calls `f` on a tensor of two numbers."""
    return Job(source=source, name="f", calls=(Call(args=(ONE,)),) * calls, limits=limits)


def run(sandbox: Sandbox, asked: Job) -> tuple[list[CaseReport], RunEnd]:
    """All reports, and the end."""
    *reports, end = sandbox.run(asked)
    assert isinstance(end, RunEnd)
    return [report for report in reports if isinstance(report, CaseReport)], end


def _returned_values(report: CaseReport, _end: RunEnd) -> bool:
    return report.returned is not None and report.returned.data == struct.pack("<2f", 2.0, 4.0)


def _refused(report: CaseReport, _end: RunEnd) -> bool:
    return report.raised is not None and report.raised.type == "PermissionError"


DOUBLES = "def f(x): return x * 2\n"
EXPECTATIONS = (
    Expectation(name="values", source=DOUBLES, outcome=Outcome.RETURNED, check=_returned_values),
    Expectation(name="exception", source="def f(x): raise KeyError(1)\n", outcome=Outcome.RAISED),
    Expectation(name="import", source="import nothing_of_that_name\n", outcome=Outcome.RAISED),
    Expectation(name="exit", source="import os\ndef f(x): os._exit(3)\n", outcome=Outcome.DIED),
    Expectation(name="loop", source="def f(x):\n    while True: pass\n", outcome=Outcome.TIME_LIMIT),
    Expectation(
        name="sleep",
        source="import time\ndef f(x): time.sleep(60)\n",
        outcome=Outcome.TIME_LIMIT,
        limits=replace(QUICK, wall_s=1.0),
    ),
    Expectation(
        name="memory",
        source="import torch\ndef f(x): return torch.ones(1 << 28)\n",
        outcome=Outcome.MEMORY_LIMIT,
    ),
    Expectation(
        name="memory of many",
        source="""
import os, time
def f(x):
    for _ in range(8):
        if os.fork() == 0:
            block = bytearray(100 << 20)
            for i in range(0, len(block), 4096): block[i] = 1
            time.sleep(60)
    time.sleep(60)
""",
        outcome=Outcome.MEMORY_LIMIT,
    ),
    Expectation(name="output", source="def f(x):\n    while True: print('x' * 1000)\n", outcome=Outcome.OUTPUT_LIMIT),
    Expectation(
        name="files",
        source="""
import time
def f(x):
    for number in range(8):
        open(f'a{number}', 'wb').write(bytes(1 << 20))
    time.sleep(1)
    return x
""",
        outcome=(Outcome.OUTPUT_LIMIT, Outcome.RAISED),  # ended by the lane, or refused by a file system of that size
    ),
    Expectation(
        name="ptrace",
        source="import ctypes\ndef f(x): ctypes.CDLL(None).ptrace(0, 0, 0, 0)\n",
        outcome=Outcome.VIOLATION,
    ),
    Expectation(
        name="namespace",
        source="import ctypes\ndef f(x): ctypes.CDLL(None).unshare(0x10000000)\n",
        outcome=Outcome.VIOLATION,
    ),
    Expectation(
        name="namespace in an orphan",
        source="""
import ctypes, os, time
def f(x):
    if os.fork() == 0:
        if os.fork() == 0:
            time.sleep(0.1)
            ctypes.CDLL(None).unshare(0x10000000)
        os._exit(0)
    time.sleep(2)
    return x
""",
        outcome=Outcome.VIOLATION,
    ),
    Expectation(
        name="keyring", source="import ctypes\ndef f(x): ctypes.CDLL(None).syscall(250, 0)\n", outcome=Outcome.VIOLATION
    ),
    Expectation(
        name="socket", source="import socket\ndef f(x): socket.socket()\n", outcome=Outcome.RAISED, check=_refused
    ),
    Expectation(
        name="crypto socket",
        source="import socket\ndef f(x): socket.socket(38, 5)\n",
        outcome=Outcome.RAISED,
        check=_refused,
    ),
    Expectation(name="passwd", source="def f(x): open('/etc/passwd')\n", outcome=Outcome.RAISED, check=_refused),
    Expectation(name="proc", source="def f(x): open('/proc/1/environ')\n", outcome=Outcome.RAISED, check=_refused),
    Expectation(
        name="guest's socket",
        source="import os\ndef f(x): os.listdir('/run/grader')\n",
        outcome=Outcome.RAISED,
        check=lambda report, _end: (
            report.raised is not None and report.raised.type in {"PermissionError", "FileNotFoundError"}
        ),
    ),
    Expectation(
        name="program",
        source="import os\ndef f(x): os.execv('/bin/sh', ['sh'])\n",
        outcome=Outcome.RAISED,
        check=_refused,
    ),
)


def fake_job() -> Job:
    """A job on tensors that claim to be on a GPU; its result must claim so too."""
    return Job(source=DOUBLES, name="f", calls=(Call(args=(ONE,), mode=Mode.FAKE),), limits=QUICK)
