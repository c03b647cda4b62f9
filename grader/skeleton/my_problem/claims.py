"""What the theory claims, as checks on the reference: True, or what does not hold."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from grader.cases.draw import Draw


def claim_identity_above_zero(f: Callable[..., Tensor], draw: Draw) -> bool:
    """Above zero the input comes back, whatever the slope."""
    x = torch.from_numpy(draw.uniform((100,), 0.0, 5.0))
    return torch.equal(f(x, 0.5), x)


def claim_scale(f: Callable[..., Tensor], draw: Draw) -> bool:
    """Scaling the input by a positive number scales the result."""
    x = torch.from_numpy(draw.bell((100,)))
    return torch.allclose(f(3.0 * x, 0.25), 3.0 * f(x, 0.25))
