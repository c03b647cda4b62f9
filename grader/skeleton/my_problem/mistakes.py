"""The named mistakes as code: one function each, named by its id, in float64."""

from __future__ import annotations

import torch
from torch import Tensor


def fixed_slope(x: Tensor, slope: float = 0.01) -> Tensor:
    return torch.where(x > 0, x, 0.01 * x)


def no_slope(x: Tensor, slope: float = 0.01) -> Tensor:
    return x.clamp(min=0.0)


def larger_of_both(x: Tensor, slope: float = 0.01) -> Tensor:
    return torch.maximum(x, slope * x)
