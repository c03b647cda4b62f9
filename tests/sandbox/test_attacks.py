"""The hostile examples in containers: verdicts as outside, and a right submission is accepted afterwards."""

from __future__ import annotations

import pytest

from grader.cases.case import CaseSet
from grader.problem.schema import Problem
from grader.sandbox.base import Sandbox
from tests.support.manifests import Expected, expected
from tests.test_submissions import graded


def complaint(line: Expected, situ_glu: Problem, case_set: CaseSet, sandbox: Sandbox) -> str:
    """What is wrong with the verdict of a hostile example; "" if nothing."""
    grade = graded(situ_glu, case_set, line.path, sandbox)  # type: ignore[arg-type]
    return "" if grade.verdict in line.verdicts else f"{line.id}: {grade.verdict} ({grade.summary})"


@pytest.mark.ways("socket", "shared")  # `single` takes two containers for each: by hand
def test_attacks(situ_glu: Problem, case_set: CaseSet, box: Sandbox) -> None:
    """Every hostile example gets a verdict that its manifest allows; then a right one is accepted."""
    lines = [*expected("attacks"), expected("accepted")[0]]

    assert [told for line in lines if (told := complaint(line, situ_glu, case_set, box))] == []
