"""A caller's own inputs, from JSON to arguments: read, sized and fitted to the declared shapes. No torch, no reference.

A tensor literal is {"dtype": "float32", "values": nested lists}, or the nested lists alone (float32); "NaN", "Infinity"
and "-Infinity" stand for what JSON has not. For a module, `init` and `state` are objects of such literals.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import numpy as np

from grader.errors import UsageError
from grader.problem.arguments import DTYPES, Arguments, Array
from grader.problem.fitting import check_fit
from grader.problem.schema import Entry, Parameter
from grader.records import Scalar

LARGEST = 10_000
"""Elements that the tensors of one call may have together, and so may the result."""

DEEPEST = 8

WORDS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
KINDS: dict[str, tuple[str, tuple[type, ...]]] = {
    "number": ("a number", (int, float)),
    "integer": ("an integer", (int,)),
    "boolean": ("true or false", (bool,)),
    "text": ("a text", (str,)),
}


class InputError(UsageError):
    """Inputs that can't be used. argument: the name of the one that is wrong, None for all of them together."""

    def __init__(self, said: str, argument: str | None = None) -> None:
        super().__init__(f"inputs: {argument!r} {said}" if argument else f"inputs: {said}")
        self.said, self.argument = said, argument


def read_arguments(entry: Entry, literals: Mapping[str, Any]) -> Arguments:
    """The literals as the call's arguments: tensors and what is required by position, the rest by keyword.

    Raises InputError for what is no literal, does not fit the entry's shapes, or is too large.
    """
    left = dict(literals)
    init, state = ({}, {}) if entry.kind == "function" else (_table(left, "init"), _table(left, "state"))
    if state.keys() != {tensor.name for tensor in entry.state}:
        raise InputError(f"must have exactly {', '.join(tensor.name for tensor in entry.state)}", "state")
    given = dict(_read_parameters(entry.parameters, left))
    required = [parameter.name for parameter in entry.parameters if parameter.required]
    arguments = Arguments(
        args=tuple(given[name] for name in required),
        kwargs={name: value for name, value in given.items() if name not in required},
        init=_scalars(dict(_read_parameters(entry.init, init, "init."))),
        state={name: read_tensor(f"state.{name}", value) for name, value in state.items()},
    )
    _check_tensors(entry, given, arguments)
    return arguments


def _check_tensors(entry: Entry, given: Mapping[str, Array | Scalar], arguments: Arguments) -> None:
    """One dtype, few elements, and shapes that fit each other."""
    tensors = {name: value for name, value in given.items() if isinstance(value, Array)}
    tensors |= {f"state.{name}": value for name, value in arguments.state.items()}
    if len({array.dtype for array in tensors.values()}) != 1:
        raise InputError("give all tensors the same dtype")
    if sum(array.values.size for array in tensors.values()) > LARGEST:
        raise InputError(f"the tensors have more than {LARGEST} elements together")
    shapes = {name: array.values.shape for name, array in tensors.items()}
    sizes = {name: value for name, value in arguments.init.items() if type(value) is int}
    if fault := check_fit(entry, shapes, sizes, LARGEST):
        raise InputError(fault.said, fault.argument)


def _table(literals: dict[str, Any], name: str) -> dict[str, Any]:
    """One of the objects of a module's inputs, taken out."""
    value = literals.pop(name, {})
    if not isinstance(value, dict):
        raise InputError("must be an object", name)
    return value


def _read_parameters(
    parameters: Sequence[Parameter], literals: dict[str, Any], prefix: str = ""
) -> Iterator[tuple[str, Array | Scalar]]:
    known = {parameter.name: parameter for parameter in parameters}
    for name in literals:
        if name not in known:
            raise InputError(f"is no argument; there are: {', '.join(known)}", prefix + name[:64])
    for name, parameter in known.items():
        if name in literals:
            yield name, read_literal(parameter, literals[name], prefix)
        elif parameter.required:
            raise InputError("is missing", prefix + name)


def read_literal(parameter: Parameter, literal: Any, prefix: str = "") -> Array | Scalar:
    """One argument. Raises InputError."""
    if literal is None and parameter.optional:
        return None
    name = prefix + parameter.name
    if parameter.kind == "tensor":
        return read_tensor(name, literal)
    value: Any = WORDS.get(literal, literal) if parameter.kind == "number" and isinstance(literal, str) else literal
    said, types = KINDS[parameter.kind]
    if not isinstance(value, types) or (isinstance(value, bool) and parameter.kind != "boolean"):
        raise InputError(f"must be {said}", name)
    if isinstance(value, (int, float)) and too_large(value):
        raise InputError("is too large for float64", name)
    if parameter.positive and not (isinstance(value, (int, float)) and 0 < value < math.inf):
        raise InputError("must be above 0 and finite", name)
    return cast(Scalar, value)


def read_tensor(name: str, literal: Any) -> Array:
    """A tensor literal. Raises InputError for ragged lists, other dtypes, or what is no number."""
    table = literal if isinstance(literal, dict) else {"values": literal}
    if not {"values"} <= table.keys() <= {"values", "dtype"} or table.get("dtype", DTYPES[0]) not in DTYPES:
        raise InputError(f"must be nested lists, or {{values, dtype}} with one of {', '.join(DTYPES)}", name)
    if _depth(table["values"]) > DEEPEST:
        raise InputError(f"has more than {DEEPEST} dimensions", name)
    if _count(table["values"]) > LARGEST:
        raise InputError(f"has more than {LARGEST} elements", name)
    try:
        values = np.array(_numbers(name, table["values"]), dtype=np.float64)
    except ValueError as error:
        raise InputError("is ragged: every list of one depth needs the same length", name) from error
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
        raise InputError("holds something that is no number", name)
    if too_large(value):
        raise InputError("holds a number that is too large for float64", name)
    return float(value)


def too_large(value: float) -> bool:
    """Whether it is a whole number that no float64 comes near."""
    try:
        float(value)
    except OverflowError:
        return True
    return False


def _scalars(values: Mapping[str, Array | Scalar]) -> dict[str, Scalar]:
    return {name: value for name, value in values.items() if not isinstance(value, Array)}
