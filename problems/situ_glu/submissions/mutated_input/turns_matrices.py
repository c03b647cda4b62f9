"""Turns the matrices in placeand leaves them so: right values, other shapes and strides."""

import torch


@torch.no_grad()
def situ_glu(input_tensor, gate_projection, up_projection, gate_cap=4.0, up_cap=25.0):
    g = input_tensor @ gate_projection.t_()
    u = input_tensor @ up_projection.t_()
    return gate_cap * torch.tanh(g / gate_cap) * torch.sigmoid(g) * (up_cap * torch.tanh(u / up_cap))
