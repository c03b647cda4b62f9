"""The cases of the dense feed-forward block. Gates and ups are sized through the packed weight."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from grader.cases.draw import Draw, Recipe
from grader.problem.arguments import DTYPES, Arguments, Array
from grader.records import Mode

GRADIENTS = ("float32", "float64")
"""Where gradients are judged: in half types rounding leaves too little of them."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """One case before its numbers are drawn. gates, ups: spreads; caps: as the constructor gets them."""

    lead: tuple[int, ...]
    d_model: int
    d_ff: int
    gates: float = 3.0
    ups: float = 20.0
    caps: tuple[tuple[str, float], ...] = ()
    far: bool = False
    x: str = "contiguous"
    requires_grad: bool = False


def arguments(plan: Plan, dtype: str) -> Callable[[Draw], Arguments]:
    """The function that draws the plan's input and weights."""

    def drawn(draw: Draw) -> Arguments:
        far = 3.0 if dtype == "float16" else 40.0  # code without caps is not to overflow
        x = draw.bell((*plan.lead, plan.d_model), far if plan.far else 1.0)
        sizes = (plan.gates, plan.ups)
        parts = [draw.bell((plan.d_ff, plan.d_model), size / math.sqrt(plan.d_model)) for size in sizes]
        down = draw.bell((plan.d_model, plan.d_ff), 1 / math.sqrt(plan.d_ff))
        return Arguments(
            args=(Array(values=x, dtype=dtype, layout=plan.x, requires_grad=plan.requires_grad),),
            init={"d_model": plan.d_model, "d_ff": plan.d_ff, **dict(plan.caps)},
            state={
                "gate_up_proj.weight": Array(values=np.concatenate(parts), dtype=dtype),
                "down_proj.weight": Array(values=down, dtype=dtype),
            },
        )

    return drawn


def recipe(name: str, plan: Plan, tags: str = "", dtype: str = "float32", **more: Any) -> Recipe:
    """A case of a plan; tags that the plan itself shows are added."""
    backward = more.pop("backward", False)
    return Recipe(
        name=name,
        arguments=arguments(plan, dtype),
        dtype=dtype,
        tags=frozenset(tags.split()) | frozenset(shown_by(plan)) | ({"gradient"} if backward else frozenset()),
        backward=backward,
        **more,
    )


def shown_by(plan: Plan) -> Iterator[str]:
    """Tags for shapes, layouts and caps."""
    numbers = [cap for _, cap in plan.caps]
    given = {
        "caps_default": not plan.caps,
        "caps_given": bool(plan.caps),
        "caps_int": any(isinstance(cap, int) for cap in numbers),
        "far_out": plan.far,
        f"input_{len(plan.lead) + 1}d": True,
        "no_tokens": 0 in plan.lead,
        "one_row": plan.lead == (1,),
        "caps_equal": len(set(numbers)) < len(numbers),
        "d_ff_equals_d_model": plan.d_ff == plan.d_model,
        "narrow": plan.d_ff == 1,
        f"{plan.x}_input": plan.x != "contiguous",
        "requires_grad": plan.requires_grad,
    }
    yield from (tag for tag, there in given.items() if there)


def with_caps(beta: float, linear_beta: float) -> tuple[tuple[str, float], ...]:
    return ("beta", beta), ("linear_beta", linear_beta)


