"""Every example submission, honest or hostile, gets a verdict that its manifest allows, and shows no more."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from grader import engine
from grader import source as files
from grader.cases.case import CaseSet
from grader.feedback.record import submission_record
from grader.problem.folder import example_submissions, load
from grader.problem.schema import Problem
from grader.records import ErrorInfo, Grade, Limits
from grader.sandbox.local import LocalSandbox
from tests.support.manifests import Expected, expected

FOLDERS = ("accepted", "mistakes", "broken", "attacks", "extra")
# tighter than the problem's, so that what never ends is over soon; the example that sleeps needs three seconds
LIMITS = Limits(wall_s=6.0, cpu_s=3.0)


def graded(problem: Problem, case_set: CaseSet, path: object, sandbox: LocalSandbox) -> Grade:
    """A file graded with the tighter limits."""
    quick = problem.model_copy(update={"limits": replace(LIMITS, memory_bytes=problem.limits.memory_bytes)})
    source = files.read(str(path), quick.limits.source_bytes)
    if isinstance(source, ErrorInfo):
        return engine.refused(quick, case_set, source)
    return engine.grade(quick, case_set, source, sandbox)


@pytest.mark.parametrize("line", [line for folder in FOLDERS for line in expected(folder)], ids=lambda line: line.id)
def test_manifest(line: Expected, situ_glu: Problem, case_set: CaseSet, sandbox: LocalSandbox) -> None:
    """The verdict is allowed, the mistakes are named, nothing forbidden is shown, nothing is left behind."""
    grade = graded(situ_glu, case_set, line.path, sandbox)
    record = json.dumps(submission_record(grade, id="test", problem="situ_glu"), allow_nan=False)

    assert grade.verdict in line.verdicts, grade.summary
    assert len({case.name for case in grade.cases}) == len(grade.cases) == grade.total == len(case_set.cases)
    if line.mistakes is not None:
        assert {one.mistake for one in grade.diagnosis} == line.mistakes
    assert line.forbidden is None or line.forbidden not in record
    assert "\\u0000" not in record
    if line.after_check:
        assert subprocess.run(["bash", "-c", line.after_check], check=False).returncode == 0


@pytest.mark.parametrize("example", example_submissions(load("situ_glu")), ids=lambda one: one.path.name)
def test_package_example(example: object, situ_glu: Problem, case_set: CaseSet, sandbox: LocalSandbox) -> None:
    """Every example of the package itself gets its folder's verdict and its mistakes named."""
    grade = graded(situ_glu, case_set, example.path, sandbox)  # type: ignore[attr-defined]

    assert grade.verdict in example.verdicts, grade.summary  # type: ignore[attr-defined]
    assert {one.mistake for one in grade.diagnosis} == set(example.mistakes)  # type: ignore[attr-defined]


def test_too_long(situ_glu: Problem, case_set: CaseSet, sandbox: LocalSandbox, tmp_path: Path) -> None:
    """A right source of 64 KiB is accepted; with one more byte it is refused, whatever the bytes are."""
    right = expected("accepted")[0].path.read_bytes().rstrip() + b"\n#"
    limit = situ_glu.limits.source_bytes
    for more, verdict in ((0, "accepted"), (1, "compile_error")):
        file = tmp_path / f"{more}.py"
        file.write_bytes(right.ljust(limit + more, b"#"))
        assert graded(situ_glu, case_set, file, sandbox).verdict == verdict


def test_right_one_afterwards(situ_glu: Problem, case_set: CaseSet, sandbox: LocalSandbox) -> None:
    """After everything hostile, the same sandbox accepts a right submission."""
    assert graded(situ_glu, case_set, expected("accepted")[0].path, sandbox).verdict == "accepted"
