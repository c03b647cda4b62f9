"""A case made of a caller's own inputs, for the `inputs` of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch

from grader.cases.case import PUBLIC, Case
from grader.cases.code import Code, load_code
from grader.cases.draw import Recipe, in_double
from grader.cases.make import build_case, make_call
from grader.problem.arguments import Array
from grader.problem.inputs import LARGEST, InputError, read_arguments
from grader.records import Call

if TYPE_CHECKING:
    from grader.problem.schema import Problem

NAME = "your-inputs"


def custom_case(problem: Problem, literals: Mapping[str, Any]) -> Case:
    """A public case made of a caller's own inputs (see literals.py).

    Raises UsageError, naming the argument, for what is no such thing, does not fit together or is too large.
    """
    arguments = read_arguments(problem.entry, literals)
    dtype = next(value.dtype for value in (*arguments.args, *arguments.state.values()) if isinstance(value, Array))
    recipe = Recipe(name=NAME, arguments=lambda draw: arguments, dtype=dtype, visibility=PUBLIC)
    code = load_code(problem)
    try:
        if result_size(code, make_call(problem, recipe, arguments)) > LARGEST:
            raise InputError(f"the result has more than {LARGEST} elements")
        return build_case(problem, code, recipe, arguments)
    except (RuntimeError, IndexError, ValueError, TypeError, ArithmeticError) as error:
        raise InputError(f"the reference can't take them: {str(error)[:200]}") from error


def result_size(code: Code, call: Call) -> int:
    """How many elements the answer would have, found on tensors that hold no values."""
    args, kwargs = in_double(call)
    return int(code.reference(*without_values(args), **without_values(kwargs)).numel())


def without_values(value: Any) -> Any:
    """The same arguments with every tensor on the device `meta`."""
    if isinstance(value, torch.Tensor):
        return value.to("meta")
    if isinstance(value, dict):
        return {key: without_values(inner) for key, inner in value.items()}
    return tuple(map(without_values, value)) if isinstance(value, tuple) else value
