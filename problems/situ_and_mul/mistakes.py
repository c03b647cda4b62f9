"""The named mistakes as code: one function each, named by its id, in float64."""

from __future__ import annotations

import torch
from torch import Tensor


def gate_branch(gate: Tensor, beta: float) -> Tensor:
    return beta * torch.tanh(gate / beta) * torch.sigmoid(gate)


def up_branch(up: Tensor, cap: float | None) -> Tensor:
    return up if cap is None else cap * torch.tanh(up / cap)


def exchanged_halves(gate_up: Tensor, beta: float = 1.0, linear_beta: float | None = None) -> Tensor:
    up, gate = gate_up.chunk(2, dim=-1)
    return gate_branch(gate, beta) * up_branch(up, linear_beta)


def interleaved(gate_up: Tensor, beta: float = 1.0, linear_beta: float | None = None) -> Tensor:
    return gate_branch(gate_up[..., ::2], beta) * up_branch(gate_up[..., 1::2], linear_beta)


def up_never_capped(gate_up: Tensor, beta: float = 1.0, linear_beta: float | None = None) -> Tensor:
    gate, up = gate_up.chunk(2, dim=-1)
    return gate_branch(gate, beta) * up


def up_always_capped(gate_up: Tensor, beta: float = 1.0, linear_beta: float | None = None) -> Tensor:
    gate, up = gate_up.chunk(2, dim=-1)
    return gate_branch(gate, beta) * up_branch(up, beta if linear_beta is None else linear_beta)


def shared_beta(gate_up: Tensor, beta: float = 1.0, linear_beta: float | None = None) -> Tensor:
    gate, up = gate_up.chunk(2, dim=-1)
    return gate_branch(gate, beta) * up_branch(up, None if linear_beta is None else beta)


def hard_clipping(gate_up: Tensor, beta: float = 1.0, linear_beta: float | None = None) -> Tensor:
    gate, up = gate_up.chunk(2, dim=-1)
    if linear_beta is not None:
        up = up.clamp(-linear_beta, linear_beta)
    return gate.clamp(-beta, beta) * torch.sigmoid(gate) * up


def missing_sigmoid(gate_up: Tensor, beta: float = 1.0, linear_beta: float | None = None) -> Tensor:
    gate, up = gate_up.chunk(2, dim=-1)
    return beta * torch.tanh(gate / beta) * up_branch(up, linear_beta)


def sigmoid_of_capped_gate(gate_up: Tensor, beta: float = 1.0, linear_beta: float | None = None) -> Tensor:
    gate, up = gate_up.chunk(2, dim=-1)
    capped = beta * torch.tanh(gate / beta)
    return capped * torch.sigmoid(capped) * up_branch(up, linear_beta)


def missing_outer_scale(gate_up: Tensor, beta: float = 1.0, linear_beta: float | None = None) -> Tensor:
    gate, up = gate_up.chunk(2, dim=-1)
    if linear_beta is not None:
        up = torch.tanh(up / linear_beta)
    return torch.tanh(gate / beta) * torch.sigmoid(gate) * up
