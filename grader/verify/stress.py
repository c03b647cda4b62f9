"""Tries further random seeds: right code is never refused, no mistake gets through. What is found can be kept."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

from grader.cases.case import HIDDEN, VALUES, Case, CaseSet
from grader.cases.code import Code, load_code
from grader.cases.counterexamples import TAG, Counterexample
from grader.cases.make import draw_cases
from grader.cases.mistakes import explain
from grader.errors import ProblemError
from grader.problem.folder import example_submissions
from grader.problem.schema import Problem
from grader.records import NOT_RUN, PASSED, Verdict
from grader.sandbox.base import Sandbox
from grader.verify.inputs import usable
from grader.verify.kills import LEAST_KILLS, Killed, kill_matrix
from grader.verify.package import Progress, silent
from grader.verify.trial import Trial, try_examples


def stress(
    problem: Problem, count: int, sandbox: Sandbox, progress: Progress = silent, seed: int | None = None
) -> tuple[Counterexample, ...]:
    """What went wrong with `count` further seeds, each with the case in which it shows best."""
    code, usual = load_code(problem), dict[str, frozenset[str]]()
    found: list[Counterexample] = []
    for number in range(count):
        progress("stress", number, count)
        text = f"stress {secrets.token_hex(8) if seed is None else f'{seed} {number}'}"
        found += _one_seed(problem, code, text, (sandbox, usual))
    progress("stress", count, count)
    return merged(tuple(found))


def _one_seed(
    problem: Problem, code: Code, seed: str, given: tuple[Sandbox, dict[str, frozenset[str]]]
) -> Iterator[Counterexample]:
    """usual: which cases caught each mistake with the seeds before."""
    sandbox, usual = given
    try:
        drawn = draw_cases(problem, code, seed.encode())
    except ProblemError as error:
        yield Counterexample(recipe=_named(str(error)), seed=seed, why=str(error).partition(": ")[2] or str(error))
        return
    cases = usable(
        [case for case in drawn if case.visibility == HIDDEN and case.kind == VALUES and TAG not in case.tags]
    )
    explanations = explain(code, cases)
    case_set = CaseSet(
        problem=problem.slug, version="", cases=cases, order_key=b"", load_explanations=lambda: explanations
    )
    accepted = [one for one in example_submissions(problem) if one.verdicts == (Verdict.ACCEPTED,)]
    for trial in try_examples(problem, case_set, accepted, sandbox):
        yield from _refused(trial, seed)
    for one in kill_matrix(case_set):
        yield from _let_through(one, cases, seed, usual)


def _named(text: str) -> str:
    """The case that an error names."""
    return text.split("'")[1] if text.count("'") > 1 else text[:60]


def _refused(trial: Trial, seed: str) -> Iterator[Counterexample]:
    for case in trial.grade.cases:
        if case.outcome not in (PASSED, NOT_RUN):
            yield Counterexample(recipe=case.name, seed=seed, why=f"{trial.file} is {case.outcome}")


def _let_through(
    one: Killed, cases: tuple[Case, ...], seed: str, usual: dict[str, frozenset[str]]
) -> Iterator[Counterexample]:
    """A mistake that too few cases catch, with the first case that caught it before."""
    before = usual.get(one.name, frozenset())
    if len(one.cases) < LEAST_KILLS:
        names = [case.name for case in cases if case.expected is not None and case.expected.numel()]
        recipe = next((name for name in names if name in before - one.cases), names[0])
        yield Counterexample(
            recipe=recipe, seed=seed, why=f"the mistake {one.name} is caught by {len(one.cases)} cases"
        )
    usual[one.name] = before | one.cases


def merged(found: tuple[Counterexample, ...]) -> tuple[Counterexample, ...]:
    """One for each recipe, with its first seed and all that went wrong there."""
    seeds: dict[str, str] = {}
    reasons: dict[str, dict[str, None]] = {}
    for one in found:
        if seeds.setdefault(one.recipe, one.seed) == one.seed:
            reasons.setdefault(one.recipe, {})[one.why] = None
    return tuple(Counterexample(recipe=name, seed=seeds[name], why="; ".join(whys)) for name, whys in reasons.items())
