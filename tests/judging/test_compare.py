"""Comparison: element by element, NaN never a wildcard, the worst element named."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from grader.cases.case import VALUES, Case
from grader.judging.compare import compare, to_numbers, worst_in_allowances
from grader.records import Call

INF, NAN = math.inf, math.nan


def case_of(expected: list[float], allowed: float = 0.5, shape: tuple[int, ...] | None = None) -> Case:
    wanted = torch.tensor(expected, dtype=torch.float64)
    wanted = wanted.reshape(shape or wanted.shape)
    return Case(
        name="one",
        visibility="public",
        kind=VALUES,
        dtype="float64",
        tags=frozenset(),
        call=Call(),
        shape=tuple(wanted.shape),
        dims=("n",),
        result_dtype="float64",
        expected=wanted,
        allowance=torch.full_like(wanted, allowed),
    )


def doubles(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def test_the_allowance_is_inclusive_and_per_element() -> None:
    """An error of exactly the allowance is right, the next larger number is not."""
    case = case_of([1.0, 2.0])
    assert compare(doubles(1.5, 1.5), case) is None
    assert compare(doubles(np.nextafter(1.5, 2), 2.0), case) is not None


def test_a_mismatch_has_a_place_and_numbers() -> None:
    """Of several wrong elements the worst is described, with its index in the result's shape."""
    case = case_of([0.0] * 6, shape=(2, 3))
    mismatch = compare(doubles(0, 1, 0, 0, 0, -3).reshape(2, 3), case)
    assert mismatch is not None
    assert (mismatch.count, mismatch.total, mismatch.index) == (2, 6, (1, 2))
    assert (mismatch.expected, mismatch.actual, mismatch.allowed, mismatch.error) == (0.0, -3.0, 0.5, 3.0)


def test_the_worst_element_is_the_one_furthest_beyond_its_own_allowance() -> None:
    """An error is weighed against the element's allowance, not taken as it is."""
    case = case_of([100.0, 1.0])
    assert case.allowance is not None
    case.allowance[:] = torch.tensor([5.0, 0.01])
    mismatch = compare(doubles(110.0, 2.0), case)
    assert mismatch is not None and mismatch.index == (1,)


@pytest.mark.parametrize(
    ("actual", "expected", "right"),
    [
        (NAN, 1.0, False),
        (INF, 1.0, False),
        (NAN, NAN, True),
        (1.0, NAN, False),
        (INF, INF, True),
        (-INF, INF, False),
        (1e308, INF, False),
        (NAN, INF, False),
        (-0.0, 0.0, True),
    ],
)
def test_numbers_that_are_none(actual: float, expected: float, right: bool) -> None:
    """NaN equals NaN only, an infinity the same infinity only."""
    assert (compare(doubles(actual), case_of([expected])) is None) == right


def test_nan_is_the_worst_of_all() -> None:
    """Among wrong elements a NaN is the one to show."""
    mismatch = compare(doubles(1e9, NAN), case_of([0.0, 0.0]))
    assert mismatch is not None and mismatch.index == (1,) and math.isnan(mismatch.actual)


def test_no_elements_are_right() -> None:
    """A result without elements has nothing to compare."""
    case = case_of([], shape=(0, 3))
    assert compare(b"", case) is None and worst_in_allowances(b"", case) == 0.0


def test_another_number_of_elements_is_the_callers_fault() -> None:
    """Shape is judged before; a result of another size is refused, never broadcast."""
    with pytest.raises(ValueError, match="1 elements for 2"):
        compare(doubles(1.0), case_of([1.0, 1.0]))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
def test_bytes_and_tensors_are_the_same_numbers(dtype: torch.dtype) -> None:
    """Raw little-endian bytes of every dtype are read as torch reads them."""
    tensor = torch.tensor([1.5, -2.75, INF, 3e-5, 0.0, -0.1], dtype=torch.float64).to(dtype)
    data = bytes(tensor.untyped_storage())
    assert np.array_equal(to_numbers(data, str(dtype)[6:]), tensor.double().numpy())
    assert np.array_equal(to_numbers(tensor, ""), tensor.double().numpy())


def test_a_transposed_result_is_compared_where_its_elements_belong() -> None:
    """The order of elements is that of the shape, however they lie in memory."""
    case = case_of([1.0, 2.0, 3.0, 4.0], shape=(2, 2))
    assert compare(doubles(1, 3, 2, 4).reshape(2, 2).T, case) is None
