"""From a claim to what is stored: the engine, the cases of the right version, the record's JSON. Imports torch."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import torch

from app.api.state import Catalogue
from app.records import Claim, Finished, ascii_json
from app.worker.cases import CaseStore
from grader import engine
from grader.cases.case import Case
from grader.cases.own import custom_case
from grader.errors import GraderError, UsageError
from grader.feedback.record import case_record, graded
from grader.problem import folder as problem
from grader.problem.schema import Problem
from grader.records import CaseResult, Grade, Verdict
from grader.sandbox.base import Sandbox

log = logging.getLogger(__name__)

CANARIES = (Verdict.ACCEPTED, Verdict.WRONG_ANSWER)
AGAIN_S = 60.0
SORRY = (
    "The grader itself failed on this submission, several times. It is not your code's fault; please try again later."
)


class Gradings:
    """One sandbox and the cases that were used lately; its methods may run in several threads at once."""

    def __init__(self, sandbox: Sandbox, cases: CaseStore) -> None:
        self._sandbox, self._cases = sandbox, cases
        self._catalogue = Catalogue()
        self._heard = threading.Event()

    @property
    def devices(self) -> tuple[str, ...]:
        """What this worker has."""
        return tuple(self._sandbox.devices)

    def prepare(self) -> None:
        """Has the cases ready that the canaries need; made where there are none."""
        torch.set_num_threads(1)
        next(self._canary_problems(), None)

    def prepare_others(self) -> None:
        """Has every problem's cases ready, after the first canaries; who submits before waits for them."""
        self._heard.wait()
        waiting = self._catalogue.all()
        while waiting := [each for each in waiting if not self._prepared(each)]:
            time.sleep(AGAIN_S)

    def _prepared(self, problem: Problem) -> bool:
        try:
            self._cases.active(problem)
        except GraderError as error:
            log.warning("the cases of %s are not ready: %s", problem.slug, error)
            return False
        except Exception:
            log.exception("the cases of %s are not ready", problem.slug)
            return False
        return True

    @property
    def restarts(self) -> int:
        """How often the sandbox was started anew."""
        return int(getattr(self._sandbox, "restarts", 0))

    def grade(self, claim: Claim, tell: Callable[[str], None], abandoned: threading.Event) -> Finished:
        """Grades with the version that was active when it was claimed, or with a newer one of a changed package.

        `tell` gets each case's JSON, in order, once. Raises Unwanted, the run killed, once it is abandoned.
        """
        asked = self._catalogue.load(claim.problem)
        case_set = self._cases.active(asked, claim.active_cases)
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
        """Whether an accepted and a wrong example of some problem get their verdicts.

        Where they don't, that may be the package's fault: the next one's are tried.
        """
        try:
            if any(self._both_sing(asked) for asked in self._canary_problems()):
                return True
            log.error("no problem's accepted and wrong_answer examples get their verdicts")
            return False
        finally:
            self._heard.set()

    def _canary_problems(self) -> Iterator[Problem]:
        """Those that have both examples and whose cases are ready: easy ones first, their cases are made soonest."""
        sound = sorted(self._catalogue.all(), key=lambda each: each.difficulty != "easy")
        yield from (each for each in sound if _has_examples(each) and self._prepared(each))

    def _both_sing(self, asked: Problem) -> bool:
        return all(self._sings(asked, verdict, _example(asked, verdict) or "") for verdict in CANARIES)

    def _sings(self, asked: Problem, expected: Verdict, source: str) -> bool:
        actual = engine.grade(asked, self._cases.active(asked), source, self._sandbox).verdict
        if actual is not expected:
            fields = {"problem": asked.slug, "expected": expected.value, "actual": actual.value}
            log.error("an example of %s got the wrong verdict", asked.slug, extra=fields)
        return actual is expected


class _Teller:
    """Passes cases on; after the engine tried anew, only those that were not told before."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._told: set[str] = set()

    def __call__(self, case: CaseResult) -> None:
        if case.name not in self._told:
            self._told.add(case.name)
            self._tell(ascii_json(case_record(outward(case))))


def finished(grade: Grade) -> Finished:
    """A grade as it is stored."""
    record = graded(replace(grade, cases=tuple(outward(case) for case in grade.cases)))
    return Finished(verdict=grade.verdict.value, cases_version=grade.cases_version or None, grade=ascii_json(record))


def outward(case: CaseResult) -> CaseResult:
    """A case as it leaves the worker: nothing of a hidden one but what the contract names can get past here."""
    return replace(case, detail=None, time_ms=None) if case.visibility == "hidden" else case


def _own_case(asked: Problem, claim: Claim) -> Case | None:
    return custom_case(asked, json.loads(claim.inputs)) if claim.inputs else None


def _has_examples(asked: Problem) -> bool:
    try:
        return all(_example(asked, verdict) for verdict in CANARIES)
    except GraderError as error:
        log.warning("the examples of %s can't be used: %s", asked.slug, error)
        return False


def _example(asked: Problem, verdict: Verdict) -> str | None:
    for example in problem.example_submissions(asked):
        if example.verdicts == (verdict,):
            return example.path.read_text(encoding="utf-8")
    return None
