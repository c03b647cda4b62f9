"""Calls a function in this process as the sandbox would, for tests of cases, comparison and diagnosis."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import torch

from grader.cases.case import VALUES, Case
from grader.cases.draw import to_tensor
from grader.judging.compare import compare
from grader.records import TensorValue


@dataclass(frozen=True, kw_only=True)
class Answers:
    """results: of the right shape, by case. failed: names of the cases that did not pass."""

    results: dict[str, torch.Tensor] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)


def answer(function: Callable[..., torch.Tensor], cases: Iterable[Case]) -> Answers:
    """Runs all cases that compare values; an exception, another shape or dtype and wrong values fail."""
    answers = Answers()
    for case, result in call_all(function, cases):
        if result is not None and tuple(result.shape) == case.shape:
            answers.results[case.name] = result.detach()
        kept = answers.results.get(case.name)
        if kept is None or str(kept.dtype) != f"torch.{case.result_dtype}" or compare(kept, case):
            answers.failed.append(case.name)
    return answers


def call_all(
    function: Callable[..., torch.Tensor], cases: Iterable[Case]
) -> Iterator[tuple[Case, torch.Tensor | None]]:
    """Each case with the result; None where the call raised."""
    before: list[object] = []
    for case in cases:
        if case.kind != VALUES:
            continue
        fresh = [to_tensor(value) if isinstance(value, TensorValue) else value for value in case.call.args]
        before = refill(before, fresh) if case.call.same_memory else list(fresh)
        try:
            yield case, function(*before, **case.call.kwargs)
        except (RuntimeError, IndexError, ValueError, TypeError):
            yield case, None


def refill(before: list[object], fresh: Sequence[object]) -> list[object]:
    """The previous call's tensors with this call's values in them."""
    for old, new in zip(before, fresh, strict=True):
        if isinstance(old, torch.Tensor) and isinstance(new, torch.Tensor):
            old.copy_(new)
    return before
