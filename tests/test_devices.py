"""Device cases: they refuse what every GPU refuses, and nothing that works on one."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import torchgen

from grader import judge
from grader.cases import DEVICE, CaseSet
from grader.judge import Judged
from grader.problem import Problem
from grader.records import CaseReport, Job, Verdict
from grader.sandbox.base import Sandbox
from tests.device_styles import styles

Meet = Callable[[str], list[Judged]]
RIGHT, FAULTY = styles("right"), styles("faulty")


@pytest.fixture(scope="module")
def meet(situ_glu: Problem, case_set: CaseSet, sandbox: Sandbox) -> Meet:
    """Judges a source by the first case with values and then, in another child, by the device cases."""
    first, device = case_set.cases[:1], tuple(case for case in case_set.cases if case.kind == DEVICE)

    def judged(text: str) -> list[Judged]:
        found = []
        for cases in (first, device):
            calls = tuple(case.call for case in cases)
            reports = sandbox.run(Job(source=text, name="situ_glu", calls=calls, limits=situ_glu.limits))
            seen = [report for report in reports if isinstance(report, CaseReport) and report.call >= 0]
            found += [judge.judge(cases[report.call], report, "cpu") for report in seen]
        return found

    return judged


@pytest.mark.parametrize("name", RIGHT)
def test_right_on_a_gpu(meet: Meet, name: str) -> None:
    """Right work is never refused, though some of it can't be tried without a GPU."""
    judged = meet(RIGHT[name])

    assert judged[0].passed, judged[0].report
    assert [one.verdict for one in judged[1:] if not one.passed] == [], [one.report for one in judged]


@pytest.mark.parametrize("name", FAULTY)
def test_faulty_on_every_gpu(meet: Meet, name: str) -> None:
    """What is right on the CPU alone is found out."""
    judged = meet(FAULTY[name])

    assert judged[0].passed, judged[0].report
    assert {one.verdict for one in judged[1:]} & {Verdict.RUNTIME_ERROR, Verdict.WRONG_DEVICE}, judged[1:]


def test_most_right_work_is_tried(meet: Meet) -> None:
    """Ordinary ways to write it leave no doubt, slices and moved modules among them."""
    ordinary = ("weight.data", "Parameter", "copy_, moved", "slices", "DEVICE", "is_cuda", "number as a tensor")
    unsure = [name for name in ordinary if meet(RIGHT[name])[1].unsure]

    assert unsure == []


def test_operations_that_need_one_device() -> None:
    """By torch's own list: its code for CUDA checks the devices of all tensors, or leaves that to TensorIterator."""
    listed = Path(torchgen.__file__).parent / "packaged" / "ATen" / "native" / "native_functions.yaml"
    checked = set()
    for entry in re.split(r"(?m)^- func: ", listed.read_text(encoding="utf-8"))[1:]:
        name = re.split(r"[.(]", entry, maxsplit=1)[0]
        on_cuda = re.search(r"(?m)^    [\w, ]*\bCUDA\b[\w, ]*:", entry) or "structured_delegate" in entry
        unchecked = re.search(r"device_check: NoCheck(?!\s*# TensorIterator)", entry)
        checked |= {name} if on_cuda and not unchecked else set()
    made_of_such = {"matmul", "linear", "stack", "mv", "dot", "vdot", "embedding", "masked_fill"}

    assert judge._NEEDS_ONE_DEVICE - made_of_such <= checked
