"""Checks new cases before they are activated, as `grader problem verify` does."""

from __future__ import annotations

from collections.abc import Callable

from grader.cases.case import CaseSet
from grader.errors import CheckFailed
from grader.problem.schema import Problem
from grader.sandbox.base import Sandbox
from grader.verify.package import Progress, examine_set, silent


def checker(problem: Problem, sandbox: Sandbox, progress: Progress = silent) -> Callable[[CaseSet], None]:
    """A check for `cases.regenerate`: raises CheckFailed with a line for each finding."""

    def check(case_set: CaseSet) -> None:
        findings = examine_set(problem, case_set, sandbox, progress).findings
        if findings:
            raise CheckFailed("\n".join(f"{problem.slug}/{finding}" for finding in findings))

    return check
