"""How cases are made. Public ones come first, device cases last; each has a stream of numbers of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from grader.cases.draw import Draw, Recipe
from grader.problem.arguments import DTYPES, Arguments, Array
from grader.records import Mode

INGREDIENTS = {
    "small": DTYPES,  # eps outside of the root, or left out
    "other_eps": DTYPES,  # a fixed eps
    "off_centre": DTYPES,  # the mean subtracted
    "wide": ("float16",),  # squares that overflow float16
    "zero_token": ("float32", "float16"),  # 0 / 0
    "one_token": ("float32",),  # no leading dimension
    "one_feature": ("float32",),
    "square": ("float32",),  # the weight along the wrong dimension
    "empty": ("float32",),
    "strided": ("float32", "float16"),
    "transposed": ("bfloat16",),  # view
    "four_dimensions": ("bfloat16",),
    "one_row": ("float64",),  # squeeze
    "zero_weight": ("float64",),  # x / weight
    "large": ("float32",),
    "same_memory": ("float32",),
    "requires_grad": ("float32",),
    "device": ("float32",),
}
"""What the hidden cases have to carry, in which dtypes, and what only it catches."""


def arguments(
    shape: tuple[int, ...],
    dtype: str,
    *,
    layout: str,
    scale: float,
    centre: float,
    zeros: str,
    grad: bool,
    **named: Any,
) -> Callable[[Draw], Arguments]:
    """The function that draws one case's arguments: x and weight by position, eps by keyword or not at all."""

    def drawn(draw: Draw) -> Arguments:
        values = scale * (draw.bell(shape) + centre)
        if zeros == "token":
            values[0] = 0.0
        weight = draw.uniform(shape[-1:], 0.25, 2.0) * draw.signs(shape[-1:])
        if zeros == "weight":
            weight[1] = 0.0
        x = Array(values=values, dtype=dtype, layout=layout, requires_grad=grad)
        scale_by = Array(
            values=weight, dtype=dtype, layout="strided" if layout == "strided" else "contiguous", requires_grad=grad
        )
        return Arguments(args=(x, scale_by), kwargs=named)

    return drawn


def recipe(
    name: str,
    tags: str = "",
    shape: tuple[int, ...] = (4, 6),
    dtype: str = "float32",
    *,
    layout: str = "contiguous",
    scale: float = 1.0,
    centre: float = 0.0,
    zeros: str = "",
    given: dict[str, Any] | None = None,
    grad: bool = False,
    **more: Any,
) -> Recipe:
    """One case; given: the arguments besides x and weight."""
    draw = arguments(shape, dtype, layout=layout, scale=scale, centre=centre, zeros=zeros, grad=grad, **(given or {}))
    return Recipe(name=name, arguments=draw, dtype=dtype, tags=frozenset(tags.split()), **more)


def recipes() -> Iterator[Recipe]:
    """Public cases first, device cases last."""
    yield recipe("first-example", shape=(2, 4), visibility="public")
    yield recipe("new-values-in-the-same-memory", "same_memory", (2, 4), visibility="public", same_memory=True)
    yield recipe("another-eps", "other_eps", (3, 5), given={"eps": 0.5}, visibility="public")
    yield recipe("a-token-of-zeros", "zero_token", (3, 4), zeros="token", visibility="public")
    yield recipe("small-entries", "small", (3, 4), "bfloat16", scale=0.001, visibility="public")
    yield recipe("large-entries", "wide", (3, 4), "float16", scale=400.0, visibility="public")
    for dtype in DTYPES:
        yield recipe(f"small-tokens-{dtype}", "small", (3, 8), dtype, scale=0.001)
        yield recipe(f"large-eps-{dtype}", "other_eps", (2, 3, 5), dtype, given={"eps": 2})
        yield recipe(f"off-centre-{dtype}", "off_centre", (4, 7), dtype, centre=3.0)
        yield recipe(f"a-sequence-{dtype}", "", (2, 5, 16), dtype)
    yield recipe("wide-float16", "wide", (5, 8), "float16", scale=500.0)
    yield recipe("wide-again-float16", "wide", (2, 3, 8), "float16", scale=1000.0, given={"eps": 1})
    for dtype in ("float32", "float16"):
        yield recipe(f"zeros-inside-{dtype}", "zero_token", (3, 5), dtype, zeros="token")
    yield recipe("one-token", "one_token", (9,), given={"eps": 0.25})
    yield recipe("one-feature", "one_feature", (5, 1), given={"eps": 0.125})
    yield recipe("as-many-tokens-as-features", "square", (6, 6))
    yield recipe("same-memory", "same_memory", (2, 6))
    yield recipe("same-memory-again", "same_memory", (2, 6), same_memory=True)
    yield recipe("no-tokens", "empty", (2, 0, 3))
    yield recipe("transposed-input", "strided", (5, 4), layout="transposed")
    yield recipe("every-second-element", "strided", (3, 4, 6), layout="strided")
    yield recipe("transposed-sequences", "transposed four_dimensions", (1, 2, 3, 4), "bfloat16", layout="transposed")
    yield recipe("every-second-element-again", "strided", (3, 2, 5), "float16", layout="strided", grad=True)
    yield recipe("one-row", "one_row", (1, 6), "float64", grad=True)
    yield recipe("weight-of-zeros", "zero_weight", (3, 5), "float64", zeros="weight")
    yield recipe("requires-grad", "requires_grad", (4, 3), grad=True, backward=True)
    yield recipe("realistic-size", "large", (64, 1024))
    yield recipe("device-cuda", "device", (3, 11), kind="device", mode=Mode.FAKE)
    yield recipe("device-meta", "device", (13, 2), kind="device", mode=Mode.META)
