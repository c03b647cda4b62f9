"""Computed in float32 and never cast back."""

import torch


def situ_glu(input_tensor, gate_projection, up_projection, gate_cap=4.0, up_cap=25.0):
    x = input_tensor.float()
    g, u = x @ gate_projection.float().T, x @ up_projection.float().T
    return gate_cap * torch.tanh(g / gate_cap) * torch.sigmoid(g) * (up_cap * torch.tanh(u / up_cap))
