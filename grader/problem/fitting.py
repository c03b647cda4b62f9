"""Whether given shapes fit an entry's declared ones: which argument does not, and what would."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod

from grader.problem.schema import Entry

Sizes = dict[str, int]


@dataclass(frozen=True, kw_only=True)
class Misfit:
    """What is wrong, and with which argument (None: with the result that they would give)."""

    said: str
    argument: str | None


@dataclass
class Known:
    """The dimensions that have a size by now, and which argument gave it to each."""

    sizes: Sizes
    given_by: dict[str, str]

    def take(self, argument: str, dimension: str, size: int) -> str | None:
        """Gives a dimension its size, or says what it should have been."""
        factor, name = split(dimension)
        if name is None:
            return None if size == factor else f"{dimension} is asked for"
        if size % factor:
            return f"{dimension} is a multiple of {factor}"
        wanted = self.sizes.setdefault(name, size // factor)
        giver = self.given_by.setdefault(name, argument)
        return None if wanted * factor == size else f"{name} is {wanted} in {giver}"


def split(dimension: str) -> tuple[int, str | None]:
    """ "2*d_ff" -> (2, "d_ff"), "d_ff" -> (1, "d_ff"), "3" -> (3, None)."""
    factor, _, name = dimension.rpartition("*")
    return (int(dimension), None) if dimension.isdecimal() else (int(factor or 1), name)


def check_fit(entry: Entry, given: Mapping[str, tuple[int, ...]], init: Sizes, most: int) -> Misfit | None:
    """The first argument that does not fit, None when all do. init: a module's whole numbers. most: of the result."""
    known, leading = Known(dict(init), dict.fromkeys(init, "init")), None
    for argument, declared in declared_shapes(entry):
        shape = given.get(argument)
        if shape is None:
            continue
        if (fault := misfit(known, argument, declared, shape)) is not None:
            said = f"has the shape {list(shape)}, and [{', '.join(declared)}] is asked for{fault}"
            return Misfit(said=said, argument=argument)
        if declared[:1] == ("...",) and leading is None:
            leading = shape[: len(shape) - len(declared) + 1]
    elements = result_elements(entry, known.sizes, leading)
    if elements is not None and elements > most:
        return Misfit(said=f"the result has more than {most} elements", argument=None)
    return None


def declared_shapes(entry: Entry) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Every tensor by its name among the inputs; what the state's shapes say counts before what calls say."""
    yield from ((f"state.{tensor.name}", tensor.shape) for tensor in entry.state)
    yield from ((parameter.name, parameter.shape) for parameter in entry.parameters if parameter.kind == "tensor")


def misfit(known: Known, argument: str, declared: tuple[str, ...], shape: tuple[int, ...]) -> str | None:
    """How a shape breaks the declared one; "" where its number of dimensions says enough."""
    trailing = [dimension for dimension in declared if dimension != "..."]
    if len(shape) < len(trailing) or (len(shape) > len(trailing) and len(trailing) == len(declared)):
        return ""
    sizes = shape[len(shape) - len(trailing) :]
    for dimension, size in zip(trailing, sizes, strict=True):
        if said := known.take(argument, dimension, size):
            return f", where {said}"
    return None


def result_elements(entry: Entry, sizes: Sizes, leading: tuple[int, ...] | None) -> int | None:
    """How many elements the result has; None where its shape does not say."""
    count = 1
    for dimension in entry.result:
        if dimension == "...":
            if leading is None:
                return None
            count *= prod(leading)
            continue
        factor, name = split(dimension)
        if name is not None and name not in sizes:
            return None
        count *= factor * (sizes[name] if name else 1)
    return count
