"""Many secret seeds: right code is never refused, wrong code never accepted, and its mistakes are named.

GRADER_SEEDS says with how many seeds (5 if not set); every twentieth also has its diagnosis tested.
"""

from __future__ import annotations

import os

import pytest

from grader.cases.case import Case, CaseSet
from grader.cases.code import Code, load_code
from grader.cases.make import make_cases
from grader.cases.mistakes import explain
from grader.judging.compare import worst_in_allowances
from grader.judging.diagnose import diagnose
from grader.problem.schema import Problem
from tests.support.calling import answer, call_all
from tests.support.variants import RIGHT, Variant
from tests.support.wrong_variants import WRONG

SEEDS = int(os.environ.get("GRADER_SEEDS", "5"))
WORST_RIGHT = 0.7
"""Of the allowance; measured with 200 seeds, see docs/decisions."""
LEAST_WRONG = 3.0

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def code(situ_glu: Problem) -> Code:
    return load_code(situ_glu)


def largest_error(function: Variant, cases: tuple[Case, ...]) -> float:
    """Over all cases, in allowances; infinite where a call raised."""
    return max(
        worst_in_allowances(result, case) if result is not None and tuple(result.shape) == case.shape else float("inf")
        for case, result in call_all(function, cases)
    )


@pytest.mark.parametrize("seed", range(SEEDS))
def test_seeds_leave_margins(situ_glu: Problem, code: Code, seed: int) -> None:
    """With any secret seed right code stays well within the allowance, and wrong code leaves it far behind."""
    cases = make_cases(situ_glu, code, b"margin %d" % seed)
    right = {name: largest_error(function, cases) for name, function in RIGHT.items()}
    wrong = {name: largest_error(function, cases) for name, (function, _) in WRONG.items()}
    print(f"right {max(right.values()):.3f} {max(right, key=right.__getitem__)}")
    print(f"wrong {min(wrong.values()):.3g} {min(wrong, key=wrong.__getitem__)}")
    assert {name: error for name, error in right.items() if error > WORST_RIGHT} == {}
    assert {name: error for name, error in wrong.items() if not error > LEAST_WRONG} == {}


@pytest.mark.parametrize("seed", range(0, SEEDS, 20))
def test_seeds_are_diagnosed(situ_glu: Problem, code: Code, seed: int) -> None:
    """With any secret seed exactly the mistakes that were made are named, all of them and in every disguise."""
    cases = make_cases(situ_glu, code, b"margin %d" % seed)
    explanations = explain(code, cases)
    case_set = CaseSet(
        problem="situ_glu", version="", cases=cases, order_key=b"", load_explanations=lambda: explanations
    )
    named = {}
    for name, (function, _) in WRONG.items():
        answers = answer(function, cases)
        found = diagnose(situ_glu, case_set, answers.results, answers.failed)
        named[name] = {one.mistake for one in found}
    expected = {name: set(mistakes) for name, (_, mistakes) in WRONG.items()}
    assert {name: found for name, found in named.items() if found != expected[name]} == {}
