"""Grades a submission: runs it in a sandbox case by case, judges what comes back, says what to do about it.

Theory of operation. Two children of the sandbox meet the source: one makes all real calls, another all calls on tensors
without values (device cases), so that neither can prepare the other. They work side by side, told in order. Reports are
judged as they come (judge.py), told to `on_case`, and put together as one `Grade` at the end. A sandbox that breaks is
tried again; it is never the learner's fault. Nothing is printed, and nothing is kept between submissions.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace

from grader.cases.case import DEVICE, PUBLIC, Case, CaseSet
from grader.errors import SandboxFailed
from grader.feedback import loading, notes
from grader.feedback.results import Teller, first_error, not_run
from grader.feedback.summary import summary
from grader.judging.diagnose import diagnose
from grader.judging.judge import FORBIDDEN, Judged, judge, loading_verdict
from grader.problem.schema import Problem
from grader.records import (
    PASSED,
    CaseReport,
    CaseResult,
    Diagnosis,
    ErrorInfo,
    Grade,
    Job,
    Note,
    Outcome,
    RunEnd,
    Usage,
    Verdict,
)
from grader.sandbox.base import Sandbox
from grader.text import OUTPUT_LIMIT, clean

TRIES = 3
BYTE_ORDER_MARK = "\ufeff"
ENDINGS = frozenset(Outcome) - {Outcome.RETURNED, Outcome.RAISED}

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Request:
    """One submission with the cases that it has to meet, in the order in which it meets them."""

    problem: Problem
    case_set: CaseSet
    cases: tuple[Case, ...]
    source: str = field(repr=False)
    device: str
    mode: str
    on_case: Callable[[CaseResult], None] | None
    wanted: Callable[[], bool] | None = None


@dataclass(frozen=True, kw_only=True)
class Run:
    """What one child showed. reports: of the calls; loading: of the source."""

    loading: CaseReport
    judged: tuple[Judged, ...]
    end: RunEnd


def grade(
    problem: Problem,
    case_set: CaseSet,
    source: str,
    sandbox: Sandbox,
    *,
    device: str = "cpu",
    mode: str = "submit",
    case: Case | None = None,
    on_case: Callable[[CaseResult], None] | None = None,
    wanted: Callable[[], bool] | None = None,
) -> Grade:
    """Grades one source.

    mode: "submit", or "run" for public cases only; case: that case alone, in place of the set's. on_case is told each
    case as it is judged, in this thread, and must not take long: the submission's time goes on. After a retry the same
    names come again. wanted: asked now and then; a no kills the run and raises Unwanted. Raises SandboxUnavailable
    where no sandbox can run; a sandbox that fails three times gives the verdict `internal_error`.
    """
    source = source.removeprefix(BYTE_ORDER_MARK)
    cases = (case,) if case else met(case_set.ordered(source), mode)
    request = Request(
        problem=problem,
        case_set=case_set,
        cases=cases,
        source=source,
        device=device,
        mode=mode,
        on_case=on_case,
        wanted=wanted,
    )
    refusal = loading.refusal(source, problem.limits.source_bytes)
    if refusal:
        return unloaded(request, Verdict.COMPILE_ERROR, refusal)
    for number in range(1, TRIES + 1):
        try:
            return attempt(request, sandbox)
        except SandboxFailed as error:
            log.warning("try %d of %d: the sandbox failed: %s", number, TRIES, error)
    return assembled(request, Verdict.INTERNAL_ERROR)


def refused(
    problem: Problem, case_set: CaseSet, error: ErrorInfo, *, device: str = "cpu", mode: str = "submit"
) -> Grade:
    """The grade of what is no source at all: a file that can't be decoded."""
    cases = met(case_set.cases, mode)
    request = Request(
        problem=problem, case_set=case_set, cases=cases, source="", device=device, mode=mode, on_case=None
    )
    return unloaded(request, Verdict.COMPILE_ERROR, error)


def met(cases: Sequence[Case], mode: str) -> tuple[Case, ...]:
    """Those that a submission of this mode meets."""
    return tuple(case for case in cases if mode == "submit" or case.visibility == PUBLIC)


def attempt(request: Request, sandbox: Sandbox) -> Grade:
    """One try: the real calls, and, if the run was not ended, those on tensors without values.

    A second child makes the latter at the same time, once a call has shown that there is something to call.
    """
    teller = Teller(request.problem.entry, request.source, request.device, request.on_case)
    real = tuple(case for case in request.cases if case.kind != DEVICE)
    device = tuple(case for case in request.cases if case.kind == DEVICE)
    with ThreadPoolExecutor(1) as beside:
        second: list[Future[Run]] = []

        def hear(judged: Judged) -> None:
            if device and not second and judged.report.outcome not in ENDINGS:
                second.append(beside.submit(run_device, request, sandbox, device))
            teller.tell(judged)

        first = run(request, sandbox, real, hear)
    verdict = loading_verdict(first.loading)
    if verdict:
        return unloaded(request, verdict, loading.error(first.loading, request.source), first)
    if any(one.report.outcome in ENDINGS for one in first.judged):
        return finished(request, teller, [first])
    if len(first.judged) != len(real):
        raise SandboxFailed(f"{len(first.judged)} reports for {len(real)} calls")
    runs = [first, *(one.result() for one in second)]
    for late in runs[1:]:
        for one in late.judged:
            teller.tell(one)
    return finished(request, teller, runs)


