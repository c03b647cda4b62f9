"""Device cases: they refuse what every GPU refuses, and nothing that works on one."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from grader.cases.case import DEVICE, CaseSet
from grader.judging import judge
from grader.judging.judge import Judged
from grader.judging.one_device import needs_one_device
from grader.problem.schema import Problem
from grader.records import CaseReport, Job, Verdict
from grader.sandbox.base import Sandbox
from tests.support.device_styles import styles

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


@pytest.mark.parametrize(
    ("operations", "needs"),
    [
        ("add mul_ div where lerp clamp maximum lt logical_and heaviside mse_loss _prelu_kernel masked_fill", True),
        (
            "mm addmm bmm addmv dot linear matmul cat stack gather scatter index_select index_add embedding take isin",
            True,
        ),
        ("native_layer_norm _fused_rms_norm native_batch_norm nll_loss_forward searchsorted linalg_cross", True),
        (
            "index index_put_ copy_ copy _to_copy resize_as_ view_as expand_as _pack_padded_sequence bernoulli_ set_",
            False,
        ),
        (
            "_foreach_mul _foreach_add_ _foreach_copy_ slice_scatter select_scatter is_same_size _fused_adam_ unknown",
            False,
        ),
    ],
)
def test_operations_that_need_one_device(operations: str, needs: bool) -> None:
    """As torch's documentation and code for CUDA have it."""
    assert {name for name in operations.split() if needs_one_device(name) is not needs} == set()
