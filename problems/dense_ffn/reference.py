"""The dense feed-forward block in float64, and how far rounding may move a right answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

WIDE = torch.finfo(torch.float32).eps
State = Mapping[str, Tensor]
Init = Mapping[str, Any]


def reference(x: Tensor, *, init: Init, state: State) -> Tensor:
    """situ(x Wgu^T) Wd^T, float64 [..., d_model]."""
    gate, up = projected(x, state)
    return situ(gate, up, *caps(init)) @ state["down_proj.weight"].T


def projected(x: Tensor, state: State) -> tuple[Tensor, ...]:
    """Gate and up, [..., d_ff] each."""
    return (x @ state["gate_up_proj.weight"].T).chunk(2, dim=-1)


def caps(init: Init) -> tuple[float, float]:
    """beta, linear_beta."""
    return init.get("beta", 4.0), init.get("linear_beta", 25.0)


def situ(gate: Tensor, up: Tensor, beta: float, linear_beta: float) -> Tensor:
    """b tanh(g/b) sigmoid(g) c tanh(u/c)."""
    return beta * torch.tanh(gate / beta) * torch.sigmoid(gate) * linear_beta * torch.tanh(up / linear_beta)


def rounding(x: Tensor, *, init: Init, state: State, dtype: str) -> Tensor:
    """One unit of rounding for each element, float64 [..., d_model].

    A projection's error is eps |x| |W|^T; the activation passes on how far it moves when gate or up is moved by theirs,
    and adds a rounding of its own and the absolute errors of tanh and sigmoid in wide precision (see situ_glu). The
    projection down sums the hidden units' errors with the absolute weights, and has an error of its own.
    """
    info = torch.finfo(getattr(torch, dtype))
    eps, (beta, linear_beta) = max(info.eps, WIDE), caps(init)
    gate, up = projected(x, state)
    size = x.abs() @ state["gate_up_proj.weight"].abs().T
    gate_error, up_error = (eps * part for part in size.chunk(2, dim=-1))
    hidden, down = situ(gate, up, beta, linear_beta), state["down_proj.weight"].abs().T
    moved = torch.zeros_like(hidden)
    for step in (-1, 1):
        moved = torch.maximum(moved, (situ(gate + step * gate_error, up, beta, linear_beta) - hidden).abs())
    by_up = torch.zeros_like(hidden)
    for step in (-1, 1):
        by_up = torch.maximum(by_up, (situ(gate, up + step * up_error, beta, linear_beta) - hidden).abs())
    t, s, v = torch.tanh(gate / beta), torch.sigmoid(gate), torch.tanh(up / linear_beta)
    wide = WIDE * beta * linear_beta * (s * (t.abs() + v.abs()) + (t * v).abs())
    unit = moved + by_up + eps * hidden.abs() + wide + beta * linear_beta * info.smallest_normal * info.eps
    own = eps * (hidden.abs() @ down) + info.smallest_normal * info.eps
    return unit @ down + own
