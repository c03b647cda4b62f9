"""The cases of the soft cap: inputs of a spread that is told as a multiple of the cap."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from grader.cases.draw import Draw, Recipe
from grader.problem.arguments import DTYPES, Arguments, Array
from grader.records import Mode


@dataclass(frozen=True, kw_only=True)
class Plan:
    """One case before its numbers are drawn. spread: of x, in caps; far: x is drawn from some hundred caps instead."""

    shape: tuple[int, ...]
    cap: float
    spread: float = 1.5
    far: bool = False
    zeros: bool = False
    by_keyword: bool = False
    layout: str = "contiguous"
    requires_grad: bool = False


def arguments(plan: Plan, dtype: str) -> Callable[[Draw], Arguments]:
    """The function that draws the plan's arguments."""

    def drawn(draw: Draw) -> Arguments:
        shape = plan.shape
        values = draw.spread_signs(shape, 100.0, 300.0) if plan.far else draw.bell(shape, plan.spread)
        values = values * plan.cap
        if plan.layout == "expanded":
            values = np.broadcast_to(values[:1], shape).copy()
        if plan.zeros:
            values.reshape(-1)[::3] = 0.0
        x = Array(values=values, dtype=dtype, layout=plan.layout, requires_grad=plan.requires_grad)
        return Arguments(args=(x,), kwargs={"cap": plan.cap}) if plan.by_keyword else Arguments(args=(x, plan.cap))

    return drawn


def recipe(name: str, plan: Plan, tags: str = "", dtype: str = "float32", **more: Any) -> Recipe:
    """A case of a plan; tags that the plan itself shows are added."""
    return Recipe(
        name=name,
        arguments=arguments(plan, dtype),
        dtype=dtype,
        tags=frozenset(tags.split()) | frozenset(shown_by(plan)),
        backward=plan.requires_grad,
        **more,
    )


def shown_by(plan: Plan) -> Iterator[str]:
    """Tags for what the plan itself shows."""
    yield "cap_keyword" if plan.by_keyword else "cap_positional"
    yield "cap_int" if isinstance(plan.cap, int) else "cap_float"
    given = {
        "cap_below_one": plan.cap < 1,
        "far_beyond": plan.far,
        "exact_zeros": plan.zeros,
        "no_elements": 0 in plan.shape,
        "no_dimension": not plan.shape,
        "ones": 1 in plan.shape[:1] and 1 in plan.shape[-1:],
        "one_dimension": len(plan.shape) == 1,
        "four_dimensions": len(plan.shape) == 4,
        f"{plan.layout}_input": plan.layout != "contiguous",
        "requires_grad": plan.requires_grad,
    }
    yield from (tag for tag, there in given.items() if there)


AROUND = Plan(shape=(3, 5), cap=4.0)
BELOW_ONE = Plan(shape=(7,), cap=0.375, by_keyword=True, layout="strided")
FAR = Plan(shape=(2, 3, 2), cap=5, far=True)
ZEROS = Plan(shape=(2, 1, 3, 2), cap=12.5, zeros=True, layout="transposed")
EMPTY = Plan(shape=(2, 0), cap=3.0)
TRACKED = Plan(shape=(3, 4), cap=2.5, spread=2.0, requires_grad=True)
EXPANDED = Plan(shape=(4, 3), cap=7, by_keyword=True, layout="expanded")
LARGE = Plan(shape=(64, 640), cap=30.0)

INGREDIENTS = {
    "cap_keyword": DTYPES,  # other names
    "cap_positional": DTYPES,
    "cap_int": DTYPES,
    "cap_float": DTYPES,
    "cap_below_one": DTYPES,  # what is right only for large caps
    "far_beyond": DTYPES,  # exp that overflows
    "exact_zeros": DTYPES,  # tanh(z) / z
    "small_beside_cap": ("float32", "float64"),  # coarse approximations
    "no_elements": DTYPES,
    "no_dimension": ("float32", "bfloat16"),  # rows that are looped over
    "ones": ("float64", "float16"),  # squeeze
    "one_dimension": DTYPES,
    "four_dimensions": DTYPES,
    "strided_input": DTYPES,  # view
    "transposed_input": DTYPES,
    "expanded_input": DTYPES,
    "requires_grad": DTYPES,  # numpy
    "large": ("float32",),  # code that is right only for small inputs, time limits
    "same_memory": ("float32",),  # results kept by address
    "device_fake": ("bfloat16",),
    "device_meta": ("float32",),
}
"""What the hidden cases have to carry, in which dtypes, and what only it catches."""


def recipes() -> Iterator[Recipe]:
    """Public cases first, device cases last."""
    yield recipe("first-example", AROUND, visibility="public")
    yield recipe("same-memory-new-values", AROUND, "same_memory", visibility="public", same_memory=True)
    yield recipe("far-beyond-the-cap", replace(FAR, shape=(6,)), dtype="float16", visibility="public")
    yield recipe("small-cap", replace(BELOW_ONE, cap=0.5), dtype="bfloat16", visibility="public")
    yield recipe("zeros-inside", ZEROS, dtype="float64", visibility="public")
    yield recipe("no-elements", replace(EMPTY, shape=(0,)), visibility="public")
    for dtype in DTYPES:
        yield recipe(f"around-the-cap-{dtype}", replace(AROUND, shape=(4, 5), cap=6.25), dtype=dtype)
        if dtype == "float32":
            yield recipe("same-memory", replace(AROUND, shape=(4, 5), cap=6.25), "same_memory", same_memory=True)
        yield recipe(f"cap-below-one-{dtype}", BELOW_ONE, dtype=dtype)
        yield recipe(f"far-out-{dtype}", FAR, dtype=dtype)
        yield recipe(f"zeros-and-more-{dtype}", replace(ZEROS, cap=9.5), dtype=dtype)
        yield recipe(f"nothing-in-it-{dtype}", EMPTY, dtype=dtype)
        least = () if dtype in ("float32", "bfloat16") else (1, 3, 1)
        yield recipe(f"least-{dtype}", replace(AROUND, shape=least, cap=1.5), dtype=dtype)
        yield recipe(f"tracked-{dtype}", TRACKED, dtype=dtype)
        yield recipe(f"repeated-rows-{dtype}", EXPANDED, dtype=dtype)
    yield recipe("small-beside-the-cap-float32", replace(AROUND, cap=1000.0, spread=0.05), "small_beside_cap")
    yield recipe("small-beside-the-cap-float64", replace(AROUND, cap=500, spread=0.05), "small_beside_cap", "float64")
    yield recipe("realistic-size", LARGE, "large")
    fake, meta = replace(AROUND, shape=(3, 11)), replace(AROUND, shape=(13, 2), by_keyword=True)
    yield recipe("device-cuda", fake, "device_fake", "bfloat16", kind="device", mode=Mode.FAKE)
    yield recipe("device-meta", meta, "device_meta", kind="device", mode=Mode.META)
