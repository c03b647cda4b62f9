"""Runs one source in a sandbox and keeps all that was seen of it."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from grader.records import Call, CaseReport, Job, Limits, Outcome, RunEnd, TensorValue
from grader.sandbox.base import Sandbox

# tighter than a problem's, so that what never ends is over soon
LIMITS = Limits(wall_s=10.0, cpu_s=5.0, memory_bytes=512 << 20)
DOUBLE = "def f(x):\n    return x * 2\n"
# what most hostile sources need: raw system calls and the error that they answered with
PRELUDE = """
import ctypes, errno, mmap, os, signal, sys, threading, time
import torch
libc = ctypes.CDLL(None, use_errno=True)
def syscall(number, *arguments):
    ctypes.set_errno(0)
    padded = [ctypes.c_long(a) if isinstance(a, int) else a for a in (*arguments, *[0] * (6 - len(arguments)))]
    result = libc.syscall(ctypes.c_long(number), *padded)
    return errno.errorcode.get(ctypes.get_errno(), '?') if result < 0 else 'worked'
"""


@dataclass(frozen=True, kw_only=True)
class Seen:
    """All reports of a run, the loading first, and its end."""

    reports: tuple[CaseReport, ...]
    end: RunEnd

    @property
    def last(self) -> CaseReport:
        """The report that ended the run."""
        return self.reports[-1]

    @property
    def outcomes(self) -> list[Outcome]:
        """Of loading and of all calls that were made."""
        return [report.outcome for report in self.reports]


def tensor(*values: float, requires_grad: bool = False, **layout: Any) -> TensorValue:
    """A float32 tensor of these values; one dimension unless shape and strides say otherwise."""
    return TensorValue(
        dtype="float32",
        shape=layout.get("shape", (len(values),)),
        strides=layout.get("strides", (1,)),
        data=struct.pack(f"<{len(values)}f", *values),
        requires_grad=requires_grad,
    )


def values(report: CaseReport) -> tuple[float, ...]:
    """The numbers of a float32 result."""
    assert report.returned is not None, report
    assert report.returned.data is not None, report
    return struct.unpack(f"<{len(report.returned.data) // 4}f", report.returned.data)


def calls(count: int = 1) -> tuple[Call, ...]:
    """Calls with one tensor of three numbers each, all different."""
    return tuple(Call(args=(tensor(number + 1.0, 2.0, 3.0),)) for number in range(count))


def run(box: Sandbox, source: str, made: int | Sequence[Call] = 1, **options: Any) -> Seen:
    """One run of a source that defines `f`; options are the job's, `limits` among them."""
    wanted = calls(made) if isinstance(made, int) else tuple(made)
    seen = list(box.run(Job(source=source, name="f", calls=wanted, **{"limits": LIMITS} | options)))
    *reports, end = seen
    assert isinstance(end, RunEnd)
    assert all(isinstance(report, CaseReport) for report in reports)
    assert [report.call for report in reports] == list(range(-1, len(reports) - 1)), "a report for each, in order"
    return Seen(reports=tuple(reports), end=end)  # type: ignore[arg-type]


def alone(*case: Any) -> Any:
    """A case that is worth a container of its own: see `conftest.WAYS`."""
    return pytest.param(*case, marks=pytest.mark.single)
