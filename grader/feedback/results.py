"""Judged cases as they are shown, in run order: what a learner may see of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from grader.cases.case import DEVICE, PUBLIC, Case
from grader.feedback import message as feedback
from grader.feedback.detail import detail
from grader.feedback.exceptions import hidden_error, public_error
from grader.judging.judge import Judged
from grader.problem.schema import Entry
from grader.records import NOT_RUN, PASSED, CaseResult, ErrorInfo


class Teller:
    """Turns judged cases into results and tells each one; knows whether a hidden case has failed before."""

    def __init__(self, entry: Entry, source: str, device: str, on_case: Callable[[CaseResult], None] | None) -> None:
        self.results: list[CaseResult] = []
        self._entry, self._source, self._device, self._on_case = entry, source, device, on_case
        self._hidden_failure = False

    def tell(self, judged: Judged) -> None:
        """Keeps the result and hands it on."""
        hidden = judged.case.visibility != PUBLIC
        first = hidden and not judged.passed and not self._hidden_failure
        self._hidden_failure |= first
        self.results.append(self._result(judged, hidden=hidden, first=first))
        if self._on_case:
            self._on_case(self.results[-1])

    def _result(self, judged: Judged, *, hidden: bool, first: bool) -> CaseResult:
        return CaseResult(
            name=judged.case.name,
            visibility=judged.case.visibility,
            outcome=PASSED if judged.passed else judged.verdict,
            message=feedback.message(self._entry, judged, self._source, hidden=hidden, tell_line=first),
            dtype=judged.case.dtype,
            time_ms=None if hidden else round(judged.report.seconds * 1000, 3),
            detail=None if hidden else detail(self._entry, judged, self._device),
            indicative=judged.case.kind == DEVICE,
        )


def not_run(case: Case, *, loaded: bool) -> CaseResult:
    """A case that the run did not reach."""
    return CaseResult(
        name=case.name,
        visibility=case.visibility,
        outcome=NOT_RUN,
        message=f"Not run: {'the run had ended before' if loaded else 'no case was run'}.",
        dtype=case.dtype,
        indicative=case.kind == DEVICE,
    )


def first_error(judged: Sequence[Judged], source: str) -> ErrorInfo | None:
    """The exception of the first failing case that raised one."""
    for one in judged:
        raised = one.report.raised
        if raised and not one.passed:
            hidden = one.case.visibility != PUBLIC
            return hidden_error(raised, source) if hidden else public_error(raised, source)
    return None
