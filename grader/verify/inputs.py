"""Checks a set of cases as such: ingredients, junk, arguments that never vary, cases that are there twice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from grader.cases.case import HIDDEN, VALUES, Case
from grader.cases.code import Code
from grader.cases.draw import Draw
from grader.cases.make import fault_of_repeat, fault_of_set, load_starter, why_not
from grader.feedback.shapes import arguments
from grader.problem.schema import Parameter, Problem
from grader.records import Call, TensorValue
from grader.verify.finding import Finding

EQUAL = "equal_call"
"""The tag of a case that is meant to be another's twin: the same call twice shows what is not deterministic."""


@dataclass(kw_only=True)
class Coverage:
    """How the cases vary one argument. values: distinct ones; shapes, for tensors, likewise."""

    argument: str
    values: set[Any] = field(default_factory=set)
    positional: int = 0
    keyword: int = 0
    absent: int = 0


def usable(cases: Sequence[Case]) -> tuple[Case, ...]:
    """Without those that want the memory of a case that is not there."""
    before: list[Case] = []
    for case in cases:
        if not case.call.same_memory or (before and not fault_of_repeat(before[-1], case)):
            before.append(case)
    return tuple(before)


def check_set(cases: Sequence[Case]) -> Iterator[Finding]:
    """Order, names, the first case, repeats."""
    if fault := fault_of_set(cases):
        yield Finding(check="cases", file="cases.py", what=fault, mend="mend `recipes()`")


def check_junk(problem: Problem, cases: Sequence[Case]) -> Iterator[Finding]:
    """Zeros, constants, inputs, the starter and random numbers fail every case that compares values."""
    starter = load_starter(problem)
    for case in cases:
        if case.kind == VALUES and (fault := why_not(case, starter) or _random(case)):
            yield Finding(
                check="junk", file="cases.py", what=f"case {case.name!r} can't tell: {fault}",
                mend="choose larger inputs, or a dtype with more digits",
            )  # fmt: skip


def _random(case: Case) -> str:
    expected, allowance = case.expected, case.allowance
    if expected is None or allowance is None or not expected.numel():
        return ""
    low, high = float(expected.min()), float(expected.max())
    if low == high:
        low, high = -abs(high), abs(high)
    drawn = torch.from_numpy(Draw(b"junk", case.name.encode()).uniform(tuple(expected.shape), low, high + 1e-300))
    return "random numbers pass" if bool(((drawn - expected).abs() <= allowance).all()) else ""


def check_ingredients(code: Code, cases: Sequence[Case]) -> Iterator[tuple[str, Finding]]:
    """(tag, finding) for each ingredient that no hidden case carries in a dtype that needs it."""
    for tag, dtypes in code.ingredients.items():
        lacking = [dtype for dtype in dtypes if not _carried(cases, tag, dtype)]
        if lacking:
            yield tag, Finding(
                check="ingredients", file="cases.py",
                what=f"no hidden case carries the ingredient {tag!r} in {', '.join(lacking)}", mend="add one",
            )  # fmt: skip


def _carried(cases: Sequence[Case], tag: str, dtype: str) -> bool:
    return any(case.visibility == HIDDEN and case.dtype == dtype and tag in case.tags for case in cases)


def check_duplicates(cases: Sequence[Case]) -> Iterator[Finding]:
    """No two cases make the same call, but for those that are meant to."""
    seen: dict[Any, Case] = {}
    for case in cases:
        key = (_key(case.call), case.kind, case.dtype)
        if key in seen and EQUAL not in case.tags:
            yield Finding(
                check="duplicates", file="cases.py",
                what=f"cases {seen[key].name!r} and {case.name!r} make the same call",
                mend=f"take one out, or give the second the tag {EQUAL!r} if that is the point",
            )  # fmt: skip
        seen.setdefault(key, case)


def _key(call: Call) -> Any:
    parts = (call.kwargs, call.init, call.state)
    return (call.args, call.mode, *(tuple(sorted(part.items())) for part in parts))


def coverage(problem: Problem, cases: Sequence[Case]) -> dict[str, Coverage]:
    """How each argument of the entry, of the constructor too, varies over the cases."""
    entry = problem.entry
    found = {p.name: Coverage(argument=p.name) for p in (*entry.parameters, *entry.init)}
    for case in cases:
        given = {p.name: value for p, value in arguments(entry, case.call)} | dict(case.call.init)
        for parameter in (*entry.parameters, *entry.init):
            one = found[parameter.name]
            one.absent += parameter.name not in given
            one.keyword += parameter.name in case.call.kwargs
            one.positional += parameter.name in given and parameter.name not in case.call.kwargs
            if parameter.name in given:
                value = given[parameter.name]
                one.values.add(value.shape if isinstance(value, TensorValue) else (type(value).__name__, value))
    return found


def check_coverage(problem: Problem, found: Mapping[str, Coverage]) -> Iterator[Finding]:
    """Every argument takes at least two values, None too where it may be None, and defaults are left to work."""
    for parameter in (*problem.entry.parameters, *problem.entry.init):
        for what in _lacks(parameter, found[parameter.name]):
            told = f"the argument `{parameter.name}` {what}"
            yield Finding(check="arguments", file="cases.py", what=told, mend="add such a case")


def _lacks(parameter: Parameter, found: Coverage) -> Iterator[str]:
    values = {value for kind, value in found.values if kind != "NoneType"} if parameter.kind != "tensor" else set()
    if parameter.kind == "tensor":
        if len(found.values) < 2:
            yield "always has the same shape"
        return
    if len(values) < 2:
        yield "never changes its value"
    if parameter.default is not None and values <= {parameter.default}:
        yield "is never given another value than its default"
    if not parameter.required and not found.absent:
        yield "is given in every case, so its default is never used"
    if parameter.optional and not any(kind == "NoneType" for kind, _ in found.values) and not found.absent:
        yield "is never None"
