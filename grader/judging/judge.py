"""From what the sandbox saw of a case to what it deserves. The only place that turns outcomes into verdicts."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import torch

from grader.cases.case import DEVICE, Case
from grader.feedback.exceptions import is_allocation_failure
from grader.judging import gradients
from grader.judging.compare import Mismatch, compare
from grader.judging.one_device import needs_one_device
from grader.records import CaseReport, Mixture, Mode, Outcome, Raised, Returned, Verdict

FORBIDDEN = (Outcome.VIOLATION, Outcome.MALFORMED)
FLOATING = ("float16", "bfloat16", "float32", "float64")
_HOME = {Mode.FAKE: "cuda", Mode.META: "meta"}
# what torch says where it compares devices itself, before any operation
_ABOVE_OPERATIONS = re.compile(r"to have the same device type|DeviceType, but got tensor with cpu DeviceType")
_BARE_NUMPY = re.compile(r"can't convert (meta|cuda).* tensor to numpy", re.IGNORECASE)


class Contradiction(Exception):
    """The sandbox's child sent something that can't be: its word is not to be trusted."""


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A case with its verdict. actual: the result, where it is one of the right shape; unsure: "can't tell".

    gradient: whose gradient is wrong, and what is wrong with it.
    """

    case: Case
    report: CaseReport
    verdict: Verdict
    actual: torch.Tensor | None = field(default=None, repr=False)
    mismatch: Mismatch | None = None
    gradient: tuple[str, str] = ("", "")
    unsure: bool = False

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong with it."""
        return self.verdict is Verdict.ACCEPTED


def judge(case: Case, report: CaseReport, device: str) -> Judged:
    """Judges one report. `device`: where real tensors were."""
    if case.kind == DEVICE:
        return judge_on_device(case, report)
    try:
        actual = tensor(report.returned, case) if report.returned else None
    except Contradiction:
        return Judged(case=case, report=report, verdict=Verdict.SECURITY_VIOLATION)
    verdict = outcome_verdict(report.outcome, report.raised) or attribute_verdict(case, report, device)
    if verdict is not Verdict.ACCEPTED:
        return Judged(case=case, report=report, verdict=verdict, actual=actual)
    if actual is None:  # described as right, but not sent
        return Judged(case=case, report=report, verdict=Verdict.SECURITY_VIOLATION)
    mismatch = compare(actual, case)
    gradient = gradients.fault(case, report.returned) if report.returned and not mismatch else ("", "")
    verdict = Verdict.WRONG_ANSWER if mismatch or gradient[0] else Verdict.ACCEPTED
    return Judged(case=case, report=report, verdict=verdict, actual=actual, mismatch=mismatch, gradient=gradient)


def judge_on_device(case: Case, report: CaseReport) -> Judged:
    """Judges a call on tensors without values: only what a GPU would certainly show counts, all else is "can't tell".

    docs/decisions/0008-imitated-gpu.md says why so little is certain.
    """
    verdict = device_verdict(case, report)
    return Judged(case=case, report=report, verdict=verdict or Verdict.ACCEPTED, unsure=verdict is None)


def device_verdict(case: Case, report: CaseReport) -> Verdict | None:
    """What is certain of such a call; None if nothing is."""
    if report.outcome in FORBIDDEN:
        return Verdict.SECURITY_VIOLATION
    if report.doubtful:
        return None
    if report.returned is not None and is_plain(report.returned):
        return attribute_verdict(case, report, case.call.mode)
    if report.raised is not None and is_device_fault(report.raised, case.call.mode):
        return Verdict.RUNTIME_ERROR
    return None


def outcome_verdict(outcome: Outcome, raised: Raised | None) -> Verdict | None:
    """The verdict that an outcome of a call settles; None where something came back and has to be looked at."""
    match outcome:
        case Outcome.RETURNED:
            return None
        case Outcome.RAISED:
            out_of_memory = raised is not None and is_allocation_failure(raised)
            return Verdict.MEMORY_LIMIT_EXCEEDED if out_of_memory else Verdict.RUNTIME_ERROR
        case Outcome.DIED:
            return Verdict.RUNTIME_ERROR
        case Outcome.VIOLATION | Outcome.MALFORMED:
            return Verdict.SECURITY_VIOLATION
        case Outcome.TIME_LIMIT:
            return Verdict.TIME_LIMIT_EXCEEDED
        case Outcome.MEMORY_LIMIT:
            return Verdict.MEMORY_LIMIT_EXCEEDED
        case Outcome.OUTPUT_LIMIT:
            return Verdict.OUTPUT_LIMIT_EXCEEDED


def loading_verdict(report: CaseReport) -> Verdict | None:
    """The verdict of a source that could not be loaded; None where it could.

    A MemoryError without a line of the learner's is the parser's word for "nested too deeply".
    """
    verdict = outcome_verdict(report.outcome, report.raised)
    too_deep = report.raised is not None and report.raised.line is None and report.raised.type == "MemoryError"
    return Verdict.COMPILE_ERROR if verdict is Verdict.RUNTIME_ERROR or too_deep else verdict


def attribute_verdict(case: Case, report: CaseReport, device: str) -> Verdict:
    """Type, shape, dtype, device and mutation, in this order."""
    returned = report.returned
    if returned is None or not is_plain(returned):
        return Verdict.WRONG_TYPE
    if returned.shape != case.shape:
        return Verdict.WRONG_SHAPE
    if returned.dtype != case.result_dtype:
        return Verdict.WRONG_DTYPE
    if returned.device.partition(":")[0] != expected_device(case, device):
        return Verdict.WRONG_DEVICE
    if report.mutations and case.kind != DEVICE:
        return Verdict.MUTATED_INPUT
    return Verdict.ACCEPTED


def expected_device(case: Case, device: str) -> str:
    """The type of device that the result has to be on."""
    return {Mode.REAL: device.partition(":")[0], Mode.FAKE: "cuda", Mode.META: "meta"}[case.call.mode]


def is_plain(returned: Returned) -> bool:
    """One dense, strided tensor of a floating dtype: nothing else is a result."""
    return returned.plain and returned.dtype in FLOATING


def is_device_fault(raised: Raised, mode: Mode) -> bool:
    """Whether this exception would come on a GPU too: two devices in one operation, or a bare `.numpy()`."""
    if raised.mixture is not None:
        return needs_one_device(raised.mixture.operation) and _has_strangers(raised.mixture, _HOME[mode])
    if raised.type == "RuntimeError" and _ABOVE_OPERATIONS.search(raised.message):
        return True
    return raised.type == "TypeError" and bool(_BARE_NUMPY.search(raised.message))


def _has_strangers(mixture: Mixture, home: str) -> bool:
    """Whether some tensors are at home and others on the CPU; numbers, as tensors without dimensions, may be there."""
    at_home = any(device == home for device, _dimensions, _elements in mixture.operands)
    return at_home and any(device == "cpu" and size > 0 for device, *sizes in mixture.operands for size in [min(sizes)])


def tensor(returned: Returned, case: Case) -> torch.Tensor | None:
    """The result as a tensor, if it was sent and has the right shape.

    Raises Contradiction where bytes and description differ.
    """
    if not is_plain(returned) or returned.shape != case.shape:
        return None
    dtype = getattr(torch, returned.dtype)
    count = torch.Size(case.shape).numel()
    if count == 0:
        return torch.empty(case.shape, dtype=dtype)
    if returned.data is None:
        return None
    if len(returned.data) != count * dtype.itemsize:
        raise Contradiction
    return torch.frombuffer(bytearray(returned.data), dtype=dtype).reshape(case.shape)
