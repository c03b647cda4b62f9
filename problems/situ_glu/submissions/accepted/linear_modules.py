"""nn.Linear layers that are given the projections as their weights."""

import torch
from torch import nn


def situ_glu(input_tensor, gate_projection, up_projection, gate_cap=4.0, up_cap=25.0):
    d_ff, d_in = gate_projection.shape
    gate_layer = nn.Linear(d_in, d_ff, bias=False, dtype=input_tensor.dtype, device=input_tensor.device)
    up_layer = nn.Linear(d_in, d_ff, bias=False, dtype=input_tensor.dtype, device=input_tensor.device)
    gate_layer.weight = nn.Parameter(gate_projection)
    up_layer.weight = nn.Parameter(up_projection)
    g, u = gate_layer(input_tensor), up_layer(input_tensor)
    return gate_cap * torch.tanh(g / gate_cap) * torch.sigmoid(g) * (up_cap * torch.tanh(u / up_cap))
