"""What a public case shows as data, and what a person at a terminal sees: cut to a size, and said to be cut."""

from __future__ import annotations

import math

import pytest
import torch
from rich.console import Console

from grader.cli.grades import one_grade
from grader.feedback.detail import SHOWN_ELEMENTS, shown_tensor
from grader.records import Grade, Verdict


def elements(values: object) -> int:
    """Numbers in nested lists."""
    return sum(map(elements, values)) if isinstance(values, list) else 1


@pytest.mark.parametrize("shape", [(), (0,), (256,), (257,), (100_000_000,), (16, 16), (17, 16), (2, 3, 400), (300, 0)])
def test_a_tensor_is_cut_to_its_corner(shape: tuple[int, ...]) -> None:
    """At most so many elements are shown, all where they are few, and what was left out is said."""
    shown = shown_tensor(torch.zeros(()).expand(shape))
    count = elements(shown["values"])

    assert shown["shape"] == list(shape)
    assert count <= SHOWN_ELEMENTS
    assert shown["truncated"] == (count < math.prod(shape))
    assert not shown["truncated"] or math.prod(shape) > SHOWN_ELEMENTS


def test_output_that_is_cut_says_so() -> None:
    """A table shows the beginning of a long output and that there was more."""
    grade = Grade(
        problem="p", mode="submit", device="cpu", verdict=Verdict.ACCEPTED, summary="", passed=0, total=0,
        cases_version="", stdout="x" * 5000, stderr="short",
    )  # fmt: skip
    console = Console(width=10_000)
    with console.capture() as shown:
        console.print(one_grade("file", grade))

    assert "x... (cut)" in shown.get()
    assert "short... (cut)" not in shown.get()
