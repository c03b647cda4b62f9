"""The soft cap in float64, and how far rounding may move a right answer: f(x) = b tanh(x/b)."""

from __future__ import annotations

import torch
from torch import Tensor

WIDE = torch.finfo(torch.float32).eps


def reference(x: Tensor, cap: float) -> Tensor:
    """cap tanh(x / cap), float64, of x's shape."""
    return cap * torch.tanh(x / cap)


def rounding(x: Tensor, cap: float, *, dtype: str) -> Tensor:
    """One unit of rounding: eps (|x| f'(x) + |f(x)|), with f' = 1 - tanh^2, float64, of x's shape.

    eps is the dtype's, but at least float32's, which float64 inputs may be computed in. tanh itself may be off by
    float32's eps of 1, as in 2 sigmoid(2z) - 1, which the cap multiplies. Last, the smallest subnormal, for underflow.
    """
    info = torch.finfo(getattr(torch, dtype))
    t, eps = torch.tanh(x / cap), max(info.eps, WIDE)
    return eps * ((1 - t * t) * x.abs() + cap * t.abs()) + WIDE * cap + max(1.0, cap) * info.smallest_normal * info.eps


def quantities(x: Tensor, cap: float) -> dict[str, Tensor]:
    """What messages tell of each element."""
    return {"x": x}


def regions(x: Tensor, cap: float) -> dict[str, Tensor]:
    """Where something can go wrong, in words."""
    return {
        f"|x| > {cap:g}": x.abs() > cap,
        f"x > {cap:g}": x > cap,
        f"x < -{cap:g}": x < -cap,
        "x < 0": x < 0,
        "x > 0": x > 0,
        "x is 0": x == 0,
    }
