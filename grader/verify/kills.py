"""Which mistakes which cases catch: the kill matrix, and whether each mistake is diagnosed as itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import torch

from grader.cases.case import HIDDEN, CaseSet
from grader.cases.mistakes import Explanations, kept
from grader.judging.diagnose import diagnose
from grader.problem.schema import Problem
from grader.verify.finding import Finding

LEAST_KILLS = 2
LEAST_ERROR = 3.0
"""In allowances: a mistake that nowhere gets this far off is too near to what rounding may do."""


@dataclass(frozen=True, kw_only=True)
class Killed:
    """One form of a mistake. cases: those that catch it. error: the largest in a hidden case, in allowances."""

    mistake: str
    form: int
    cases: frozenset[str] = field(default_factory=frozenset)
    error: float = 0.0

    @property
    def name(self) -> str:
        """ "hard_clipping", or "hard_clipping (form 2)" for a disguise."""
        return self.mistake if self.form == 1 else f"{self.mistake} (form {self.form})"


def kill_matrix(case_set: CaseSet) -> tuple[Killed, ...]:
    """Every form of every single mistake, in the diagnosis's order."""
    known, found = case_set.load_explanations(), []
    forms: dict[str, int] = {}
    for row, names in enumerate(known.mistakes):
        if len(names) == 1:
            forms[names[0]] = forms.get(names[0], 0) + 1
            found.append(_killed(case_set, known, row, forms[names[0]]))
    return tuple(found)


def _killed(case_set: CaseSet, known: Explanations, row: int, form: int) -> Killed:
    caught, errors = set(), [0.0]
    for case in case_set.cases:
        if case.name not in known.places:
            continue
        number, _, _ = known.places[case.name]
        if known.differs[row, number] or not known.defined[row, number]:
            caught.add(case.name)
            if case.visibility == HIDDEN:
                errors.append(_error(case_set, known, row, case.name))
    return Killed(mistake=known.mistakes[row][0], form=form, cases=frozenset(caught), error=max(errors))


def _error(case_set: CaseSet, known: Explanations, row: int, name: str) -> float:
    number, start, stop = known.places[name]
    if not known.defined[row, number]:
        return float("inf")
    case = next(case for case in case_set.cases if case.name == name)
    assert case.expected is not None and case.allowance is not None
    keep = kept(case.expected.numel())
    expected, allowance = (one.numpy().ravel()[keep] for one in (case.expected, case.allowance))
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        share = np.abs(known.output[row, start:stop] - expected) / allowance
    return float(np.nan_to_num(share, nan=np.inf).max(initial=0.0))


def check_kills(case_set: CaseSet, killed: tuple[Killed, ...]) -> Iterator[Finding]:
    """Every form of every mistake is caught by two hidden cases, and far enough off in one."""
    hidden = {case.name for case in case_set.cases if case.visibility == HIDDEN}
    for one in killed:
        count = len(one.cases & hidden)
        if count < LEAST_KILLS:
            what = f"{one.name} passes every case" if not one.cases else f"{one.name} is caught by {count} hidden cases"
            mend = f"add hidden cases that tell it; {LEAST_KILLS} at least"
            yield Finding(check="mistakes", file="cases.py", what=what, mend=mend)
        elif one.error < LEAST_ERROR:
            yield Finding(
                check="margins", file="cases.py",
                what=f"{one.name} is at most {one.error:.3g} allowances off", mend="make inputs in which it shows more",
            )  # fmt: skip


def check_diagnosis(problem: Problem, case_set: CaseSet) -> Iterator[Finding]:
    """What the plain form of each mistake returns is diagnosed as that mistake."""
    known = case_set.load_explanations()
    for mistake in problem.mistakes:
        if (mistake.id,) not in known.mistakes:
            yield Finding(
                check="mistakes", file="mistakes.py", what=f"{mistake.id!r} of problem.toml is not in its explanations",
                mend="write it, or take it out of problem.toml",
            )  # fmt: skip
            continue
        row = known.mistakes.index((mistake.id,))
        actual, failed = _played(case_set, known, row)
        named = [one.mistake for one in diagnose(problem, case_set, actual, failed)]
        if failed and actual and named != [mistake.id]:
            yield Finding(
                check="mistakes", file="mistakes.py", what=f"{mistake.id!r} is diagnosed as {named or 'nothing'}",
                mend="list first what is to be preferred, or make cases in which the two differ",
            )  # fmt: skip


def _played(case_set: CaseSet, known: Explanations, row: int) -> tuple[Mapping[str, torch.Tensor], set[str]]:
    """(results, failed cases) of code that makes the mistake; where only some elements are kept the rest is right."""
    actual, failed = {}, set()
    for case in case_set.cases:
        if case.name not in known.places or case.expected is None:
            continue
        number, start, stop = known.places[case.name]
        if known.defined[row, number]:
            values = case.expected.numpy().ravel().copy()
            values[kept(values.size)] = known.output[row, start:stop]
            actual[case.name] = torch.from_numpy(values.reshape(case.shape))
        if known.differs[row, number] or not known.defined[row, number]:
            failed.add(case.name)
    return actual, failed


def without(killed: tuple[Killed, ...], names: frozenset[str]) -> tuple[Killed, ...]:
    """The same if these cases were not there."""
    return tuple(replace(one, cases=one.cases - names) for one in killed)
