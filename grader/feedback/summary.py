"""The one sentence that sums up a grade."""

from __future__ import annotations

from collections.abc import Sequence

from grader.records import NOT_RUN, PASSED, CaseResult, Diagnosis, Verdict

VERDICTS = {
    Verdict.INTERNAL_ERROR: "The grader itself failed, which says nothing about your code",
    Verdict.COMPILE_ERROR: "The source could not be loaded",
    Verdict.SECURITY_VIOLATION: "The run was stopped for something that no solution needs",
    Verdict.TIME_LIMIT_EXCEEDED: "The time limit was reached",
    Verdict.MEMORY_LIMIT_EXCEEDED: "The memory limit was reached",
    Verdict.OUTPUT_LIMIT_EXCEEDED: "The output limit was reached",
    Verdict.RUNTIME_ERROR: "The code raised an exception or died",
    Verdict.WRONG_TYPE: "The result is not one plain dense tensor",
    Verdict.WRONG_SHAPE: "The result has the wrong shape",
    Verdict.WRONG_DTYPE: "The result has the wrong dtype",
    Verdict.WRONG_DEVICE: "The result is on the wrong device",
    Verdict.MUTATED_INPUT: "An input was changed",
    Verdict.WRONG_ANSWER: "The values are wrong",
    Verdict.ACCEPTED: "Accepted",
}


def summary(verdict: Verdict, cases: Sequence[CaseResult], diagnosis: Sequence[Diagnosis], reason: str) -> str:
    """What happened, where first, and the likely mistake. reason: why the source could not be loaded."""
    what = VERDICTS[verdict]
    if verdict is Verdict.ACCEPTED:
        return f"{what}: {f'all {len(cases)} cases' if len(cases) > 1 else 'the one case'} passed."
    if verdict is Verdict.INTERNAL_ERROR:
        return f"{what}: please submit it again."
    if all(case.outcome == NOT_RUN for case in cases):
        return f"{what}: {reason.rstrip('.?!')}." if reason else f"{what}."
    failed = [case for case in cases if case.outcome not in {PASSED, NOT_RUN}]
    first = next(case for case in failed if case.outcome == verdict)
    likely = f"; it looks like this mistake: {'; '.join(one.title for one in diagnosis)}" if diagnosis else ""
    return f"{what}, first in {first.name}; {len(failed)} of {len(cases)} cases failed{likely}."
