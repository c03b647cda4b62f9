"""The named mistakes as switches of one formula, so that two of them combine."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import torch
from torch import Tensor

Switches = dict[str, Any]

MISTAKES: dict[str, tuple[Switches, ...]] = {
    "mean_subtracted": ({"centred": "both"}, {"centred": "numerator"}),
    "variance_instead": ({"centred": "denominator"},),
    "bessel": ({"count": "bessel"},),
    "sum_of_squares": ({"count": "one"},),
    "eps_outside": ({"eps": "outside"},),
    "missing_eps": ({"eps": "none"},),
    "fixed_eps": ({"eps": "fixed"},),
    "wrong_dimension": ({"over": "first"}, {"over": "last but one"}, {"over": "all"}),
    "missing_weight": ({"weight": "none"},),
    "weight_plus_one": ({"weight": "plus one"},),
}
"""For each mistake its forms: what each switch is set to."""


def explanations(
    x: Tensor, weight: Tensor, eps: float = 1e-6, *, dtype: str
) -> Iterator[tuple[tuple[str, ...], Tensor | None, Tensor | None]]:
    """Every mistake and every pair that doesn't set the same switch twice; singles first."""
    for size in (1, 2):
        for ids in combinations(MISTAKES, size):
            for switches in together(ids):
                yield (ids, *outcome(x, weight, eps, dtype, switches))


def together(ids: tuple[str, ...]) -> Iterator[Switches]:
    """The switches of each choice of the mistakes' forms."""
    first, *rest = ids
    for switches in MISTAKES[first]:
        if not rest:
            yield switches
        for other in MISTAKES[rest[0]] if rest else ():
            if switches.keys().isdisjoint(other):
                yield switches | other


def outcome(
    x: Tensor, weight: Tensor, eps: float, dtype: str, switches: Switches
) -> tuple[Tensor | None, Tensor | None]:
    """Output and one unit of rounding; None where such code raises."""
    over = dimensions(x, switches.get("over", "features"))
    if over is None:
        return None, None
    mean = x.mean(over, keepdim=True)
    centred = switches.get("centred", "")
    above = x - mean if centred in ("both", "numerator") else x
    below = x - mean if centred in ("both", "denominator") else x
    mean_square = below.square().sum(over, keepdim=True) / count(x, over, switches)
    scale = inverse(mean_square, eps, switches) * factor(weight, switches)
    spread = (x.abs() + mean.abs() if centred else x.abs()) * scale.abs()
    return above * scale, unit(spread, dtype)


def dimensions(x: Tensor, over: str) -> tuple[int, ...] | None:
    """What the mean is taken over; None where x has no such dimension."""
    if over == "last but one" and x.dim() < 2:
        return None
    return {"features": (-1,), "first": (0,), "last but one": (-2,), "all": tuple(range(x.dim()))}[over]


def count(x: Tensor, over: tuple[int, ...], switches: Switches) -> int:
    """By how much the sum of squares is divided."""
    elements = 1
    for dimension in over:
        elements *= x.shape[dimension]
    return {"one": 1, "bessel": max(elements - 1, 0)}.get(switches.get("count", ""), elements)


def inverse(mean_square: Tensor, eps: float, switches: Switches) -> Tensor:
    """1 / sqrt(mean square + eps), and how it is got wrong."""
    place = switches.get("eps", "inside")
    if place == "outside":
        return 1 / (mean_square.sqrt() + eps)
    return (mean_square + {"inside": eps, "none": 0.0, "fixed": 1e-6}[place]).rsqrt()


def factor(weight: Tensor, switches: Switches) -> Tensor:
    """What the normalized token is multiplied by."""
    return {"none": torch.ones_like(weight), "plus one": 1 + weight}.get(switches.get("weight", ""), weight)


def unit(spread: Tensor, dtype: str) -> Tensor:
    """One unit of rounding, as rounding in reference.py has it for about a hundred features."""
    final = torch.finfo(getattr(torch, dtype))
    return (7 * torch.finfo(torch.float32).eps / 2 + final.eps / 2) * spread + final.smallest_normal * final.eps / 2
