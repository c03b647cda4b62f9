"""The cases of SiTU-GLU: what each carries, and how its inputs are drawn.

Gates and ups are sized through the projections: with entries of spread `size / sqrt(d_in)` and inputs of spread 1, the
projection's spread is `size`. Every ingredient stands in every dtype in which it can tell, mostly several to a case.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from grader.cases.draw import Draw, Recipe
from grader.problem.arguments import DTYPES, Arguments, Array, Numbers
from grader.records import Mode


@dataclass(frozen=True, kw_only=True)
class Plan:
    """One case before its numbers are drawn. lead: the leading dimensions; gates, ups: spread of the projections.

    caps: by position; named: by keyword. inputs: how `x` is drawn ("bell", "extreme", "repeated"); zeros: one token,
    one row of the gate projection and one of the up projection are zero. x, w: layouts.
    """

    lead: tuple[int, ...]
    d_in: int
    d_ff: int
    gates: float = 6.0
    ups: float = 40.0
    caps: tuple[float, ...] = ()
    named: tuple[tuple[str, float], ...] = ()
    inputs: str = "bell"
    zeros: bool = False
    x: str = "contiguous"
    w: str = "contiguous"
    requires_grad: bool = False


def arguments(plan: Plan, dtype: str) -> Callable[[Draw], Arguments]:
    """The function that draws the plan's arguments."""

    def draw_arguments(draw: Draw) -> Arguments:
        x, gate, up = (extreme if plan.inputs == "extreme" else ordinary)(plan, dtype, draw)
        if plan.zeros:
            x.reshape(-1, plan.d_in)[1], gate[1], up[2] = 0.0, 0.0, 0.0
        common: dict[str, Any] = {"dtype": dtype, "requires_grad": plan.requires_grad}
        tensors = (
            Array(values=x, layout=plan.x, **common),
            *(Array(values=w, layout=plan.w, **common) for w in (gate, up)),
        )
        return Arguments(args=(*tensors, *plan.caps), kwargs=dict(plan.named))

    return draw_arguments


def ordinary(plan: Plan, dtype: str, draw: Draw) -> tuple[Numbers, Numbers, Numbers]:
    """Bell-shaped inputs and projections; with `repeated` inputs every first-dimension slice is the same."""
    shape = (*plan.lead, plan.d_in)
    drawn = draw.bell((1, *shape[1:]) if plan.inputs == "repeated" else shape)
    gate, up = (draw.bell((plan.d_ff, plan.d_in), size / math.sqrt(plan.d_in)) for size in (plan.gates, plan.ups))
    return np.broadcast_to(drawn, shape).copy(), gate, up


def extreme(plan: Plan, dtype: str, draw: Draw) -> tuple[Numbers, Numbers, Numbers]:
    """Projections of some +-10^4; in float16 so large that they overflow to infinity.

    All products of one projection have the same sign. So nothing cancels out, where rounding alone would decide between
    two far ends, and it makes no difference whether partial sums overflow, which depends on the kernel.
    """
    x_size, w_size = ((200, 400), (300, 500)) if dtype == "float16" else ((50, 150), (20, 60))
    column = draw.signs((plan.d_in,))

    def aligned(shape: tuple[int, ...], size: tuple[int, int]) -> Numbers:
        return column * draw.signs((*shape, 1)) * draw.uniform((*shape, plan.d_in), *size)

    return aligned(plan.lead, x_size), aligned((plan.d_ff,), w_size), aligned((plan.d_ff,), w_size)


def recipe(name: str, plan: Plan, tags: str, dtype: str = "float32", **more: Any) -> Recipe:
    """A case of a plan; tags that the plan itself shows are added."""
    return Recipe(
        name=name,
        arguments=arguments(plan, dtype),
        dtype=dtype,
        tags=frozenset(tags.split()) | frozenset(shown_by(plan)),
        backward=plan.requires_grad and dtype == "float32",
        **more,
    )


