"""How cases are made. Public ones come first, device cases last; each has a stream of numbers of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from grader.cases.draw import Draw, Recipe
from grader.problem.arguments import DTYPES, Arguments, Array
from grader.records import Mode

INGREDIENTS = {
    "other_slope": DTYPES,  # a fixed slope
    "steep": DTYPES,  # the larger of both
    "zeros": ("float32",),
    "empty": ("float32",),
    "strided": ("float32",),
    "large": ("float32",),  # code that is right only for small inputs
    "same_memory": ("float32",),
    "requires_grad": ("float32",),
    "device": ("float32",),
}
"""What the hidden cases have to carry, in which dtypes, and what only it catches."""


def arguments(
    shape: tuple[int, ...], dtype: str, layout: str, *, zeros: bool = False, **named: Any
) -> Callable[[Draw], Arguments]:
    """The function that draws one case's arguments: x by position, the slope by keyword or not at all."""
    grad = bool(named.pop("requires_grad", False))

    def drawn(draw: Draw) -> Arguments:
        values = draw.bell(shape, 2.0)
        if zeros:
            values.reshape(-1)[::3] = 0.0
        return Arguments(args=(Array(values=values, dtype=dtype, layout=layout, requires_grad=grad),), kwargs=named)

    return drawn


def recipe(
    name: str,
    tags: str = "",
    shape: tuple[int, ...] = (4, 5),
    dtype: str = "float32",
    *,
    layout: str = "contiguous",
    zeros: bool = False,
    given: dict[str, Any] | None = None,
    **more: Any,
) -> Recipe:
    """One case; given: the arguments besides x."""
    draw = arguments(shape, dtype, layout, zeros=zeros, **(given or {}))
    return Recipe(name=name, arguments=draw, dtype=dtype, tags=frozenset(tags.split()), **more)


def recipes() -> Iterator[Recipe]:
    """Public cases first, device cases last."""
    yield recipe("first-example", visibility="public")
    yield recipe("new-values-in-the-same-memory", "same_memory", visibility="public", same_memory=True)
    yield recipe("another-slope", "other_slope", (3, 4), given={"slope": 0.25}, visibility="public")
    yield recipe("a-steep-slope", "steep", (6,), "float64", given={"slope": 2}, visibility="public")
    for dtype in DTYPES:
        yield recipe(f"gentle-slope-{dtype}", "other_slope", (3, 2, 4), dtype, given={"slope": 0.375})
        yield recipe(f"slope-above-one-{dtype}", "steep", (7,), dtype, given={"slope": 3})
        yield recipe(f"usual-slope-{dtype}", "", (5, 3), dtype)
    yield recipe("same-memory", "same_memory", (2, 6))
    yield recipe("same-memory-again", "same_memory", (2, 6), same_memory=True)
    yield recipe("zeros-inside", "zeros", (3, 5), zeros=True, given={"slope": 0.5})
    yield recipe("no-elements", "empty", (2, 0, 3))
    yield recipe("transposed-input", "strided", (5, 4), layout="transposed", given={"slope": 0.125})
    yield recipe("requires-grad", "requires_grad", (4, 3), given={"slope": 0.1, "requires_grad": True}, backward=True)
    yield recipe("realistic-size", "large", (64, 640))
    yield recipe("device-cuda", "device", (3, 11), kind="device", mode=Mode.FAKE)
    yield recipe("device-meta", "device", (13, 2), kind="device", mode=Mode.META)
