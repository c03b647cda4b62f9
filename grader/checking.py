"""Checks hidden cases before they are activated: every accepted example passes, every mistake is caught and named."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from grader import engine, files
from grader.cases import CaseSet
from grader.errors import CheckFailed
from grader.problem import ExampleSubmission, Problem, example_submissions
from grader.records import ErrorInfo, Grade, Verdict
from grader.sandbox import choose
from grader.sandbox.base import Sandbox


@contextmanager
def checker(problem: Problem) -> Iterator[Callable[[CaseSet], None]]:
    """A check that grades example submissions in a sandbox of its own."""
    sandbox = choose.make()
    sandbox.start()
    try:
        yield lambda case_set: check(problem, case_set, sandbox)
    finally:
        sandbox.close()


def check(problem: Problem, case_set: CaseSet, sandbox: Sandbox) -> None:
    """Raises CheckFailed for the first accepted example that fails, or mistake that is not caught and named."""
    examples = [one for one in example_submissions(problem) if one.mistakes or one.verdicts == (Verdict.ACCEPTED,)]
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        grades = pool.map(lambda example: grade_file(problem, case_set, example.path, sandbox), examples)
        for example, grade in zip(examples, grades, strict=True):
            if complaint := complaint_about(example, grade):
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
