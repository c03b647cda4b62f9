"""SiTU-GLU in float64, and how far rounding may move a right answer.

f(g, u) = b1 tanh(g/b1) sigmoid(g) * b2 tanh(u/b2), g = x Wg^T, u = x Wu^T.
"""

from __future__ import annotations

import torch
from torch import Tensor

WIDE = torch.finfo(torch.float32).eps


def reference(
    input_tensor: Tensor,
    gate_projection: Tensor,
    up_projection: Tensor,
    gate_cap: float = 4.0,
    up_cap: float = 25.0,
) -> Tensor:
    """The exact answer, float64 [..., d_ff], of float64 tensors."""
    gate, up = input_tensor @ gate_projection.T, input_tensor @ up_projection.T
    return gate_cap * torch.tanh(gate / gate_cap) * torch.sigmoid(gate) * (up_cap * torch.tanh(up / up_cap))


def rounding(
    input_tensor: Tensor,
    gate_projection: Tensor,
    up_projection: Tensor,
    gate_cap: float = 4.0,
    up_cap: float = 25.0,
    *,
    dtype: str,
) -> Tensor:
    """One unit of rounding for each element, float64 [..., d_ff], for inputs of the dtype.

    eps is the dtype's, but at least float32's, which float64 inputs may be computed in. Three things add up:
    the projections' errors, eps |x| |W|^T each, as far as the function passes them on; eps times the result; and the
    absolute errors of tanh and sigmoid in wide precision, which 2 sigmoid(2z) - 1 and (1 + tanh(z/2)) / 2 have
    (1/max: the sigmoid below which exp(-g) overflows the dtype), with the smallest subnormal for underflow.
    """
    gate, up = input_tensor @ gate_projection.T, input_tensor @ up_projection.T
    s, t, v = torch.sigmoid(gate), torch.tanh(gate / gate_cap), torch.tanh(up / up_cap)
    info = torch.finfo(getattr(torch, dtype))
    eps = max(info.eps, WIDE)
    by_gate = up_cap * v * ((1 - t * t) * s + gate_cap * t * s * (1 - s))
    by_up = gate_cap * t * s * (1 - v * v)
    carried = spread(by_gate, input_tensor, gate_projection) + spread(by_up, input_tensor, up_projection)
    both = gate_cap * up_cap
    return (
        eps * (carried + (both * t * s * v).abs())
        + WIDE * both * s * (t.abs() + v.abs())
        + (WIDE + 1 / info.max) * both * (t * v).abs()
        + 2 * both * info.smallest_normal * info.eps
    )


def spread(slope: Tensor, input_tensor: Tensor, projection: Tensor) -> Tensor:
    """|slope| |x| |W|^T; 0 where the function is flat, also at infinity."""
    return torch.nan_to_num(slope.abs() * (input_tensor.abs() @ projection.abs().T), nan=0.0)
