"""SiTU-GLU in float64, and how far rounding may move a right answer.

f(g, u) = b1 tanh(g/b1) sigmoid(g) * b2 tanh(u/b2), g = x Wg^T, u = x Wu^T.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

Branch = Callable[[Tensor], tuple[Tensor, Tensor]]
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
    the projections' errors, eps |x| |W|^T each, as far as the function passes them on, at its steepest within that
    error; eps times the result; and absolute errors: of tanh in wide precision, which 2 sigmoid(2z) - 1 has, and of the
    sigmoid, which (1 + tanh(z/2)) / 2 has (eps / 8 in a half type: half a step below 1, halved) and 1 / (1 + exp(-z))
    where exp overflows the dtype (1/max). Twice the smallest subnormal stands for underflow.
    """
    info = torch.finfo(getattr(torch, dtype))
    eps = max(info.eps, WIDE)
    gate, gate_error = projected(input_tensor, gate_projection, eps)
    up, up_error = projected(input_tensor, up_projection, eps)
    s, t, v = torch.sigmoid(gate), torch.tanh(gate / gate_cap), torch.tanh(up / up_cap)
    gate_size, gate_slope = steepest(lambda g: gate_branch(g, gate_cap), gate, gate_error)
    up_size, up_slope = steepest(lambda u: up_branch(u, up_cap), up, up_error)
    both = gate_cap * up_cap
    return (
        carried(gate_slope * up_size, gate_error)
        + carried(up_slope * gate_size, up_error)
        + eps * both * (t * s * v).abs()
        + WIDE * both * s * (t.abs() + v.abs())
        + (max(WIDE, eps / 8) + 1 / info.max) * both * (t * v).abs()
        + 2 * both * info.smallest_normal * info.eps
    )


def projected(input_tensor: Tensor, projection: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """x W^T and its error, eps |x| |W|^T."""
    return input_tensor @ projection.T, eps * (input_tensor.abs() @ projection.abs().T)


def gate_branch(gate: Tensor, cap: float) -> tuple[Tensor, Tensor]:
    """|b1 t s| and |d(b1 t s)/dg| with t = tanh(g/b1), s = sigmoid(g)."""
    t, s = torch.tanh(gate / cap), torch.sigmoid(gate)
    return (cap * t * s).abs(), ((1 - t * t) * s + cap * t * s * (1 - s)).abs()


def up_branch(up: Tensor, cap: float) -> tuple[Tensor, Tensor]:
    """|b2 v| and |d(b2 v)/du| with v = tanh(u/b2)."""
    v = torch.tanh(up / cap)
    return (cap * v).abs(), 1 - v * v


def steepest(branch: Branch, value: Tensor, error: Tensor) -> tuple[Tensor, Tensor]:
    """The largest size and slope of a branch at the value and at both ends of its error."""
    sizes, slopes = zip(*(branch(value + step * error) for step in (-1, 0, 1)), strict=True)
    return torch.stack(sizes).amax(0), torch.stack(slopes).amax(0)


def carried(slope: Tensor, error: Tensor) -> Tensor:
    """|slope| error; 0 where the function is flat, also at infinity."""
    return torch.nan_to_num(slope * error, nan=0.0)


def quantities(
    input_tensor: Tensor, gate_projection: Tensor, up_projection: Tensor, *caps: float, **named: float
) -> dict[str, Tensor]:
    """The two projections of each element, float64 [..., d_ff]."""
    return {"gate": input_tensor @ gate_projection.T, "up": input_tensor @ up_projection.T}


def regions(
    input_tensor: Tensor,
    gate_projection: Tensor,
    up_projection: Tensor,
    gate_cap: float = 4.0,
    up_cap: float = 25.0,
) -> dict[str, Tensor]:
    """Parts of the plane of gate and up in which one thing can go wrong, in words; flags [..., d_ff]."""
    gate, up = input_tensor @ gate_projection.T, input_tensor @ up_projection.T
    gates = {
        f"|gate| > {gate_cap:g}": gate.abs() > gate_cap,
        f"gate > {gate_cap:g}": gate > gate_cap,
        f"gate < -{gate_cap:g}": gate < -gate_cap,
        "gate < 0": gate < 0,
        "gate > 0": gate > 0,
        "gate is 0": gate == 0,
    }
    ups = {
        f"|up| > {up_cap:g}": up.abs() > up_cap,
        f"up > {up_cap:g}": up > up_cap,
        f"up < -{up_cap:g}": up < -up_cap,
        "up < 0": up < 0,
        "up > 0": up > 0,
        "up is 0": up == 0,
    }
    both = {f"{a} and {b}": there & here for a, there in gates.items() for b, here in ups.items()}
    either = f"|gate| > {gate_cap:g} or |up| > {up_cap:g}"
    return gates | ups | both | {either: (gate.abs() > gate_cap) | (up.abs() > up_cap)}
