"""The engine around the verdicts: order, modes, streaming, refusals, and a sandbox that breaks."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field

import pytest

from grader import engine
from grader.cases.case import CaseSet
from grader.cases.own import custom_case
from grader.errors import SandboxFailed
from grader.problem.schema import Problem
from grader.records import CaseReport, CaseResult, Grade, Job, Mode, RunEnd
from grader.sandbox.base import Sandbox
from tests.feedback.test_message import RIGHT

Grading = Callable[..., Grade]


@dataclass
class Breaking:
    """The real sandbox, whose first `failures` runs of real calls break after their second report."""

    real: Sandbox
    failures: int
    devices: tuple[str, ...] = ("cpu",)
    jobs: list[Job] = field(default_factory=list)

    def start(self) -> None:
        """It is started."""

    def close(self) -> None:
        """Its owner closes it."""

    def run(self, job: Job) -> Generator[CaseReport | RunEnd, None, None]:
        """Breaks, or runs the job."""
        self.jobs.append(job)
        beside = job.calls[0].mode is not Mode.REAL
        if beside or sum(job.calls[0].mode is Mode.REAL for job in self.jobs) > self.failures:
            yield from self.real.run(job)
            return
        for number, report in enumerate(self.real.run(job)):
            if number == 2:
                raise SandboxFailed("broken on purpose")
            yield report


@pytest.mark.parametrize(("failures", "verdict"), [(0, "accepted"), (2, "accepted"), (3, "internal_error")])
def test_broken_sandbox(situ_glu: Problem, case_set: CaseSet, sandbox: Sandbox, failures: int, verdict: str) -> None:
    """A sandbox that breaks twice is tried again; after the third time it is nobody's fault but ours."""
    grade = engine.grade(situ_glu, case_set, RIGHT, Breaking(sandbox, failures))

    assert grade.verdict == verdict
    assert grade.total == len(case_set.cases)


def test_job_holds_nothing_expected(situ_glu: Problem, case_set: CaseSet, sandbox: Sandbox) -> None:
    """What a child is told are inputs: no expected value, no case name, no visibility."""
    watched = Breaking(sandbox, 0)
    engine.grade(situ_glu, case_set, RIGHT, watched)
    text = repr(watched.jobs)

    assert len(watched.jobs) == 2
    assert not any(case.name in text for case in case_set.cases)
    assert "expected" not in text


def test_order(case_set: CaseSet, grade: Grading) -> None:
    """Public cases come first; the same source meets the same order, another source another one."""
    orders = [[case.name for case in grade(source).cases] for source in (RIGHT, RIGHT, RIGHT + "\n# other")]
    public = [case.name for case in case_set.cases if case.visibility == "public" and case.kind == "values"]

    assert orders[0] == orders[1]
    assert orders[0] != orders[2]
    assert sorted(orders[0]) == sorted(orders[2])
    assert orders[0][: len(public)] == public


def test_streaming(grade: Grading) -> None:
    """Every case is told as it is judged, as it stands in the record."""
    told: list[CaseResult] = []
    given = grade(RIGHT, on_case=told.append)

    assert tuple(told) == given.cases


def test_run_mode(grade: Grading) -> None:
    """Mode "run" meets the public cases only."""
    given = grade(RIGHT, mode="run")

    assert given.verdict == "accepted"
    assert {case.visibility for case in given.cases} == {"public"}


def test_own_inputs(situ_glu: Problem, grade: Grading) -> None:
    """A case of the caller's own inputs is answered alone, as a public one."""
    literals = {"input_tensor": [[1.0, 2.0]], "gate_projection": [[1.0, 0.0]], "up_projection": [[0.0, 1.0]]}
    given = grade(RIGHT, mode="run", case=custom_case(situ_glu, literals))

    assert (given.verdict, given.total) == ("accepted", 1)
    assert given.cases[0].visibility == "public"


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (RIGHT + "#" * (64 << 10), "the limit is 65,536"),
        (RIGHT + "\0", "NUL"),
        (RIGHT + "'\ud800'", "surrogate"),
    ],
)
def test_refused_without_running(
    situ_glu: Problem, case_set: CaseSet, sandbox: Sandbox, source: str, text: str
) -> None:
    """What is too long or no text is a compile error, and no child sees it."""
    watched = Breaking(sandbox, 0)
    grade = engine.grade(situ_glu, case_set, source, watched)

    assert grade.verdict == "compile_error"
    assert text in grade.summary
    assert watched.jobs == []
    assert grade.total == len(case_set.cases)


@pytest.mark.parametrize("source", [f"\ufeff{RIGHT}", RIGHT.replace("\n", "\r\n"), RIGHT.replace("    ", "\t")])
def test_editors(grade: Grading, source: str) -> None:
    """A byte order mark, CRLF and tabs are all right."""
    assert grade(source).verdict == "accepted"


def test_output_of_public_cases_only(grade: Grading) -> None:
    """Output while importing and in public cases is shown, that of hidden cases is not."""
    printing = RIGHT.replace(
        "    return result", "    calls.append(1)\n    print('call', len(calls))\n    return result"
    )
    given = grade("calls = []\nprint('importing')\n" + printing)
    public = sum(case.visibility == "public" and not case.indicative for case in given.cases)

    assert given.stdout == "importing\n" + "".join(f"call {number + 1}\n" for number in range(public))


def test_nondeterministic(grade: Grading) -> None:
    """Two equal calls with different results are remarked."""
    noisy = RIGHT.replace("return result", "return result * (1 + 2e-7 * torch.rand_like(result))")
    given = grade(noisy)

    assert "nondeterministic" in {note.id for note in given.notes}


def test_closed_early(situ_glu: Problem, case_set: CaseSet, sandbox: Sandbox) -> None:
    """An error in on_case ends the run, and the sandbox goes on to the next one."""

    def stop(_: CaseResult) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        engine.grade(situ_glu, case_set, RIGHT, sandbox, on_case=stop)
    assert engine.grade(situ_glu, case_set, RIGHT, sandbox).verdict == "accepted"
