"""What the theory claims, as checks on the reference: True, or what does not hold."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from grader.cases.draw import Draw

Function = Callable[..., Tensor]


def inputs(draw: Draw, spread: float = 3.0) -> tuple[Tensor, Tensor, Tensor]:
    """20 tokens, d_in = 5, d_ff = 7, all of this spread."""
    x, gate, up = (torch.from_numpy(draw.bell(shape, spread)) for shape in ((20, 5), (7, 5), (7, 5)))
    return x, gate, up


def elementwise(f: Function, gate: Tensor, up: Tensor, *caps: float) -> Tensor:
    """f of gates and ups as they are, one a token."""
    one = torch.ones(1, 1, dtype=torch.float64)
    if not torch.equal(gate, up):
        x = torch.stack([gate, up], dim=-1)
        first, second = torch.eye(2, dtype=torch.float64).split(1)
        return f(x, first, second, *caps).squeeze(-1)
    return f(gate.unsqueeze(-1), one, one, *caps).squeeze(-1)


def claim_bound(f: Function, draw: Draw) -> bool:
    """No result is beyond the product of the caps, up to rounding."""
    given = inputs(draw, 100.0)
    pairs = ((4.0, 25.0), (0.1, 0.1), (25, 3))
    return all(bool((f(*given, *caps).abs() <= caps[0] * caps[1] * (1 + 1e-14)).all()) for caps in pairs)


def claim_limit_of_huge_caps(f: Function, draw: Draw) -> bool:
    """Huge caps give back SwiGLU; with 1000 and 1000 the two differ by less than 1e-5 at g = u = 2."""
    x, gate, up = inputs(draw)
    swiglu = torch.nn.functional.silu(x @ gate.T) * (x @ up.T)
    two = torch.tensor([2.0], dtype=torch.float64)
    near = elementwise(f, two, two, 1000.0, 1000.0) - 2 * torch.nn.functional.silu(two)
    return torch.allclose(f(x, gate, up, 1e8, 1e8), swiglu, rtol=1e-11, atol=1e-11) and bool(near.abs() < 1e-5)


def claim_agreement_near_zero(f: Function, draw: Draw) -> bool:
    """For small gates and ups the relative difference from SwiGLU is about g^2 / (3 b1^2) + u^2 / (3 b2^2)."""
    gate, up = (torch.from_numpy(draw.spread_signs((50,), 0.01, 0.1)) for _ in range(2))
    swiglu = torch.nn.functional.silu(gate) * up
    told = gate**2 / (3 * 4.0**2) + up**2 / (3 * 25.0**2)
    return torch.allclose(1 - elementwise(f, gate, up) / swiglu, told, rtol=1e-2, atol=0.0)


def claim_negative_tail(f: Function, draw: Draw) -> bool:
    """A strongly negative gate shuts the unit, whatever the up branch holds."""
    gate, up = (torch.from_numpy(draw.uniform((50,), low, high)) for low, high in ((-90, -60), (-1e4, 1e4)))
    return bool((elementwise(f, gate, up).abs() < 1e-20).all())


def claim_lowest_gate(f: Function, draw: Draw) -> bool:
    """With a cap of 4 the gate branch is lowest near g = -1.22, where it is about -0.270."""
    gate = torch.linspace(-6.0, 0.0, 6001, dtype=torch.float64)
    branch = elementwise(f, gate, torch.full_like(gate, 1e-6)) / 1e-6
    lowest = int(branch.argmin())
    return abs(float(branch[lowest]) + 0.270) < 5e-4 and abs(float(gate[lowest]) + 1.22) < 5e-3


def claim_odd_in_up(f: Function, draw: Draw) -> bool:
    """Turning the up projection round turns the result round."""
    x, gate, up = inputs(draw)
    return torch.equal(f(x, gate, -up), -f(x, gate, up))


def claim_tokens_apart(f: Function, draw: Draw) -> bool:
    """Permuting the tokens permutes the result."""
    x, gate, up = inputs(draw)
    return torch.allclose(f(x.flip(0), gate, up), f(x, gate, up).flip(0), rtol=1e-12, atol=1e-12)


def claim_coordinates_apart(f: Function, draw: Draw) -> bool:
    """Splitting d_ff splits the result: no coordinate sees another."""
    x, gate, up = inputs(draw)
    parts = [f(x, gate[part], up[part]) for part in (slice(0, 3), slice(3, 7))]
    return torch.allclose(torch.cat(parts, -1), f(x, gate, up), rtol=1e-12, atol=1e-12)
