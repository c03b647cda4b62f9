"""The right answer in float64. Without a function `rounding` the unit of rounding is measured."""

from __future__ import annotations

import torch
from torch import Tensor


def reference(x: Tensor, slope: float = 0.01) -> Tensor:
    """x where it is above 0, slope x elsewhere; float64, of x's shape."""
    return torch.where(x > 0, x, slope * x)


def quantities(x: Tensor, slope: float = 0.01) -> dict[str, Tensor]:
    """What messages tell of each element."""
    return {"x": x}


def regions(x: Tensor, slope: float = 0.01) -> dict[str, Tensor]:
    """Where something can go wrong, in words: "only where x < 0"."""
    return {"x < 0": x < 0, "x > 0": x > 0}
