"""The named mistakes as code: one function each, named by its id, in float64."""

from __future__ import annotations

import torch
from torch import Tensor


def hard_clipping(x: Tensor, cap: float) -> Tensor:
    return x.clamp(-cap, cap)


def tanh_before_divide(x: Tensor, cap: float) -> Tensor:
    return torch.tanh(x)


def missing_outer_scale(x: Tensor, cap: float) -> Tensor:
    return torch.tanh(x / cap)


def missing_inner_scale(x: Tensor, cap: float) -> Tensor:
    return cap * torch.tanh(x)
