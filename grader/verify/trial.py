"""Grades a package's example submissions, several at once, and keeps what each returned in units of the allowance."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

import torch

from grader import engine
from grader import source as files
from grader.cases.case import VALUES, CaseSet
from grader.judging.compare import worst_in_allowances
from grader.judging.judge import Contradiction, tensor
from grader.problem.schema import ExampleSubmission, Problem
from grader.records import NOT_RUN, PASSED, CaseReport, ErrorInfo, Grade, Job, RunEnd, Verdict
from grader.sandbox.base import Sandbox

SHARE = 0.5
"""Of the limits: what takes longer is no accepted example (a quarter is allowed), and what never ends is over soon."""

SLOW = (Verdict.TIME_LIMIT_EXCEEDED, Verdict.MEMORY_LIMIT_EXCEEDED, Verdict.OUTPUT_LIMIT_EXCEEDED)


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One source with its grade. errors: largest error of each result, in allowances, by case."""

    file: str
    grade: Grade
    example: ExampleSubmission | None = None
    errors: dict[str, float] = field(default_factory=dict)

    @property
    def failed(self) -> frozenset[str]:
        """Names of the cases that did not pass, those not run included."""
        return frozenset(case.name for case in self.grade.cases if case.outcome != PASSED)

    @property
    def not_run(self) -> frozenset[str]:
        """Names of the cases that were not reached."""
        return frozenset(case.name for case in self.grade.cases if case.outcome == NOT_RUN)


class Recorder:
    """A sandbox that also notes how far each result is from the expected one."""

    def __init__(self, inner: Sandbox, case_set: CaseSet) -> None:
        self.errors: dict[str, float] = {}
        self.devices = inner.devices
        self._inner = inner
        self._cases = {id(case.call): case for case in case_set.cases if case.kind == VALUES}

    def start(self) -> None:
        """Starts the inner one."""
        self._inner.start()

    def close(self) -> None:
        """Leaves the inner one to its owner."""

    def run(self, job: Job) -> Generator[CaseReport | RunEnd, None, None]:
        """Passes every report on."""
        for report in self._inner.run(job):
            if isinstance(report, CaseReport) and report.returned and report.call >= 0:
                self._note(job, report)
            yield report

    def _note(self, job: Job, report: CaseReport) -> None:
        case = self._cases.get(id(job.calls[report.call]))
        if case is None or report.returned is None:
            return
        try:
            actual = tensor(report.returned, case)
        except Contradiction:
            return
        if actual is not None and str(actual.dtype) == f"torch.{case.result_dtype}":
            self.errors[case.name] = worst_in_allowances(actual, case)


def try_source(problem: Problem, case_set: CaseSet, source: str | ErrorInfo, sandbox: Sandbox) -> Trial:
    """One source graded."""
    recorder = Recorder(sandbox, case_set)
    grade = (
        engine.refused(problem, case_set, source)
        if isinstance(source, ErrorInfo)
        else engine.grade(problem, case_set, source, recorder)
    )
    return Trial(file="", grade=grade, errors=recorder.errors)


def try_examples(
    problem: Problem,
    case_set: CaseSet,
    examples: Sequence[ExampleSubmission],
    sandbox: Sandbox,
    on_trial: Callable[[], None] = lambda: None,
) -> tuple[Trial, ...]:
    """All examples, in the order given; with half the problem's limits."""
    quick = with_share_of_limits(problem)

    def one(example: ExampleSubmission) -> Trial:
        torch.set_num_threads(1)
        source = files.read(str(example.path), problem.limits.source_bytes)
        trial = try_source(quick, case_set, source, sandbox)
        on_trial()
        file = example.path.relative_to(problem.root).as_posix()
        return replace(trial, file=file, example=example)

    order = sorted(examples, key=lambda example: example.verdicts[0] not in SLOW)
    with ThreadPoolExecutor(len(os.sched_getaffinity(0)) + 1) as pool:  # one more: what sleeps needs no core
        found: Iterator[Trial] = pool.map(one, order)
        by_path: dict[Path, Trial] = {trial.example.path: trial for trial in found if trial.example}
    return tuple(by_path[example.path] for example in examples)


def with_share_of_limits(problem: Problem) -> Problem:
    """The problem with half its time."""
    limits = problem.limits
    return problem.model_copy(
        update={"limits": replace(limits, wall_s=SHARE * limits.wall_s, cpu_s=SHARE * limits.cpu_s)}
    )
