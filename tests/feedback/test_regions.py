"""Where a public case goes wrong is told in the package's words."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from grader.cases.case import Case, CaseSet
from grader.feedback.regions import where


def public(case_set: CaseSet, name: str) -> Case:
    return next(case for case in case_set.cases if case.name == name)


def test_the_smallest_region_is_named(case_set: CaseSet) -> None:
    """Elements that are wrong exactly where the gate is beyond its cap are told so, with the region of g and u."""
    case = public(case_set, "beyond-the-caps")
    assert case.expected is not None
    beyond = case.quantities["gate"].abs() > 3
    told = where(case, torch.where(beyond, case.expected + 1, case.expected).float())
    assert told.startswith("Wrong only where |gate| > 3, and everywhere there.")
    assert "gate is between -" in told
    assert "up is between -" in told


def test_a_single_element_is_told_with_its_numbers(case_set: CaseSet) -> None:
    """One wrong element is told with its gate and its up."""
    case = public(case_set, "beyond-the-caps")
    assert case.expected is not None
    actual = case.expected.clone()
    actual[0, 0] += 1
    gate = float(case.quantities["gate"][0, 0])
    assert f"In the wrong element, gate is {gate:.4g} and up is" in where(case, actual.float())


def test_a_quantity_that_does_not_vary_is_told_once(case_set: CaseSet) -> None:
    """Where all wrong elements have the same value, it is told as one number and not as a range."""
    case = public(case_set, "beyond-the-caps")
    assert case.expected is not None
    case = replace(case, quantities={"scale": torch.full_like(case.expected, 0.25)}, regions={})
    actual = case.expected.clone()
    actual[0, :2] += 1
    assert where(case, actual.float()) == "In the wrong elements, scale is 0.25."


def test_large_errors_are_told_where_all_is_wrong(case_set: CaseSet) -> None:
    """Where every element is a little wrong, the region of the large errors is told."""
    case = public(case_set, "beyond-the-caps")
    assert case.expected is not None
    off = torch.where(case.quantities["up"] > 0, 1.0, 0.01)
    assert where(case, (case.expected + off).float()).startswith("Far off only where up > 0")


def test_nothing_is_said_of_right_answers_or_without_words(case_set: CaseSet) -> None:
    """Right answers and hidden cases, which have no words, get none."""
    case = public(case_set, "first-example")
    hidden = next(case for case in case_set.cases if case.visibility == "hidden" and case.expected is not None)
    assert case.expected is not None
    assert hidden.expected is not None
    assert where(case, case.expected.float()) == ""
    assert not hidden.quantities
    assert where(hidden, hidden.expected + 1) == ""


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_not_finite_is_located_too(case_set: CaseSet, value: float) -> None:
    """NaN and infinities are wrong elements as others are."""
    case = public(case_set, "beyond-the-caps")
    assert case.expected is not None
    actual = torch.where(case.quantities["gate"] < 0, value, case.expected)
    assert where(case, actual.float()).startswith("Wrong only where gate < 0, and everywhere there.")
