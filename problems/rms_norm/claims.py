"""What the theory claims, as checks on the reference: True, or what does not hold."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from grader.cases.draw import Draw


def claim_unit(f: Callable[..., Tensor], draw: Draw) -> bool:
    """Without eps and weight, the result's root mean square is 1."""
    x = torch.from_numpy(draw.bell((5, 30)))
    return torch.allclose(f(x, torch.ones(30).double(), 1e-30).square().mean(-1), torch.ones(5).double())


def claim_scale(f: Callable[..., Tensor], draw: Draw) -> bool:
    """Without eps, scaling the token by a positive number changes nothing."""
    x, weight = torch.from_numpy(draw.bell((5, 30))), torch.from_numpy(draw.bell((30,)))
    return torch.allclose(f(7.0 * x, weight, 1e-30), f(x, weight, 1e-30))


def claim_odd(f: Callable[..., Tensor], draw: Draw) -> bool:
    """Changing the token's sign changes the result's sign."""
    x, weight = torch.from_numpy(draw.bell((5, 30))), torch.from_numpy(draw.bell((30,)))
    return torch.equal(f(-x, weight), -f(x, weight))


def claim_tokens(f: Callable[..., Tensor], draw: Draw) -> bool:
    """Each token is normalized by itself: exchanging tokens exchanges results."""
    x, weight = torch.from_numpy(draw.bell((5, 30))), torch.from_numpy(draw.bell((30,)))
    return torch.allclose(f(x.flip(0), weight), f(x, weight).flip(0))


def claim_bound(f: Callable[..., Tensor], draw: Draw) -> bool:
    """No entry is larger than the root of d times its weight."""
    x, weight = torch.from_numpy(draw.bell((50, 3))), torch.from_numpy(draw.bell((3,)))
    return bool((f(x, weight).abs() <= 3**0.5 * weight.abs()).all())