FIRST = Plan(lead=(3,), d_model=4, d_ff=5)
OTHER = Plan(lead=(2, 3), d_model=5, d_ff=7, caps=with_caps(2.5, 8), x="transposed")
SQUARE = Plan(lead=(4,), d_model=6, d_ff=6, caps=with_caps(25, 4.0), gates=12.0, x="strided")
VECTOR = Plan(lead=(), d_model=7, d_ff=4, caps=with_caps(0.75, 0.5), gates=1.5, ups=1.0)
TRACKED = Plan(lead=(2, 2), d_model=5, d_ff=6, gates=2.0, ups=8.0, caps=with_caps(3.0, 10.0), requires_grad=True)
FAR = Plan(lead=(2, 1, 3), d_model=4, d_ff=6, gates=8.0, ups=50.0, far=True)
ROW = Plan(lead=(1,), d_model=3, d_ff=4, caps=with_caps(3.5, 3.5), gates=5.0, ups=6.0, x="expanded")
NARROW = Plan(lead=(5,), d_model=3, d_ff=1)
NOTHING = Plan(lead=(2, 0), d_model=4, d_ff=3)
LARGE = Plan(lead=(2, 32), d_model=64, d_ff=192, ups=12.0)

INGREDIENTS = {
    "caps_default": DTYPES,  # other defaults
    "caps_given": DTYPES,  # fixed caps
    "caps_int": DTYPES,
    "far_out": DTYPES,  # naive exp, missing caps
    "input_1d": DTYPES,
    "input_2d": DTYPES,
    "input_3d": DTYPES,
    "input_4d": DTYPES,
    "no_tokens": DTYPES,
    "d_ff_equals_d_model": DTYPES,  # widths that are mixed up
    "narrow": DTYPES,  # squeeze
    "one_row": DTYPES,
    "caps_equal": DTYPES,
    "expanded_input": DTYPES,
    "strided_input": DTYPES,
    "transposed_input": DTYPES,
    "requires_grad": GRADIENTS,
    "gradient": GRADIENTS,  # a graph that is cut, gradients that are not finite
    "large": ("float32",),  # code that is right only for small inputs, time limits
    "same_memory": ("float32",),
}
"""What the hidden cases have to carry, in which dtypes, and what only it catches."""


def recipes() -> Iterator[Recipe]:
    """Public cases first, device cases last."""
    yield recipe("first-example", FIRST, visibility="public")
    yield recipe("same-memory-new-values", FIRST, "same_memory", visibility="public", same_memory=True)
    yield recipe("other-caps", replace(OTHER, lead=(2, 2), x="contiguous"), visibility="public", backward=True)
    yield recipe("one-vector", replace(VECTOR, d_ff=3), dtype="float64", visibility="public")
    yield recipe("input-with-gradient", replace(TRACKED, lead=(3,)), visibility="public", backward=True)
    yield recipe("batch-of-sequences", replace(FIRST, lead=(2, 3)), dtype="bfloat16", visibility="public")
    yield recipe("no-tokens", replace(NOTHING, lead=(0,)), visibility="public")
    for dtype in DTYPES:
        yield from hidden(dtype)
    yield recipe("realistic-size", LARGE, "large")
    yield recipe("device-meta", replace(FIRST, lead=(13,), d_ff=9), kind="device", mode=Mode.META)


def hidden(dtype: str) -> Iterator[Recipe]:
    """The ingredients that can tell in every dtype."""
    graded = dtype in GRADIENTS
    yield recipe(f"usual-caps-{dtype}", replace(FIRST, lead=(4,), d_ff=7), "", dtype)
    if dtype == "float32":
        yield recipe("same-memory", replace(FIRST, lead=(4,), d_ff=7), "same_memory", dtype, same_memory=True)
    yield recipe(f"given-caps-{dtype}", OTHER, "", dtype, backward=graded)
    yield recipe(f"exchanged-caps-{dtype}", SQUARE, "", dtype)
    yield recipe(f"small-caps-{dtype}", VECTOR, "", dtype)
    yield recipe(f"tracked-{dtype}", TRACKED, "", dtype, backward=graded)
    yield recipe(f"far-out-{dtype}", FAR, "", dtype)
    yield recipe(f"one-row-{dtype}", ROW, "", dtype)
    yield recipe(f"one-unit-{dtype}", NARROW, "", dtype)
    yield recipe(f"nothing-in-it-{dtype}", NOTHING, "", dtype)
