"""A case made of a caller's own inputs: closed JSON literals, for the `inputs` of a run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch

from grader.case import PUBLIC, Case
from grader.case_maker import build_case, make_call
from grader.draw import DTYPES, Arguments, Array, Recipe, in_double
from grader.errors import UsageError
from grader.package import Code, load_code
from grader.records import Call, Scalar

if TYPE_CHECKING:
    from grader.problem import Entry, Parameter, Problem

NAME = "your-inputs"
LARGEST = 10_000
"""Elements that the tensors of one call may have together, and so may the result."""

DEEPEST = 8

WORDS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
NUMBERS: dict[str, tuple[type, ...]] = {
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "text": (str,),
}


def custom_case(problem: Problem, literals: Mapping[str, Any]) -> Case:
    """A public case made of a caller's own inputs: argument name -> number, or tensor literal.

    A tensor literal is {"dtype": "float32", "values": nested lists}, or the nested lists alone (float32); "NaN",
    "Infinity" and "-Infinity" stand for what JSON has not. For a module, `init` and `state` are objects of such
    literals. Raises UsageError, naming the argument, for what is no such thing, does not fit together or is too
    large.
    """
    arguments = read_arguments(problem, literals)
    arrays = [value for value in (*arguments.args, *arguments.state.values()) if isinstance(value, Array)]
    dtypes = {array.dtype for array in arrays}
    if len(dtypes) != 1:
        raise UsageError("inputs: give all tensors the same dtype")
    if sum(array.values.size for array in arrays) > LARGEST:
        raise UsageError(f"inputs: the tensors have more than {LARGEST} elements together")
    recipe = Recipe(name=NAME, arguments=lambda draw: arguments, dtype=dtypes.pop(), visibility=PUBLIC)
    code = load_code(problem)
    try:
        if result_size(code, make_call(problem, recipe, arguments)) > LARGEST:
            raise UsageError(f"inputs: the result has more than {LARGEST} elements")
        return build_case(problem, code, recipe, arguments)
    except (RuntimeError, IndexError, ValueError, TypeError, ArithmeticError) as error:
        raise UsageError(f"inputs: the reference can't take them: {str(error)[:200]}") from error


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


def read_arguments(problem: Problem, literals: Mapping[str, Any]) -> Arguments:
    """The literals as the call's arguments: tensors and what is required by position, the rest by keyword."""
    entry, left = problem.entry, dict(literals)
    init, state = ({}, {}) if entry.kind == "function" else (_table(left, "init"), _table(left, "state"))
    if state.keys() != {tensor.name for tensor in entry.state}:
        raise UsageError(f"inputs: 'state' must have exactly {', '.join(tensor.name for tensor in entry.state)}")
    given = dict(_read_parameters(entry.parameters, left))
    required = [parameter.name for parameter in entry.parameters if parameter.required]
    arguments = Arguments(
        args=tuple(given[name] for name in required),
        kwargs={name: value for name, value in given.items() if name not in required},
        init=_scalars(dict(_read_parameters(entry.init, init))),
        state={name: read_tensor(f"state.{name}", value) for name, value in state.items()},
    )
    _check_state(entry, arguments)
    return arguments


def _check_state(entry: Entry, arguments: Arguments) -> None:
    """A module's weights have the shapes that its constructor's arguments give them."""
    for tensor in entry.state:
        wanted = [_size(dimension, arguments.init) for dimension in tensor.shape]
        shape = list(arguments.state[tensor.name].values.shape)
        if len(wanted) != len(shape) or any(size not in (None, got) for size, got in zip(wanted, shape, strict=True)):
            raise UsageError(f"inputs: 'state.{tensor.name}' must have the shape [{', '.join(tensor.shape)}]")


