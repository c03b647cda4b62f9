"""From a claim to what is stored: the engine, the cases of the right version, the record's JSON. Imports torch."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable
from dataclasses import replace

import torch

from app.case_store import CaseStore
from app.service import Catalogue
from app.store import Claim, Finished, ascii_json
from grader import engine, problem
from grader.cases import Case, custom_case
from grader.errors import UsageError
from grader.present import case_record, graded
from grader.records import CaseResult, Grade, Verdict
from grader.sandbox.base import Sandbox
from grader.schema import Problem

log = logging.getLogger(__name__)

SORRY = (
    "The grader itself failed on this submission, several times. It is not your code's fault; please try again later."
)


class Gradings:
    """One sandbox and the cases that were used lately; its methods may run in several threads at once."""

    def __init__(self, sandbox: Sandbox, cases: CaseStore) -> None:
        self._sandbox, self._cases = sandbox, cases
        self._catalogue = Catalogue()

    @property
    def devices(self) -> tuple[str, ...]:
        """What this worker has."""
        return tuple(self._sandbox.devices)

    def prepare(self) -> None:
        """Has cases ready for every problem; made where there are none."""
        torch.set_num_threads(1)
        for each in self._catalogue.all():
            self._cases.prepare(each)

    @property
    def restarts(self) -> int:
        """How often the sandbox was started anew."""
        return int(getattr(self._sandbox, "restarts", 0))

    def grade(self, claim: Claim, tell: Callable[[str], None], abandoned: threading.Event) -> Finished:
        """Grades with the version that was active when it was claimed. `tell` gets each case's JSON, in order, once.

        Raises Unwanted, the run killed, once it is abandoned.
        """
        asked = self._catalogue.load(claim.problem)
        case_set = self._cases.version(asked, claim.active_cases) if claim.active_cases else self._cases.active(asked)
        try:
            own = _own_case(asked, claim)
        except UsageError as error:
            return self._ungraded(claim, Verdict.RUNTIME_ERROR, f"The inputs that were sent can't be used: {error}")
        grade = engine.grade(
            asked,
            case_set,
            claim.text,
            self._sandbox,
            device=claim.device,
            mode=claim.mode,
            case=own,
            on_case=_Teller(tell),
            wanted=lambda: not abandoned.is_set(),
        )
        return finished(grade)

    def internal_error(self, claim: Claim) -> Finished:
        """What is stored when all attempts failed."""
        return self._ungraded(claim, Verdict.INTERNAL_ERROR, SORRY)

    def _ungraded(self, claim: Claim, verdict: Verdict, summary: str) -> Finished:
        return finished(
            Grade(
                problem=claim.problem,
                mode=claim.mode,
                device=claim.device,
                verdict=verdict,
                summary=summary,
                passed=0,
                total=0,
                cases_version=claim.active_cases or "",
            )
        )

    def canary(self) -> bool:
        """Whether an accepted and a wrong example of the first problem that has both get their verdicts."""
        for each in self._catalogue.all():
            examples = {verdict: _example(each, verdict) for verdict in (Verdict.ACCEPTED, Verdict.WRONG_ANSWER)}
            if all(examples.values()):
                return all(self._sings(each, verdict, source or "") for verdict, source in examples.items())
        log.error("no problem has both an accepted and a wrong_answer example: canaries can't be graded")
        return False

    def _sings(self, asked: Problem, expected: Verdict, source: str) -> bool:
        actual = engine.grade(asked, self._cases.active(asked), source, self._sandbox).verdict
        if actual is not expected:
            log.error("a canary got the wrong verdict", extra={"expected": expected.value, "actual": actual.value})
        return actual is expected


class _Teller:
    """Passes cases on; after the engine tried anew, only those that were not told before."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._told: set[str] = set()

    def __call__(self, case: CaseResult) -> None:
        if case.name not in self._told:
            self._told.add(case.name)
            self._tell(ascii_json(case_record(case)))


def finished(grade: Grade) -> Finished:
    """A grade as it is stored. Nothing of a hidden case but what the contract names can get past here."""
    cases = tuple(
        replace(case, detail=None, time_ms=None) if case.visibility == "hidden" else case for case in grade.cases
    )
    record = graded(replace(grade, cases=cases))
    return Finished(verdict=grade.verdict.value, cases_version=grade.cases_version or None, grade=ascii_json(record))


def _own_case(asked: Problem, claim: Claim) -> Case | None:
    return custom_case(asked, json.loads(claim.inputs)) if claim.inputs else None


def _example(asked: Problem, verdict: Verdict) -> str | None:
    for example in problem.example_submissions(asked):
        if example.verdicts == (verdict,):
            return example.path.read_text(encoding="utf-8")
    return None
