"""What the theory claims, as checks on the reference: True, or what does not hold."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from grader.cases.draw import Draw

Function = Callable[..., Tensor]


def claim_bound(f: Function, draw: Draw) -> bool:
    """No result is beyond the cap, up to a rounding of it."""
    x = torch.from_numpy(draw.spread_signs((1000,), 0.0, 1e6))
    return all(bool((f(x, cap).abs() <= cap * (1 + 1e-15)).all()) for cap in (0.1, 3, 25.0))


def claim_limit(f: Function, draw: Draw) -> bool:
    """A huge cap gives back the input."""
    x = torch.from_numpy(draw.bell((100,)))
    return torch.allclose(f(x, 1e6), x, rtol=0.0, atol=1e-11)


def claim_near_zero(f: Function, draw: Draw) -> bool:
    """For small inputs x - f(x) is about x^3 / (3 cap^2)."""
    x = torch.from_numpy(draw.uniform((100,), 0.01, 0.02))
    return torch.allclose(x - f(x, 2.0), x**3 / 12.0, rtol=1e-3, atol=0.0)


def claim_symmetry(f: Function, draw: Draw) -> bool:
    """The function is odd."""
    x = torch.from_numpy(draw.bell((100,), 10.0))
    return torch.equal(f(-x, 3.0), -f(x, 3.0))


def claim_scale(f: Function, draw: Draw) -> bool:
    """Input and cap scaled together scale the result."""
    x = torch.from_numpy(draw.bell((100,), 10.0))
    return torch.allclose(f(5.0 * x, 15.0), 5.0 * f(x, 3.0), rtol=1e-14, atol=0.0)


def claim_order(f: Function, draw: Draw) -> bool:
    """The result grows with the input."""
    x = torch.from_numpy(draw.bell((100,), 3.0)).sort().values
    return bool((f(x, 4.0).diff() >= 0).all())