def run(request: Request, sandbox: Sandbox, cases: tuple[Case, ...], hear: Callable[[Judged], None]) -> Run:
    """One child: the source is loaded and called once a case; every report is judged and heard of as it comes."""
    loaded: CaseReport | None = None
    judged: list[Judged] = []
    with closing(sandbox.run(job(request, cases))) as seen:
        for report in seen:
            if isinstance(report, RunEnd):
                if loaded is None:
                    break
                return Run(loading=loaded, judged=tuple(judged), end=report)
            if loaded is None:
                loaded = report
            else:
                judged.append(judge(cases[report.call], report, request.device))
                hear(judged[-1])
    raise SandboxFailed("the sandbox ended without saying how")


def run_device(request: Request, sandbox: Sandbox, cases: tuple[Case, ...]) -> Run:
    """The same on tensors without values, where whatever is not certain counts as passed.

    The source was loaded before, so an exception, a death or a limit while loading it again shows nothing; something
    forbidden does.
    """
    seen = run(request, sandbox, cases, lambda _: None)
    last = seen.judged[-1].report if seen.judged else seen.loading
    if last.outcome in FORBIDDEN and seen.judged:
        return seen
    unseen = last if last.outcome in FORBIDDEN else CaseReport(call=-1, outcome=Outcome.DIED)
    rest = [judge(case, unseen, request.device) for case in cases[len(seen.judged) :]]
    return replace(seen, judged=(*seen.judged, *rest))


def job(request: Request, cases: tuple[Case, ...]) -> Job:
    """What a child is told: nothing that is expected."""
    entry = request.problem.entry
    hidden = [number for number, case in enumerate(cases) if case.visibility != PUBLIC]
    return Job(
        source=request.source,
        name=entry.name,
        kind=entry.kind,
        calls=tuple(case.call for case in cases),
        hidden_from=min(hidden, default=len(cases)),
        limits=request.problem.limits,
        device=request.device,
        wanted=request.wanted,
    )


def finished(request: Request, teller: Teller, runs: list[Run]) -> Grade:
    """The grade of a source that was loaded and called."""
    judged = [one for run in runs for one in run.judged]
    verdict = min((one.verdict for one in judged), key=list(Verdict).index)
    if verdict is Verdict.ACCEPTED and len(judged) != len(request.cases):
        raise SandboxFailed(f"{len(judged)} reports for {len(request.cases)} calls")
    mistakes = diagnosed(request, judged) if verdict is not Verdict.ACCEPTED else ()
    return assembled(
        request,
        verdict,
        results=tuple(teller.results),
        diagnosis=mistakes,
        error=first_error(judged, request.source),
        notes=notes.notes(judged, runs[0].end),
        ends=[run.end for run in runs],
    )


def diagnosed(request: Request, judged: list[Judged]) -> tuple[Diagnosis, ...]:
    """The named mistakes that explain what failed."""
    actual = {one.case.name: one.actual for one in judged if one.actual is not None}
    failed = [one.case.name for one in judged if not one.passed]
    return diagnose(request.problem, request.case_set, actual, failed)


def unloaded(request: Request, verdict: Verdict, error: ErrorInfo | None, run: Run | None = None) -> Grade:
    """The grade of a source that could not be loaded. run: None if it was not even tried."""
    return assembled(
        request,
        verdict,
        error=error,
        reason=loading.reason(error, run.loading if run else None),
        notes=notes.notes([], run.end if run else None),
        ends=[run.end] if run else [],
    )


def assembled(
    request: Request,
    verdict: Verdict,
    *,
    results: tuple[CaseResult, ...] = (),
    diagnosis: tuple[Diagnosis, ...] = (),
    error: ErrorInfo | None = None,
    reason: str = "",
    notes: tuple[Note, ...] = (),
    ends: Sequence[RunEnd] = (),
) -> Grade:
    """All of it; what was not run is said to be so. Output is what the first child printed in public cases."""
    cases = results + tuple(not_run(case, loaded=bool(results)) for case in request.cases[len(results) :])
    return Grade(
        problem=request.problem.slug,
        mode=request.mode,
        device=request.device,
        verdict=verdict,
        summary=summary(verdict, cases, diagnosis, reason),
        passed=sum(case.outcome == PASSED for case in cases),
        total=len(cases),
        cases_version=request.case_set.version,
        cases=cases,
        diagnosis=diagnosis,
        notes=notes,
        error=error,
        stdout=clean(ends[0].stdout, OUTPUT_LIMIT) if ends else None,
        stderr=clean(ends[0].stderr, OUTPUT_LIMIT) if ends else None,
        usage=together([end.usage for end in ends]),
    )


def together(usages: Sequence[Usage]) -> Usage | None:
    """What all children used: times added, the higher of the memory peaks."""
    if not usages:
        return None
    return Usage(
        wall_s=sum(usage.wall_s for usage in usages),
        cpu_s=sum(usage.cpu_s for usage in usages),
        peak_memory_bytes=max(usage.peak_memory_bytes for usage in usages),
    )