def shown_by(plan: Plan) -> Iterator[str]:
    """Tags for shapes, layouts and the way in which the caps are passed."""
    yield f"input_{len(plan.lead) + 1}d"
    yield "square" if plan.d_in == plan.d_ff else "non_square"
    yield from (f"{layout}_input" for layout in [plan.x] if layout != "contiguous")
    yield from (f"{layout}_projections" for layout in [plan.w] if layout != "contiguous")
    yield from (tag for tag, given in (("caps_positional", plan.caps), ("caps_keyword", plan.named)) if given)
    numbers = [*plan.caps, *(cap for _, cap in plan.named)]
    yield from {"caps_int" for cap in numbers if isinstance(cap, int)}
    yield from {"caps_fractional" for cap in numbers if cap != int(cap)}
    if not numbers:
        yield "caps_default"
    tokens = math.prod(plan.lead)
    counts = (("zero_tokens", tokens == 0), ("one_token", tokens == 1), ("one_row", plan.lead == (1,)))
    yield from (tag for tag, given in counts if given)
    yield from (tag for tag, given in (("d_ff_one", plan.d_ff == 1), ("d_in_one", plan.d_in == 1)) if given)
    yield from (tag for tag, given in (("exact_zeros", plan.zeros), ("requires_grad", plan.requires_grad)) if given)


def by_keyword(gate_cap: float, up_cap: float) -> tuple[tuple[str, float], ...]:
    return ("gate_cap", gate_cap), ("up_cap", up_cap)


FIRST = Plan(lead=(3,), d_in=4, d_ff=5, gates=3.0, ups=20.0)
BEYOND = Plan(lead=(2, 3), d_in=8, d_ff=6, inputs="repeated", x="expanded")
ORDINARY = Plan(
    lead=(5,), d_in=6, d_ff=5, gates=2.0, ups=30.0, named=by_keyword(6.5, 40.25), x="transposed", w="strided"
)
ONE_TOKEN = Plan(lead=(1, 1), d_in=5, d_ff=7, gates=12.0, ups=8.0, caps=(25, 4), w="transposed", requires_grad=True)
EXTREME = Plan(lead=(4,), d_in=5, d_ff=6, caps=(3.5, 20.0), inputs="extreme")
ZEROS = Plan(lead=(2, 1, 3), d_in=5, d_ff=4, gates=1.5, ups=1.0, named=by_keyword(0.75, 0.5), zeros=True)
SQUARE = Plan(lead=(), d_in=6, d_ff=6, gates=4.0, ups=6.0, named=by_keyword(3, 3))
NARROW = Plan(lead=(6,), d_in=5, d_ff=1, gates=5.0, ups=15.0, named=(("up_cap", 9),), x="strided")
NO_TOKENS = Plan(lead=(2, 0), d_in=4, d_ff=3)
HUGE = Plan(lead=(3, 2), d_in=3, d_ff=4, gates=3.0, ups=30.0, caps=(1000.0, 1000.0))
REALISTIC = Plan(lead=(2, 64), d_in=144, d_ff=96, gates=5.0, ups=25.0, named=by_keyword(5.0, 30.0))


INGREDIENTS = {
    "beyond_caps": DTYPES,  # mistakes in the caps; small inputs hide them all
    "ordinary_gates": DTYPES,  # the sigmoid of the capped gate, other gates
    "extreme": DTYPES,  # naive exp, inf * 0, inf / inf
    "exact_zeros": DTYPES,  # tanh(z) / z
    "caps_default": DTYPES,  # other defaults
    "caps_positional": DTYPES,
    "caps_keyword": DTYPES,  # other names
    "caps_int": DTYPES,
    "caps_fractional": DTYPES,  # caps made whole
    "caps_equal": DTYPES,
    "caps_swapped_size": DTYPES,  # the larger cap taken for the up branch's
    "caps_below_one": DTYPES,
    "caps_huge": ("float32", "float64"),  # results above 100; in half types the allowance swallows zeros
    "square": DTYPES,  # turned matrices that raise nowhere
    "non_square": DTYPES,
    "input_1d": DTYPES,  # mm, bmm, unpacked shapes
    "input_2d": DTYPES,
    "input_3d": DTYPES,
    "input_4d": DTYPES,
    "zero_tokens": DTYPES,  # stacks and reductions of nothing
    "one_token": DTYPES,  # squeeze
    "one_row": ("float64", "bfloat16"),
    "d_ff_one": ("float32", "float16"),
    "d_in_one": ("float64",),
    "transposed_input": DTYPES,  # view
    "strided_input": DTYPES,
    "expanded_input": DTYPES,
    "transposed_projections": DTYPES,
    "strided_projections": DTYPES,
    "requires_grad": DTYPES,  # numpy
    "large": ("float32",),  # code that is right only for small inputs, time limits
    "same_memory": ("bfloat16",),  # results kept by address; a public one is float32
    "device_fake": ("bfloat16",),
    "device_meta": ("float32",),
}
"""What the hidden cases have to carry, in which dtypes, and what only it catches."""


