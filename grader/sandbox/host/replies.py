"""From a child's reply to a report: the door at which everything that a submission could have written is checked.

A reply that doesn't fit these closed models is malformed, whatever it says.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from grader.records import CaseReport, Job, Mixture, Mutation, Outcome, Raised, Returned, TensorValue
from grader.sandbox.guest import wire

Text = Annotated[str, StringConstraints(max_length=8000)]
Name = Annotated[str, StringConstraints(max_length=200)]
Size = Annotated[int, Field(ge=0, lt=1 << 63)]
Sizes = Annotated[list[Size], Field(max_length=1024)]
Number = Annotated[int, Field(ge=-(1 << 63), lt=1 << 64)]
Layout = Annotated[
    list[Name | bool | Annotated[list[Number], Field(max_length=1024)]], Field(min_length=5, max_length=5)
]
Line = Annotated[int, Field(ge=0, le=1 << 20)]


class _Closed(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class MixtureModel(_Closed):
    operation: Name
    operands: Annotated[list[Annotated[tuple[Name, Size, Size], Field(strict=False)]], Field(max_length=16)]


class RaisedModel(_Closed):
    type: Name
    module: Name
    message: Text
    line: Line | None = None
    column: Number | None = None
    text: Text | None = None
    frames: Annotated[list[Annotated[tuple[Line, Name], Field(strict=False)]], Field(max_length=64)] = []
    mixture: MixtureModel | None = None


class ReturnedModel(_Closed):
    plain: bool
    what: Name
    dtype: Name = ""
    shape: Sizes = []
    device: Name = ""
    differentiable: bool = False
    finite_gradients: bool | None = None
    unreached: Annotated[list[Name], Field(max_length=64)] = []
    gradient_error: RaisedModel | None = None


class ProblemModel(_Closed):
    missing: Name | None = None
    found: Name | None = None
    defined: Annotated[list[Name], Field(max_length=64)] = []
    signature: Text | None = None
    reason: Text | None = None
    count: Line = 0
    keywords: Annotated[list[Name], Field(max_length=64)] = []


class ReportModel(_Closed):
    flags: Annotated[list[Name], Field(max_length=8)]
    ticket: Name
    raised: RaisedModel | None = None
    problem: ProblemModel | None = None
    seconds: Annotated[float, Field(ge=0, le=1e6)] = 0.0
    changed: Annotated[
        dict[Name, Annotated[list[Layout], Field(min_length=2, max_length=2)]], Field(max_length=64)
    ] = {}
    returned: ReturnedModel | None = None
    doubtful: bool = False


@dataclass(frozen=True, kw_only=True)
class Reply:
    """A reply that fits the models, and its tensors."""

    report: ReportModel
    tensors: dict[str, wire.Tensor]


def parse(blob: bytes) -> Reply:
    """wire.Malformed if these bytes are no reply."""
    report, tensors = wire.parse_reply(blob)
    try:
        reply = Reply(report=ReportModel.model_validate(report), tensors=tensors)
    except (ValidationError, RecursionError) as error:
        raise wire.Malformed("not a report") from error
    _check_result(reply)
    return reply


def _check_result(reply: Reply) -> None:
    """The values that came must be those of the result that was described."""
    returned, result = reply.report.returned, reply.tensors.get("result")
    if result is None:
        return
    if returned is None or not returned.plain:
        raise wire.Malformed("values without a result")
    if result.dtype != returned.dtype or list(result.shape) != returned.shape:
        raise wire.Malformed("values that are not those of the result")


def load_report(reply: Reply, job: Job) -> CaseReport:
    """What came of loading the source: it returned, or raised; a missing or misfitting function counts as raised."""
    if reply.report.raised:
        return CaseReport(call=-1, outcome=Outcome.RAISED, raised=_raised(reply.report.raised))
    problem = reply.report.problem
    if problem is None:
        return CaseReport(call=-1, outcome=Outcome.RETURNED)
    told = _missing(problem, job) if problem.missing else _misfit(problem, job)
    return CaseReport(call=-1, outcome=Outcome.RAISED, raised=told)


def _missing(problem: ProblemModel, job: Job) -> Raised:
    what = "class" if job.kind == "module" else "function"
    if problem.found:
        message = f"`{job.name}` is no {what}: it is of type {problem.found}"
    elif problem.defined:
        message = (
            f"the source defines no {what} `{job.name}`; it defines {', '.join(f'`{n}`' for n in problem.defined[:8])}"
        )
    else:
        message = f"the source defines no {what} `{job.name}`"
    return Raised(type="NameError", module="builtins", message=message)


def _misfit(problem: ProblemModel, job: Job) -> Raised:
    arguments = [f"{problem.count} by position"] if problem.count else []
    arguments += [f"`{name}` by keyword" for name in problem.keywords]
    message = (
        f"`{problem.signature}` can't take the call: {problem.reason}. "
        f"It must take {', '.join(arguments) or 'no arguments'}"
    )
    return Raised(type="TypeError", module="builtins", message=message)


def call_report(index: int, reply: Reply, mutations: tuple[Mutation, ...]) -> CaseReport:
    """What came of one call."""
    report = reply.report
    if report.raised:
        return CaseReport(
            call=index,
            outcome=Outcome.RAISED,
            raised=_raised(report.raised),
            mutations=mutations,
            doubtful=report.doubtful,
        )
    assert report.returned is not None  # what is neither is no answer
    return CaseReport(
        call=index,
        outcome=Outcome.RETURNED,
        returned=_returned(report.returned, reply.tensors),
        mutations=mutations,
        seconds=report.seconds,
        doubtful=report.doubtful,
    )


def _returned(told: ReturnedModel, tensors: dict[str, wire.Tensor]) -> Returned:
    result = tensors.get("result")
    gradients = {
        name.removeprefix("gradient."): TensorValue(
            dtype=t.dtype, shape=t.shape, strides=_contiguous(t.shape), data=t.data
        )
        for name, t in tensors.items()
        if name.startswith("gradient.")
    }
    return Returned(
        plain=told.plain,
        what=told.what,
        dtype=told.dtype,
        shape=tuple(told.shape),
        device=told.device,
        data=result.data if result else None,
        differentiable=told.differentiable,
        finite_gradients=told.finite_gradients,
        unreached=tuple(told.unreached),
        gradients=gradients,
    )


def _contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))


def _raised(told: RaisedModel) -> Raised:
    return Raised(
        type=told.type,
        module=told.module,
        message=told.message,
        line=told.line,
        frames=tuple(told.frames),
        column=told.column,
        text=told.text,
        mixture=_mixture(told.mixture) if told.mixture else None,
    )


def _mixture(told: MixtureModel) -> Mixture:
    return Mixture(operation=told.operation, operands=tuple(told.operands))
