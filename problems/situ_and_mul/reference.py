"""The packed activation in float64, and how far rounding may move it where it is computed in float32."""

from __future__ import annotations

import torch
from torch import Tensor

WIDE = torch.finfo(torch.float32).eps
FACTOR = 8


def reference(gate_up: Tensor, beta: float = 1.0, linear_beta: float | None = None) -> Tensor:
    """b tanh(g/b) sigmoid(g) times u, bounded where linear_beta is given; float64 [..., d_ff]."""
    gate, up = gate_up.chunk(2, dim=-1)
    if linear_beta is not None:
        up = linear_beta * torch.tanh(up / linear_beta)
    return beta * torch.tanh(gate / beta) * torch.sigmoid(gate) * up


def rounding(gate_up: Tensor, beta: float = 1.0, linear_beta: float | None = None, *, dtype: str) -> Tensor:
    """One unit of rounding for each element, float64 [..., d_ff].

    All in float32's eps: with t = tanh(g/b), s = sigmoid(g), w = |bounded up|, the relative errors of g and u as the
    function carries them (|g f_g| + |u f_u|), the result's own |f|, and the absolute errors of tanh and sigmoid, which
    2 sigmoid(2z) - 1 and (1 + tanh(z/2)) / 2 have: b s w + b |t| w, and b |t| s c for the up branch with cap c. Last
    the rounding to a half type, half of eps at most, of which 8 units allow one and a quarter, and its smallest
    subnormal.
    """
    info = torch.finfo(getattr(torch, dtype))
    gate, up = gate_up.chunk(2, dim=-1)
    t, s = torch.tanh(gate / beta), torch.sigmoid(gate)
    size, slope = (up.abs(), torch.ones_like(up)) if linear_beta is None else bounded(up, linear_beta)
    by_gate = ((1 - t * t) * s + beta * t * s * (1 - s)).abs() * gate.abs() * size
    by_up = (beta * t * s).abs() * slope * up.abs()
    absolute = beta * s * size + beta * t.abs() * size + (beta * t * s).abs() * (linear_beta or 0.0)
    result = (beta * t * s).abs() * size
    last = 0.625 * info.eps / FACTOR * result if info.eps > WIDE else 0.0
    tiny = max(1.0, beta * (linear_beta or 1.0)) * info.smallest_normal * info.eps
    return WIDE * (by_gate + by_up + result + absolute) + last + tiny


def bounded(up: Tensor, cap: float) -> tuple[Tensor, Tensor]:
    """|c tanh(u/c)| and its slope."""
    v = torch.tanh(up / cap)
    return (cap * v).abs(), 1 - v * v


def quantities(gate_up: Tensor, beta: float = 1.0, linear_beta: float | None = None) -> dict[str, Tensor]:
    """What messages tell of each element."""
    gate, up = gate_up.chunk(2, dim=-1)
    return {"gate": gate, "up": up}


def regions(gate_up: Tensor, beta: float = 1.0, linear_beta: float | None = None) -> dict[str, Tensor]:
    """Where something can go wrong, in words."""
    gate, up = gate_up.chunk(2, dim=-1)
    found = {
        f"|gate| > {beta:g}": gate.abs() > beta,
        f"gate > {beta:g}": gate > beta,
        f"gate < -{beta:g}": gate < -beta,
        "gate < 0": gate < 0,
        "gate > 0": gate > 0,
        "up < 0": up < 0,
        "up > 0": up > 0,
    }
    if linear_beta is not None:
        found |= {f"|up| > {linear_beta:g}": up.abs() > linear_beta, f"up > {linear_beta:g}": up > linear_beta}
    return found
