"""Which named mistakes explain what a submission returned: one if one does, else two, else none.

An explanation holds if every result of the right shape lies within its allowance: those that failed, and also those
that passed (a mistake that would have shown there speaks against it). Where such code would raise, as with a wrong
orientation and matrices that are not square, a result that passed says nothing and one that failed speaks against it.
Where nothing holds, results with infinities or NaN, which some other fault brings, are left out of what failed.
Formulas come in the order of preference, so the first that holds is named.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import torch

from grader.cases.case import CaseSet
from grader.cases.mistakes import Explanations, kept
from grader.judging.compare import same, to_numbers
from grader.records import Diagnosis

if TYPE_CHECKING:
    from grader.problem.schema import Problem

Numbers = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


def diagnose(
    problem: Problem, case_set: CaseSet, actual: Mapping[str, bytes | torch.Tensor], failed: Collection[str]
) -> tuple[Diagnosis, ...]:
    """The mistakes that explain the failing cases, each with the number of cases that it explains; () if none does.

    actual: results of the right shape by case name, whatever the verdict; bytes are of the case's own dtype.
    failed: names of the cases that did not pass, with or without a result.
    """
    if not failed:
        return ()
    known = case_set.load_explanations()
    dtypes = {case.name: case.result_dtype for case in case_set.cases}
    results = {name: to_numbers(data, dtypes[name]) for name, data in actual.items() if name in known.places}
    told = [name for name in results if name in failed]
    if not told:
        return ()
    told.sort(key=lambda name: (dtypes[name] not in ("float32", "float64"), name))
    order = [*told, *(name for name in results if name not in failed)]
    chosen = _first_that_holds(known, {name: results[name] for name in order}, len(told))
    finite = [name for name in told if np.isfinite(results[name]).all()]
    if chosen is None and 0 < len(finite) < len(told):
        order, told = [*finite, *order[len(told) :]], finite
        chosen = _first_that_holds(known, {name: results[name] for name in order}, len(told))
    return () if chosen is None else _describe(problem, known, chosen, (told, failed))


def _first_that_holds(known: Explanations, results: Mapping[str, Numbers], told: int) -> int | None:
    """The first formula that fits all results; the first `told` of them failed. None if there is none."""
    candidates = np.arange(len(known.mistakes))
    for position, (name, result) in enumerate(results.items()):
        number, start, stop = known.places[name]
        fits = _fits(known, candidates, result[kept(result.size)], slice(start, stop))
        defined = known.defined[candidates, number]
        candidates = candidates[fits & defined if position < told else fits | ~defined]
        if not candidates.size:
            return None
    numbers = [known.places[name][0] for name in list(results)[:told]]
    shown = np.any(known.differs[:, numbers], axis=1)
    return next((int(one) for one in candidates if shown[one]), None)


def _fits(known: Explanations, candidates: npt.NDArray[np.int64], result: Numbers, columns: slice) -> Flags:
    """Which candidates' outputs the result equals, within their allowances."""
    output, allowance = known.output[candidates, columns], known.allowance[candidates, columns]
    with np.errstate(invalid="ignore", over="ignore"):
        close = np.abs(result - output) <= allowance
    fits = close | same(result, output) | np.isposinf(allowance)
    return np.asarray(np.all(fits, axis=1))


def _describe(
    problem: Problem, known: Explanations, chosen: int, cases: tuple[Collection[str], Collection[str]]
) -> tuple[Diagnosis, ...]:
    """An entry for each mistake of the formula: in how many failed cases it shows, and how many of them it explains."""
    told, failed = cases
    names = known.mistakes[chosen]
    infos = {info.id: info for info in problem.mistakes}
    found = []
    for name in names:
        row = chosen if len(names) == 1 else known.mistakes.index((name,))
        of = {case for case, (number, _, _) in known.places.items() if case in failed and known.differs[row, number]}
        info = infos[name]
        found.append(
            Diagnosis(mistake=name, title=info.title, hint=info.hint, explains=len(of & set(told)), of=len(of))
        )
    return tuple(found)