def recipes() -> Iterator[Recipe]:
    """Public cases first, device cases last."""
    yield from public()
    for dtype in DTYPES:
        yield from hidden(dtype)
    yield recipe("huge-caps-float32", HUGE, "caps_huge")
    yield recipe("huge-caps-float64", replace(HUGE, lead=(5,), d_in=1), "caps_huge", "float64")
    yield recipe("realistic-size", REALISTIC, "large beyond_caps")
    yield from device()


def hidden(dtype: str) -> Iterator[Recipe]:
    """The ingredients that can tell in every dtype."""
    yield recipe(f"saturated-branches-{dtype}", BEYOND, "beyond_caps", dtype)
    yield recipe(f"ordinary-gates-{dtype}", ORDINARY, "ordinary_gates", dtype)
    if dtype == "bfloat16":
        yield recipe(f"same-memory-{dtype}", ORDINARY, "same_memory ordinary_gates", dtype, same_memory=True)
    yield recipe(f"exchanged-caps-{dtype}", ONE_TOKEN, "caps_swapped_size", dtype)
    grad = dtype == "float32"  # gradients that are NaN where values are not
    yield recipe(f"extremes-{dtype}", replace(EXTREME, requires_grad=grad), "extreme", dtype)
    yield recipe(f"zeros-inside-{dtype}", replace(ZEROS, requires_grad=grad), "caps_below_one", dtype)
    yield recipe(f"square-projections-{dtype}", SQUARE, "caps_equal", dtype)
    if dtype in INGREDIENTS["d_ff_one"]:
        yield recipe(f"narrow-projections-{dtype}", NARROW, "ordinary_gates", dtype)
    else:
        yield recipe(f"one-row-{dtype}", replace(NARROW, lead=(1,), d_ff=7), "ordinary_gates", dtype)
    yield recipe(f"empty-input-{dtype}", NO_TOKENS, "", dtype)


def public() -> Iterator[Recipe]:
    """What a learner sees, numbers and all. The first has no zeros in its answer."""
    large = replace(FIRST, d_in=6, gates=8.0, ups=30.0, named=by_keyword(3, 10))
    zeros = replace(ZEROS, lead=(1, 3, 1), named=by_keyword(2.0, 8.0), gates=2.0, ups=9.0)
    plans: tuple[tuple[str, Plan, str, str], ...] = (
        ("first-example", FIRST, "ordinary_gates", "float32"),
        ("same-memory-new-values", FIRST, "same_memory ordinary_gates", "float32"),
        ("beyond-the-caps", large, "beyond_caps", "float32"),
        ("square-matrices", replace(FIRST, lead=(2,), d_in=5, caps=(2.5, 12.5), x="strided"), "", "float32"),
        ("batch-of-sequences", replace(FIRST, lead=(2, 3), d_ff=6, w="transposed"), "ordinary_gates", "bfloat16"),
        ("extreme-values", replace(EXTREME, lead=(3,), d_in=4, d_ff=5, caps=(4.0, 25.0)), "extreme", "float16"),
        ("token-of-zeros", zeros, "", "float64"),
        ("one-vector", replace(FIRST, lead=(), d_in=6, d_ff=4, requires_grad=True), "ordinary_gates", "float32"),
        ("no-tokens", replace(NO_TOKENS, lead=(0,)), "", "float32"),
    )
    for name, plan, tags, dtype in plans:
        yield recipe(name, plan, tags, dtype, visibility="public", same_memory="same_memory" in tags)
    yield recipe("first-example-again", FIRST, "equal_call", visibility="public", stream="first-example")


def device() -> Iterator[Recipe]:
    """Tensors that live on no CPU, with shapes that no other case has."""
    fake = Plan(lead=(2, 7), d_in=9, d_ff=11)
    meta = Plan(lead=(13,), d_in=10, d_ff=9, named=by_keyword(5.0, 20.0))
    yield recipe("device-cuda", fake, "device_fake", "bfloat16", kind="device", mode=Mode.FAKE)
    yield recipe("device-meta", meta, "device_meta", kind="device", mode=Mode.META)
