"""Checks hidden cases before they are activated: every example submission of the package must get its verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from grader import engine, files
from grader.cases import CaseSet
from grader.errors import CheckFailed
from grader.problem import ExampleSubmission, Problem, example_submissions
from grader.records import ErrorInfo, Grade
from grader.sandbox.base import Sandbox
from grader.sandbox.local import LocalSandbox


@contextmanager
def checker(problem: Problem) -> Iterator[Callable[[CaseSet], None]]:
    """A check that grades all example submissions in a sandbox of its own."""
    sandbox = LocalSandbox()
    sandbox.start()
    try:
        yield lambda case_set: check(problem, case_set, sandbox)
    finally:
        sandbox.close()


def check(problem: Problem, case_set: CaseSet, sandbox: Sandbox) -> None:
    """Raises CheckFailed for the first example that gets another verdict, or whose mistakes are not named."""
    for example in example_submissions(problem):
        grade = grade_file(problem, case_set, example.path, sandbox)
        complaint = complaint_about(example, grade)
        if complaint:
            raise CheckFailed(f"{example.path.name}: {complaint}")


def complaint_about(example: ExampleSubmission, grade: Grade) -> str:
    """What is wrong with the grade of an example; "" if nothing."""
    named = {one.mistake for one in grade.diagnosis}
    if grade.verdict not in example.verdicts:
        return f"is {grade.verdict}, not {' or '.join(example.verdicts)}"
    if named != set(example.mistakes):
        return f"has the mistakes {sorted(named)} named, not {sorted(example.mistakes)}"
    return ""


def grade_file(problem: Problem, case_set: CaseSet, path: Path, sandbox: Sandbox) -> Grade:
    """One file graded as the command line does it."""
    source = files.read(str(path), problem.limits.source_bytes)
    if isinstance(source, ErrorInfo):
        return engine.refused(problem, case_set, source)
    return engine.grade(problem, case_set, source, sandbox)
