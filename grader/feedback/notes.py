"""Remarks that change no verdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from grader.cases.case import DEVICE
from grader.judging.compare import worst_in_allowances
from grader.judging.judge import Judged
from grader.records import Note, RunEnd, TensorValue
from grader.text import clean

TEXTS = {
    "detached": "The result is cut off the autograd graph: no gradient would flow back through it in training.",
    "partly_detached": "Part of the result is cut off the autograd graph: some inputs would get no gradient.",
    "nan_gradient": "Some gradients are NaN or infinite although the result is right: training would break.",
    "nondeterministic": "Two equal calls gave different results.",
    "compiled_eagerly": "torch.compile was run as plain PyTorch here: compiling would only have cost time.",
    "output_truncated": "Not all that was printed is kept.",
    "reduced_precision": "float64 inputs were computed in a narrower type: right within float32's precision.",
}
# of an allowance, which is float32's for float64 inputs; rounding in float64 stays below by more than 1e6
_FLOAT32_SHARE = 1e-4


def notes(judged: Sequence[Judged], end: RunEnd | None) -> tuple[Note, ...]:
    """Everything to be remarked, each once."""
    ids = dict.fromkeys([*from_cases(judged), *(from_run(end) if end else ())])
    limits = [Note(id="limit_reached", text=clean(text, 500)) for text in (end.reached if end else ())]
    return tuple(Note(id=name.removeprefix("partly_"), text=TEXTS[name]) for name in ids) + tuple(limits)


def from_run(end: RunEnd) -> Iterator[str]:
    """What the run as a whole shows."""
    if "compiled_eagerly" in end.flags:
        yield "compiled_eagerly"
    if end.output_truncated:
        yield "output_truncated"


def from_cases(judged: Sequence[Judged]) -> Iterator[str]:
    """What single results show."""
    values = [one for one in judged if one.case.kind != DEVICE and one.report.returned and one.actual is not None]
    if any(is_detached(one) for one in values):
        yield "detached"
    elif any(one.passed and one.report.returned and one.report.returned.unreached for one in values):
        yield "partly_detached"
    if any(one.passed and one.report.returned and one.report.returned.finite_gradients is False for one in values):
        yield "nan_gradient"
    if is_nondeterministic(values):
        yield "nondeterministic"
    if all(one.passed for one in judged) and any(is_narrower(one) for one in values):
        yield "reduced_precision"


def is_detached(judged: Judged) -> bool:
    """Whether inputs asked for gradients and the result can give none, or none to any of them."""
    call, returned = judged.case.call, judged.report.returned
    values = [*call.args, *call.kwargs.values()]
    asked = sum(isinstance(value, TensorValue) and value.requires_grad for value in values)
    if not asked or returned is None:
        return False
    return not returned.differentiable or len(returned.unreached) >= asked + len(call.state)


def is_nondeterministic(judged: Sequence[Judged]) -> bool:
    """Whether two cases with the same inputs gave different bytes."""
    seen: dict[object, bytes | None] = {}
    for one in judged:
        call, data = one.case.call, one.report.returned.data if one.report.returned else None
        key = (call.args, *(tuple(sorted(part.items())) for part in (call.kwargs, call.init, call.state)))
        if seen.setdefault(key, data) != data:
            return True
    return False


def is_narrower(judged: Judged) -> bool:
    """Whether a right float64 result is no more exact than float32 would be."""
    case, actual = judged.case, judged.actual
    if case.result_dtype != "float64" or not judged.passed or actual is None:
        return False
    return worst_in_allowances(actual, case) > _FLOAT32_SHARE
