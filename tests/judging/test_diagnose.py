"""Diagnosis: the fewest mistakes that explain every result are named, and nothing where nothing fits."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
import torch

from grader.cases.case import PUBLIC, CaseSet
from grader.judging.diagnose import diagnose
from grader.problem.schema import Problem
from grader.records import Diagnosis
from tests.support.calling import Answers, answer
from tests.support.variants import RIGHT, Variant, matmul, situ, through
from tests.support.wrong_variants import WRONG


def diagnosed(function: Variant, problem: Problem, case_set: CaseSet) -> tuple[Diagnosis, ...]:
    answers = answer(function, case_set.cases)
    return diagnose(problem, case_set, answers.results, answers.failed)


@pytest.mark.parametrize("name", WRONG)
def test_exactly_the_mistakes_made_are_named(name: str, situ_glu: Problem, case_set: CaseSet) -> None:
    """Every listed mistake in every disguise, also two at once, is named; other faults are not taken for one."""
    function, mistakes = WRONG[name]
    found = diagnosed(function, situ_glu, case_set)
    assert {one.mistake for one in found} == set(mistakes)
    assert all(one.explains == one.of > 0 for one in found)


def test_right_code_gets_no_diagnosis(situ_glu: Problem, case_set: CaseSet) -> None:
    """Where nothing failed there is nothing to explain."""
    assert diagnosed(RIGHT["native"], situ_glu, case_set) == ()


def test_titles_and_hints_are_the_packages(situ_glu: Problem, case_set: CaseSet) -> None:
    """An entry carries the title and the hint that problem.toml gives the mistake."""
    (one,) = diagnosed(WRONG["shared_gate_cap"][0], situ_glu, case_set)
    info = next(info for info in situ_glu.mistakes if info.id == "shared_cap")
    assert (one.title, one.hint) == (info.title, info.hint)


def test_a_failed_case_without_a_result_counts_but_is_not_explained(situ_glu: Problem, case_set: CaseSet) -> None:
    """`of` counts failed cases in which the mistake shows, `explains` those whose result it explains."""
    answers = answer(WRONG["shared_gate_cap"][0], case_set.cases)
    del answers.results["ordinary-gates-float32"]
    (one,) = diagnose(situ_glu, case_set, answers.results, answers.failed)
    assert (one.mistake, one.explains) == ("shared_cap", one.of - 1)


def test_a_case_that_passed_speaks_against_a_mistake_that_would_have_failed_it(
    situ_glu: Problem, case_set: CaseSet
) -> None:
    """One float32 result that is right where the mistake would be wrong: the mistake is not named."""
    answers = answer(WRONG["shared_gate_cap"][0], case_set.cases)
    right = answer(RIGHT["native"], case_set.cases)
    name = "saturated-branches-float32"
    answers.results[name] = right.results[name]
    answers.failed.remove(name)
    assert diagnose(situ_glu, case_set, answers.results, answers.failed) == ()


def test_one_element_that_does_not_fit_is_enough(situ_glu: Problem, case_set: CaseSet) -> None:
    """A mistake is named only if it explains every element of every result."""
    answers = answer(WRONG["shared_gate_cap"][0], case_set.cases)
    answers.results["ordinary-gates-float32"][0, 0] += 1
    assert diagnose(situ_glu, case_set, answers.results, answers.failed) == ()


def test_nan_is_no_wildcard(situ_glu: Problem, case_set: CaseSet) -> None:
    """NaN results are explained by nothing."""
    answers = answer(WRONG["shared_gate_cap"][0], case_set.cases)
    nothing = {name: torch.full_like(result, torch.nan) for name, result in answers.results.items()}
    assert diagnose(situ_glu, case_set, nothing, answers.failed) == ()


def test_a_wrong_dtype_hides_no_mistake(situ_glu: Problem, case_set: CaseSet) -> None:
    """Results of the right shape are looked at whatever the verdict: here every half-precision one is float32."""

    def widened(*args: Any, **kwargs: Any) -> torch.Tensor:
        return WRONG["swapped_projections"][0](*(x.float() if hasattr(x, "float") else x for x in args), **kwargs)

    (one,) = diagnosed(widened, situ_glu, case_set)
    assert one.mistake == "swapped_projections"


def test_a_wrong_orientation_is_seen_in_square_cases(situ_glu: Problem, case_set: CaseSet) -> None:
    """`x @ W` raises wherever the matrices are not square; what the square cases returned is explained."""
    answers = answer(WRONG["transposed_projection"][0], case_set.cases)
    square = {case.name for case in case_set.cases if "square" in case.tags}
    assert set(answers.results) == square and len(square) >= 3
    (one,) = diagnose(situ_glu, case_set, answers.results, answers.failed)
    assert (one.mistake, one.explains, one.of) == ("transposed_projection", len(square), len(square))


def test_public_cases_alone_are_enough(situ_glu: Problem, case_set: CaseSet) -> None:
    """A run of the public cases only names the mistake too."""
    public = replace(case_set, cases=tuple(case for case in case_set.cases if case.visibility == PUBLIC))
    for name in ("shared_gate_cap", "hard_clipping", "sigmoid_of_capped_gate", "hard_and_shared"):
        assert {one.mistake for one in diagnosed(WRONG[name][0], situ_glu, public)} == set(WRONG[name][1])


def test_bytes_are_read_in_the_cases_own_dtype(situ_glu: Problem, case_set: CaseSet) -> None:
    """Raw bytes, as the sandbox sends them, give the same diagnosis as tensors."""
    answers = answer(WRONG["hard_clipping"][0], case_set.cases)
    raw = {name: bytes(result.contiguous().untyped_storage()) for name, result in answers.results.items()}
    (one,) = diagnose(situ_glu, case_set, raw, answers.failed)
    assert one.mistake == "hard_clipping"


def test_cases_of_which_nothing_is_known_are_left_out(situ_glu: Problem, case_set: CaseSet) -> None:
    """A caller's own case, or no result at all, gives no diagnosis and no error."""
    assert diagnose(situ_glu, case_set, {"your-inputs": torch.zeros(3)}, ["your-inputs"]) == ()
    answers = Answers(failed=[case.name for case in case_set.cases])
    assert diagnose(situ_glu, case_set, answers.results, answers.failed) == ()


def test_two_mistakes_that_are_one_function_are_named_as_one(situ_glu: Problem, case_set: CaseSet) -> None:
    """Swapped caps with swapped projections compute what a sigmoid on the up branch does: the fewest win."""
    function = through(matmul, lambda g, u, a, b: situ(u, g, b, a))
    assert [one.mistake for one in diagnosed(function, situ_glu, case_set)] == ["sigmoid_on_up"]


def test_among_pairs_the_one_earlier_in_the_list_is_named(situ_glu: Problem, case_set: CaseSet) -> None:
    """Several pairs are one function; of those in the plainest forms the one that comes first in the list is named."""
    known = case_set.load_explanations()
    order = [info.id for info in situ_glu.mistakes]
    places = [tuple(order.index(name) for name in names) for names in known.mistakes]
    pairs = [place for place in places if len(place) == 2]
    assert places == [*sorted(place for place in places if len(place) == 1), *pairs]
    assert sum(first > second for first, second in pairwise(pairs)) == 2, "without, with one and with two disguises"
    assert len(set(places)) > 100
    function = through(matmul, lambda g, u, a, b: situ(u, g, a, a))
    assert [one.mistake for one in diagnosed(function, situ_glu, case_set)] == ["sigmoid_on_up", "shared_cap"]