def _size(dimension: str, init: Mapping[str, Scalar]) -> int | None:
    """ "2*d_ff" with the constructor's `d_ff`; None for a name that is no argument of it."""
    factor, _, name = dimension.rpartition("*")
    value = int(name) if name.isdecimal() else init.get(name)
    return int(factor or 1) * value if isinstance(value, int) else None


def _table(literals: dict[str, Any], name: str) -> dict[str, Any]:
    """One of the objects of a module's inputs, taken out."""
    value = literals.pop(name, {})
    if not isinstance(value, dict):
        raise UsageError(f"inputs: {name!r} must be an object")
    return value


def _read_parameters(parameters: Sequence[Parameter], literals: dict[str, Any]) -> Iterator[tuple[str, Array | Scalar]]:
    known = {parameter.name: parameter for parameter in parameters}
    for name in literals:
        if name not in known:
            raise UsageError(f"inputs: no argument {name[:64]!r}; there are: {', '.join(known)}")
    for name, parameter in known.items():
        if name in literals:
            yield name, read_literal(parameter, literals[name])
        elif parameter.required:
            raise UsageError(f"inputs: argument {name!r} is missing")


def read_literal(parameter: Parameter, literal: Any) -> Array | Scalar:
    """One argument. Raises UsageError."""
    if literal is None and parameter.optional:
        return None
    if parameter.kind == "tensor":
        return read_tensor(parameter.name, literal)
    value: Any = WORDS.get(literal, literal) if parameter.kind == "number" and isinstance(literal, str) else literal
    if not isinstance(value, NUMBERS[parameter.kind]) or (isinstance(value, bool) and parameter.kind != "boolean"):
        raise UsageError(f"inputs: {parameter.name!r} must be a {parameter.kind}")
    if parameter.positive and not (isinstance(value, (int, float)) and 0 < value < math.inf):
        raise UsageError(f"inputs: {parameter.name!r} must be above 0 and finite")
    return cast(Scalar, value)


def read_tensor(name: str, literal: Any) -> Array:
    """A tensor literal. Raises UsageError for ragged lists, other dtypes, or what is no number."""
    table = literal if isinstance(literal, dict) else {"values": literal}
    if not {"values"} <= table.keys() <= {"values", "dtype"} or table.get("dtype", DTYPES[0]) not in DTYPES:
        raise UsageError(f"inputs: {name!r} must be nested lists, or {{values, dtype}} with one of {', '.join(DTYPES)}")
    if _depth(table["values"]) > DEEPEST:
        raise UsageError(f"inputs: {name!r} has more than {DEEPEST} dimensions")
    if _count(table["values"]) > LARGEST:
        raise UsageError(f"inputs: {name!r} has more than {LARGEST} elements")
    try:
        values = np.array(_numbers(name, table["values"]), dtype=np.float64)
    except ValueError as error:
        raise UsageError(f"inputs: {name!r} is ragged: every list of one depth needs the same length") from error
    return Array(values=values, dtype=table.get("dtype", DTYPES[0]))


def _depth(values: Any) -> int:
    """How deep lists are nested, looked at no further than is needed; without recursion, since JSON may be deep."""
    depth, level = 0, [values]
    while depth <= DEEPEST and any(isinstance(value, list) for value in level):
        level = [inner for value in level if isinstance(value, list) for inner in value]
        depth += 1
    return depth


def _count(values: Any) -> int:
    return max(1, sum(map(_count, values))) if isinstance(values, list) else 1


def _numbers(name: str, values: Any) -> Any:
    if isinstance(values, list):
        return [_numbers(name, value) for value in values]
    value = WORDS.get(values, values) if isinstance(values, str) else values
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise UsageError(f"inputs: {name!r} holds something that is no number")
    try:
        return float(value)
    except OverflowError as error:
        raise UsageError(f"inputs: {name!r} holds a number that is too large for float64") from error


def _scalars(values: Mapping[str, Array | Scalar]) -> dict[str, Scalar]:
    return {name: value for name, value in values.items() if not isinstance(value, Array)}
