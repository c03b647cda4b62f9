"""What the theory claims, as checks on the reference: True, or what does not hold."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from grader.cases.draw import Draw

Function = Callable[..., Tensor]


def packed(draw: Draw, spread: float = 10.0) -> Tensor:
    """50 tokens of gate and up, float64 [50, 8]."""
    return torch.from_numpy(draw.bell((50, 8), spread))


def claim_bound(f: Function, draw: Draw) -> bool:
    """The result stays below the product of the caps, up to rounding."""
    return bool((f(packed(draw, 1e3), 4.0, 25.0).abs() <= 100.0 * (1 + 1e-15)).all())


def claim_limit(f: Function, draw: Draw) -> bool:
    """A huge linear_beta is the same as none."""
    x = packed(draw)
    return torch.allclose(f(x, 4.0, 1e8), f(x, 4.0), rtol=1e-12, atol=0.0)


def claim_odd_in_up(f: Function, draw: Draw) -> bool:
    """The sign of the up branch is the sign of the result."""
    gate, up = packed(draw).chunk(2, dim=-1)
    return torch.equal(f(torch.cat([gate, -up], -1), 3.0, 9.0), -f(torch.cat([gate, up], -1), 3.0, 9.0))


def claim_locality(f: Function, draw: Draw) -> bool:
    """Tokens and coordinates may be put in another order before or after."""
    x = packed(draw)
    gate, up = x.chunk(2, dim=-1)
    turned = f(torch.cat([gate.flip(-1), up.flip(-1)], -1), 4.0, 25.0)
    return torch.equal(f(x.flip(0), 4.0, 25.0), f(x, 4.0, 25.0).flip(0)) and torch.equal(
        turned, f(x, 4.0, 25.0).flip(-1)
    )


def claim_negative_tail(f: Function, draw: Draw) -> bool:
    """A strongly negative gate shuts the unit."""
    up = torch.from_numpy(draw.bell((50, 4), 100.0))
    return bool((f(torch.cat([torch.full_like(up, -60.0), up], -1), 4.0).abs() < 1e-20).all())
