"""RMSNorm in float64, and how far rounding may move it."""

from __future__ import annotations

import torch
from torch import Tensor

FACTOR = 8


def reference(x: Tensor, weight: Tensor, eps: float = 1e-6) -> Tensor:
    """weight x / sqrt(mean(x^2) + eps) over the last dimension; float64, of x's shape [..., d]."""
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * weight


def rounding(x: Tensor, weight: Tensor, eps: float = 1e-6, *, dtype: str) -> Tensor:
    """One unit for each element of the result."""
    return unit(reference(x, weight, eps), x.shape[-1], dtype)


def unit(result: Tensor, features: int, dtype: str) -> Tensor:
    """One unit of rounding for a result in which nothing cancels.

    The mean square has only positive terms, so its relative error is at most that of a square and of a pairwise sum,
    1 + log2(d) roundings, which the root halves; the root and two products add three more. All this is in float32
    (float64 inputs may be computed so too). The cast to a half type rounds once more, and once again where the weight
    is multiplied after it: of these two, half an eps each, 8 units allow no more.
    """
    working = torch.finfo(torch.float32).eps / 2
    steps = 3.5 + torch.log2(torch.tensor(float(max(features, 1)))).item() / 2
    final = torch.finfo(getattr(torch, dtype))
    casts = final.eps / FACTOR if final.eps > 2 * working else working
    return (steps * working + casts) * result.abs() + final.smallest_normal * final.eps / 2


def quantities(x: Tensor, weight: Tensor, eps: float = 1e-6) -> dict[str, Tensor]:
    """What messages tell of each element."""
    return {"the mean square": x.square().mean(-1, keepdim=True).expand(x.shape), "weight": weight.expand(x.shape)}


def regions(x: Tensor, weight: Tensor, eps: float = 1e-6) -> dict[str, Tensor]:
    """Where something can go wrong, in words."""
    mean_square = x.square().mean(-1, keepdim=True).expand(x.shape)
    return {
        "the mean square is below 100 eps": mean_square < 100 * eps,
        "the whole token is 0": mean_square == 0,
        "x^2 is above 65504": x.square() > 65504,
        "weight < 0": (weight < 0).expand(x.shape),
    }
