"""Wrong ways to write SiTU-GLU, as plain functions: what the cases must catch and the diagnosis name.

WRONG: name -> (function, the mistakes that the diagnosis has to name).
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from tests.support.variants import Variant, cast, matmul, situ, through


def soft(x: Tensor, cap: float) -> Tensor:
    return cap * torch.tanh(x / cap)


def hard(x: Tensor, cap: float) -> Tensor:
    return torch.clamp(x, -cap, cap)


def hard_by_where(x: Tensor, cap: float) -> Tensor:
    return torch.where(x > cap, cap, torch.where(x < -cap, -cap, x))


def tanh_first(x: Tensor, cap: float) -> Tensor:
    return cap * (torch.tanh(x) / cap)


def whole(x: Tensor, cap: float) -> Tensor:
    return x


def unscaled(x: Tensor, cap: float) -> Tensor:
    return torch.tanh(x / cap)


def with_bounds(gate: Variant, up: Variant) -> Variant:
    return lambda g, u, a, b: gate(g, a) * torch.sigmoid(g) * up(u, b)


def weighted(weight: Callable[..., Tensor]) -> Variant:
    return lambda g, u, a, b: soft(g, a) * soft(u, b) * weight(g, u, a, b)


def multiplied(g: Tensor, u: Tensor, a: float, b: float) -> Tensor:
    return situ(g * u, g * u, a, b)


sigmoid = torch.sigmoid

ACTIVATIONS: dict[str, tuple[Variant, tuple[str, ...]]] = {
    "sigmoid_on_up": (weighted(lambda g, u, a, b: sigmoid(u)), ("sigmoid_on_up",)),
    "sigmoid_on_both": (weighted(lambda g, u, a, b: sigmoid(u) * sigmoid(g)), ("sigmoid_on_up",)),
    "hard_clipping": (with_bounds(hard, hard), ("hard_clipping",)),
    "hard_by_where": (with_bounds(hard_by_where, hard_by_where), ("hard_clipping",)),
    "hard_gate": (with_bounds(hard, soft), ("hard_clipping",)),
    "hard_up": (with_bounds(soft, hard), ("hard_clipping",)),
    "clamp_one_side": (with_bounds(lambda x, cap: x.clamp(max=cap), hard), ("hard_clipping",)),
    "clamp_after_the_sigmoid": (
        lambda g, u, a, b: hard(F.silu(g), a) * hard(u, b),
        ("hard_clipping",),
    ),
    "clamp_the_product": (lambda g, u, a, b: (F.silu(g) * u).clamp(-a * b, a * b), ("hard_clipping",)),
    "shared_gate_cap": (lambda g, u, a, b: situ(g, u, a, a), ("shared_cap",)),
    "shared_up_cap": (lambda g, u, a, b: situ(g, u, b, b), ("shared_cap",)),
    "tanh_before_divide": (with_bounds(tanh_first, tanh_first), ("tanh_before_divide",)),
    "tanh_over_cap": (with_bounds(*[lambda x, cap: torch.tanh(x) / cap] * 2), ("tanh_before_divide",)),
    "tanh_over_gate_cap": (with_bounds(lambda x, cap: torch.tanh(x) / cap, soft), ("tanh_before_divide",)),
    "tanh_first_on_gate": (with_bounds(tanh_first, soft), ("tanh_before_divide",)),
    "multiply_before": (multiplied, ("multiply_before_nonlinearity",)),
    "multiply_then_one_cap": (
        lambda g, u, a, b: soft(g * u, a * b) * sigmoid(g),
        ("multiply_before_nonlinearity",),
    ),
    "multiply_in_the_gate": (
        lambda g, u, a, b: soft(g * u, a) * sigmoid(g * u) * soft(u, b),
        ("multiply_before_nonlinearity",),
    ),
    "multiply_in_the_bounds": (
        lambda g, u, a, b: soft(g * u, a) * sigmoid(g) * soft(g * u, b),
        ("multiply_before_nonlinearity",),
    ),
    "swapped_caps": (lambda g, u, a, b: situ(g, u, b, a), ("swapped_caps",)),
    "hardcoded_caps": (lambda g, u, a, b: situ(g, u, 4, 25), ("hardcoded_caps",)),
    "hardcoded_gate_cap": (lambda g, u, a, b: situ(g, u, 4, b), ("hardcoded_caps",)),
    "missing_gate_cap": (with_bounds(whole, soft), ("missing_gate_cap",)),
    "missing_up_cap": (with_bounds(soft, whole), ("missing_up_cap",)),
    "missing_sigmoid": (lambda g, u, a, b: soft(g, a) * soft(u, b), ("missing_sigmoid",)),
    "sigmoid_of_capped_gate": (weighted(lambda g, u, a, b: sigmoid(soft(g, a))), ("sigmoid_of_capped_gate",)),
    "sigmoid_of_the_tanh": (weighted(lambda g, u, a, b: sigmoid(torch.tanh(g / a))), ("sigmoid_of_capped_gate",)),
    "missing_outer_scale": (with_bounds(unscaled, unscaled), ("missing_outer_scale",)),
    "missing_up_scale": (with_bounds(soft, unscaled), ("missing_outer_scale",)),
    "sum_instead_of_product": (
        lambda g, u, a, b: soft(g, a) * sigmoid(g) + soft(u, b),
        ("sum_instead_of_product",),
    ),
    "sum_before_sigmoid": (lambda g, u, a, b: (soft(g, a) + soft(u, b)) * sigmoid(g), ("sum_instead_of_product",)),
    "swapped_projections": (lambda g, u, a, b: situ(u, g, a, b), ("swapped_projections",)),
    "hard_and_shared": (lambda g, u, a, b: hard(g, a) * sigmoid(g) * hard(u, a), ("hard_clipping", "shared_cap")),
    "swapped_no_up_cap": (
        lambda g, u, a, b: soft(u, a) * sigmoid(u) * g,
        ("missing_up_cap", "swapped_projections"),
    ),
    "no_sigmoid_no_scale": (
        lambda g, u, a, b: unscaled(g, a) * unscaled(u, b),
        ("missing_sigmoid", "missing_outer_scale"),
    ),
    "sum_of_swapped_caps": (
        lambda g, u, a, b: soft(g, b) * sigmoid(g) + soft(u, a),
        ("swapped_caps", "sum_instead_of_product"),
    ),
    "hard_and_capped_sigmoid": (
        lambda g, u, a, b: hard(g, a) * sigmoid(hard(g, a)) * hard(u, b),
        ("hard_clipping", "sigmoid_of_capped_gate"),
    ),
    "sigmoid_alone_capped": (
        lambda g, u, a, b: g * sigmoid(soft(g, a)) * soft(u, b),
        ("missing_gate_cap", "sigmoid_of_capped_gate"),
    ),
    "sigmoid_of_unscaled": (
        lambda g, u, a, b: unscaled(g, a) * sigmoid(unscaled(g, a)) * unscaled(u, b),
        ("sigmoid_of_capped_gate", "missing_outer_scale"),
    ),
    "hardcoded_and_no_sigmoid": (
        lambda g, u, a, b: soft(g, 4) * soft(u, 25),
        ("hardcoded_caps", "missing_sigmoid"),
    ),
    "up_uncapped_sigmoid_on_up": (
        lambda g, u, a, b: soft(g, a) * u * sigmoid(u),
        ("sigmoid_on_up", "missing_up_cap"),
    ),
    "no_caps": (with_bounds(whole, whole), ("missing_gate_cap", "missing_up_cap")),
    "gelu": (lambda g, u, a, b: soft(F.gelu(g), a) * soft(u, b), ()),
    "relu": (lambda g, u, a, b: soft(g.relu(), a) * soft(u, b), ()),
    "hardsigmoid": (weighted(lambda g, u, a, b: F.hardsigmoid(g)), ()),
    "softsign": (with_bounds(*[lambda x, cap: x / (1 + x.abs() / cap)] * 2), ()),
    "naive_exp": (weighted(lambda g, u, a, b: g.exp() / (1 + g.exp())), ()),
    "naive_tanh": (
        lambda g, u, a, b: (
            soft(u, b) * sigmoid(g) * a * ((g / a).exp() - (-g / a).exp()) / ((g / a).exp() + (-g / a).exp())
        ),
        (),
    ),
    "zero_over_zero": (lambda g, u, a, b: F.silu(g) * torch.tanh(g / a) / (g / a) * soft(u, b), ()),
    "int_caps": (lambda g, u, a, b: situ(g, u, max(1, int(a)), max(1, int(b))), ()),
    "bounded_by_hundred": (lambda g, u, a, b: situ(g, u, a, b).clamp(-100, 100), ()),
    "three_mistakes": (lambda g, u, a, b: hard(g, b) * sigmoid(u) + hard(u, a), ()),
    "negative": (lambda g, u, a, b: -situ(g, u, a, b), ()),
    "zeros": (lambda g, u, a, b: torch.zeros_like(g), ()),
}


def transposed(x: Tensor, wg: Tensor, wu: Tensor, gate_cap: float = 4.0, up_cap: float = 25.0) -> Tensor:
    return situ(x @ wg, x @ wu, gate_cap, up_cap)


def gate_transposed(x: Tensor, wg: Tensor, wu: Tensor, gate_cap: float = 4.0, up_cap: float = 25.0) -> Tensor:
    return situ(x @ wg, x @ wu.T, gate_cap, up_cap)


def other_default(x: Tensor, wg: Tensor, wu: Tensor, gate_cap: float = 4.0, up_cap: float = 20.0) -> Tensor:
    return situ(x @ wg.T, x @ wu.T, gate_cap, up_cap)


WRONG: dict[str, tuple[Variant, tuple[str, ...]]] = {
    **{name: (through(matmul, activate), names) for name, (activate, names) in ACTIVATIONS.items()},
    **{f"{name}-float32": (through(cast(None), activate), names) for name, (activate, names) in ACTIVATIONS.items()},
    "transposed_projection": (transposed, ("transposed_projection",)),
    "gate_transposed": (gate_transposed, ("transposed_projection",)),
    "square_transposed": (
        through(lambda x, w: x @ w if w.shape[0] == w.shape[1] else x @ w.T),
        ("transposed_projection",),
    ),
    "computed_in_bfloat16": (through(cast(torch.bfloat16)), ()),
    "other_default": (other_default, ()),
}
