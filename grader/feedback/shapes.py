"""Words about shapes: which dimension of which argument is what, and where a result's shape went wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from grader.cases.case import Case
from grader.problem.schema import Entry, Parameter
from grader.records import Call, TensorValue, Value
from grader.text import and_list

_PLACES = ("first", "second", "third", "fourth", "fifth", "sixth")


def arguments(entry: Entry, call: Call) -> Iterator[tuple[Parameter, Value]]:
    """Each argument of a call with its parameter, in the entry's order."""
    by_name = {parameter.name: value for parameter, value in zip(entry.parameters, call.args, strict=False)} | dict(
        call.kwargs
    )
    return ((parameter, by_name[parameter.name]) for parameter in entry.parameters if parameter.name in by_name)


def tensors(entry: Entry, call: Call) -> list[tuple[Parameter, TensorValue]]:
    """The tensor arguments of a call."""
    return [(parameter, value) for parameter, value in arguments(entry, call) if isinstance(value, TensorValue)]


def names(shape: Sequence[str]) -> str:
    """("...", "d_in") -> "[..., d_in]"."""
    return f"[{', '.join(shape)}]"


def dimension_names(entry: Entry, case: Case, parameter: Parameter) -> tuple[str, ...]:
    """The names of an argument's dimensions in a case, its "..." spelt as the result's leading ones are."""
    trailing = len([name for name in entry.result if name != "..."])
    leading = case.dims[: len(case.dims) - trailing]
    return tuple(name for dimension in parameter.shape for name in (leading if dimension == "..." else (dimension,)))


def sized(dims: Sequence[str], shape: Sequence[int]) -> str:
    """("B", "d"), (2, 3) -> "[B, d] = [2, 3]"; without names where they don't fit."""
    return f"{names(dims)} = {list(shape)}" if len(dims) == len(shape) and dims else f"{list(shape)}"


def wrong_shape(entry: Entry, case: Case, shape: tuple[int, ...]) -> str:
    """Both shapes with the names of their dimensions, and what differs."""
    return f"Expected shape {sized(case.dims, case.shape)}, got {list(shape[:12])}. {difference(entry, case, shape)}"


def difference(entry: Entry, case: Case, shape: tuple[int, ...]) -> str:
    """What is wrong with a shape: dimensions dropped, added, exchanged or of another size."""
    if len(shape) != len(case.shape):
        ones = [size for size in case.shape if size != 1]
        if list(shape) == ones:
            return "Dimensions of size 1 were dropped: squeeze() drops more than you may want."
        return f"It has {len(shape)} dimension{'s' * (len(shape) != 1)} instead of {len(case.shape)}."
    if sorted(shape) == sorted(case.shape):
        return "The sizes are right but in another order: two dimensions were exchanged."
    wrong = [
        f"{name} is {got} instead of {wanted}{origin(entry, case, got)}"
        for name, got, wanted in zip(case.dims or ["a dimension"] * len(shape), shape, case.shape, strict=False)
        if got != wanted
    ]
    return f"Dimension {'; '.join(wrong)}."


def difference_names(case: Case, shape: tuple[int, ...]) -> str:
    """The same without any size, for hidden cases."""
    if len(shape) != len(case.shape):
        return "it has another number of dimensions"
    if sorted(shape) == sorted(case.shape):
        return "two dimensions were exchanged"
    wrong = [name for name, got, wanted in zip(case.dims, shape, case.shape, strict=False) if got != wanted]
    return f"it differs in {and_list(wrong)}"


def origin(entry: Entry, case: Case, size: int) -> str:
    """Where a size comes from, if exactly one named dimension of the arguments has it."""
    found = {
        name: f" (the size of {name}, the {place(position, len(value.shape))} dimension of {parameter.name})"
        for parameter, value in tensors(entry, case.call)
        for position, (name, there) in enumerate(
            zip(dimension_names(entry, case, parameter), value.shape, strict=False)
        )
        if there == size
    }
    return next(iter(found.values())) if len(found) == 1 else ""


def place(position: int, count: int) -> str:
    """ "last", "first", "second"..."""
    return "last" if position == count - 1 and count > 2 else _PLACES[position] if position < len(_PLACES) else "inner"


def what_fits(entry: Entry, case: Case | None) -> str:
    """Which dimension of which argument fits which; with sizes where a (public) case is given."""
    shapes = given_shapes(entry, case) if case else declared_shapes(entry)
    shared = [places_of(entry, name) for name in shared_dimensions(entry)]
    return f"{and_list(shapes)}. {' '.join(shared)}".strip() if shapes else ""


def given_shapes(entry: Entry, case: Case) -> list[str]:
    """Every tensor argument, and every one of a module's state, with names and sizes."""
    given = [
        f"{parameter.name} is {sized(dimension_names(entry, case, parameter), value.shape)}"
        for parameter, value in tensors(entry, case.call)
    ]
    shapes = {tensor.name: tensor.shape for tensor in entry.state}
    return given + [f"{name} is {sized(shapes[name], value.shape)}" for name, value in case.call.state.items()]


def declared_shapes(entry: Entry) -> list[str]:
    """Every tensor argument, and every one of a module's state, with the names of its dimensions."""
    given = [f"{p.name} is {names(p.shape)}" for p in entry.parameters if p.kind == "tensor"]
    return given + [f"{tensor.name} is {names(tensor.shape)}" for tensor in entry.state]


def shared_dimensions(entry: Entry) -> list[str]:
    """Names of dimensions that have another place in one tensor argument than in another."""
    shapes = [parameter.shape for parameter in entry.parameters if parameter.kind == "tensor"]
    every = dict.fromkeys(name for shape in shapes for name in shape if name != "...")
    return [name for name in every if len({ordinal(shape, name) for shape in shapes if name in shape}) > 1]


def ordinal(shape: Sequence[str], name: str) -> str:
    """The place of a dimension: "first", "second"; "last" where it follows any number of others."""
    return "last" if shape[0] == "..." and shape[-1] == name else _PLACES[shape.index(name)]


def places_of(entry: Entry, name: str) -> str:
    """ "Dimension d_in is the last one of x and the second one of w."."""
    where = [
        f"the {ordinal(p.shape, name)} one of {p.name}"
        for p in entry.parameters
        if p.kind == "tensor" and name in p.shape
    ]
    return f"Dimension {name} is {and_list(where)}."
