"""The cases of the packed activation: gates and ups of spreads of their own, one behind the other."""

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
    """One case before its numbers are drawn. gates, ups: spreads; caps: by position; named: by keyword."""

    lead: tuple[int, ...]
    d_ff: int
    gates: float = 3.0
    ups: float = 20.0
    caps: tuple[float | None, ...] = ()
    named: tuple[tuple[str, float | None], ...] = ()
    zeros: bool = False
    layout: str = "contiguous"
    requires_grad: bool = False


def arguments(plan: Plan, dtype: str) -> Callable[[Draw], Arguments]:
    """The function that draws the plan's arguments."""

    def drawn(draw: Draw) -> Arguments:
        shape = (*plan.lead, plan.d_ff)
        gate, up = draw.bell(shape, plan.gates), draw.bell(shape, plan.ups)
        if plan.zeros:
            gate[..., 0], up[..., 1] = 0.0, 0.0
        packed = np.concatenate([gate, up], axis=-1)
        if plan.layout == "expanded":
            packed = np.broadcast_to(packed[:1], packed.shape).copy()
        x = Array(values=packed, dtype=dtype, layout=plan.layout, requires_grad=plan.requires_grad)
        return Arguments(args=(x, *plan.caps), kwargs=dict(plan.named))

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
    """Tags for shapes, layouts and the way in which the caps are passed."""
    caps = dict(zip(("beta", "linear_beta"), plan.caps, strict=False)) | dict(plan.named)
    given = {
        "caps_default": not caps,
        "caps_positional": bool(plan.caps),
        "caps_keyword": bool(plan.named),
        "caps_int": any(isinstance(cap, int) for cap in caps.values()),
        "up_uncapped": caps.get("linear_beta") is None,
        "up_none_given": "linear_beta" in caps and caps["linear_beta"] is None,
        "up_capped": caps.get("linear_beta") is not None,
        "exact_zeros": plan.zeros,
        "no_tokens": 0 in plan.lead,
        "one_row": plan.lead == (1,),
        "caps_equal": len(set(caps.values())) < len(caps),
        "d_ff_one": plan.d_ff == 1,
        f"input_{len(plan.lead) + 1}d": True,
        f"{plan.layout}_input": plan.layout != "contiguous",
        "requires_grad": plan.requires_grad,
    }
    yield from (tag for tag, there in given.items() if there)


FIRST = Plan(lead=(3,), d_ff=4, caps=(4.0, 25.0))
DEFAULT = Plan(lead=(2, 3), d_ff=4, gates=2.0, layout="expanded")
BOTH = Plan(lead=(5,), d_ff=3, gates=6.0, ups=40.0, named=(("beta", 6.5), ("linear_beta", 12)), layout="strided")
UNCAPPED = Plan(lead=(2, 1, 3), d_ff=4, caps=(3, None), layout="transposed")
VECTOR = Plan(lead=(), d_ff=6, caps=(0.75,), named=(("linear_beta", 0.5),), gates=1.5, ups=1.0)
ROW = Plan(lead=(1,), d_ff=5, named=(("beta", 3.5), ("linear_beta", 3.5)), gates=5.0, ups=6.0)
NARROW = Plan(lead=(6,), d_ff=1, named=(("beta", 5.0), ("linear_beta", None)), requires_grad=True)
ZEROS = Plan(lead=(4,), d_ff=5, caps=(2.5, 8.0), zeros=True)
FAR = Plan(lead=(2, 4), d_ff=3, gates=400.0, ups=900.0, caps=(4.0, 25.0))
NOTHING = Plan(lead=(0, 2), d_ff=3, caps=(4.0, 25.0))
LARGE = Plan(lead=(2, 64), d_ff=320, caps=(4.0, 25.0))

INGREDIENTS = {
    "caps_default": DTYPES,  # other defaults
    "caps_positional": DTYPES,
    "caps_keyword": DTYPES,
    "caps_int": DTYPES,
    "up_capped": DTYPES,  # an up branch that is never bounded
    "up_uncapped": DTYPES,  # one that always is
    "up_none_given": DTYPES,
    "far_out": DTYPES,  # naive exp, inf / inf
    "exact_zeros": DTYPES,
    "half_precision": ("float16", "bfloat16"),  # roundings on the way
    "input_1d": DTYPES,
    "input_2d": DTYPES,
    "input_3d": DTYPES,
    "input_4d": DTYPES,
    "no_tokens": DTYPES,
    "one_row": DTYPES,  # squeeze
    "caps_equal": DTYPES,
    "d_ff_one": DTYPES,
    "strided_input": DTYPES,  # view
    "transposed_input": DTYPES,
    "expanded_input": DTYPES,
    "requires_grad": DTYPES,  # numpy
    "large": ("bfloat16",),  # code that is right only for small inputs, time limits
    "same_memory": ("float32",),
    "device_fake": ("bfloat16",),
    "device_meta": ("float32",),
}
"""What the hidden cases have to carry, in which dtypes, and what only it catches."""


def recipes() -> Iterator[Recipe]:
    """Public cases first, device cases last."""
    yield recipe("first-example", FIRST, visibility="public")
    yield recipe("same-memory-new-values", FIRST, "same_memory", visibility="public", same_memory=True)
    yield recipe("no-cap-for-the-up-branch", replace(DEFAULT, lead=(2, 2), layout="contiguous"), visibility="public")
    half = replace(FIRST, lead=(2, 3), d_ff=6)
    yield recipe("one-rounding", half, "half_precision", "bfloat16", visibility="public")
    yield recipe("one-vector", replace(VECTOR, d_ff=5), dtype="float64", visibility="public")
    yield recipe("no-tokens", replace(NOTHING, lead=(0,)), visibility="public")
    for dtype in DTYPES:
        yield from hidden(dtype)
    yield recipe("realistic-size", LARGE, "large half_precision", "bfloat16")
    fake, meta = replace(FIRST, lead=(2, 7), d_ff=11), replace(FIRST, lead=(13,), d_ff=9)
    yield recipe("device-cuda", fake, "device_fake", "bfloat16", kind="device", mode=Mode.FAKE)
    yield recipe("device-meta", meta, "device_meta", kind="device", mode=Mode.META)


def hidden(dtype: str) -> Iterator[Recipe]:
    """The ingredients that can tell in every dtype."""
    half = "half_precision" if dtype in ("float16", "bfloat16") else ""
    yield recipe(f"usual-caps-{dtype}", replace(FIRST, lead=(4,), d_ff=8), half, dtype)
    if dtype == "float32":
        yield recipe("same-memory", replace(FIRST, lead=(4,), d_ff=8), "same_memory", dtype, same_memory=True)
    yield recipe(f"defaults-{dtype}", DEFAULT, half, dtype)
    yield recipe(f"both-by-keyword-{dtype}", BOTH, half, dtype)
    yield recipe(f"up-left-alone-{dtype}", UNCAPPED, half, dtype)
    yield recipe(f"small-caps-{dtype}", VECTOR, half, dtype)
    yield recipe(f"one-row-{dtype}", ROW, half, dtype)
    yield recipe(f"narrow-{dtype}", NARROW, half, dtype)
    yield recipe(f"zeros-inside-{dtype}", ZEROS, half, dtype)
    yield recipe(f"far-out-{dtype}", FAR, "far_out", dtype)
    yield recipe(f"nothing-in-it-{dtype}", NOTHING, "", dtype)
