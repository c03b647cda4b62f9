"""Imports a module that is not there."""

import torch
from my_activations import soft_cap


def situ_glu(input_tensor, gate_projection, up_projection, gate_cap=4.0, up_cap=25.0):
    g = input_tensor @ gate_projection.T
    u = input_tensor @ up_projection.T
    return soft_cap(g, gate_cap) * torch.sigmoid(g) * soft_cap(u, up_cap)
