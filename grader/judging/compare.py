"""Compares what came back with what was expected, element by element. Says what differs, not what follows from it.

An element is right when |actual - expected| <= allowance, when both are NaN, or when both are the same infinity. A NaN
is never a wildcard. A result without elements is right: shape and dtype were judged before.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from grader.cases.case import Case

Numbers = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class Mismatch:
    """Where and how a result differs. index: of the worst element, the one whose error is most times its allowance.

    error: |actual - expected|, NaN or infinite where one of them is; the numbers are those of the worst element.
    """

    count: int
    total: int
    index: tuple[int, ...]
    expected: float
    actual: float
    allowed: float
    error: float


def compare(actual: bytes | torch.Tensor, case: Case) -> Mismatch | None:
    """None if every element is right. `actual` has the case's shape and result dtype; bytes are little endian."""
    right = right_elements(actual, case)
    return None if right.all() else _mismatch(actual, case, right)


def right_elements(actual: bytes | torch.Tensor, case: Case) -> Flags:
    """Which elements are right, in row-major order."""
    values, expected, allowance = _told(actual, case)
    if values.size != expected.size:
        raise ValueError(f"{values.size} elements for {expected.size}")
    with np.errstate(invalid="ignore", over="ignore"):
        close = np.abs(values - expected) <= allowance
    return close if close.all() else close | same(values, expected)


def _mismatch(actual: bytes | torch.Tensor, case: Case, right: Flags) -> Mismatch:
    values, expected, allowance = _told(actual, case)
    with np.errstate(invalid="ignore", over="ignore"):
        error = np.abs(values - expected)
    worst = int(np.argmax(_badness(error, allowance, right)))
    return Mismatch(
        count=int(right.size - right.sum()),
        total=int(right.size),
        index=tuple(int(i) for i in np.unravel_index(worst, case.shape)),
        expected=float(expected[worst]),
        actual=float(values[worst]),
        allowed=float(allowance[worst]),
        error=float(error[worst]),
    )


def _told(actual: bytes | torch.Tensor, case: Case) -> tuple[Numbers, Numbers, Numbers]:
    """(actual, expected, allowance) as float64, in row-major order."""
    assert case.expected is not None and case.allowance is not None, case.name
    return to_numbers(actual, case.result_dtype), case.expected.numpy().ravel(), case.allowance.numpy().ravel()


def same(values: Numbers, expected: Numbers) -> Flags:
    """Equal numbers, infinities among them, and pairs of NaN."""
    return np.asarray((values == expected) | (np.isnan(values) & np.isnan(expected)))


def _badness(error: Numbers, allowance: Numbers, right: Flags) -> Numbers:
    with np.errstate(all="ignore"):
        ratio = error / np.maximum(allowance, np.finfo(np.float64).tiny)
    return np.where(right, -1.0, np.where(np.isnan(ratio), np.inf, ratio))


def to_numbers(actual: bytes | torch.Tensor, dtype: str) -> Numbers:
    """All elements as float64, in row-major order. bfloat16 is the upper half of a float32."""
    if isinstance(actual, torch.Tensor):
        return actual.detach().to("cpu", torch.float64).contiguous().numpy().ravel()
    if dtype == "bfloat16":
        halves = np.frombuffer(actual, dtype="<u2").astype(np.uint32)
        return (halves << np.uint32(16)).view(np.float32).astype(np.float64)
    return np.frombuffer(actual, dtype=np.dtype(dtype).newbyteorder("<")).astype(np.float64)


def worst_in_allowances(actual: bytes | torch.Tensor, case: Case) -> float:
    """The largest error in units of the allowance: at most 1 if all is right, infinite for NaN; 0 without elements."""
    values, expected, allowance = _told(actual, case)
    with np.errstate(invalid="ignore", over="ignore"):
        error = np.abs(values - expected)
    equal = same(values, expected)
    badness = _badness(np.where(equal, 0.0, error), allowance, equal)
    return max(0.0, float(badness.max(initial=0.0)))
